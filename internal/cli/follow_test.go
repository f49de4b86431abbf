package cli_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/internal/cli"
)

// TestFollowOverTheNetwork plans the same tree from a server as from files, and
// dials nobody without leave.
func TestFollowOverTheNetwork(t *testing.T) {
	fleet := filepath.Join("testdata", "fleet")
	asked := 0
	files := http.FileServer(http.Dir(fleet))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/weather", "/tugs": // a folder of files is a redirect here
			http.Redirect(w, r, r.URL.Path+"/knowledge.yaml", http.StatusFound)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	plan := func(manifest string, more ...string) outcome {
		return writ(append([]string{"plan", "does the ferry sail in bad weather", "--manifest", manifest, "--follow", "--json"}, more...)...)
	}

	refused := plan(server.URL + "/knowledge.yaml")
	if refused.exit != 1 || !strings.Contains(refused.stderr, "--allow-private-hosts") || asked != 0 {
		t.Errorf("exit %d after %d requests: %s", refused.exit, asked, refused.stderr)
	}
	got := plan(server.URL+"/knowledge.yaml", "--allow-private-hosts", "--concurrency", "1")
	if got.exit != 0 || asked != 5 { // the root, pilots, weather and its redirect, canteen
		t.Errorf("exit %d after %d requests: %s", got.exit, asked, got.stderr)
	}
	if again := plan(server.URL+"/knowledge.yaml", "--allow-private-hosts", "--concurrency", "32"); again != got {
		t.Errorf("concurrency changes the output\n%s", again.stdout)
	}
	local := plan(fleet).stdout
	served := strings.ReplaceAll(got.stdout, server.URL+"/", filepath.ToSlash(fleet)+"/")
	missing := "404 Not Found; check the spelling of the location"
	local = strings.ReplaceAll(local, "manifest not found: "+filepath.ToSlash(fleet)+"/canteen/knowledge.yaml", missing)
	if served != local {
		t.Errorf("served\n%s\nread\n%s", served, local)
	}
}

// TestProgress shows how far a long walk has come, on a terminal, and takes the
// line away again.
func TestProgress(t *testing.T) {
	run := func(errTerminal bool, step time.Duration) string {
		now := today
		var out, errs bytes.Buffer
		exit := cli.Run(context.Background(), []string{"plan", "ferry", "--manifest", filepath.Join("testdata", "fleet"), "--follow"}, cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &errs, ErrTerminal: errTerminal, Env: os.Getenv,
			Now: func() time.Time { now = now.Add(step); return now },
		})
		if exit != 0 || strings.Contains(out.String(), "under way") {
			t.Errorf("exit %d\n%s", exit, out.String())
		}
		return errs.String()
	}
	if got := run(true, time.Second); !strings.Contains(got, "1 manifest read, ") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("a long walk says %q", got)
	}
	if got := run(true, 0); got != "" {
		t.Errorf("a short walk says %q", got)
	}
	if got := run(false, time.Second); got != "" {
		t.Errorf("no terminal, and yet %q", got)
	}
}
