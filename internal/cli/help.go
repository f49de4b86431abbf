package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exitNote is the annotation of a command that lists its exit codes.
const exitNote = "writ_exit"

// exits lists what the exit codes of a command mean; it leaves out those that
// the command does not use.
func exits(good, negative, usage string) map[string]string {
	list := "0  " + good
	if negative != "" {
		list += "\n1  " + negative
	}
	if usage != "" {
		list += "\n2  " + usage
	}
	return map[string]string{exitNote: list}
}

const wrongUsage = "the command line is wrong; nothing was done"

// The last two groups of every command's flags.
const (
	outputGroup  = "Output"
	generalGroup = "General"
)

func newHelp(r *runner, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND]",
		Short:       "print help for a command",
		Annotations: exits("help was printed", "", "there is no such command"),
		RunE: func(_ *cobra.Command, words []string) error {
			if len(words) == 0 {
				r.help(root)
				return nil
			}
			if err := unknownCommand(root, words[0]); err != nil {
				return err
			}
			cmd, rest, err := root.Find(words)
			switch {
			case err != nil:
				return err
			case len(rest) > 0 && cmd.HasSubCommands():
				return r.needsSubcommand(cmd, rest)
			case len(rest) > 0:
				return usagef("Write it like writ help "+cmd.Name(), "%s has no commands below it, and %q is named", cmd.CommandPath(), rest[0])
			}
			r.help(cmd)
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, cmd := range root.Commands() {
				names = append(names, cobra.CompletionWithDesc(cmd.Name(), cmd.Short))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// usage prints the short form that an empty command line gets.
func (r *runner) usage(root *cobra.Command) {
	p := r.newPage()
	p.line(0, in(bold, root.Name()), text("  "+root.Short))
	writeUsageLine(p, root)
	writeCommands(p, root)
	p.blank()
	p.line(0, text("Run `writ help` for more, or `writ COMMAND --help` for the flags of a command."))
	r.print(p)
}

// help prints everything about a command. Its shape is the same for all.
func (r *runner) help(cmd *cobra.Command) {
	p := r.newPage()
	p.line(0, in(bold, cmd.CommandPath()), text("  "+cmd.Short))
	if cmd.Long != "" {
		p.blank()
		p.line(0, text(cmd.Long))
	}
	writeUsageLine(p, cmd)
	writeCommands(p, cmd)
	writeFlags(p, cmd)
	if cmd.Example != "" {
		p.heading("Examples")
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			p.hang(2, 6, text(line))
		}
	}
	p.heading("Exit codes")
	for line := range strings.SplitSeq(cmd.Annotations[exitNote], "\n") {
		p.hang(2, 5, text(line))
	}
	r.print(p)
}

func writeUsageLine(p *page, cmd *cobra.Command) {
	p.heading("Usage")
	line := cmd.UseLine()
	if !strings.HasSuffix(line, "[flags]") {
		line += " [flags]"
	}
	p.hang(2, 6, text(line))
}

func writeCommands(p *page, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	widest := 0
	for _, sub := range cmd.Commands() {
		widest = max(widest, len(sub.Name()))
	}
	for _, group := range groups {
		p.heading(group.Title)
		t := &table{indent: 2}
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.GroupID == group.ID {
				t.add(cell(cyan, fmt.Sprintf("%-*s", widest, sub.Name())), spans(text(sub.Short)))
			}
		}
		p.table(t)
	}
}

// writeFlags prints the flags by group, in the order in which they were
// declared.
func writeFlags(p *page, cmd *cobra.Command) {
	var titles []string
	groups := map[string]*table{}
	visit := func(f *pflag.Flag) {
		title := generalGroup
		if note := f.Annotations[groupNote]; len(note) > 0 {
			title = note[0]
		}
		if groups[title] == nil {
			titles = append(titles, title)
			groups[title] = &table{indent: 2}
		}
		left, usage := describeFlag(f)
		groups[title].add(left, spans(text(usage)))
	}
	cmd.NonInheritedFlags().VisitAll(visit)
	cmd.InheritedFlags().VisitAll(visit)
	for _, title := range titles {
		p.heading(title)
		p.table(groups[title])
	}
}

// describeFlag gives both columns of a flag's line.
func describeFlag(f *pflag.Flag) (left []span, usage string) {
	metavar, usage := pflag.UnquoteUsage(f)
	if _, ok := f.Value.(*given); ok {
		metavar, usage = f.Value.Type(), f.Usage
	}
	left = spans(name(cyan, "--"+f.Name))
	if f.Shorthand != "" {
		left = spans(name(cyan, "-"+f.Shorthand+", --"+f.Name))
	}
	if metavar != "" {
		left = append(left, name(plain, " "+metavar))
	}
	return left, usage
}
