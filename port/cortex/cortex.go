// Package cortex performs effects on knowledge that somebody else keeps: requests
// to a [Cortex], and queries to a [Retriever]. Both decide themselves what they
// answer; the port holds the answer to a few rules and records it.
//
// It is not package retrieve, whose port reads a KCP manifest and decides itself,
// by the gates of the plan, which units may be loaded. Where the publisher gives a
// manifest use that one: only there does the record say why a text was given.
//
// [New] gives the port of a Cortex, with the two effects query and context, whose
// arguments and results are free JSON. [NewRetrieval] gives the port of retrievers,
// by their names in the pack. The arguments of a retrieval are
//
//	{"text": "refund terms", "limit": 5}
//
// and its result has evidence, the best first: each with content, score_micros
// (millionths, at most a million) and provenance {source_id, locator,
// content_hash}. An answer that breaks these rules is a failure.
//
// [Memory] is both, for tests and for small sets of documents. What any of them
// answers is tainted: see [Taint].
package cortex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// Cortex answers requests in its own language. An [*Error] says more than others
// do.
type Cortex interface {
	Query(ctx context.Context, request artifact.Value) (artifact.Value, error)
	Context(ctx context.Context, request artifact.Value) (artifact.Value, error)
}

// Retriever finds evidence.
type Retriever interface {
	Retrieve(ctx context.Context, q policy.RetrievalQueryV1) (policy.RetrievalResultV1, error)
}

// Error is a request that could not be answered.
type Error struct {
	Class   string // of package graph
	Message string // is recorded: without secrets
}

func (e *Error) Error() string { return e.Message }

// Taint is where all that comes from here comes from, for the marks of whoever
// uses it.
const Taint = policy.FromKnowledge

// Limits of a retrieval.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
	maxScore     = 1_000_000
)

// What the engine calls the ports.
const (
	Name          = "cortex"
	RetrievalName = "retrieval"
)

// The effects of a Cortex.
const (
	effectQuery   = "query"
	effectContext = "context"
)

// Port sends requests to a Cortex. It is safe for concurrent use.
type Port struct{ cortex Cortex }

// Retrieval sends queries to retrievers. It is safe for concurrent use.
type Retrieval struct{ retrievers map[string]Retriever }

var (
	_ engine.Port = (*Port)(nil)
	_ engine.Port = (*Retrieval)(nil)
)

// New gives the port of a Cortex.
func New(c Cortex) *Port { return &Port{c} }

// NewRetrieval gives the port of retrievers.
func NewRetrieval(retrievers map[string]Retriever) *Retrieval {
	return &Retrieval{maps.Clone(retrievers)}
}

// Tools gives how the two effects are authorized.
func (p *Port) Tools() map[string]engine.Tool {
	tool := engine.Tool{Port: Name, Kind: policy.KindCortex}
	return map[string]engine.Tool{effectQuery: tool, effectContext: tool}
}

// Tools gives how each retriever is authorized.
func (r *Retrieval) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(r.retrievers))
	for name := range r.retrievers {
		tools[name] = engine.Tool{Port: RetrievalName, Kind: policy.KindRetrieve, Shape: shape}
	}
	return tools
}

func shape(call policy.Call) (policy.Call, error) {
	_, err := readQuery(call.Args)
	return call, err
}

func readQuery(args artifact.Value) (policy.RetrievalQueryV1, error) {
	r := artifact.NewReader(artifact.DocumentOf(args, "arguments"))
	o := r.Root().Object()
	q := policy.RetrievalQueryV1{Version: 1, Text: o.Need("text").Text(), Limit: DefaultLimit}
	if f := o.May("limit"); f.Present() {
		if q.Limit = f.Uint32(); q.Limit < 1 || q.Limit > MaxLimit {
			f.Report("limit is not from 1 to %d", MaxLimit)
		}
	}
	o.RefuseUnknown()
	return q, r.Err()
}

// Do sends a request. A request changes nothing, so there is no unknown outcome,
// and Do gives no error.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	send := p.cortex.Query
	switch e.Name {
	case effectQuery:
	case effectContext:
		send = p.cortex.Context
	default:
		return engine.Failed(graph.ClassInvalid, "a cortex answers query and context, and not "+e.Name), nil
	}
	return perform(ctx, e, policy.KindCortex, func(ctx context.Context) (artifact.Value, error) { return send(ctx, e.Args) }), nil
}

// Do sends a query. Like [Port.Do] it gives no error.
func (r *Retrieval) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	retriever, ok := r.retrievers[e.Name]
	if !ok {
		return engine.Failed(graph.ClassInvalid, "there is no retriever "+e.Name), nil
	}
	q, err := readQuery(e.Args)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	return perform(ctx, e, policy.KindRetrieve, func(ctx context.Context) (artifact.Value, error) {
		result, err := retriever.Retrieve(ctx, q)
		if err == nil {
			err = check(result, q)
		}
		if err != nil {
			return artifact.Value{}, err
		}
		data := result.Canonical()
		if most := e.Permit.OutputBytes; most > 0 && uint64(len(data)) > most {
			return artifact.Value{}, &Error{graph.ClassInvalid, fmt.Sprintf("the answer has %d bytes, of at most %d", len(data), most)}
		}
		v, err := artifact.ParseValue(data)
		return v.Without("version"), err
	}), nil
}

// check holds an answer to what a retrieval promises.
func check(r policy.RetrievalResultV1, q policy.RetrievalQueryV1) error {
	if len(r.Evidence) > int(q.Limit) {
		return &Error{graph.ClassInvalid, fmt.Sprintf("the answer has %d pieces of evidence, of at most %d", len(r.Evidence), q.Limit)}
	}
	last := uint32(maxScore)
	for i, e := range r.Evidence {
		switch {
		case e.ScoreMicros > maxScore:
			return &Error{graph.ClassInvalid, fmt.Sprintf("evidence %d has a score above a million", i+1)}
		case e.ScoreMicros > last:
			return &Error{graph.ClassInvalid, fmt.Sprintf("evidence %d is better than the one before", i+1)}
		case e.SourceID == "":
			return &Error{graph.ClassInvalid, fmt.Sprintf("evidence %d has no source", i+1)}
		}
		last = e.ScoreMicros
	}
	return nil
}

// Idempotent reports whether the effect may be performed again under its key.
func (p *Port) Idempotent(engine.Effect) bool { return true }

// Idempotent reports whether the effect may be performed again under its key.
func (r *Retrieval) Idempotent(engine.Effect) bool { return true }

// perform sends a request within the bounds of its permit.
func perform(ctx context.Context, e engine.Effect, kind policy.Kind, send func(context.Context) (artifact.Value, error)) engine.Outcome {
	if e.Permit.Kind != kind || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, kind.String()+" "+e.Name+" has no permit")
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	begin := time.Now()
	err := ctx.Err()
	var v artifact.Value
	if err == nil {
		v, err = send(ctx)
	}
	o := engine.Outcome{Result: v}
	if err != nil {
		o = failure(ctx, err)
	}
	o.Usage = policy.Amount{Calls: 1, DurationMS: uint64(time.Since(begin).Milliseconds())}
	return o
}

func failure(ctx context.Context, err error) engine.Outcome {
	var known *Error
	switch {
	case errors.As(err, &known):
		o := engine.Failed(known.Class, known.Message)
		o.Retryable = slices.Contains([]string{graph.ClassRateLimited, graph.ClassTimeout, graph.ClassUnavailable}, known.Class)
		return o
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return engine.Failed(graph.ClassTimeout, "no answer before the deadline")
	case ctx.Err() != nil:
		return engine.Failed(graph.ClassCancelled, "the request was ended with the run")
	}
	return engine.Failed(graph.ClassInternal, err.Error())
}
