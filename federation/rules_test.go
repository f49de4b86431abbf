package federation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// plain are options for a web in memory.
func plain(w *world) federation.Options {
	return federation.Options{Open: w.open, MaxDepth: 5, Plan: planner.Options{AsOf: "2026-07-06"}}
}

// hub makes a web of a root with the references and a page called leaf.
func hub(refs ...string) *world {
	w := newWorld()
	w.pages[host+"hub"] = page("hub", "", refs...)
	w.pages[host+"leaf"] = page("leaf", "")
	return w
}

// TestReasons says for each kind of reference why it is not followed; "" means
// that it is.
func TestReasons(t *testing.T) {
	const leaf = "id: leaf, url: leaf"
	prod := func(o *federation.Options) { o.Plan.Env = kcp.String{Value: "prod", Set: true} }
	for _, c := range []struct {
		name, ref, want string
		change          func(*federation.Options)
	}{
		{"plain", leaf, "", nil},
		{"environment", leaf + ", context: [prod]", "", prod},
		{"other environment", leaf + ", context: [dev]", `context ["dev"] excludes env 'prod'`, prod},
		{"no environment", leaf + ", context: [dev]", `context ["dev"] requires a declared env; none given (fail-closed)`, nil},
		{"credential", leaf + ", agent_identity: {required: true, credential_hint: pat}", "needs pat before fetch", nil},
		{"credential held", leaf + ", agent_identity: {required: true, credential_hint: pat}", "",
			func(o *federation.Options) { o.Plan.Capabilities.Credentials = []string{"pat"} }},
		{"depth", leaf, "beyond max depth 0", func(o *federation.Options) { o.MaxDepth = 0 }},
		{"negative depth", leaf, "beyond max depth 0", func(o *federation.Options) { o.MaxDepth = -3 }},
		{"nodes", leaf, "beyond max nodes 1 (fan-out cap)", func(o *federation.Options) { o.MaxNodes = kcp.Number{Value: 1, Set: true} }},
		{"no nodes", leaf, "beyond max nodes 0 (fan-out cap)", func(o *federation.Options) { o.MaxNodes = kcp.Number{Set: true} }},
		{"itself", "id: leaf, url: hub", "already visited (cycle)", nil},
		{"itself, respelt", "id: leaf, url: 'https://W.TEST:443/x/../hub#top'", "already visited (cycle)", nil},
		{"no url", "id: leaf", "names no location: url is missing", nil},
		{"future", leaf + ", temporal: {valid_from: 2026-07-07}", "not active until 2026-07-07", nil},
		{"first day", leaf + ", temporal: {valid_from: 2026-07-06}", "", nil},
		{"past", leaf + ", temporal: {valid_until: 2026-07-05}", "expired 2026-07-05", nil},
		{"last day", leaf + ", temporal: {valid_until: 2026-07-06}", "", nil},
		{"past with successor", leaf + ", temporal: {valid_until: 2026-07-05, superseded_by: new}", "expired 2026-07-05 (superseded by new)", nil},
		{"impossible date", leaf + ", temporal: {valid_until: 2026-02-30}", "temporal cannot be read as a window of dates (fail-closed)", nil},
		{"no window", leaf + ", temporal: always", "temporal cannot be read as a window of dates (fail-closed)", nil},
		{"successor unknown", leaf + ", temporal: {superseded_by: nobody}", "", nil},
		{"environment before window", leaf + ", context: [dev], temporal: {valid_until: 2020-01-01}", `context ["dev"] excludes env 'prod'`, prod},
		{"window before credential", leaf + ", temporal: {valid_until: 2020-01-01}, agent_identity: {required: true, credential_hint: pat}", "expired 2020-01-01", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := hub("{" + c.ref + "}")
			o := plain(w)
			if c.change != nil {
				c.change(&o)
			}
			tree, _ := walked(t, o, host+"hub")
			asked := w.requests()
			switch {
			case c.want == "" && (len(tree.Children) != 1 || len(asked) != 2):
				t.Errorf("not followed: %+v", tree.NotFollowed)
			case c.want != "" && (len(tree.NotFollowed) != 1 || tree.NotFollowed[0].Reason != c.want):
				t.Errorf("got %+v and %d children, want %q", tree.NotFollowed, len(tree.Children), c.want)
			case c.want != "" && len(asked) != 1:
				t.Errorf("asked for %q", asked)
			}
		})
	}
}

// TestSuccession leaves out a source whose successor is there on that date, and
// every member of a cycle.
func TestSuccession(t *testing.T) {
	w := hub("{id: old, url: old, temporal: {superseded_by: new}}",
		"{id: new, url: new, temporal: {valid_from: 2026-07-06}}",
		"{id: a, url: a, temporal: {superseded_by: b}}", "{id: b, url: b, temporal: {superseded_by: a}}")
	for _, name := range []string{"old", "new", "a", "b"} {
		w.pages[host+name] = page(name, "")
	}
	for date, want := range map[string][]string{
		"2026-07-05": {"not: new not active until 2026-07-06", "not: a superseded by b (successor active)", "not: b superseded by a (successor active)", "old"},
		"2026-07-06": {"not: old superseded by new (successor active)", "not: a superseded by b (successor active)", "not: b superseded by a (successor active)", "new"},
	} {
		o := plain(w)
		o.Plan.AsOf = date
		tree, _ := walked(t, o, host+"hub")
		if got := decisions(tree); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", date, got, want)
		}
	}
	if asked := strings.Join(w.requests(), " "); strings.Contains(asked, host+"a ") {
		t.Errorf("an excluded source is asked for: %s", asked)
	}
}

// decisions lists what became of the references of a node.
func decisions(n *federation.Node) []string {
	var list []string
	for _, ref := range n.NotFollowed {
		list = append(list, "not: "+ref.ID+" "+ref.Reason)
	}
	for _, child := range n.Children {
		line := child.RefID.Value
		if child.Error != "" {
			line += " " + child.Error
		}
		list = append(list, line)
	}
	return list
}

// TestFailures keeps what fails in the tree, with its kind, and the rest beside
// it.
func TestFailures(t *testing.T) {
	w := hub("{id: gone, url: gone}", "{id: list, url: list}", "{id: torn, url: torn}", "{id: file, url: 'file:///etc/passwd'}",
		"{id: leaf, url: leaf}", "{id: again, url: gone}", "{id: list-again, url: list}")
	w.pages[host+"list"] = "- a list\n"
	w.pages[host+"torn"] = "a: [b\n"
	tree, _ := walked(t, plain(w), host+"hub")
	got := decisions(tree)
	for i, want := range []string{
		"not: list-again already visited (cycle)",
		"gone fetch failed: 404 Not Found",
		"list parse failed: manifest is not a YAML mapping",
		"torn parse failed: ",
		"file fetch failed: a remote manifest may refer to http and https locations only",
		"leaf",
		"again fetch failed: 404 Not Found",
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("line %d of %q, want %q", i, got, want)
		}
	}
	if len(federation.Plans(tree)) != 2 {
		t.Errorf("%d plans", len(federation.Plans(tree)))
	}
	if tree.Children[0].Err != errGone {
		t.Errorf("the cause is %v", tree.Children[0].Err)
	}
	for _, line := range w.requests() {
		if !strings.HasSuffix(line, " x1") || strings.Contains(line, "passwd") {
			t.Errorf("asked for %s", line)
		}
	}
}

// TestRootFails gives a tree of one node.
func TestRootFails(t *testing.T) {
	tree, text := walked(t, plain(newWorld()), host+"none")
	if tree.Error != "fetch failed: 404 Not Found" || len(federation.Plans(tree)) != 0 {
		t.Errorf("%s", text)
	}
}

// TestNoNetwork refuses without a client, and never repeats what a URL says before
// its host.
func TestNoNetwork(t *testing.T) {
	o := federation.Options{Plan: planner.Options{AsOf: "2026-07-06"}}
	if tree, text := walked(t, o, host+"hub"); !strings.HasPrefix(tree.Error, "fetch failed: reading over the network is off") {
		t.Error(text)
	}
	o.Load.Fetch = fetch.New(fetch.Options{})
	tree, text := walked(t, o, "https://user:secret@w.test/hub")
	if tree.Location != "https://***@w.test/hub" || strings.Contains(text, "secret") {
		t.Error(text)
	}
	var refused *fetch.Refusal
	if !errors.As(tree.Err, &refused) || refused.Code != fetch.Credentials {
		t.Errorf("%v", tree.Err)
	}
}

// TestRedirects knows a manifest again wherever it is found.
func TestRedirects(t *testing.T) {
	w := hub("{id: moved, url: moved}", "{id: leaf, url: leaf}", "{id: home, url: front}")
	w.redirects[host+"moved"] = host + "leaf"
	w.redirects[host+"front"] = host + "hub"
	tree, _ := walked(t, plain(w), host+"front")
	if tree.Location != host+"hub" || tree.Children[0].Location != host+"leaf" {
		t.Errorf("found %s and %s", tree.Location, tree.Children[0].Location)
	}
	want := []string{"not: leaf already visited (cycle)", "not: home already visited (cycle)", "moved"}
	if got := decisions(tree); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// What was found at the end of a redirect before the manifest was planned is
	// not asked for.
	w = newWorld()
	w.redirects[host+"front"] = host + "hub"
	w.pages[host+"hub"] = page("hub", "", "{id: home, url: hub}")
	walked(t, plain(w), host+"front")
	if got := w.requests(); len(got) != 1 {
		t.Errorf("asked for %q", got)
	}
}

// TestLedger threads one budget through the tree in walk order.
func TestLedger(t *testing.T) {
	w := newWorld()
	w.pages[host+"hub"] = page("hub", "0.4", "{id: a, url: a}", "{id: b, url: b}", "{id: gone, url: gone}", "{id: c, url: c}")
	w.pages[host+"a"] = page("a", "0.1", "{id: a1, url: a1}")
	w.pages[host+"a1"] = page("a1", "0.3")
	w.pages[host+"b"] = page("b", "0.3")
	w.pages[host+"c"] = page("c", "0.1")
	o := plain(w)
	o.Plan.Capabilities.PaymentMethods = []string{"x402"}
	o.Plan.Budget = &planner.Budget{Amount: 1}
	tree, _ := walked(t, o, host+"hub")
	var notes []string
	for _, plan := range federation.Plans(tree) {
		notes = append(notes, plan.Manifest.Project+" "+plan.Budget.Note)
	}
	want := []string{
		"hub projected spend 0.4 of 1 USDC; 0.6 remaining.",
		"a projected spend 0.1 (+0.4 committed upstream) of 1 USDC; 0.5 remaining.",
		"a1 projected spend 0.3 (+0.5 committed upstream) of 1 USDC; 0.2 remaining.",
		"b projected spend 0 (+0.8 committed upstream) of 1 USDC; 0.2 remaining.",
		"c projected spend 0.1 (+0.8 committed upstream) of 1 USDC; 0.1 remaining.",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
	if o.Plan.Budget.Spent.Set {
		t.Error("the caller's budget was changed")
	}
}

// TestVersionPins warns and goes on.
func TestVersionPins(t *testing.T) {
	for _, c := range []struct{ version, pin, policy, want string }{
		{"1.2.0", "1.2.0", "exact", ""},
		{"1.2.0", "v1.2.0+build.7", "exact", ""},
		{"1.2.0", "1.2.1", "exact", "it is another version"},
		{"1.2.0-rc.1", "1.2.0", "exact", "it is another version"},
		{"1.2.0", "1.1.9", "minimum", ""},
		{"2.0.0", "1.1.9", "minimum", ""},
		{"1.2.0-rc.1", "1.2.0", "minimum", "it is older"},
		{"1.2.0-rc.10", "1.2.0-rc.9", "minimum", ""},
		{"1.2.0-rc.1", "1.2.0-rc.beta", "minimum", "it is older"},
		{"1.2.0", "1.10.0", "minimum", "it is older"},
		{"1.2.0", "1.10.0", "compatible", ""},
		{"1.2.0", "1.10.0", "", ""},
		{"2.0.0", "1.10.0", "nonsense", "it is another major version"},
		{"1", "1.0.0", "exact", ""},
		{"spring", "spring", "minimum", ""},
		{"spring", "1.0.0", "minimum", "they are not both semantic versions"},
		{"1.2.3.4", "1.0.0", "", "they are not both semantic versions"},
	} {
		w := hub(fmt.Sprintf("{id: leaf, url: leaf, version_pin: '%s', version_policy: '%s'}", c.pin, c.policy))
		w.pages[host+"leaf"] = strings.Replace(page("leaf", ""), "version: 1.2.0", "version: '"+c.version+"'", 1)
		tree, text := walked(t, plain(w), host+"hub")
		leaf := tree.Children[0]
		switch {
		case c.want == "" && leaf.Writ != nil:
			t.Errorf("%v: %+v", c, leaf.Writ)
		case c.want != "" && (leaf.Writ == nil || leaf.Writ.Findings[0].Code != "version-mismatch" || !strings.HasSuffix(leaf.Writ.Findings[0].Message, c.want)):
			t.Errorf("%v: %s", c, text)
		case leaf.Plan == nil:
			t.Errorf("%v: not planned", c)
		}
	}
}

// TestDependencies says which selected units lack a unit of another manifest.
func TestDependencies(t *testing.T) {
	w := newWorld()
	depends := ", external_depends_on: [{manifest: leaf, unit: tides}, {manifest: leaf, unit: reefs, on_failure: warn}, " +
		"{manifest: gone, unit: x, on_failure: degrade}, {manifest: gone, unit: y, on_failure: skip}, {manifest: gone, unit: z}, " +
		"{manifest: dev, unit: w, on_failure: warn}, {manifest: nobody, unit: v, on_failure: warn}, {manifest: home, unit: u, on_failure: warn}]}"
	text := page("hub", "", "{id: leaf, url: leaf}", "{id: gone, url: gone}", "{id: dev, url: dev, context: [dev]}", "{id: home, url: hub}")
	w.pages[host+"hub"] = strings.Replace(text, "triggers: [tide]}", "triggers: [tide]"+depends, 1)
	w.pages[host+"leaf"] = page("leaf", "")
	tree, _ := walked(t, plain(w), host+"hub")
	want := []federation.Unmet{
		{Unit: "tides", Manifest: "leaf", Needs: "reefs", OnFailure: "warn", Reason: "that manifest declares no such unit"},
		{Unit: "tides", Manifest: "gone", Needs: "x", OnFailure: "degrade", Reason: "fetch failed: 404 Not Found"},
		{Unit: "tides", Manifest: "dev", Needs: "w", OnFailure: "warn", Reason: `context ["dev"] requires a declared env; none given (fail-closed)`},
		{Unit: "tides", Manifest: "nobody", Needs: "v", OnFailure: "warn", Reason: "no reference has this id"},
	}
	if tree.Writ == nil || !slices.Equal(tree.Writ.Unmet, want) {
		t.Errorf("%+v", tree.Writ)
	}
	if len(tree.Writ.Findings) != len(want) || len(tree.Findings) != len(want) {
		t.Errorf("%d findings", len(tree.Writ.Findings))
	}
}

// TestEndings keeps what was done when the caller gives up or time runs out.
func TestEndings(t *testing.T) {
	w := hub("{id: leaf, url: leaf}", "{id: slow, url: slow}", "{id: last, url: last}")
	stop := func(cancel func()) federation.Options {
		o := plain(w)
		o.Concurrency = 1
		o.Open = func(ctx context.Context, location string, lo load.Options) (*load.Loaded, error) {
			if location == host+"slow" {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return w.open(ctx, location, lo)
		}
		return o
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		tree, err := federation.Walk(ctx, host+"hub", "tide", stop(cancel))
		want := []string{"not: last the walk was cancelled", "leaf", "slow fetch failed: the walk was cancelled"}
		if got := decisions(tree); !errors.Is(err, context.Canceled) || !slices.Equal(got, want) {
			t.Errorf("%v, %q", err, got)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := stop(func() {})
			o.Timeout = time.Minute
			tree, err := federation.Walk(context.Background(), host+"hub", "tide", o)
			late := " fetch failed: the deadline of the walk has passed; allow more time or follow fewer manifests"
			if got := decisions(tree); err != nil || !slices.Equal(got, []string{"leaf", "slow" + late, "last" + late}) {
				t.Errorf("%v, %q", err, got)
			}
		})
	})
}

// TestReadsTogether lets nobody finish before as many read as there may be.
func TestReadsTogether(t *testing.T) {
	const readers, leaves = 6, 30
	w := newWorld()
	var refs []string
	for i := range leaves {
		refs = append(refs, fmt.Sprintf("{id: l%d, url: l%d}", i, i))
		w.pages[fmt.Sprintf("%sl%d", host, i)] = page("leaf", "")
	}
	w.pages[host+"hub"] = page("hub", "", refs...)
	o := plain(w)
	o.MaxDepth, o.Concurrency = 1, readers
	arrived, gate := make(chan struct{}, leaves), make(chan struct{})
	go func() {
		for range readers {
			<-arrived
		}
		close(gate)
	}()
	o.Open = func(ctx context.Context, location string, lo load.Options) (*load.Loaded, error) {
		if location != host+"hub" {
			arrived <- struct{}{}
			<-gate
		}
		return w.open(ctx, location, lo)
	}
	var last federation.Progress
	o.Progress = func(p federation.Progress) {
		if p.Reading > readers || p.Done < last.Done {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}
	tree, _ := walked(t, o, host+"hub")
	if len(tree.Children) != leaves || last.Done != leaves+1 || last.Reading != 0 {
		t.Errorf("%d children, %+v", len(tree.Children), last)
	}
	for i, child := range tree.Children {
		if child.RefID.Value != fmt.Sprintf("l%d", i) {
			t.Errorf("child %d is %s", i, child.RefID.Value)
		}
	}
}

// TestDeepWalk goes as deep as a tree may be and can still be read back.
func TestDeepWalk(t *testing.T) {
	w := newWorld()
	for i := range 60 {
		w.pages[fmt.Sprintf("%sp%d", host, i)] = page("p", "", fmt.Sprintf("{id: next, url: p%d}", i+1))
	}
	o := plain(w)
	o.MaxDepth = 1000
	tree, text := walked(t, o, host+"p0")
	if n := len(federation.Plans(tree)); n != federation.DeepestWalk+1 {
		t.Errorf("%d plans", n)
	}
	if _, err := parseTree(text); err != nil {
		t.Error(err)
	}
}
