package retrieve

import (
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// maxTask bounds a task in bytes. Every word of it is looked for in every unit.
const maxTask = 4 << 10

// question is one effect: a task, and the source's options narrowed by the
// arguments.
type question struct {
	task string
	plan planner.Options
}

// question reads the arguments of an effect. They come from the state of a run,
// so none of them widens anything.
func (s *Source) question(args artifact.Value) (question, error) {
	r := artifact.NewReader(artifact.DocumentOf(args, "arguments"))
	o := r.Root().Object()
	task := o.Need("task")
	q := question{task.Text(), s.Plan}
	switch {
	case task.Kind() == artifact.KindString && strings.TrimSpace(q.task) == "":
		task.Report("task is empty")
	case len(q.task) > maxTask:
		task.Report("task has %d bytes, of at most %d", len(q.task), maxTask)
	}
	q.plan.MaxUnits = narrowed(o.May("max_units"), s.Plan.MaxUnits)
	q.plan.ContextBudget = narrowed(o.May("context_budget"), s.Plan.ContextBudget)
	if f := o.May("strict"); f.Present() {
		q.plan.Strict = f.Bool()
		if s.Plan.Strict && !q.plan.Strict {
			f.Report("strict cannot be lifted here")
		}
	}
	s.lowerBudget(o.May("budget"), &q)
	o.RefuseUnknown()
	return q, r.Err()
}

// narrowed reads a whole number that is not above the source's.
func narrowed(f artifact.Field, most kcp.Number) kcp.Number {
	if !f.Present() {
		return most
	}
	n := float64(f.Uint64())
	switch {
	case f.Value().Text() == "0":
		f.Report("%s is not at least 1", name(f))
	case most.Set && n > most.Value:
		f.Report("%s of %s is more than the %s that the source has", name(f), artifact.FormatNumber(n), artifact.FormatNumber(most.Value))
	case n > 1 && !isCount(n):
		f.Report("%s of %s is not a number that is counted exactly", name(f), artifact.FormatNumber(n))
	}
	return kcp.Number{Value: n, Set: true}
}

func name(f artifact.Field) string { return strings.TrimPrefix(f.Pointer(), "/") }

// lowerBudget reads an amount in the source's currency that is not above its own.
func (s *Source) lowerBudget(f artifact.Field, q *question) {
	if !f.Present() {
		return
	}
	amount, ok := f.Value().Float()
	switch {
	case f.Kind() != artifact.KindNumber || !ok || amount < 0:
		f.Report("budget is not an amount of money")
	case s.Plan.Budget == nil:
		f.Report("the source has no budget that could be lowered")
	case amount > s.Plan.Budget.Amount:
		f.Report("budget of %s is more than the %s that the source has", artifact.FormatNumber(amount), artifact.FormatNumber(s.Plan.Budget.Amount))
	default:
		b := *s.Plan.Budget
		b.Amount = amount
		q.plan.Budget = &b
	}
}
