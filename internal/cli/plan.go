package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

type planOptions struct {
	*runner
	planFlags
	following   followFlags
	trace       bool
	json        bool
	correlation given
}

func newPlan(r *runner) *cobra.Command {
	o := &planOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "plan TASK...",
		Short: "decide which units to load for a task, and why",
		Long: "plan reads a manifest, walks every unit through fourteen gates and prints which units to load, in which " +
			"order, what they cost and why the others are left out. Nothing is loaded and nothing is paid. With --follow it goes " +
			"on to the manifests that this one refers to, within one budget; what cannot be read there is shown in its place.",
		Example: `writ plan "how do we deploy a release?"
writ plan "tide level" --manifest harbour --methods free,x402 --budget 0.40
writ plan "rotate a key" --manifest runbooks --trace
writ plan "rotate a key" --manifest runbooks --json > plan.json
writ plan "rotate a key" --manifest https://docs.example.com/knowledge.yaml --follow`,
		Annotations: exits("a plan was made, even an empty one", "the manifest cannot be read or verified", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
	}
	o.declare(cmd)
	o.following.declare(cmd, &o.source)
	output := flagGroup{cmd.Flags(), outputGroup}
	output.boolean(&o.trace, "trace", "show the verdict of every gate on every unit")
	output.boolean(&o.json, "json", "print the plan, with --follow the tree, with --trace the trace, as a JSON artifact")
	output.value(&o.correlation, "correlation-id", "ID", "req-7", "put this id into the JSON artifact")
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command, words []string) error {
	task, err := o.taskOf(cmd, words)
	if err != nil {
		return err
	}
	options, err := o.options(o.runner)
	if err != nil {
		return err
	}
	walk, follow, err := o.following.options(o.runner)
	if err != nil {
		return err
	}
	switch {
	case follow && o.trace:
		o.say("--trace shows the root manifest only; --follow has no effect with it")
	case follow:
		walk.Plan = options
		return o.runTree(cmd.Context(), task, walk)
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return err
	}
	plan, trace := planner.Plan(loaded.Manifest, task, options)
	switch {
	case o.json && o.trace:
		return o.printJSON(traceDocument{trace.Document(), planExtension(loaded)}, "trace")
	case o.json:
		attach(plan, loaded)
		return o.printJSON(planDocument{plan, planExtension(loaded)}, "plan")
	}
	attach(plan, loaded)
	p := o.newPage()
	view := planView{page: p, plan: plan, loaded: loaded}
	if o.trace || options.ContextBudget.Set {
		view.units = trace.Units()
	}
	view.write(!o.trace)
	if o.trace {
		traceView{p, trace.Terms(), view.units}.write()
	}
	view.writeFindings()
	o.print(p)
	return nil
}

// runTree plans the manifests that the root refers to, too.
func (o *planOptions) runTree(ctx context.Context, task string, walk federation.Options) error {
	tree, err := o.walk(ctx, &o.planFlags, task, walk)
	if err != nil {
		return err
	}
	if o.json {
		return o.printJSON(tree, "tree")
	}
	p := o.newPage()
	treeView{p, tree, task}.write()
	o.print(p)
	return nil
}

// attach adds what the loading layer knows to a plan: planning sees neither
// bytes nor signatures.
func attach(plan *planner.LoadPlan, loaded *load.Loaded) {
	plan.Manifest.SHA256 = loaded.Digest.Hex()
	plan.Signature = loaded.Signature
}

// planDocument and traceDocument are artifacts with our findings behind the
// keys that other implementations know.
type planDocument struct {
	*planner.LoadPlan
	Writ *extension `json:"writ,omitzero"`
}

type traceDocument struct {
	planner.TraceDocument
	Writ *extension `json:"writ,omitzero"`
}

func (o *planOptions) printJSON(body any, kind string) error {
	text, err := artifact.Wrap(body, artifact.Envelope{SchemaVersion: 1, Kind: kind, CorrelationID: o.correlation.text})
	if err != nil {
		return err
	}
	o.out.Write(append(text, '\n'))
	return nil
}

// printDocument prints JSON without an envelope.
func (r *runner) printDocument(body any) error {
	text, err := artifact.Encode(body)
	if err != nil {
		return err
	}
	r.out.Write(append(text, '\n'))
	return nil
}
