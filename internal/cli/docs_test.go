package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandsOf gives every command, the root first.
func commandsOf(t *testing.T) []*cobra.Command {
	t.Helper()
	root := newRoot(&runner{})
	root.InitDefaultHelpCmd()
	list := []*cobra.Command{root}
	for i := 0; i < len(list); i++ {
		list = append(list, list[i].Commands()...)
	}
	return list
}

func flagsOf(cmd *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.NonInheritedFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if exit := Run(context.Background(), append(args, "--help"), Streams{Out: &out, Err: &errs, Now: time.Now}); exit != exitGood {
		t.Fatalf("help for %q: exit %d\n%s", args, exit, errs.String())
	}
	return out.String()
}

var flagName = regexp.MustCompile(`--([a-z][a-z0-9-]*)`)

// TestHelpNamesEveryFlag lets programs probe the help for a flag.
func TestHelpNamesEveryFlag(t *testing.T) {
	for _, cmd := range commandsOf(t) {
		help := helpOf(t, strings.Fields(cmd.CommandPath())[1:]...)
		for _, name := range flagsOf(cmd) {
			if !regexp.MustCompile(`(?m)^  (-h, )?--` + name + `\b`).MatchString(help) {
				t.Errorf("%s accepts --%s, and its help does not name it", cmd.CommandPath(), name)
			}
		}
		for _, part := range []string{"Usage\n", "Exit codes\n", cmd.Short} {
			if !strings.Contains(help, part) {
				t.Errorf("the help of %s lacks %q", cmd.CommandPath(), part)
			}
		}
	}
}

// TestManualIsInStep holds docs/cli.md against the program: every command has
// a section with all of its flags and exit codes, and no flag is made up.
func TestManualIsInStep(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split("\n"+string(data), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[strings.Trim(title, "`")] = body
	}
	var known []string
	for _, cmd := range commandsOf(t) {
		known = append(known, flagsOf(cmd)...)
		section := sections[strings.Join(strings.Fields(cmd.CommandPath() + " -")[:2], " ")]
		if !cmd.HasParent() {
			section = sections["Every command"]
		}
		if section == "" {
			t.Errorf("docs/cli.md has no section %q", cmd.CommandPath())
			continue
		}
		for _, name := range flagsOf(cmd) {
			if global := cmd.InheritedFlags().Lookup(name) != nil; !global && !strings.Contains(section, "`--"+name) {
				t.Errorf("section %q of docs/cli.md does not name --%s", cmd.CommandPath(), name)
			}
		}
		for line := range strings.SplitSeq(cmd.Annotations[exitNote], "\n") {
			if _, meaning, _ := strings.Cut(line, "  "); !strings.Contains(strings.Join(strings.Fields(section), " "), meaning) {
				t.Errorf("section %q of docs/cli.md does not say %q", cmd.CommandPath(), line)
			}
		}
	}
	for _, match := range flagName.FindAllStringSubmatch(string(data), -1) {
		if !slices.Contains(known, match[1]) {
			t.Errorf("docs/cli.md names --%s, which no command has", match[1])
		}
	}
}
