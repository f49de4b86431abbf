package engine

import (
	"context"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
)

func noHandler(context.Context, graph.Invocation) (graph.NodeResult, error) {
	return graph.NodeResult{}, nil
}

func TestPatchTextIsEncode(t *testing.T) {
	for _, text := range []string{
		`{"base_revision":0,"operations":{}}`,
		`{"base_revision":18446744073709551615,"operations":{"/a":{"Set":{"x":[1,2.5,null]}},"/b/\u00e9":"Remove","/c":{"Set":"q\"<"}}}`,
	} {
		p, err := graph.DecodePatch([]byte(text), "patch")
		if err != nil {
			t.Fatal(err)
		}
		wants(t, "text", string(patchText(p)), string(p.Encode()))
	}
}

// TestStepLeavesItsPositionAlone gives each input twice to the same position: what
// follows is the same, down to what is stored beside the log.
func TestStepLeavesItsPositionAlone(t *testing.T) {
	d := define(t, graphText("{/n: any?}", "a: {tool: pay, args: {n: 1}, set: {/n: =result.n}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
	m, p := NewMachine(d), Position{}
	state := graph.Snapshot{SchemaID: d.Schema.ID, Value: value(`{}`)}
	inputs := []func(Out) Happening{
		func(Out) Happening { return Start{Exec: "run", Method: event.MethodSystem, State: state} },
		func(o Out) Happening {
			return Decide{Proposal: o.Position.Proposals()[0].Digest, Approve: true, Token: TokenDigest("t"), Approver: "bob", Method: event.MethodToken}
		},
		func(o Out) Happening { return EffectLost{Key: o.Effects[0].Key, Again: true} },
		func(o Out) Happening {
			return EffectDone{Key: o.Effects[0].Key, Outcome: Outcome{Result: value(`{"n":1}`)}}
		},
	}
	var last Out
	for i, input := range inputs {
		in := Input{NowMS: int64(1000 * i), What: input(last), Mint: oneToken{}}
		out, err := m.Step(p, in)
		if err != nil || out.Refusal != nil {
			t.Fatalf("input %d: %v %v", i, err, out.Refusal)
		}
		again, err := m.Step(p, in)
		if err != nil || again.Refusal != nil {
			t.Fatalf("input %d again: %v %v", i, err, again.Refusal)
		}
		wants(t, "events", again.Position.head, out.Position.head)
		wants(t, "intents", again.Intents, out.Intents)
		wants(t, "timers", again.Timers, out.Timers)
		p, last = out.Position, out
	}
	wants(t, "ended", p.Ended(), true)
}

// oneToken mints the token t, and others that nobody knows.
type oneToken struct{}

func (oneToken) Mint(artifact.Digest, int) []artifact.Digest {
	return []artifact.Digest{TokenDigest("t")}
}

// FuzzRestore reads any bytes as a checkpoint. What is read can be written again,
// and driven.
func FuzzRestore(f *testing.F) {
	d := define(f, graphText("{/n: number, /answer: object?}", approveGraph), packText, Definition{})
	m := NewMachine(d)
	out, err := m.Step(Position{}, Input{NowMS: 1, Mint: (&model{}), What: Start{Exec: "run", Method: event.MethodSystem, State: graph.Snapshot{SchemaID: d.Schema.ID, Value: value(`{"n":1}`)}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(out.Checkpoint.Bytes)
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := m.Restore(data, event.Head{Exec: "run", Seq: out.Position.head.Seq, Digest: out.Position.head.Digest})
		if err != nil {
			return
		}
		p.Status()
		p.Proposals()
		p.InputTokens()
		p.UnknownEffects()
		for _, what := range []Happening{Recover{}, Cancel{Method: event.MethodSystem}, TimerDue{"t5"}, Decide{Proposal: artifact.Sum(nil)}, Resume{}, Signal{Name: "x"}} {
			if _, err := m.Step(p, Input{NowMS: 2, What: what}); err != nil {
				continue // a position that no machine makes may be refused, not crash
			}
		}
	})
}
