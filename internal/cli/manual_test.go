package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManualOutputsAreReal runs each command that docs/cli.md shows, from the
// repository's root, and compares what it prints.
func TestManualOutputsAreReal(t *testing.T) {
	for _, page := range []string{"cli.md", "agents.md"} {
		file, err := filepath.Abs(filepath.Join("..", "..", "docs", page))
		must(t, err)
		t.Run(page, func(t *testing.T) { checkOutputs(t, file) })
	}
}

func checkOutputs(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	must(t, err)
	t.Chdir(filepath.Join("..", ".."))
	const begin, end = "```console\n", "```\n"
	var rewritten strings.Builder
	shown := 0
	rest := string(data)
	for {
		before, block, found := strings.Cut(rest, begin)
		rewritten.WriteString(before)
		if !found {
			break
		}
		command, want, _ := strings.Cut(block, "\n")
		want, rest, _ = strings.Cut(want, end)
		shown++
		got := writ(shellWords(t, strings.TrimPrefix(command, "$ writ "))...)
		text := got.stdout + got.stderr
		if !*update && text != want {
			t.Errorf("%s\nprints (run with -update to write it into the page)\n%s\nand the page says\n%s", command, text, want)
		}
		rewritten.WriteString(begin + command + "\n" + text + end)
	}
	if shown == 0 {
		t.Error(file + " shows no command")
	}
	if *update {
		must(t, os.WriteFile(file, []byte(rewritten.String()), 0o644))
	}
}

// shellWords splits a line as a shell does, as far as the manual needs it.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
