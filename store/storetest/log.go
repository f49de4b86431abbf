package storetest

import (
	"fmt"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// Log makes the batches of one made-up run: a start, then steps of one node that
// patch the state, then an end. Its events are well formed and in order, and a
// store cannot tell them from those of an engine. It is not for concurrent use.
type Log struct {
	t        testing.TB
	chain    *event.Chain
	graph    artifact.Digest
	revision uint64
	state    artifact.Digest
	visit    uint32
}

// NewLog gives the log of a run that has no events yet.
func NewLog(t testing.TB, exec string) *Log {
	t.Helper()
	chain, err := event.NewChain(event.Head{Exec: exec})
	if err != nil {
		t.Fatal(err)
	}
	return &Log{t: t, chain: chain, graph: artifact.Sum([]byte("graph")), state: artifact.Sum([]byte("{}"))}
}

// Head gives the last event so far.
func (l *Log) Head() event.Head { return l.chain.Head() }

// Batch puts records, which continue the run, into a batch without a fence.
func (l *Log) Batch(records ...event.Record) store.Batch {
	return store.Batch{Exec: l.chain.Head().Exec, Next: records[0].Seq, Events: records}
}

// Start gives the first event.
func (l *Log) Start() event.Record {
	some := artifact.Sum([]byte("definition"))
	return l.append("", &event.Started{
		Definition: event.Definition{Graph: l.graph, Schema: some, Pack: some, Policy: some, Nodes: some, Contract: some},
		Semantics:  1, State: l.state, Owner: "owner", By: "tester", Method: event.MethodAsserted,
	})
}

// Step gives the events of one whole step, whose patch holds text.
func (l *Log) Step(text string) []event.Record {
	l.visit++
	l.revision++
	patch, err := event.CanonicalJSON(artifact.ObjectValue(artifact.Member{Name: "text", Value: artifact.StringValue(text)}))
	if err != nil {
		l.t.Fatal(err)
	}
	l.state = artifact.Sum(patch)
	return []event.Record{
		l.append("work", &event.NodeStarted{}),
		l.append("work", &event.StatePatched{Revision: l.revision, Patch: patch, State: l.state}),
		l.append("work", &event.Routed{Outcome: event.OutcomeContinue, Route: "continue", To: "work"}),
	}
}

// End gives the events of a last step that ends the run.
func (l *Log) End() []event.Record {
	l.visit++
	return []event.Record{
		l.append("work", &event.NodeStarted{}),
		l.append("work", &event.Terminated{
			Result: event.NewRecorded("json", "public", []byte("{}")),
			End: event.End{
				State: l.state, Revision: l.revision, Steps: uint64(l.visit), Events: l.chain.Head().Seq + 1,
			},
		}),
	}
}

func (l *Log) append(node string, p event.Payload) event.Record {
	l.t.Helper()
	e := event.Event{Body: p}
	e.AtMS = int64(l.chain.Head().Seq+1) * 1000
	if node != "" {
		e.Node, e.Visit, e.Attempt = node, l.visit, 1
	}
	r, err := l.chain.Append(e)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// checkpoint gives a batch a checkpoint at its last event.
func checkpoint(b store.Batch, text string) store.Batch {
	b.Checkpoint = &store.Checkpoint{Seq: b.Next + uint64(len(b.Events)) - 1, Bytes: []byte(text)}
	return b
}

func blob(text string) store.Blob {
	return store.Blob{Digest: artifact.Sum([]byte(text)), Bytes: []byte(text)}
}

func fenced(b store.Batch, fence uint64) store.Batch {
	b.Fence = fence
	return b
}

func name(format string, args ...any) string { return fmt.Sprintf(format, args...) }
