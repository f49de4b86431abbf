package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

type watchOptions struct {
	*runner
	planFlags
	once, json, diff bool

	files    fileWatch
	location string
	task     string
	options  planner.Options
	before   *planner.LoadPlan // of the cycle before
}

func newWatch(r *runner) *cobra.Command {
	o := &watchOptions{runner: r, files: fileWatch{look: lookOf, every: lookEvery, quiet: quietFor}}
	cmd := &cobra.Command{
		Use:   "watch [LOCATION]",
		Short: "validate and plan again whenever a manifest or its files change",
		Long: "watch looks at a manifest and the files of its units. After each change it validates, plans the task again and " +
			"shows what is different. It ends when it is interrupted, or with --once after the first look.",
		Example: `writ watch docs --task "how do we deploy a release?"
writ watch docs --once`,
		Annotations: exits("with --once: the manifest is valid", "with --once: it is not, or cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
	}
	o.declare(cmd)
	output := flagGroup{cmd.Flags(), outputGroup}
	output.boolean(&o.once, "once", "look once and end")
	output.boolean(&o.diff, "diff", "print also an event of what changed in the plan (text always shows it)")
	output.boolean(&o.json, "json", "print events as JSON, one a line; with --once one document on a line")
	return cmd
}

func (o *watchOptions) run(cmd *cobra.Command, words []string) error {
	if len(words) > 1 {
		return usagef(`The task goes behind --task, such as --task "deploy a release".`, "watch takes one location, not %d: %s", len(words), strings.Join(words, " "))
	}
	var err error
	if o.options, err = o.planFlags.options(o.runner); err != nil {
		return err
	}
	if o.location, err = o.source.location(strings.Join(words, "")); err != nil {
		return err
	}
	o.task = o.planFlags.task.text
	switch {
	case o.once:
		return o.lookOnce(cmd.Context())
	case isAddress(o.location):
		return usagef("Add --once, or watch a copy.", "watch looks at files, and %s is an address", o.location)
	}
	return o.loop(cmd.Context())
}

// cycle is one look: the validation and, with a task, the plan and how it
// differs from the one before.
type cycle struct {
	Validation *report           `json:"validation"`
	Plan       *planner.LoadPlan `json:"plan,omitzero"`
	Diff       *planner.PlanDiff `json:"diff,omitzero"`
	Writ       *extension        `json:"writ,omitzero"`

	loaded *load.Loaded // nil when the manifest could not be read
}

func (o *watchOptions) look(ctx context.Context) *cycle {
	if !o.asOf.set {
		o.options.AsOf = o.today() // a watch may go on past midnight
	}
	loaded, err := o.source.open(ctx, o.runner, o.location)
	if err != nil {
		return &cycle{Validation: unreadable(o.location, err)}
	}
	c := &cycle{Validation: checkManifest(loaded, 0, o.today()), loaded: loaded}
	c.Writ, c.Validation.Writ = c.Validation.Writ, nil // the report keeps the keys that others know
	if o.task == "" {
		return c
	}
	c.Plan, _ = planner.Plan(loaded.Manifest, o.task, o.options)
	if o.before != nil {
		c.Diff = planner.Diff(o.before, c.Plan)
	}
	o.before = c.Plan
	return c
}

func (o *watchOptions) lookOnce(ctx context.Context) error {
	c := o.look(ctx)
	if o.json {
		if err := o.printLine(c); err != nil {
			return err
		}
	} else {
		p := o.newPage()
		p.blank()
		watchView{p, c, o.task}.write()
		o.print(p)
	}
	if !c.Validation.OK {
		return errNegative
	}
	return nil
}

// loop looks, shows, and waits for a change, until the context ends.
func (o *watchOptions) loop(ctx context.Context) error {
	if !o.json {
		p := o.newPage()
		p.blank()
		p.line(0, in(bold, "Watch "), name(plain, o.location), in(dim, taskNote(o.task)+" · interrupt to end"))
		o.print(p)
	}
	files := manifestFiles(o.location)
	for {
		seen := o.files.all(files) // before reading, so that no change is missed
		c := o.look(ctx)
		if err := o.show(c); err != nil {
			return err
		}
		if c.loaded != nil {
			files = append(manifestFiles(o.location), unitFiles(c.loaded)...)
		}
		if !o.files.changed(ctx, files, seen) {
			return nil
		}
	}
}

func taskNote(task string) string {
	if task == "" {
		return ""
	}
	return " · " + task
}

// show writes one cycle, at once: nobody knows when the next one comes.
func (o *watchOptions) show(c *cycle) error {
	if o.json {
		if err := o.printEvents(c); err != nil {
			return err
		}
	} else {
		p := o.newPage()
		p.blank()
		p.line(0, in(dim, o.Now().Format("15:04:05")))
		watchView{p, c, o.task}.write()
		o.print(p)
	}
	err := o.flush()
	o.out.Reset()
	return err
}

// watchEvent is one line of JSON.
type watchEvent struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

func (o *watchOptions) printEvents(c *cycle) error {
	now := o.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	c.Validation.Writ = c.Writ
	events := []watchEvent{{"validate", now, c.Validation}}
	if c.Plan != nil {
		events = append(events, watchEvent{"plan", now, c.Plan})
	}
	if c.Diff != nil && o.diff {
		events = append(events, watchEvent{"diff", now, c.Diff})
	}
	for _, e := range events {
		if err := o.printLine(e); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) printLine(body any) error {
	text, err := artifact.EncodeCompact(body)
	if err != nil {
		return err
	}
	r.out.Write(append(text, '\n'))
	return nil
}

// watchView writes one cycle for a person.
type watchView struct {
	*page
	cycle *cycle
	task  string
}

func (v watchView) write() {
	rep := v.cycle.Validation
	for i := range rep.rules {
		v.writeFinding(rep.Source, &rep.rules[i])
	}
	rep.writeVerdict(v.page)
	if v.cycle.Plan == nil {
		return
	}
	v.writePlan()
	switch {
	case v.cycle.Diff == nil:
	case v.cycle.Diff.Identical && len(v.cycle.Diff.ReasonChanges) == 0:
		v.line(2, in(dim, "the plan is the same"))
	default:
		diffView{v.page, v.cycle.Diff}.writeChanges()
	}
}

func (v watchView) writePlan() {
	plan := v.cycle.Plan
	list := spans(in(bold, "Load "+counted(len(plan.Selected), "unit")), text("  "))
	for i := range plan.Selected {
		s := &plan.Selected[i]
		if i > 0 {
			list = append(list, text(", "))
		}
		if s.LoadEligible {
			list = append(list, name(plain, markOpen.text+" "+s.ID))
		} else {
			list = append(list, name(yellow, markBlocked.text+" "+s.ID))
		}
	}
	v.hang(0, 2, list...)
}

// manifestFiles are the files at a location that may be its manifest.
func manifestFiles(location string) []string {
	return []string{
		location,
		filepath.Join(location, draftFile),
		filepath.Join(location, ".well-known", draftFile),
	}
}

// mostWatched bounds the files that are looked at several times a second.
const mostWatched = 20_000

// unitFiles are the files of the units, below the manifest's folder, and those of
// the manifests that it includes.
func unitFiles(loaded *load.Loaded) []string {
	dir := filepath.Dir(loaded.Source)
	var files []string
	for _, part := range loaded.Included {
		if !isAddress(part.Source) {
			files = append(files, part.Source)
		}
	}
	for i := range loaded.Manifest.Units {
		if path := loaded.Manifest.Units[i].Path; kcp.SafeUnitPath(path) == "" && len(files) < mostWatched {
			files = append(files, filepath.Join(dir, filepath.FromSlash(path)))
		}
	}
	return files
}

// How often files are looked at, and how long they must be at rest before the
// next cycle: an editor writes more than once.
const (
	lookEvery = 250 * time.Millisecond
	quietFor  = 150 * time.Millisecond
)

// fileWatch finds changes by looking. It needs no help of the system, follows
// editors that replace a file, and sees files that come and go.
type fileWatch struct {
	look         func(path string) string // what a file looks like now
	every, quiet time.Duration
}

// lookOf describes a file by its size and time, empty when it is not there.
func lookOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return info.Mode().String() + " " + info.ModTime().String() + " " + artifact.FormatNumber(float64(info.Size()))
}

func (w fileWatch) all(files []string) map[string]string {
	looks := make(map[string]string, len(files))
	for _, file := range files {
		looks[file] = w.look(file)
	}
	return looks
}

// differs reports whether a file that was seen before looks different.
func (w fileWatch) differs(files []string, seen map[string]string) bool {
	different := false
	for _, file := range files {
		now := w.look(file)
		if before, known := seen[file]; known && before != now {
			different = true
		}
		seen[file] = now
	}
	return different
}

// changed waits for a change, and then until the files are at rest. It is false
// when the context has ended first.
func (w fileWatch) changed(ctx context.Context, files []string, seen map[string]string) bool {
	for !w.differs(files, seen) {
		if !pause(ctx, w.every) {
			return false
		}
	}
	for {
		if !pause(ctx, w.quiet) {
			return false
		}
		if !w.differs(files, seen) {
			return true
		}
	}
}

// pause is false when the context ends before the time is over.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
