package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr/cel"
	"github.com/writ-dev/writ/graph"
)

func newGraph(r *runner) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "check, hash and draw a graph",
		Long: "graph works on a graph definition of version 1 or 2, in JSON or YAML, and runs nothing. FILE may be -, for " +
			"standard input.",
		Example: `writ graph check refund.yaml
writ graph show refund.yaml --format svg > refund.svg`,
		Annotations: exits("the subcommand did what it says", "", wrongUsage),
		RunE:        func(cmd *cobra.Command, words []string) error { return r.needsSubcommand(cmd, words) },
	}
	cmd.AddCommand(newGraphCheck(r), newGraphHash(r), newGraphShow(r))
	return cmd
}

// needsSubcommand is what a command does that only has others below it.
func (r *runner) needsSubcommand(cmd *cobra.Command, words []string) error {
	switch {
	case len(words) == 0:
		r.help(cmd)
		return errUsageShown
	case words[0] == "help":
		r.help(cmd)
		return nil
	}
	known := subcommands(cmd)
	return usagef("Run `"+cmd.CommandPath()+" --help` for what it takes.",
		"%s has %s, not %q%s", cmd.Name(), strings.Join(known, ", "), words[0], didYouMean(words[0], known, ""))
}

func subcommands(cmd *cobra.Command) []string {
	var names []string
	if strings.Contains(cmd.Use, "[list]") {
		names = append(names, "list")
	}
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

// wantsList reports whether a command that lists is called by itself, or by name.
func wantsList(words []string) bool { return len(words) == 0 || len(words) == 1 && words[0] == "list" }

// graphOptions are those of all commands that read one graph.
type graphOptions struct {
	*runner
	schema given
	format given
	json   bool
}

func (o *graphOptions) declare(cmd *cobra.Command) {
	flagGroup{cmd.Flags(), "Graph"}.value(&o.schema, "schema", "FILE", "state.json", "the state schema to hold the graph's paths against")
}

// checkedGraph is a graph file and what compilation says about it.
type checkedGraph struct {
	source   string
	compiled *graph.Compiled // nil when it is refused
	findings []graph.Finding
}

// compile reads one graph. A graph that is refused is no error.
func (o *graphOptions) compile(cmd *cobra.Command, words []string) (checkedGraph, error) {
	g := checkedGraph{}
	if len(words) != 1 {
		return g, usagef("Write it like "+cmd.CommandPath()+" graph.yaml", "%s takes one file, and %d are named", cmd.Name(), len(words))
	}
	options := graph.Options{Expr: cel.Compiler{}}
	if o.schema.set {
		data, err := o.readArtifact(o.schema.text)
		if err != nil {
			return g, err
		}
		if options.Schema, err = graph.DecodeSchema(data, o.schema.text); err != nil {
			return g, err
		}
	}
	data, err := o.readArtifact(words[0])
	if err != nil {
		return g, err
	}
	g.source = words[0]
	g.compiled, g.findings, err = graph.Compile(data, filepath.ToSlash(g.source), options)
	if err != nil && len(g.findings) == 0 {
		return g, err
	}
	return g, nil
}

func newGraphCheck(r *runner) *cobra.Command {
	o := &graphOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "say everything that is wrong with a graph",
		Long: "check compiles a graph and lists every finding with its place. Errors refuse the graph; warnings are accepted " +
			"and probably not what was meant.",
		Example: `writ graph check refund.yaml
writ graph check counter.json --schema state.json --json`,
		Annotations: exits("the graph is accepted, perhaps with warnings", "the graph is refused or cannot be read", wrongUsage),
		RunE:        o.check,
	}
	o.declare(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the report as JSON")
	return cmd
}

// graphReport is the JSON form of a check.
type graphReport struct {
	Source   string         `json:"source"`
	OK       bool           `json:"ok"`
	ID       string         `json:"id,omitempty"`
	Version  uint16         `json:"version,omitzero"`
	Hash     string         `json:"hash,omitempty"`
	Nodes    int            `json:"nodes,omitzero"`
	Findings []graphFinding `json:"findings"`
}

type graphFinding struct {
	Severity graph.Severity `json:"severity"`
	Code     graph.Code     `json:"code"`
	Pointer  string         `json:"pointer"`
	Line     int            `json:"line"`
	Column   int            `json:"column"`
	Message  string         `json:"message"`
}

func (g checkedGraph) report() graphReport {
	rep := graphReport{Source: g.source, OK: g.compiled != nil, Findings: make([]graphFinding, len(g.findings))}
	if g.compiled != nil {
		rep.ID, rep.Version, rep.Hash, rep.Nodes = g.compiled.ID, g.compiled.Version, graphHash(g.compiled), len(g.compiled.Nodes)
	}
	for i, f := range g.findings {
		rep.Findings[i] = graphFinding{f.Severity, f.Code, f.Pointer, f.Line, f.Column, f.Text}
	}
	return rep
}

// graphHash gives the hash in the spelling of the graph's version.
func graphHash(c *graph.Compiled) string {
	if c.Version == 1 {
		return c.Digest.Hex()
	}
	return c.Digest.String()
}

func (o *graphOptions) check(cmd *cobra.Command, words []string) error {
	g, err := o.compile(cmd, words)
	if err != nil {
		return err
	}
	rep := g.report()
	return o.present(o.json, rep, rep.write, rep.OK)
}

func (rep graphReport) write(p *page) {
	p.heading("Graph ", name(plain, rep.Source))
	errors, warnings := 0, 0
	for _, f := range rep.Findings {
		mark := markWarn
		if f.Severity == graph.Error {
			mark = markBad
			errors++
		} else {
			warnings++
		}
		p.placed(mark, rep.Source, f.Line, f.Column, f.Message)
	}
	if len(rep.Findings) > 0 {
		p.blank()
	}
	counts := counted(errors, "error") + ", " + counted(warnings, "warning")
	if !rep.OK {
		p.line(0, markBad, space, in(bold, "refused"), text("  "+counts))
		return
	}
	p.line(0, markGood, space, in(bold, rep.ID), text(fmt.Sprintf("  version %d, %s, %s", rep.Version, counted(rep.Nodes, "node"), counts)))
	p.line(2, name(dim, rep.Hash))
}

// placed writes one finding with its place in a file.
func (p *page) placed(mark span, source string, line, column int, message string) {
	list := []span{mark, space}
	if line > 0 {
		list = append(list, name(cyan, placeText(source, line, column)), space)
	}
	p.hang(2, 4, append(list, text(message))...)
}

func placeText(source string, line, column int) string {
	return fmt.Sprintf("%s:%d:%d", source, line, column)
}

// accepted gives the graph, or an error with all that refuses it.
func (g checkedGraph) accepted() (*graph.Compiled, error) {
	if g.compiled != nil {
		return g.compiled, nil
	}
	err := &artifact.DocumentError{Source: g.source}
	for _, f := range g.findings {
		if f.Severity == graph.Error {
			err.Problems = append(err.Problems, artifact.Problem{Pointer: f.Pointer, Line: f.Line, Column: f.Column, Text: f.Text})
		}
	}
	return nil, err
}

func newGraphHash(r *runner) *cobra.Command {
	o := &graphOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "hash FILE",
		Short: "print the hash of a graph",
		Long: "hash prints the digest of a graph's canonical bytes, by which packs and runs name it. Layout, comments and " +
			"defaults do not change it. Version 1 graphs have bare hexadecimal digits, version 2 graphs sha256: before them.",
		Example:     "writ graph hash refund.yaml",
		Annotations: exits("the hash was printed", "the graph is refused or cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			g, err := o.compile(cmd, words)
			if err != nil {
				return err
			}
			c, err := g.accepted()
			if err != nil {
				return err
			}
			o.out.WriteString(graphHash(c) + "\n")
			return nil
		},
	}
	o.declare(cmd)
	return cmd
}

// graphFormats are how a graph can be drawn.
var graphFormats = []string{"text", "mermaid", "svg"}

func newGraphShow(r *runner) *cobra.Command {
	o := &graphOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "draw a graph as text, Mermaid or SVG",
		Long:  "show draws the nodes of a graph level by level with the ways on from each. Every edge but those that close a cycle leads down.",
		Example: `writ graph show refund.yaml
writ graph show refund.yaml --format mermaid`,
		Annotations: exits("the graph was drawn", "the graph is refused or cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := checkFormat(&o.format, graphFormats); err != nil {
				return err
			}
			g, err := o.compile(cmd, words)
			if err != nil {
				return err
			}
			c, err := g.accepted()
			if err == nil {
				o.drawGraph(c, o.format.text)
			}
			return err
		},
	}
	o.declare(cmd)
	declareFormat(cmd, &o.format, graphFormats)
	return cmd
}

func declareFormat(cmd *cobra.Command, f *given, formats []string) {
	flagGroup{cmd.Flags(), outputGroup}.value(f, "format", "FORMAT", formats[len(formats)-1], strings.Join(formats, ", ")+"; the first is the default")
	mustComplete(cmd.RegisterFlagCompletionFunc("format", fixed(formats...)))
}

func checkFormat(f *given, formats []string) error {
	if !f.set {
		return nil
	}
	for _, format := range formats {
		if f.text == format {
			return nil
		}
	}
	return badValue("format", f.text, "is none of "+strings.Join(formats, ", ")+didYouMean(f.text, formats, ""), f.example)
}

// drawGraph writes a drawing. What a graph says is shown as visible text.
func (r *runner) drawGraph(c *graph.Compiled, format string) {
	switch format {
	case "mermaid":
		r.out.WriteString(graph.Mermaid(c))
	case "svg":
		r.out.Write(graph.SVG(c))
	default:
		for line := range strings.Lines(graph.Text(c)) {
			r.out.WriteString(visible(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
}
