package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

type replayOptions struct {
	*runner
	source sourceFlags
	store  storeFlags
	agent  agentFlag
	person personFlag
	live   liveFlags
	verify bool // --verify-only
	json   bool

	read map[string]*load.Loaded // by location, so that none is read twice
}

func newReplay(r *runner) *cobra.Command {
	o := &replayOptions{runner: r, read: map[string]*load.Loaded{}}
	cmd := &cobra.Command{
		Use:   "replay FILE|RUN",
		Short: "work out again what a saved plan or a run holds, and compare",
		Long: "replay reads a file that `writ plan --json` wrote, plans every plan in it again with the options it " +
			"carries, and says whether the result is the same today. A saved file names the manifests it was made from: " +
			"relative names are read below the current directory, or below --root; other names only with --root or " +
			"--manifest, and URLs never. FILE may be -, for standard input. Signatures are not checked. " +
			"A word that is no file is a run of the store: replay then drives the run's machine through its log, from the copy of the " +
			"agent that was kept, and compares every event. Effects give their recorded results and nothing is called, unless --live " +
			"names an authorization: then every effect is performed again. Nothing is written to the log in any case.",
		Example: `writ replay plan.json
writ replay plan.json --root knowledge
writ replay plan.json --manifest knowledge/knowledge.yaml
writ replay refund-o7
writ replay refund-o7 --authorize --key maria.key --expires 1h --out refund-o7.live
writ replay refund-o7 --live refund-o7.live`,
		Annotations: exits("every saved plan, or the run, is reproduced", "one has drifted, or cannot be checked in full", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
		ValidArgsFunction: func(cmd *cobra.Command, words []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			runs, _ := o.store.completeRuns(r, 1)(cmd, words, typed)
			return runs, cobra.ShellCompDirectiveDefault
		},
	}
	o.source.declare(cmd)
	flagGroup{cmd.Flags(), "Run"}.boolean(&o.verify, "verify-only", "run no handler either: work out only what follows from the log")
	o.live.declare(cmd)
	o.person.declare(cmd, "with --live: who replays; with --authorize: who may")
	o.agent.declare(cmd)
	o.store.declare(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the report as JSON")
	return cmd
}

// replayReport is the JSON form of a replay.
type replayReport struct {
	Artifact string        `json:"artifact"`
	Checks   []replayCheck `json:"checks"`
	OK       bool          `json:"ok"`
}

type replayCheck struct {
	Source  string   `json:"source"`
	Project string   `json:"project"`
	Status  string   `json:"status"` // identical, drifted or error
	Detail  string   `json:"detail"`
	Fields  []string `json:"fields,omitempty"`

	against string // what was read, where that is not the source
}

const checkError = "error"

func (o *replayOptions) run(cmd *cobra.Command, words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ replay plan.json", "replay checks one file or run, and %d are named", len(words))
	}
	if err := o.live.check(o.verify); err != nil {
		return err
	}
	switch {
	case o.live.authorize:
		return o.authorize(cmd.Context(), words[0])
	case !isFile(words[0]) && artifact.CheckIdentifier(words[0]) == nil && !strings.HasSuffix(words[0], ".json"):
		return o.replayRun(cmd.Context(), words[0])
	case o.verify || o.live.file.set:
		return usagef("A run is named by its id; `writ runs` lists them.", "--live and --verify-only are about a run, and %s is a file", words[0])
	}
	data, err := o.readArtifact(words[0])
	if err != nil {
		return err
	}
	v, err := artifact.ParseValue(data)
	if err != nil {
		return inFile(words[0], err)
	}
	plans, err := savedPlans(v)
	if err != nil {
		return inFile(words[0], err)
	}
	if len(plans) > 1 && o.source.manifest.set {
		return usagef("Leave out --manifest, or pass --root DIR with the folder they are in.", "--manifest names one manifest, and %s holds %d plans", words[0], len(plans))
	}
	o.source.noVerify = true
	rep := replayReport{Artifact: words[0], Checks: make([]replayCheck, len(plans)), OK: len(plans) > 0}
	for i, plan := range plans {
		rep.Checks[i] = o.check(cmd, plan)
		rep.OK = rep.OK && rep.Checks[i].Status == planner.Identical
	}
	return o.present(o.json, rep, rep.write, rep.OK)
}

// maxPlans bounds the plans of one artifact: as many as a walk may make.
const maxPlans = mostNodes

var (
	errUnrecognized = errors.New("unrecognized artifact — expected what `writ plan --json` prints")
	errGrounded     = errors.New("this is a grounded answer; this version re-checks plans, not answers")
)

// savedPlans finds the plans in an artifact: it is one, or a trace, a tree of
// manifests or an answer that holds some.
func savedPlans(v artifact.Value) ([]artifact.Value, error) {
	if grounding, ok := v.Get("grounding"); ok {
		if claims, ok := grounding.Get("claims"); ok && claims.Kind() == artifact.KindArray {
			return nil, errGrounded
		}
	}
	if isPlan(v) {
		return []artifact.Value{v}, nil
	}
	if children, ok := v.Get("children"); ok && children.Kind() == artifact.KindArray {
		plans := treePlans(nil, v)
		if len(plans) > maxPlans {
			return nil, fmt.Errorf("%d plans, more than the limit of %d", len(plans), maxPlans)
		}
		return plans, nil
	}
	if inner, ok := v.Get("plan"); ok {
		return savedPlans(inner)
	}
	if kind, _ := v.Get("kind"); kind.Text() != "" {
		return nil, fmt.Errorf("this version cannot replay an artifact of kind %q", kind.Text())
	}
	return nil, errUnrecognized
}

func isPlan(v artifact.Value) bool {
	task, _ := v.Get("task")
	selected, _ := v.Get("selected")
	return task.Kind() == artifact.KindString && selected.Kind() == artifact.KindArray
}

// treePlans appends the plans of a tree, parents before children. The reader's
// limit on nesting bounds the recursion.
func treePlans(plans []artifact.Value, node artifact.Value) []artifact.Value {
	if plan, ok := node.Get("plan"); ok && isPlan(plan) {
		plans = append(plans, plan)
	}
	children, _ := node.Get("children")
	for _, child := range children.Elements() {
		plans = treePlans(plans, child)
	}
	return plans
}

// check plans one saved plan again.
func (o *replayOptions) check(cmd *cobra.Command, plan artifact.Value) replayCheck {
	manifest, _ := plan.Get("manifest")
	project, _ := manifest.Get("project")
	source, _ := manifest.Get("source")
	c := replayCheck{Source: source.Text(), Project: project.Text(), Status: checkError, against: o.source.manifest.text}
	if c.Source == "" {
		c.Source, c.Detail = "(none)", "saved plan has no manifest.source to re-fetch"
		return c
	}
	loaded, err := o.manifestOf(cmd, c.Source)
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	saved := *loaded.Manifest
	saved.Source = c.Source // the caller says that this is what the plan calls so
	verdict, err := planner.Recheck(plan.AppendCompact(nil), &saved)
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	c.Status, c.Detail, c.Fields = verdict.Status, verdict.Detail, verdict.Fields
	if detail := changedIncludes(plan, loaded.Included); detail != "" && c.Status == planner.Identical {
		c.Status, c.Detail = planner.Drifted, detail+"; the plan is the same"
	}
	return c
}

// changedIncludes says how the manifests that were included differ from those
// that the saved plan lists. A plan that lists none is held against the digest
// of its own manifest only.
func changedIncludes(plan artifact.Value, now []load.Part) string {
	ours, _ := plan.Get("writ")
	list, ok := ours.Get("includes")
	if !ok {
		return ""
	}
	saved := list.Elements()
	if len(saved) != len(now) {
		return fmt.Sprintf("includes read now: %d, when the plan was saved: %d", len(now), len(saved))
	}
	for i, part := range saved {
		source, _ := part.Get("source")
		digest, _ := part.Get("sha256")
		if current := now[i].Digest.Hex(); digest.Text() != current {
			return "included manifest " + source.Text() + " changed: sha256 " + abbreviated(current) + " ≠ saved " + abbreviated(digest.Text())
		}
	}
	return ""
}

// manifestOf reads the manifest that a saved plan names, or the one that the
// caller named instead.
func (o *replayOptions) manifestOf(cmd *cobra.Command, source string) (*load.Loaded, error) {
	location, from := o.source.manifest.text, o.source
	if !from.manifest.set {
		var err error
		if location, err = o.permitted(source); err != nil {
			return nil, err
		}
		if !from.root.set {
			from.root.text = "."
		}
		from.local = true // what a manifest includes is not dialled either
	}
	if m := o.read[location]; m != nil {
		return m, nil
	}
	loaded, err := from.open(cmd.Context(), o.runner, location)
	if err != nil {
		return nil, err
	}
	o.read[location] = loaded
	return loaded, nil
}

// permitted says where the manifest that an artifact names may be read. The
// artifact may be hostile: it chooses a name below a folder that is the
// caller's choice, and nothing else. Reading keeps it below that folder, links
// included.
func (o *replayOptions) permitted(source string) (string, error) {
	local := filepath.FromSlash(source)
	switch {
	case strings.HasPrefix(source, "http://"), strings.HasPrefix(source, "https://"):
		return "", errors.New("the plan was made from a URL, and nothing that an artifact names is dialled; fetch it and pass --manifest FILE")
	case filepath.IsAbs(local) && o.source.root.set:
		return local, nil
	case filepath.IsAbs(local):
		return "", errors.New("the plan names an absolute path, which is read only with --root DIR or --manifest FILE")
	case !filepath.IsLocal(local):
		return "", errors.New("the plan names a path outside of the current folder, which is read only with --manifest FILE")
	}
	return filepath.Join(o.source.root.text, local), nil
}

// write writes the report for a person.
func (rep *replayReport) write(p *page) {
	p.heading("Replay ", name(plain, rep.Artifact))
	holds := 0
	for i, c := range rep.Checks {
		mark := map[string]span{planner.Identical: markGood, planner.Drifted: markBad}[c.Status]
		if c.Status == checkError {
			mark = markWarn
		}
		if c.Status == planner.Identical {
			holds++
		}
		if i > 0 {
			p.blank()
		}
		line := []span{mark, space, name(bold, c.Project), text("  "), name(dim, c.Source)}
		if c.against != "" {
			line = append(line, text(" against "), name(dim, c.against))
		}
		p.hang(2, 4, line...)
		p.line(4, text(c.Detail))
		if fields := strings.Join(c.Fields, ", "); fields != "" && !strings.HasSuffix(c.Detail, fields) {
			p.line(4, in(dim, "moved: "+fields))
		}
	}
	p.blank()
	switch {
	case rep.OK:
		p.line(0, markGood, space, in(bold, "reproduced"), text("  every saved plan is the same today"))
	case len(rep.Checks) == 0:
		p.line(0, markBad, space, in(bold, "nothing to check"), text("  the file holds no plan"))
	default:
		p.line(0, markBad, space, in(bold, "not reproduced"), text(fmt.Sprintf("  %d of %s holds today", holds, counted(len(rep.Checks), "plan"))))
	}
}
