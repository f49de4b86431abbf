package retrieve

import (
	"context"
	"errors"
	"net/http"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
)

// Do plans and loads. A manifest that cannot be read or trusted is a failed
// outcome; a unit that cannot be loaded is named in the result. Reading changes
// nothing, so there is no unknown outcome, and Do gives no error.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	s, ok := p.sources[e.Name]
	if !ok {
		return engine.Failed(graph.ClassInvalid, "there is no knowledge "+e.Name), nil
	}
	if e.Permit.Kind != policy.KindRetrieve || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, "knowledge "+e.Name+" has no permit"), nil
	}
	q, err := s.question(e.Args)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	begin := p.now()
	if q.plan.AsOf == "" {
		q.plan.AsOf = begin.UTC().Format("2006-01-02")
	}
	o := s.retrieve(ctx, q, e.Permit)
	o.Usage.Calls, o.Usage.DurationMS = 1, uint64(max(0, p.now().Sub(begin).Milliseconds()))
	return o, nil
}

// retrieve reads the manifest, plans, and loads what the plan lets it load.
func (s *Source) retrieve(ctx context.Context, q question, permit policy.Permit) engine.Outcome {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	loaded, err := load.Manifest(ctx, s.Location, s.Load)
	if err != nil {
		return s.failure(ctx, err)
	}
	loaded.Manifest.Source = s.shownPath(loaded.Source)
	plan, trace := planner.Plan(loaded.Manifest, q.task, q.plan)
	plan.Manifest.SHA256, plan.Signature = loaded.Digest.Hex(), loaded.Signature
	r := reading{
		source: s, loaded: loaded, plan: plan, trace: trace, names: loaded.Manifest.Names(), permit: permit, most: min(s.MaxBytes, outputBytes(permit)),
	}
	if !r.read(ctx) {
		o := ended(ctx)
		o.Usage = r.usage()
		return o
	}
	return r.outcome()
}

// outputBytes is how large the permit lets a result be.
func outputBytes(p policy.Permit) uint64 {
	if p.OutputBytes == 0 {
		return policy.DefaultOutputBytes
	}
	return p.OutputBytes
}

// ended gives the outcome of a retrieval whose context is over.
func ended(ctx context.Context) engine.Outcome {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		o := engine.Failed(graph.ClassTimeout, "not all was read before the deadline")
		o.Retryable = true
		return o
	}
	return engine.Failed(graph.ClassCancelled, "the retrieval was ended with the run")
}

// failure gives the outcome of a manifest that was not read.
func (s *Source) failure(ctx context.Context, err error) engine.Outcome {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	o := engine.Failed(graph.ClassInvalid, s.shown(withoutFlags(err.Error())))
	var local *load.Refusal
	var remote *fetch.Refusal
	switch {
	case errors.As(err, &local):
		if local.Code == load.NotFound || local.Code == load.NoManifest || local.Code == load.Unreadable {
			o.Class = graph.ClassUnavailable
		}
	case errors.As(err, &remote):
		o.Class = classOf(remote)
	}
	o.Retryable = o.Class == graph.ClassUnavailable || o.Class == graph.ClassRateLimited || o.Class == graph.ClassTimeout
	return o
}

// classOf says whether asking again may help.
func classOf(r *fetch.Refusal) string {
	switch r.Code {
	case fetch.Timeout:
		return graph.ClassTimeout
	case fetch.Unresolved, fetch.Unreachable, fetch.Incomplete:
		return graph.ClassUnavailable
	case fetch.Status:
		switch {
		case r.Status == http.StatusTooManyRequests:
			return graph.ClassRateLimited
		case r.Status >= 500:
			return graph.ClassUnavailable
		}
	}
	return graph.ClassInvalid
}

// The access classes of results, from the one that anybody may see. What a pack
// keeps it names by them.
const (
	classAuthenticated = "authenticated"
	classRestricted    = event.AccessRestricted
)

// accessClass gives the class of a unit. A word that nobody knows is the most
// restrictive one, as for the plan.
func accessClass(access kcp.String) string {
	switch {
	case !access.Set || access.Value == "public":
		return ""
	case access.Value == classAuthenticated:
		return classAuthenticated
	}
	return classRestricted
}

// stricter gives the class of what has parts of both.
func stricter(a, b string) string {
	if a == classRestricted || b == "" {
		return a
	}
	if b == classRestricted || a == "" {
		return b
	}
	return a
}
