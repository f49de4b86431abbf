package planner

import "iter"

// Stop is a unit that a plan does not let anybody load, with the first gate that
// decided so.
type Stop struct {
	ID       string
	Gate     string
	Reason   string
	Relevant bool // it has to do with the task, also where a gate before relevance stopped it
	Selected bool // it is in the plan all the same, so that a reader sees what would help
}

// Stops gives the units that may not be loaded, in manifest order, those past the
// cap on units too. It writes none of the sentences that [Trace.Units] does.
func (t *Trace) Stops() iter.Seq[Stop] {
	return func(yield func(Stop) bool) {
		for i := range t.pass.candidates {
			c := &t.pass.candidates[i]
			gate, reason := t.pass.closing(c)
			if gate == "" {
				continue
			}
			relevant := c.evaluation != nil || t.pass.score(c.unit).score > 0
			if !yield(Stop{c.unit.ID, gate, reason, relevant, c.stopped == passed}) {
				return
			}
		}
	}
}
