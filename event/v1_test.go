package event

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestDecodeV1Fixture(t *testing.T) {
	var fixture struct {
		Cases []struct {
			Case  string
			Input struct{ Type, Text string }
			Rust  struct {
				OK    bool
				Bytes string
			}
		}
	}
	readFixture(t, &fixture, "differential", "contracts", "decoding.json")
	done := 0
	for _, c := range fixture.Cases {
		text, want := c.Input.Text, c.Rust.Bytes
		switch c.Input.Type {
		case "ExecutionEventV1":
		case "EventKindV1": // a kind alone: put an event around it
			around := func(kind string) string {
				return `{"version":1,"sequence":1,"execution_id":"e","node_id":"n","timestamp_ms":1,"kind":` + kind + `}`
			}
			text, want = around(text), around(want)
		default:
			continue
		}
		done++
		e, err := DecodeV1([]byte(text))
		if c.Case == "ExecutionEventV1: typescript kind shape" {
			if err != nil { // one reader for both, where the reference has two
				t.Errorf("%s: %v", c.Case, err)
			}
			continue
		}
		if (err == nil) != c.Rust.OK {
			t.Errorf("%s: error %v, reference accepts: %t", c.Case, err, c.Rust.OK)
			continue
		}
		if err != nil {
			continue
		}
		if got, err := EncodeV1(e); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", c.Case, got, err, want)
		}
	}
	if done < 15 {
		t.Errorf("only %d cases concern events", done)
	}
	t.Logf("%d cases", done)
}

// TestBothEncodings reads the events of every recorded run in both encodings,
// and compares them where both engines did the same.
func TestBothEncodings(t *testing.T) {
	type report struct {
		Report struct{ Events []json.RawMessage }
	}
	compared, read := 0, 0
	for _, path := range fixtureFiles(t, "differential", "runs", "*.json") {
		var run struct {
			Rust, TypeScript report
			Comparison       struct {
				Same bool `json:"same_event_kinds"`
			}
		}
		readFixture(t, &run, "differential", "runs", path)
		var native, typescript []EventV1
		for _, raw := range run.Rust.Report.Events {
			native = append(native, decodeV1(t, path, raw))
		}
		for _, raw := range run.TypeScript.Report.Events {
			typescript = append(typescript, decodeV1(t, path, raw))
		}
		read += len(native) + len(typescript)
		if len(native) == 0 || !run.Comparison.Same {
			continue
		}
		compared++
		same := func(a, b EventV1) bool {
			a.TimestampMS, b.TimestampMS = 0, 0
			return a.Kind.Name == b.Kind.Name && a.NodeID == b.NodeID && a.Sequence == b.Sequence
		}
		if !slices.EqualFunc(native, typescript, same) {
			t.Errorf("%s: native %+v, TypeScript %+v", path, native, typescript)
		}
	}
	if compared < 10 || read < 200 {
		t.Errorf("%d runs were compared, %d events read", compared, read)
	}
	t.Logf("%d runs compared, %d events read", compared, read)
}

func decodeV1(t *testing.T, path string, raw []byte) EventV1 {
	t.Helper()
	e, err := DecodeV1(raw)
	if err != nil {
		t.Errorf("%s: %s: %v", path, raw, err)
	}
	return e
}

func TestDecodeV1(t *testing.T) {
	around := func(kind string) []byte {
		return []byte(`{"version":1,"sequence":3,"execution_id":"e","node_id":"n","timestamp_ms":9,"kind":` + kind + `}`)
	}
	for _, c := range []struct {
		native, typescript string
		want               KindV1
	}{
		{`"ExecutionStarted"`, `{"type":"execution_started"}`, KindV1{Name: "ExecutionStarted"}},
		{`{"NodeStarted":{"attempt":2}}`, `{"type":"node_started","attempt":2}`, KindV1{Name: "NodeStarted", Attempt: 2}},
		{`{"StatePatched":{"revision":18446744073709551615}}`, `{"type":"state_patched","revision":18446744073709551615}`, KindV1{Name: "StatePatched", Revision: 1<<64 - 1}},
		{`{"Routed":{"route":"a b","to":"m"}}`, `{"type":"routed","route":"a b","to":"m"}`, KindV1{Name: "Routed", Route: "a b", To: "m"}},
		{`{"Retrying":{"attempt":2}}`, `{"type":"retrying","attempt":2}`, KindV1{Name: "Retrying", Attempt: 2}},
		{`{"Suspended":{"reason":"r"}}`, `{"type":"suspended","reason":"r"}`, KindV1{Name: "Suspended", Reason: "r"}},
		{`"Terminated"`, `{"type":"terminated"}`, KindV1{Name: "Terminated"}},
		{`{"Failed":{"error":"x"}}`, `{"type":"failed","error":"x"}`, KindV1{Name: "Failed", Error: "x"}},
		{`{"Cancelled":null}`, `{"type":"cancelled"}`, KindV1{Name: "Cancelled"}},
		{`"Checkpointed"`, `{"type":"checkpointed"}`, KindV1{Name: "Checkpointed"}},
	} {
		want := EventV1{Version: 1, Sequence: 3, ExecutionID: "e", NodeID: "n", TimestampMS: 9, Kind: c.want}
		for _, kind := range []string{c.native, c.typescript} {
			if got, err := DecodeV1(around(kind)); err != nil || got != want {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
		}
	}
	for _, kind := range []string{
		`null`, `1`, `[]`, `{}`, `"Paused"`, `"NodeStarted"`, `"cancelled"`, `{"NodeStarted":null}`, `{"NodeStarted":{}}`, `{"NodeStarted":{"attempt":-1}}`,
		`{"NodeStarted":{"attempt":1.0}}`, `{"NodeStarted":{"attempt":4294967296}}`, `{"Routed":{"route":"r","to":"a b"}}`, `{"Cancelled":{}}`,
		`{"NodeStarted":{"attempt":1},"Failed":{"error":"x"}}`, `{"type":"Cancelled"}`, `{"type":"tool_call"}`, `{"type":1}`, `{"type":"failed","error":null}`,
	} {
		if e, err := DecodeV1(around(kind)); err == nil {
			t.Errorf("%s: read as %+v", kind, e)
		}
	}
}

func FuzzDecodeV1(f *testing.F) {
	f.Add([]byte(`{"version":1,"sequence":1,"execution_id":"e","node_id":null,"timestamp_ms":1,"kind":{"type":"failed","error":"\ud83d\ude00"}}`))
	f.Add([]byte(`{"version":1,"sequence":1,"execution_id":"e","timestamp_ms":1,"kind":{"Routed":{"route":"r","to":"b","x":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeV1(data)
		if err != nil {
			return
		}
		text, err := EncodeV1(e)
		if err != nil {
			t.Skip(err) // a text beyond our limit
		}
		again, err := DecodeV1(text)
		if err != nil || again != e {
			t.Fatalf("%+v, written and read: %+v, %v", e, again, err)
		}
	})
}

// TestProjectV1 shows what a run of today looks like to version 1.
func TestProjectV1(t *testing.T) {
	var events []Event
	for _, r := range aRun(t) {
		e, err := r.Decode()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	got := ProjectV1(slices.Values(events), 5)
	want := []KindV1{
		{Name: "ExecutionStarted"},
		{Name: "NodeStarted", Attempt: 1},
		{Name: "StatePatched", Revision: 1},
		{Name: "Retrying", Attempt: 2},
		{Name: "NodeStarted", Attempt: 2},
		{Name: "Suspended", Reason: "approval"},
		{Name: "StatePatched", Revision: 2},
		{Name: "Suspended", Reason: "why"}, // its checkpoint is not one of version 1
		{Name: "Routed", Route: "ok", To: "fork"},
		{Name: "NodeStarted", Attempt: 1},
		{Name: "NodeStarted", Attempt: 1},
		{Name: "NodeStarted", Attempt: 1},
		{Name: "StatePatched", Revision: 3},
		{Name: "NodeStarted", Attempt: 1},
		{Name: "Terminated"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(got), len(want), got)
	}
	for i, e := range got {
		if e.Kind != want[i] || e.Sequence != uint64(5+i) || e.Version != 1 || e.ExecutionID != "run" {
			t.Errorf("event %d: %+v, want %+v", i, e, want[i])
		}
		if _, err := EncodeV1(e); err != nil {
			t.Error(err)
		}
	}
}

// TestProjectsRecordedRun builds the log of a recorded run and projects it.
func TestProjectsRecordedRun(t *testing.T) {
	var run struct {
		Rust struct {
			Report struct{ Events []json.RawMessage }
		}
	}
	readFixture(t, &run, "differential", "runs", "01-linear-counter.json")
	d := digestOf("d")
	at := func(node string, p Payload) Event {
		e := Event{Header: Header{Exec: "fixture", Node: node, AtMS: 1}, Body: p}
		if node != "" {
			e.Visit, e.Attempt = 1, 1
		}
		return e
	}
	log := []Event{
		at("", &Started{}),
		at("increment", &NodeStarted{}),
		at("increment", &StatePatched{Revision: 1, State: d}),
		at("increment", &Routed{Outcome: OutcomeContinue, Route: "continue", To: "done"}),
		at("increment", &Checkpointed{Revision: 1, State: d}),
		at("done", &NodeStarted{}),
		at("done", &Terminated{}),
	}
	got := ProjectV1(slices.Values(log), 1)
	if len(got) != len(run.Rust.Report.Events) {
		t.Fatalf("%d events", len(got))
	}
	for i, raw := range run.Rust.Report.Events {
		want, err := DecodeV1(raw)
		if err != nil || got[i] != want {
			t.Errorf("event %d: %+v, want %+v (%v)", i, got[i], want, err)
		}
	}
}
