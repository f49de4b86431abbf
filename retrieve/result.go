package retrieve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// The bounds of what a result shows of the plan. A manifest may be large, and is
// somebody else's text.
const (
	maxSkipped  = 100
	maxWarnings = 20
	maxName     = 256 // bytes of an id or a path
	maxText     = 300 // of a reason, a title, a warning
)

// outcome gives the result. What it may hold in bytes goes to the texts, the best
// first, once everything else has its place.
func (r *reading) outcome() engine.Outcome {
	plan, err := r.plan.JSON("")
	if err != nil {
		return engine.Failed(graph.ClassInternal, err.Error())
	}
	digest := artifact.Sum(append(plan, '\n')).String()
	others := size(r.result(digest))
	for _, d := range r.documents {
		others -= d.size()
	}
	r.fit(r.most - min(r.most, others))
	result := r.result(digest)
	for size(result) > r.most && len(r.documents) > 0 { // a reason is longer than what it stands for
		last := len(r.documents) - 1
		r.tooLarge(r.documents[last].id, len(r.documents[last].text))
		r.documents = r.documents[:last]
		result = r.result(digest)
	}
	if n := size(result); n > r.most {
		o := engine.Failed(graph.ClassInvalid, fmt.Sprintf("the plan alone has %d bytes, and a result may have %d", n, r.most))
		o.Usage = r.usage()
		return o
	}
	return engine.Outcome{Result: result, Access: r.access, Usage: r.usage()}
}

func size(v artifact.Value) uint64 { return uint64(len(v.AppendCompact(nil))) }

func (d document) size() uint64 { return size(artifact.StringValue(d.text)) }

// fit drops the texts that have no place beside those before them, so that a large
// one does not take the place of small ones behind it.
func (r *reading) fit(most uint64) {
	kept, used := r.documents[:0], uint64(0)
	for _, d := range r.documents {
		if n := d.size(); used+n <= most {
			kept, used = append(kept, d), used+n
			continue
		}
		r.tooLarge(d.id, len(d.text))
	}
	r.documents = kept
}

func (r *reading) tooLarge(id string, bytes int) {
	r.refuse(id, codeTooLarge, fmt.Sprintf("a text of %d bytes has no place in a result of %d", bytes, r.most))
}

// object collects the members of an object.
type object []artifact.Member

func (o *object) put(name string, v artifact.Value) {
	*o = append(*o, artifact.Member{Name: name, Value: v})
}

func (o *object) text(name, s string) { o.put(name, artifact.StringValue(s)) }

func (o *object) count(name string, n int) { o.put(name, artifact.IntValue(int64(n))) }

func (o *object) optional(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o object) value() artifact.Value { return artifact.ObjectValue(o...) }

func list[T any](items []T, value func(T) artifact.Value) artifact.Value {
	values := make([]artifact.Value, len(items))
	for i, item := range items {
		values[i] = value(item)
	}
	return artifact.ArrayValue(values...)
}

func (r *reading) result(digest string) artifact.Value {
	m := r.plan.Manifest
	var manifest, o object
	manifest.text("source", clip(m.Source, maxName))
	manifest.text("sha256", m.SHA256)
	manifest.text("project", clip(m.Project, maxName))
	manifest.text("version", clip(m.Version, maxName))
	manifest.put("included", list(r.loaded.Included, func(part load.Part) artifact.Value {
		var o object
		o.text("source", clip(r.source.shownPath(part.Source), maxName))
		o.text("sha256", part.Digest.Hex())
		return o.value()
	}))
	o.put("manifest", manifest.value())
	o.put("plan", r.planValue(digest))
	o.put("documents", list(r.documents, document.value))
	o.put("refused", list(r.refused, refusal.value))
	if s := r.plan.Signature; s != nil {
		var signature object
		signature.text("status", string(s.Status))
		signature.text("detail", clip(r.source.shown(s.Detail), maxText))
		signature.optional("key_id", clip(s.KeyID, maxName))
		o.put("signature", signature.value())
	}
	return o.value()
}

func (d document) value() artifact.Value {
	var o object
	o.text("id", d.id)
	o.optional("title", clip(d.title, maxText))
	o.text("text", d.text)
	o.text("source", clip(d.source, maxName))
	o.text("sha256", d.sha256)
	return o.value()
}

func (x refusal) value() artifact.Value {
	var o object
	o.text("id", clip(x.id, maxName))
	o.text("code", x.code)
	o.text("reason", clip(x.reason, maxText))
	return o.value()
}

func (r *reading) planValue(digest string) artifact.Value {
	var o object
	o.text("digest", digest)
	o.text("task", r.plan.Task)
	o.text("as_of", r.plan.AsOf)
	o.put("selected", list(r.plan.Selected, r.selected))
	r.skipped(&o)
	warnings := r.warnings()
	o.put("warnings", list(warnings[:min(len(warnings), maxWarnings)], func(w string) artifact.Value {
		return artifact.StringValue(clip(r.source.shown(w), maxText))
	}))
	return o.value()
}

// warnings are those of the plan, and what may be why a unit is not there: errors
// of the manifest, and includes that could not be read.
func (r *reading) warnings() []string {
	list := slices.Clone(r.plan.Warnings)
	for _, f := range r.loaded.Findings {
		if f.Severity == kcp.Error || strings.HasPrefix(f.Code, "composition-") {
			list = append(list, f.Message)
		}
	}
	return list
}

// selected gives one unit of the plan, with what was found when it was read.
func (r *reading) selected(s planner.Selected) artifact.Value {
	var o object
	o.text("id", clip(s.ID, maxName))
	o.text("path", clip(s.Path, maxName))
	o.put("eligible", artifact.BoolValue(s.LoadEligible))
	o.put("why", list(s.Reasons, func(reason string) artifact.Value { return artifact.StringValue(clip(reason, maxText)) }))
	if s.Payment.Cost.Set {
		o.text("cost", clip(s.Payment.Cost.Value, maxName))
	}
	for _, d := range r.documents {
		if d.id == s.ID {
			o.put("tokens", artifact.FloatValue(d.tokens))
			o.text("sha256", d.sha256)
		}
	}
	return o.value()
}

// skipped lists the units that the plan leaves out although they have to do with
// the task.
func (r *reading) skipped(o *object) {
	var skipped []artifact.Value
	irrelevant, more := 0, 0
	for s := range r.trace.Stops() {
		switch {
		case s.Selected:
		case !s.Relevant:
			irrelevant++
		case len(skipped) == maxSkipped:
			more++
		default:
			skipped = append(skipped, refusal{s.ID, s.Gate, s.Reason}.skipped())
		}
	}
	o.put("skipped", artifact.ArrayValue(skipped...))
	o.count("skipped_more", more)
	o.count("irrelevant", irrelevant)
}

func (x refusal) skipped() artifact.Value {
	var o object
	o.text("id", clip(x.id, maxName))
	o.text("gate", x.code)
	o.text("reason", clip(x.reason, maxText))
	return o.value()
}
