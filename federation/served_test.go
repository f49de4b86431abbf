package federation_test

import (
	"crypto/x509"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// counting is a server that counts what it is asked for.
type counting struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func serve(t testing.TB, handler http.HandlerFunc) *counting {
	c := &counting{asked: map[string]int{}}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked[r.URL.Path]++
		c.mu.Unlock()
		handler(w, r)
	}))
	c.EnableHTTP2 = true
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

// client reaches the server, and nothing else with its certificate.
func (c *counting) client(t testing.TB) *fetch.Client {
	pool := x509.NewCertPool()
	pool.AddCert(c.Certificate())
	client := fetch.New(fetch.Options{AllowPrivateHosts: true, RootCAs: pool})
	t.Cleanup(client.Close)
	return client
}

// requests gives what was asked for since the last time.
func (c *counting) requests() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.asked
	c.asked = map[string]int{}
	return was
}

// fixtures gives a folder of the shared fixtures. Without them the test is
// skipped, unless somebody said that they are there.
func fixtures(t *testing.T, name string) string {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	dir, err := filepath.Abs(filepath.Join(root, name))
	if err == nil {
		_, err = os.Stat(dir)
	}
	switch {
	case err != nil && os.Getenv("WRIT_FIXTURES") != "":
		t.Fatal(err)
	case err != nil:
		t.Skipf("no shared fixtures: %v", err)
	}
	return dir
}

// TestExamplesServed plans the federated and the signed examples from files and
// from a server: the same trees but for where they were found.
func TestExamplesServed(t *testing.T) {
	examples := fixtures(t, "examples")
	t.Chdir(examples)
	server := serve(t, http.FileServer(http.Dir(examples)).ServeHTTP)
	agent := planner.Capabilities{PaymentMethods: []string{"free", "x402", "subscription"},
		Credentials: []string{"github_pat", "mtls", "registry_pat", "sso_badge", "vendor_portal_token"}}
	for root, want := range map[string]struct {
		task   string
		plans  int
		status kcp.SignatureStatus // of the last manifest but those that are unsigned
	}{
		"org/hub":          {"how do we deploy a release?", 2, kcp.Unsigned},
		"incident/nordlys": {"quaymaster broker zero-day active exploitation - what do we do right now?", 4, kcp.Unverifiable},
		"summer/tourism":   {"wheelchair accessible cabin near the ferry, nut allergy safe dining, and a fjord safari for the kids", 4, kcp.Unverifiable},
		"milky-way/hub":    {"cut the sugar in the oat drink formulation and update the ERP recipe integration", 8, kcp.Unverifiable},
		"sealed":           {"provenance ledger record", 1, kcp.Unverifiable},
	} {
		o := federation.Options{MaxDepth: 1, Load: load.Options{Fetch: server.client(t)}, Plan: planner.Options{
			AsOf: "2026-07-09", Env: kcp.String{Value: "prod", Set: true}, Capabilities: agent, Budget: &planner.Budget{Amount: 0.5},
		}}
		tree, local := walked(t, o, root+"/knowledge.yaml")
		_, remote := walked(t, o, server.URL+"/"+root+"/knowledge.yaml")
		if remote = strings.ReplaceAll(remote, server.URL+"/", ""); remote != local {
			t.Errorf("%s is served as\n%s\nand read as\n%s", root, remote, local)
		}
		status := kcp.Unsigned
		for _, plan := range federation.Plans(tree) {
			if plan.Signature.Status != kcp.Unsigned {
				status = plan.Signature.Status
			}
		}
		if n := len(federation.Plans(tree)); n != want.plans || status != want.status {
			t.Errorf("%s: %d plans, signatures %s; want %d and %s", root, n, status, want.plans, want.status)
		}
	}
}

// thousand serves a federation with cycles, diamonds, redirects, and failures of
// every kind that a server can have.
func thousand(n int) http.HandlerFunc {
	draw := rand.New(rand.NewPCG(1, 2))
	pages := make([]string, n)
	for i := range pages {
		var refs []string
		for k := 3*i + 1; k <= 3*i+3 && k < n; k++ { // a tree
			refs = append(refs, fmt.Sprintf("{id: r%d, url: '/%d'}", k, k))
		}
		switch draw.IntN(4) {
		case 0:
			refs = append(refs, fmt.Sprintf("{id: up, url: '/%d'}", max(i-1, 0)/3/(1+2*draw.IntN(2)))) // a cycle, or nearly one
		case 1:
			refs = append(refs, fmt.Sprintf("{id: cross, url: '/%d'}", max(i, n/3)+draw.IntN(n/3)+1)) // a diamond, or past the end
		}
		pages[i] = page(fmt.Sprintf("p%d", i), []string{"", "0.001", "0.2"}[draw.IntN(3)], refs...)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		i := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil || i >= n {
			http.NotFound(w, r)
			return
		}
		text := pages[i]
		switch {
		case i < n/3 && i%101 != 7:
		case i%29 == 0:
			http.NotFound(w, r)
			return
		case i%31 == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case i%37 == 0:
			http.Redirect(w, r, fmt.Sprintf("/%d", i-1), http.StatusFound)
			return
		case i%41 == 0:
			text = "units: [\n"
		case i%43 == 0:
			text = "<!doctype html><title>Sign in</title>"
		case i%47 == 0:
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, text)
			panic(http.ErrAbortHandler)
		case i%53 == 0:
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, text)
	}
}

// TestThousandManifests walks such a federation one manifest at a time and many
// at once: the same bytes, and the same requests.
func TestThousandManifests(t *testing.T) {
	const n = 1000
	server := serve(t, thousand(n))
	o := federation.Options{MaxDepth: 40, MaxNodes: kcp.Number{Value: math.Inf(1), Set: true}, Concurrency: 1,
		Load: load.Options{Fetch: server.client(t)},
		Plan: planner.Options{AsOf: "2026-07-06", Budget: &planner.Budget{Amount: 9}, Capabilities: planner.Capabilities{PaymentMethods: []string{"x402"}}}}
	tree, want := walked(t, o, server.URL+"/0")
	requests := server.requests()
	kinds := map[string]int{}
	for _, node := range tree.All() {
		kind, _, _ := strings.Cut(node.Error, " (")
		kinds[kind[:min(len(kind), 60)]]++
		for _, ref := range node.NotFollowed {
			kinds[ref.Reason]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%4d %s", kinds[kind], kind)
	}
	t.Logf("%d locations asked for", len(requests))
	for _, limit := range []float64{math.Inf(1), 200} {
		o.MaxNodes.Value = limit
		if !math.IsInf(limit, 1) {
			o.Concurrency = 1
			_, want = walked(t, o, server.URL+"/0")
			requests = server.requests()
		}
		o.Concurrency = 32
		_, got := walked(t, o, server.URL+"/0")
		if got != want {
			t.Errorf("limit %v: other bytes", limit)
		}
		if again := server.requests(); !maps.Equal(again, requests) {
			t.Errorf("limit %v: %d locations asked for, not %d", limit, len(again), len(requests))
		}
	}
	if len(requests) == 0 || len(federation.Plans(tree)) < n*3/4 {
		t.Errorf("%d plans", len(federation.Plans(tree)))
	}
}

// BenchmarkFlatWalk walks a root and its leaves on a server that takes 5 ms for
// each answer.
func BenchmarkFlatWalk(b *testing.B) {
	const leaves = 1000
	refs := make([]string, leaves)
	for i := range refs {
		refs[i] = fmt.Sprintf("{id: l%d, url: '/%d'}", i, i)
	}
	root, leaf := page("hub", "", refs...), page("leaf", "")
	server := serve(b, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		if r.URL.Path == "/hub" {
			fmt.Fprint(w, root)
			return
		}
		fmt.Fprint(w, leaf)
	})
	for _, n := range []int{1, 32} {
		b.Run(fmt.Sprintf("concurrency=%d", n), func(b *testing.B) {
			o := federation.Options{MaxDepth: 1, MaxNodes: kcp.Number{Value: leaves + 1, Set: true}, Concurrency: n,
				Load: load.Options{Fetch: server.client(b)}, Plan: planner.Options{AsOf: "2026-07-06"}}
			for b.Loop() {
				tree, _ := walked(b, o, server.URL+"/hub")
				if len(federation.Plans(tree)) != leaves+1 {
					b.Fatal(tree.Children[0].Error)
				}
			}
		})
	}
}
