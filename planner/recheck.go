package planner

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// Status of a saved plan held against a manifest.
const (
	Identical = "identical"
	Drifted   = "drifted"
)

// Verdict says whether a saved plan still holds.
type Verdict struct {
	Status string
	Detail string
	Fields []string // the top-level fields that moved, sorted
}

// notCompared are the keys of a saved plan that planning does not produce: the
// envelope, what the loading layer attached, and our own findings.
var notCompared = []string{"signature", "schemaVersion", "kind", "correlationId", "writ"}

// Recheck plans the task of a saved plan again, on m and with the options the
// plan carries, and compares. The order of keys does not matter. saved is one
// plan object, with or without its envelope. The error says why it cannot be
// rechecked.
func Recheck(saved []byte, m *kcp.Manifest) (Verdict, error) {
	v, err := artifact.ParseValue(saved)
	if err != nil {
		return Verdict{}, err
	}
	task, o, err := savedInputs(v)
	if err != nil {
		return Verdict{}, err
	}
	plan, _ := Plan(m, task, o)
	fresh, err := artifact.Encode(plan)
	if err != nil {
		return Verdict{}, err
	}
	now, err := artifact.ParseValue(fresh)
	if err != nil {
		return Verdict{}, err
	}
	moved := movedFields(comparable(v), comparable(now))
	return verdict(plan, savedDigest(v), m.Digest().Hex(), moved), nil
}

func verdict(plan *LoadPlan, saved, current string, moved []string) Verdict {
	if saved != "" && saved != current {
		detail := "manifest bytes changed: sha256 " + abbreviated(current) + " ≠ saved " + abbreviated(saved)
		if len(moved) == 0 {
			detail += "; the plan is the same"
		}
		return Verdict{Drifted, detail, moved}
	}
	if len(moved) > 0 {
		return Verdict{Drifted, "plan differs in: " + joinFields(moved), moved}
	}
	detail := strconv.Itoa(len(plan.Selected)) + " selected, " + strconv.Itoa(len(plan.Skipped)) + " skipped — plan reproduced byte-identically"
	if saved == "" {
		return Verdict{Status: Identical, Detail: detail + " (saved artifact carried no manifest sha256)"}
	}
	return Verdict{Status: Identical, Detail: detail + ", manifest sha256 matches"}
}

// abbreviated shows enough of a digest to recognise it.
func abbreviated(digest string) string {
	if len(digest) > 12 {
		return digest[:12] + "…"
	}
	return digest
}

func joinFields(fields []string) string {
	text := ""
	for i, f := range fields {
		if i > 0 {
			text += ", "
		}
		text += f
	}
	return text
}

// savedInputs reads what a saved plan was made from.
func savedInputs(v artifact.Value) (string, Options, error) {
	task, ok := v.Get("task")
	selected, hasSelected := v.Get("selected")
	if !ok || task.Kind() != artifact.KindString || !hasSelected || selected.Kind() != artifact.KindArray {
		return "", Options{}, errNotAPlan
	}
	echoed, ok := v.Get("options")
	if !ok || echoed.Kind() != artifact.KindObject {
		return "", Options{}, errors.New("saved plan carries no echoed planner options — the artifact predates replay support; re-plan to refresh it")
	}
	var e EchoedOptions
	if err := artifact.Decode(echoed.AppendCompact(nil), &e, artifact.IgnoreUnknown); err != nil {
		return "", Options{}, err
	}
	if cap, ok := echoed.Get("maxUnits"); ok && cap.IsNull() {
		e.MaxUnits = math.NaN() // how no cap is written
	}
	o := Options{
		Capabilities: e.Capabilities, MaxUnits: number(e.MaxUnits), Strict: e.Strict, Budget: e.Budget,
		ContextBudget: e.ContextBudget, GrantCeiling: e.GrantCeiling, Spend: e.Spend, Action: e.Action,
		KnownAt: e.KnownAt,
	}
	if env, ok := v.Get("environment"); ok {
		o.Env = kcp.String{Value: env.Text(), Set: true}
	}
	if asOf, ok := v.Get("asOf"); ok {
		o.AsOf = asOf.Text()
	}
	return task.Text(), o, nil
}

func savedDigest(v artifact.Value) string {
	manifest, _ := v.Get("manifest")
	digest, _ := manifest.Get("sha256")
	return digest.Text()
}

// comparable strips a plan of what planning does not produce.
func comparable(v artifact.Value) artifact.Value {
	for _, key := range notCompared {
		v = v.Without(key)
	}
	if manifest, ok := v.Get("manifest"); ok {
		v = v.With("manifest", manifest.Without("sha256"))
	}
	return v
}

// movedFields lists the top-level keys whose values differ.
func movedFields(saved, now artifact.Value) []string {
	var moved []string
	for _, member := range saved.Members() {
		if value, ok := now.Get(member.Name); !ok || !value.Equal(member.Value) {
			moved = append(moved, member.Name)
		}
	}
	for _, member := range now.Members() {
		if _, ok := saved.Get(member.Name); !ok {
			moved = append(moved, member.Name)
		}
	}
	slices.Sort(moved)
	return moved
}
