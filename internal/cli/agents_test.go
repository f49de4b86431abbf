package cli_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/internal/cli"
)

// agents is the folder of the example agents.
const agents = "../../examples/agents"

// TestAgentExamples runs every command that the page of an example agent shows, in
// a copy of its folder, and compares what it prints: the hash of each log, too. All
// of a log follows from the time and the random bytes, which are fixed here.
func TestAgentExamples(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(agents, "*", "README.md"))
	must(t, err)
	if len(pages) < 7 {
		t.Fatalf("%d examples", len(pages))
	}
	for _, page := range pages {
		page, err := filepath.Abs(page)
		must(t, err)
		dir := filepath.Dir(page)
		if filepath.Base(dir) == "crash" {
			continue // it ends its own process: see testdata/agents_crash.txtar
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the pages use a shell")
			}
			s := &session{t: t, dir: t.TempDir(), random: seeded(filepath.Base(dir))}
			must(t, os.CopyFS(s.dir, os.DirFS(dir)))
			t.Chdir(s.dir)
			data, err := os.ReadFile(page)
			must(t, err)
			got := s.page(string(data))
			if filepath.Base(dir) == "parallel" { // which branch is first in the log is a matter of speed
				got = headLine.ReplaceAllString(got, "${1}sha256:...")
			}
			switch {
			case got == string(data):
			case *update:
				must(t, os.WriteFile(page, []byte(got), 0o644))
			default:
				t.Errorf("%s differs (run with -update to rewrite it)\n%s", page, firstDifference(got, string(data)))
			}
			if s.commands == 0 {
				t.Error("the page shows no command")
			}
		})
	}
}

// firstDifference gives the first line in which two texts differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got  " + a[i] + "\nwant " + b[i]
		}
	}
	return "one has more lines"
}

// headLine is the head of a log in the report of a run.
var headLine = regexp.MustCompile(`(?m)^( {10})sha256:[0-9a-f]{64}$`)

// seeded gives the same random bytes for the same name.
func seeded(name string) io.Reader {
	var seed [32]byte
	copy(seed[:], name)
	return rand.NewChaCha8(seed)
}

// session is a person who works through a page.
type session struct {
	t        *testing.T
	dir      string
	random   io.Reader
	commands int
}

// page gives the page as it would be with the real output of its commands.
func (s *session) page(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case line == "```console\n":
			inside = true
		case inside && line == "```\n":
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			b.WriteString(line)
			b.WriteString(s.run(strings.TrimSuffix(line[2:], "\n")))
			continue
		case inside:
			continue // output of the command before
		}
		b.WriteString(line)
	}
	return b.String()
}

// run runs one command line and gives what a person sees.
func (s *session) run(line string) string {
	s.commands++
	if !strings.HasPrefix(line, "writ ") {
		out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput()
		if err != nil {
			s.t.Errorf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	command, file, redirected := strings.Cut(line, " > ")
	var out, errs bytes.Buffer
	cli.Run(context.Background(), words(command)[1:], cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &errs, Random: s.random, Now: func() time.Time { return today },
		Env: func(key string) string {
			return map[string]string{"WRIT_STORE": "store/writ.db"}[key]
		},
	})
	if redirected {
		must(s.t, os.WriteFile(file, out.Bytes(), 0o600))
		out.Reset()
	}
	return out.String() + errs.String()
}

// words splits a line as a shell does: quotes of both kinds, no variables.
func words(line string) []string {
	var list []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ':
			if open || word.Len() > 0 {
				list = append(list, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(c)
		}
	}
	if open || word.Len() > 0 {
		list = append(list, word.String())
	}
	return list
}
