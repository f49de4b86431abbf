package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/internal/draft"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
)

type validateOptions struct {
	*runner
	source sourceFlags
	level  given
	format given
	json   bool
	fix    bool
	dryRun bool
}

func newValidate(r *runner) *cobra.Command {
	o := &validateOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "validate [LOCATION]",
		Short: "say what a publisher should mend in a manifest or a catalog",
		Long: "validate checks a manifest by the rules of the reference agent, which decide, and by those of the " +
			"specification, which are shown and decide too with --level. Each finding has its place in the file and " +
			"says how to mend it. With --fix what is mechanical is mended in place first, and shown. Signatures are not checked.",
		Example: `writ validate
writ validate docs/knowledge.yaml --level 2
writ validate docs --fix --dry-run
writ validate docs --format github`,
		Annotations: exits("no error that decides", "an error that decides, or the manifest cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
	}
	o.source.declare(cmd)
	rules := flagGroup{cmd.Flags(), "Rules"}
	rules.value(&o.level, "level", "1|2|3", "2", "let the specification's rules up to this conformance level decide too")
	mending := flagGroup{cmd.Flags(), "Mending"}
	mending.boolean(&o.fix, "fix", "mend in place what has one right form, and show the lines that change")
	mending.boolean(&o.dryRun, "dry-run", "with --fix: show the lines, and write nothing")
	output := flagGroup{cmd.Flags(), outputGroup}
	output.value(&o.format, "format", "FORMAT", "sarif", "text, the default, json, sarif (2.1.0) or github (annotations of GitHub Actions)")
	output.boolean(&o.json, "json", "print the report as JSON, like --format json")
	mustComplete(cmd.RegisterFlagCompletionFunc("level", fixed("1", "2", "3")))
	mustComplete(cmd.RegisterFlagCompletionFunc("format", fixed(reportFormats...)))
	return cmd
}

// report is the JSON form of a validation.
type report struct {
	Source   string          `json:"source"`
	Project  string          `json:"project,omitzero"`
	Findings []reportFinding `json:"findings"`
	OK       bool            `json:"ok"`
	Writ     *extension      `json:"writ,omitzero"`

	rules []kcp.Finding // behind Findings, with positions
	extra []kcp.Finding // behind Writ
	level int           // up to which the specification decides; 0 means it does not
	text  []byte        // that was checked; nil when it could not be read
	lines []int         // where each line of text begins, once somebody asks
}

type reportFinding struct {
	Level   kcp.Severity `json:"level"`
	Where   string       `json:"where"`
	Message string       `json:"message"`
}

func (o *validateOptions) run(cmd *cobra.Command, words []string) error {
	level, err := o.conformanceLevel()
	if err != nil {
		return err
	}
	format, err := o.reportFormat()
	if err != nil {
		return err
	}
	if len(words) > 1 {
		return usagef("", "validate takes one location, not %d: %s", len(words), strings.Join(words, " "))
	}
	o.source.noVerify = true
	location, err := o.source.location(strings.Join(words, ""))
	if err != nil {
		return err
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, location)
	if err != nil && format == formatText {
		return err
	}
	if err == nil && len(loaded.Manifest.Units) == 0 && draft.IsCatalog(loaded.Bytes) {
		return o.finish(o.checkCatalog(cmd.Context(), loaded), format)
	}
	if err == nil && o.fix {
		if loaded, err = o.mend(loaded); err != nil {
			return err
		}
		if loaded.Manifest.Composition != nil && !o.dryRun { // mending reads no includes
			loaded, err = o.source.open(cmd.Context(), o.runner, location)
		}
	}
	rep := unreadable(location, err)
	if err == nil {
		rep = checkManifest(loaded, level, o.today())
	}
	return o.finish(rep, format)
}

// finish prints the report and gives its verdict.
func (o *validateOptions) finish(rep *report, format string) error {
	if err := o.printReport(rep, format); err != nil {
		return err
	}
	if !rep.OK {
		return errNegative
	}
	return nil
}

func (o *validateOptions) conformanceLevel() (int, error) {
	switch {
	case !o.level.set:
		return 0, nil
	case len(o.level.text) == 1 && strings.Contains("123", o.level.text):
		return int(o.level.text[0] - '0'), nil
	}
	return 0, badValue("level", o.level.text, "is none of 1, 2 and 3", o.level.example)
}

// checkManifest validates a manifest as of a date. A level above 0 lets the
// specification's rules up to it decide too.
func checkManifest(loaded *load.Loaded, level int, today string) *report {
	rules := kcp.ValidateOptions{Now: today}
	if !isAddress(loaded.Source) {
		rules.Exists = filesBeside(loaded.Source)
	}
	rep := &report{Source: loaded.Source, Project: loaded.Manifest.Project, level: level, text: loaded.Bytes}
	rep.rules = kcp.Validate(loaded.Manifest, rules)
	rules.Rules, rules.Level = kcp.Spec, level
	rep.extra = append(loaded.Findings[:len(loaded.Findings):len(loaded.Findings)], kcp.Validate(loaded.Manifest, rules)...)
	rep.Findings = make([]reportFinding, len(rep.rules))
	for i, f := range rep.rules {
		rep.Findings[i] = reportFinding{f.Severity, f.Where, f.Message}
	}
	rep.Writ = extensionOf(rep.extra)
	deciding, _ := countBySeverity(rep.rules)
	if reading, _ := countBySeverity(loaded.Findings); level == 0 {
		deciding += reading // an include that leads back
	}
	if level > 0 {
		more, _ := countBySeverity(rep.extra)
		deciding += more
	}
	rep.OK = deciding == 0
	return rep
}

// checkCatalog validates a catalog of manifests, and says which entries no longer
// describe what they name.
func (o *validateOptions) checkCatalog(ctx context.Context, loaded *load.Loaded) *report {
	catalog, findings := draft.ReadCatalog(loaded.Bytes)
	if catalog != nil {
		findings = append(findings, catalog.Stale(func(source string) (draft.Source, error) {
			location := kcp.ResolveLocation(loaded.Source, source)
			listed, err := o.source.open(ctx, o.runner, location)
			if err != nil {
				return draft.Source{}, err
			}
			found := draft.Source{Version: listed.Manifest.Version}
			if info, err := os.Stat(listed.Source); err == nil {
				found.Changed = info.ModTime().UTC().Format("2006-01-02")
			}
			return found, nil
		})...)
	}
	rep := &report{Source: loaded.Source, rules: findings, text: loaded.Bytes, Findings: make([]reportFinding, len(findings))}
	if catalog != nil {
		rep.Project = catalog.Name
	}
	for i, f := range findings {
		rep.Findings[i] = reportFinding{f.Severity, f.Where, f.Message}
	}
	deciding, _ := countBySeverity(findings)
	rep.OK = deciding == 0
	return rep
}

// filesBeside says whether a unit's file exists in the folder of a manifest. A
// link that leads out of it does not count: it could not be loaded either.
func filesBeside(source string) func(path string) bool {
	dir := filepath.Dir(source)
	return func(path string) bool {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return false
		}
		defer root.Close()
		_, err = root.Stat(filepath.FromSlash(path))
		return err == nil
	}
}

// unreadable is the report on a manifest that could not be read.
func unreadable(location string, err error) *report {
	if err == nil {
		return nil
	}
	f := kcp.Finding{Severity: kcp.Error, Where: "manifest", Message: err.Error()}
	var syntax *kcp.SyntaxError
	if errors.As(err, &syntax) {
		f.Pos, f.Message = syntax.Pos, "does not parse: "+syntax.Problem
	}
	return &report{
		Source:   location,
		Findings: []reportFinding{{f.Severity, f.Where, f.Message}},
		rules:    []kcp.Finding{f},
	}
}

// write writes the report for a person.
func (rep *report) write(p *page) {
	p.blank()
	title := []span{in(bold, "Validate "), name(plain, rep.Source)}
	if rep.Project != "" {
		title = append(title, in(dim, " · "+rep.Project))
	}
	p.line(0, title...)
	rep.writeGroup(p, rep.rules)
	if len(rep.extra) > 0 {
		rep.writeSpecification(p)
	}
	p.blank()
	rep.writeVerdict(p)
}

// writeSpecification writes what the first block does not say already of the
// same field.
func (rep *report) writeSpecification(p *page) {
	note := "  shown only; --level 1, 2 or 3 lets it decide"
	if rep.level > 0 {
		note = "  level " + string(rune('0'+rep.level)) + ", decides too"
	}
	p.blank()
	p.line(0, in(bold, "Specification"), in(dim, note))
	news := rep.news()
	rep.writeGroup(p, news)
	if hidden := len(rep.extra) - len(news); hidden > 0 {
		p.blank()
		p.line(2, in(dim, counted(hidden, "finding")+" more about fields named above; --json lists them"))
	}
}

// news gives the findings of the specification about fields that the deciding
// rules do not name as badly already.
func (rep *report) news() []kcp.Finding {
	said := map[string]bool{}
	for _, f := range rep.rules {
		said[f.Path] = true
		said[f.Path+string(f.Severity)] = true
	}
	var news []kcp.Finding
	for _, f := range rep.extra {
		if !said[f.Path+string(f.Severity)] && !(f.Severity == kcp.Warning && said[f.Path]) {
			news = append(news, f)
		}
	}
	return news
}

// writeGroup writes findings under what they are about.
func (rep *report) writeGroup(p *page, findings []kcp.Finding) {
	for i := range findings {
		if i == 0 || findings[i].Where != findings[i-1].Where {
			p.blank()
			p.line(0, in(bold, findings[i].Where))
		}
		p.writeFinding(rep.Source, &findings[i])
	}
}

func (rep *report) writeVerdict(p *page) {
	counts := severities(rep.rules)
	if len(rep.extra) > 0 {
		counts += " · specification: " + severities(rep.extra)
	}
	if rep.OK {
		p.line(0, markGood, space, in(bold, "valid"), text("  "+counts))
		return
	}
	p.line(0, markBad, space, in(bold, "invalid"), text("  "+counts))
}
