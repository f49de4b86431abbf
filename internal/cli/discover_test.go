package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// serve serves pages on this machine.
func serve(t *testing.T, pages map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := pages[r.URL.Path]
		switch {
		case text == "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case !ok:
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const servedManifest = "kcp_version: \"0.32\"\nproject: harbour\nversion: \"2\"\nunits:\n" +
	"  - {id: a, path: a.md, intent: Where may a ship lie?, scope: global, audience: [agent], triggers: [berth]}\n"

func TestDiscoverCommand(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages map[string]string
		flags []string
		exit  int
		says  []string
	}{
		{"a manifest", map[string]string{"/knowledge.yaml": servedManifest}, nil, 0, []string{"✓ a manifest  harbour 2 · 1 unit", "/knowledge.yaml"}},
		{"a manifest, for programs", map[string]string{"/knowledge.yaml": servedManifest}, []string{"--json"}, 0,
			[]string{`"found": true`, `"unitCount": 1`, `"outcome": "found"`}},
		{"an llms.txt", map[string]string{"/llms.txt": "# H\n## A\n- [a](a)\n"}, nil, 0, []string{"✓ an llms.txt  1 link in 1 section", "writ init --from-llms-txt"}},
		{"a catalog", map[string]string{"/catalog.yaml": "catalog_version: \"0.1\"\ncatalog: {name: all}\nentries: [{name: a, source: ./a, version: 1.0.0}]\n"}, nil, 0,
			[]string{"✓ a catalog  all · 1 manifest", "1.0.0 ./a"}},
		{"nothing", nil, nil, 1, []string{"✗ nothing", "add --crawl"}},
		{"unknown", map[string]string{"/knowledge.yaml": "503"}, nil, 1, []string{"✗ unknown", "503"}},
		{"unknown, for programs", map[string]string{"/knowledge.yaml": "503"}, []string{"--json", "--crawl"}, 1, []string{`"found": false`, `"outcome": "failed"`}},
		{"a draft", map[string]string{"/": "<title>Harbour</title><h1>Berths</h1>"}, []string{"--crawl"}, 0, []string{`project: "Harbour"`, `path: "index"`}},
		{"a draft, for programs", map[string]string{"/": "<title>Harbour</title>"}, []string{"--crawl", "--json"}, 0, []string{`"title": "Harbour"`, `"yaml": "`}},
		{"no page", nil, []string{"--crawl"}, 1, []string{"✗ nothing  and no page"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := writ(append([]string{"discover", serve(t, c.pages), "--allow-private-hosts"}, c.flags...)...)
			if got.exit != c.exit || got.stderr != "" {
				t.Errorf("exit %d, want %d; %s", got.exit, c.exit, got.stderr)
			}
			for _, part := range c.says {
				if !strings.Contains(got.stdout, part) {
					t.Errorf("%q is not in\n%s", part, got.stdout)
				}
			}
		})
	}
	url := serve(t, map[string]string{"/knowledge.yaml": servedManifest})
	if got := writ("discover", url); got.exit != 1 || !strings.Contains(got.stdout, "✗ unknown") {
		t.Errorf("this machine is read without --allow-private-hosts: %+v", got)
	}
	for _, args := range [][]string{{"discover"}, {"discover", "a", "b"}, {"discover", url, "--max-pages", "0"}, {"discover", url, "--max-pages", "101"}} {
		if got := writ(args...); got.exit != 2 {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestInitFromAnAddress drafts from an llms.txt that a server has.
func TestInitFromAnAddress(t *testing.T) {
	url := serve(t, map[string]string{"/docs/llms.txt": "# Harbour\n## A\n- [Berths](berths.md): Where a ship may lie\n"})
	got := writ("init", "--from-llms-txt", url+"/docs/llms.txt", "--dry-run", "--allow-private-hosts")
	if got.exit != 0 || !strings.Contains(got.stdout, `path: "docs/berths.md"`) {
		t.Errorf("%+v", got)
	}
	got = writ("init", "--from-llms-txt", url+"/llms.txt", "--dry-run", "--allow-private-hosts")
	if got.exit != 1 || !strings.Contains(got.stderr, "404") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}
