package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema/jsonschema"
)

func newPack(r *runner) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pack",
		Short: "check, compile, compare and explain a pack",
		Long: "pack works on packs, the documents that say what an agent may do: version 2 in YAML or JSON, version 1 as a " +
			"manifest or as native .knolo text. FILE may be -, for standard input.",
		Example: `writ pack check research.yaml
writ pack explain research.yaml tool file_ticket --args '{"title": "printer"}'
writ pack diff before.yaml after.yaml`,
		Annotations: exits("the subcommand did what it says", "", wrongUsage),
		RunE:        func(cmd *cobra.Command, words []string) error { return r.needsSubcommand(cmd, words) },
	}
	cmd.AddCommand(newPackCheck(r), newPackCompile(r), newPackDiff(r), newPackExplain(r))
	return cmd
}

// packFlags say how a pack is compiled.
type packFlags struct {
	agent, host  given
	acceptV1Gaps bool
}

func (f *packFlags) declare(cmd *cobra.Command) {
	flags := flagGroup{cmd.Flags(), "Pack"}
	flags.value(&f.agent, "agent", "NAME", "research", "the agent that runs; needed where the pack names agents")
	flags.value(&f.host, "host", "FILE", "host.yaml", "a pack that bounds every pack of the installation")
	flags.boolean(&f.acceptV1Gaps, "accept-v1-gaps", "use a version 1 pack although version 1 ignores some of its constraints")
}

// read reads and compiles a pack.
func (f *packFlags) read(r *runner, file string) (*policy.Policy, []policy.Finding, error) {
	pack, err := r.readPack(file)
	if err != nil {
		return nil, nil, err
	}
	o := policy.Options{Agent: f.agent.text, Conditions: cel.Compiler{}, Schemas: jsonschema.New(), AcceptV1Gaps: f.acceptV1Gaps}
	if f.host.set {
		if o.Host, err = r.readPack(f.host.text); err != nil {
			return nil, nil, err
		}
	}
	p, findings, err := policy.Compile(pack, o)
	return p, findings, placedIn(file, err)
}

func (r *runner) readPack(file string) (*policy.Pack, error) {
	data, err := r.readArtifact(file)
	if err != nil {
		return nil, err
	}
	pack, err := policy.ReadPack(data, filepath.ToSlash(file))
	return pack, placedIn(file, err)
}

// placedIn names the file in errors that do not.
func placedIn(file string, err error) error {
	var document *artifact.DocumentError
	if err == nil || errors.As(err, &document) {
		return err
	}
	return inFile(file, err)
}

func oneFile(cmd *cobra.Command, words []string) error {
	if len(words) == 1 {
		return nil
	}
	return usagef("Write it like "+cmd.CommandPath()+" pack.yaml", "%s takes one file, and %d are named", cmd.Name(), len(words))
}

func newPackCheck(r *runner) *cobra.Command {
	f, asJSON := &packFlags{}, false
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "say everything that is wrong with a pack",
		Long: "check reads and compiles a pack and lists every problem with its place, then what a reviewer should know " +
			"about it.",
		Example: `writ pack check research.yaml --agent research
writ pack check agent.knolo`,
		Annotations: exits("the pack compiles, perhaps with findings", "the pack is refused or cannot be read", wrongUsage),
		Args:        oneFile,
		RunE: func(_ *cobra.Command, words []string) error {
			p, findings, err := f.read(r, words[0])
			rep, err := packReportOf(words[0], p, findings, err)
			if err != nil {
				return err
			}
			return r.present(asJSON, rep, rep.write, rep.OK)
		},
	}
	f.declare(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&asJSON, "json", "print the report as JSON")
	return cmd
}

// packReport is the JSON form of a check.
type packReport struct {
	Source   string        `json:"source"`
	OK       bool          `json:"ok"`
	ID       string        `json:"id,omitempty"`
	Version  int           `json:"version,omitzero"`
	Pack     string        `json:"pack,omitempty"`
	Policy   string        `json:"policy,omitempty"`
	Errors   []packFinding `json:"errors"`
	Findings []packFinding `json:"findings"`
}

type packFinding struct {
	Pointer string `json:"pointer"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// packReportOf turns a refused pack into a report; other errors stay errors.
func packReportOf(source string, p *policy.Policy, findings []policy.Finding, err error) (*packReport, error) {
	rep := &packReport{Source: source, OK: err == nil, Errors: []packFinding{}, Findings: []packFinding{}}
	var document *artifact.DocumentError
	switch {
	case errors.As(err, &document):
		for _, x := range document.Problems {
			rep.Errors = append(rep.Errors, packFinding{x.Pointer, x.Line, x.Column, x.Text})
		}
		return rep, nil
	case err != nil:
		return nil, err
	}
	pack := p.Pack()
	rep.ID, rep.Version, rep.Pack, rep.Policy = pack.ID, pack.Version, pack.Digest().String(), p.Digest().String()
	for _, x := range findings {
		rep.Findings = append(rep.Findings, packFinding{x.Pointer, x.Line, x.Column, x.Text})
	}
	return rep, nil
}

func (rep *packReport) write(p *page) {
	p.heading("Pack ", name(plain, rep.Source))
	for _, x := range rep.Errors {
		p.placed(markBad, rep.Source, x.Line, x.Column, x.Message)
	}
	for _, x := range rep.Findings {
		p.placed(markWarn, rep.Source, x.Line, x.Column, x.Message)
	}
	if len(rep.Errors)+len(rep.Findings) > 0 {
		p.blank()
	}
	if !rep.OK {
		p.line(0, markBad, space, in(bold, "refused"), text("  "+counted(len(rep.Errors), "error")))
		return
	}
	p.line(0, markGood, space, in(bold, rep.ID), text("  version "+strconv.Itoa(rep.Version)+", "+counted(len(rep.Findings), "finding")))
	p.digests("pack", rep.Pack, "policy", rep.Policy)
}

// digests writes pairs of a label and a digest, which just fit into 80 columns.
func (p *page) digests(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		p.line(2, name(dim, fmt.Sprintf("%-7s", pairs[i])), name(plain, pairs[i+1]))
	}
}

func newPackCompile(r *runner) *cobra.Command {
	f := &packFlags{}
	cmd := &cobra.Command{
		Use:   "compile FILE",
		Short: "print the policy that a pack compiles to",
		Long: "compile prints, as JSON, the digests of the pack and of the policy, and the policy document: every layer (pack, " +
			"agent, host) with all that it permits. Runs are bound to both digests.",
		Example:     "writ pack compile research.yaml --agent research",
		Annotations: exits("the policy was printed", "the pack is refused or cannot be read", wrongUsage),
		Args:        oneFile,
		RunE: func(_ *cobra.Command, words []string) error {
			p, _, err := f.read(r, words[0])
			if err != nil {
				return err
			}
			return r.printDocument(struct {
				ID       string          `json:"id"`
				Pack     artifact.Digest `json:"pack"`
				Policy   artifact.Digest `json:"policy"`
				Document artifact.Value  `json:"document"`
			}{p.Pack().ID, p.Pack().Digest(), p.Digest(), p.Value()})
		},
	}
	f.declare(cmd)
	return cmd
}

func newPackDiff(r *runner) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "say in words what changes from one pack to another",
		Long: "diff says what the second pack permits that the first does not, and the other way round: one line for each " +
			"change, marked as wider, narrower or other. Versions may differ. Layout and order are no change.",
		Example:     "writ pack diff before.yaml after.yaml",
		Annotations: exits("nothing changes", "something changes, or a pack cannot be read", wrongUsage),
		RunE: func(_ *cobra.Command, words []string) error {
			if len(words) != 2 {
				return usagef("Write it like writ pack diff before.yaml after.yaml", "diff compares two packs, and %d are named", len(words))
			}
			before, err := r.readPack(words[0])
			if err != nil {
				return err
			}
			after, err := r.readPack(words[1])
			if err != nil {
				return err
			}
			return r.showPackDiff(policy.DiffPacks(before, after), asJSON)
		},
	}
	flagGroup{cmd.Flags(), outputGroup}.boolean(&asJSON, "json", "print the changes as JSON")
	return cmd
}

type packChange struct {
	Effect policy.Effect `json:"effect"`
	Path   string        `json:"path"`
	Change string        `json:"change"`
}

func (r *runner) showPackDiff(changes []policy.Change, asJSON bool) error {
	wider := 0
	list := make([]packChange, len(changes))
	for i, c := range changes {
		list[i] = packChange{c.Effect, c.Path, c.Words}
		if c.Effect == policy.Wider {
			wider++
		}
	}
	document := struct {
		Wider   bool         `json:"wider"`
		Changes []packChange `json:"changes"`
	}{wider > 0, list}
	return r.present(asJSON, document, func(p *page) { writePackDiff(p, list, wider) }, len(changes) == 0)
}

func writePackDiff(p *page, list []packChange, wider int) {
	p.heading("Pack diff")
	marks := map[policy.Effect]span{policy.Wider: in(red, "+"), policy.Narrower: in(green, "-"), policy.Other: in(dim, "~")}
	t := &table{indent: 2}
	for _, c := range list {
		t.add(spans(marks[c.Effect]), cell(cyan, c.Path), spans(text(c.Change)))
	}
	p.table(t)
	if len(list) > 0 {
		p.blank()
	}
	switch {
	case len(list) == 0:
		p.line(0, markGood, space, in(bold, "same authority"))
	case wider > 0:
		p.line(0, markBad, space, in(bold, "permits more"), text("  "+counted(wider, "change")+" of "+strconv.Itoa(len(list))+" widen what the agent may do"))
	default:
		p.line(0, markWarn, space, in(bold, "permits no more"), text("  "+counted(len(list), "change")))
	}
}
