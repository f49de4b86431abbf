package event

import "iter"

// ProjectV1 gives the events that version 1 has for the same run: sequences
// count from first without gaps, times are those of the log. Version 1 has no
// event for a Continue, an effect, an approval, a timer, a wait, a branch, a
// call, a migration, a cancel request or a resumption, and writes no checkpoint
// for a suspension. An abandoned run is a failed one.
//
// Two logs are compared without their times: version 1 says nothing about when
// the clock is read.
func ProjectV1(events iter.Seq[Event], first uint64) []EventV1 {
	var out []EventV1
	suspended := map[string]bool{} // nodes
	for e := range events {
		switch e.Body.(type) {
		case *Suspended:
			suspended[e.Node] = true
		case *Resumed:
			delete(suspended, e.Node)
		case *Checkpointed:
			if suspended[e.Node] || e.Node == "" && len(suspended) > 0 {
				continue
			}
		}
		kind, ok := projectKind(e.Body)
		if !ok {
			continue
		}
		v1 := EventV1{
			Version: 1, Sequence: first + uint64(len(out)), ExecutionID: e.Exec,
			NodeID: e.Node, TimestampMS: uint64(e.AtMS), Kind: kind,
		}
		if kind.Name == "NodeStarted" {
			v1.Kind.Attempt = e.Attempt
		}
		out = append(out, v1)
	}
	return out
}

func projectKind(p Payload) (KindV1, bool) {
	switch p := p.(type) {
	case *Started:
		return KindV1{Name: "ExecutionStarted"}, true
	case *NodeStarted:
		return KindV1{Name: "NodeStarted"}, true
	case *StatePatched:
		return KindV1{Name: "StatePatched", Revision: p.Revision}, true
	case *Routed:
		return KindV1{Name: "Routed", Route: p.Route, To: p.To}, p.Outcome == OutcomeRoute
	case *Retrying:
		return KindV1{Name: "Retrying", Attempt: p.Attempt}, true
	case *Suspended:
		return KindV1{Name: "Suspended", Reason: p.Reason}, true
	case *Checkpointed:
		return KindV1{Name: "Checkpointed"}, true
	case *Terminated:
		return KindV1{Name: "Terminated"}, true
	case *Failed:
		return KindV1{Name: "Failed", Error: p.Error}, true
	case *Abandoned:
		return KindV1{Name: "Failed", Error: p.Reason}, true
	case *Cancelled:
		return KindV1{Name: "Cancelled"}, true
	}
	return KindV1{}, false
}
