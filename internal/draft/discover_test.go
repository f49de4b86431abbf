package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// site answers for addresses. What begins with "->" is a redirect, "!" an error.
type site struct {
	pages map[string]string
	asked []string
}

func (s *site) Get(_ context.Context, address string) ([]byte, string, error) {
	s.asked = append(s.asked, address)
	text, ok := s.pages[address]
	if to, redirect := strings.CutPrefix(text, "->"); redirect {
		address = to
		text, ok = s.pages[to]
	}
	if problem, failed := strings.CutPrefix(text, "!"); failed {
		return nil, address, errors.New(problem)
	}
	if !ok {
		return nil, address, fmt.Errorf("%s: 404: %w", address, fs.ErrNotExist)
	}
	return []byte(text), address, nil
}

const (
	harbour    = "https://harbour.example"
	served     = "project: harbour\nversion: \"2\"\nunits:\n  - {id: a, path: a.md, intent: What is a?}\n"
	softAbsent = "<!doctype html><title>Not found</title>"
)

func TestDiscover(t *testing.T) {
	for _, c := range []struct {
		name, address string
		pages         map[string]string
		want          string // what was found, and where
		asked         int
	}{
		{"at its place", harbour + "/docs/", map[string]string{harbour + "/knowledge.yaml": served}, "manifest " + harbour + "/knowledge.yaml its place", 1},
		{"named itself", harbour + "/kb/k.yaml", map[string]string{harbour + "/kb/k.yaml": served}, "manifest " + harbour + "/kb/k.yaml its place", 1},
		{"a repository", "https://github.com/acme/harbour.git", map[string]string{"https://raw.githubusercontent.com/acme/harbour/HEAD/knowledge.yaml": served},
			"manifest https://raw.githubusercontent.com/acme/harbour/HEAD/knowledge.yaml its place", 1},
		{"kcp.json", harbour, map[string]string{
			harbour + "/.well-known/kcp.json": `{"kcp_version": "0.11", "manifest": "/kb/knowledge.yaml"}`, harbour + "/kb/knowledge.yaml": served,
		}, "manifest " + harbour + "/kb/knowledge.yaml kcp.json", 3},
		{"kcp.json names nothing usable", harbour, map[string]string{
			harbour + "/.well-known/kcp.json":       `{"manifest": "kb/knowledge.yaml"}`,
			harbour + "/.well-known/knowledge.yaml": served,
		}, "manifest " + harbour + "/.well-known/knowledge.yaml its place", 3},
		{"llms.txt names it", harbour, map[string]string{
			harbour + "/llms.txt": "# Harbour\n> knowledge: /kb.yaml\n\nText.\n", harbour + "/kb.yaml": served,
		}, "manifest " + harbour + "/kb.yaml llms.txt", 6},
		{"llms.txt", harbour, map[string]string{
			harbour + "/knowledge.yaml": softAbsent, harbour + "/llms.txt": "# Harbour\n## A\n- [a](a)\n- [b](b)\n## B\n- [c](c)\n",
		}, "llms.txt " + harbour + "/llms.txt 3 2", 5},
		{"a catalog", harbour, map[string]string{
			harbour + "/.kcp/catalog.yaml": "catalog_version: \"0.1\"\nentries:\n  - {name: a, source: ./a.yaml, version: 1.0.0}\n",
		}, "catalog " + harbour + "/.kcp/catalog.yaml 1", 6},
		{"YAML of something else", harbour, map[string]string{harbour + "/knowledge.yaml": "project: x\n"}, "nothing", 7},
		{"after a redirect", harbour, map[string]string{harbour + "/knowledge.yaml": "->https://www.harbour.example/k.yaml", "https://www.harbour.example/k.yaml": served},
			"manifest https://www.harbour.example/k.yaml its place", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &site{pages: c.pages}
			d, err := Discover(t.Context(), c.address, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			switch {
			case d.Manifest != nil:
				got = "manifest " + d.Manifest.Location + " " + d.Manifest.By
			case d.LLMsTxt != nil:
				got = fmt.Sprint("llms.txt ", d.LLMsTxt.Location, " ", d.LLMsTxt.Links, " ", d.LLMsTxt.Sections)
			case d.Catalog != nil:
				got = fmt.Sprint("catalog ", d.Catalog.Location, " ", len(d.Catalog.Catalog.Entries))
			}
			if got != c.want || len(s.asked) != c.asked || d.Failed() {
				t.Errorf("found %q, want %q, and asked %d, want %d: %q\n%+v", got, c.want, len(s.asked), c.asked, s.asked, d.Tried)
			}
		})
	}
}

// TestDiscoverTellsErrors says that what could not be asked is not absent.
func TestDiscoverTellsErrors(t *testing.T) {
	s := &site{pages: map[string]string{harbour + "/knowledge.yaml": "!refused: private address"}}
	d, err := Discover(t.Context(), harbour, s, &CrawlOptions{Pause: noPause})
	if err != nil {
		t.Fatal(err)
	}
	if !d.Failed() || d.Crawl != nil || d.Tried[0].Outcome != TriedFailed || d.Tried[1].Outcome != TriedNotThere {
		t.Errorf("%+v", d)
	}
	for _, address := range []string{"", "harbour.example", "ftp://harbour.example", "https://", "file:///etc/passwd", "https://[::1"} {
		if _, err := Discover(t.Context(), address, s, nil); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

func noPause(context.Context, time.Duration) bool { return true }

func TestCrawl(t *testing.T) {
	s := &site{pages: map[string]string{
		harbour + "/robots.txt": "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.php$\nCrawl-delay: 3\n",
		harbour + "/": `<html><head><title>Harbour &amp; berths</title><meta name=description content="All about ships"></head>
			<body><h1>Welcome</h1><p>First paragraph.</p>
			<a href='/berths'>single quotes</a> <a href=/tides>none</a> <A HREF="./fees.html#now">upper case</A>
			<a href="/private/x">no</a> <a href="/private/open">yes</a> <a href="/index.php">no</a> <a href="/logo.PNG">no</a>
			<a href="https://other.example/">no</a> <a href="/search?q=1">no</a> <a href="mailto:a@b.c">no</a> <a href="javascript:x()">no</a>
			<a href="/gone">gone</a> <a href="/away">away</a> <a rel="nofollow" href="/nofollow">no</a> <a href="/berths">again</a>`,
		harbour + "/berths":       "<title>Berths</title><h1>Where a ship may lie</h1><h2>Deep water</h2><p>Many berths.</p>",
		harbour + "/tides":        "<meta name=robots content='noindex'><title>Tides</title><a href=/deep>deep</a>",
		harbour + "/deep":         "<title>Deep</title>",
		harbour + "/fees.html":    "<h1>Fees</h1>",
		harbour + "/private/open": "<title>Open</title>",
		harbour + "/away":         "->https://other.example/x",
		"https://other.example/x": "<title>Elsewhere</title>",
	}}
	var pauses []time.Duration
	d, err := Discover(t.Context(), harbour, s, &CrawlOptions{Between: time.Second, Pause: func(_ context.Context, d time.Duration) bool {
		pauses = append(pauses, d)
		return true
	}})
	if err != nil || d.Crawl == nil {
		t.Fatalf("%v %+v", err, d)
	}
	var titles []string
	for _, p := range d.Crawl.Pages {
		titles = append(titles, strings.TrimPrefix(p.Address, harbour)+" "+p.Title)
	}
	if got, want := strings.Join(titles, ", "), "/ Harbour & berths, /berths Berths, /fees.html , /private/open Open, /deep Deep"; got != want {
		t.Errorf("pages %q, want %q", got, want)
	}
	for _, address := range s.asked {
		for _, no := range []string{"private/x", "php", "PNG", "other.example/", "search", "nofollow"} {
			if strings.Contains(address, no) && !strings.HasSuffix(address, "/x") {
				t.Errorf("asked %s", address)
			}
		}
	}
	if len(pauses) != 7 || pauses[0] != 3*time.Second {
		t.Errorf("pauses %v", pauses)
	}
	if len(d.Crawl.Problems) != 2 || d.Crawl.Problems[0].Outcome != TriedNotThere || d.Crawl.Problems[1].Outcome != TriedUnusable {
		t.Errorf("problems %+v", d.Crawl.Problems)
	}
	made := d.Crawl.Draft(LLMsOptions{Today: today})
	checkDraft(t, made)
	if u := made.Units[0]; u.Path != "index" || u.Intent != "Harbour & berths — All about ships" {
		t.Errorf("front page: %+v", u)
	}
	if u := made.Units[1]; u.ID != "berths" || strings.Join(u.Triggers, " ") != "berths ship may lie deep water" {
		t.Errorf("berths: %+v", u)
	}
}

// TestCrawlBounds stops at the caps, at a robots.txt that cannot be read, and
// when nobody waits any more.
func TestCrawlBounds(t *testing.T) {
	endless := &site{pages: map[string]string{}}
	for i := range 3000 {
		endless.pages[fmt.Sprintf("%s/p%d", harbour, i)] = fmt.Sprintf("<title>P%d</title><a href=/p%d>", i, i+1)
	}
	endless.pages[harbour+"/"] = "<title>Home</title><a href=/p0>"
	d, _ := Discover(t.Context(), harbour, endless, &CrawlOptions{MaxPages: 9999, Pause: noPause})
	if len(d.Crawl.Pages) != MostPages {
		t.Errorf("%d pages", len(d.Crawl.Pages))
	}
	d, _ = Discover(t.Context(), harbour, endless, &CrawlOptions{Pause: func(context.Context, time.Duration) bool { return false }})
	if len(d.Crawl.Pages) != 1 {
		t.Errorf("%d pages after the end", len(d.Crawl.Pages))
	}
	endless.pages[harbour+"/robots.txt"] = "!503"
	d, _ = Discover(t.Context(), harbour, endless, &CrawlOptions{Pause: noPause})
	if len(d.Crawl.Pages) != 0 || len(d.Crawl.Problems) != 1 || d.Crawl.Draft(LLMsOptions{}) != nil {
		t.Errorf("%+v", d.Crawl)
	}
}

func TestRobots(t *testing.T) {
	for _, c := range []struct {
		text, path string
		allowed    bool
	}{
		{"", "/a", true},
		{"User-agent: *\nDisallow: /", "/a", false},
		{"User-agent: *\nDisallow:", "/a", true},
		{"User-agent: writ\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/b", true},
		{"User-agent: writ\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/a", false},
		{"user-agent: x\nUSER-AGENT: *\r\ndisallow: /a # why\n", "/ab", false},
		{"User-agent: *\nDisallow: /a\nAllow: /a", "/a", true},
		{"User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b", false},
		{"User-agent: *\nDisallow: /*/x$", "/a/x", false},
		{"User-agent: *\nDisallow: /*/x$", "/a/xy", true},
		{"Disallow: /", "/a", true},
	} {
		r := readRobots(c.text)
		if got := r.allows(c.path); got != c.allowed {
			t.Errorf("%q allows %s: %v", c.text, c.path, got)
		}
	}
}
