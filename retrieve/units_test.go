package retrieve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/policy"
)

// units gives a manifest with one unit for each block of fields, all of them about
// the task "alpha".
func units(blocks ...string) string {
	text := "project: p\nunits:\n"
	for _, b := range blocks {
		text += "  - {intent: alpha, " + b + "}\n"
	}
	return text
}

// TestUnitsThatAreNotGiven: each is named, with its reason, and the others are
// given all the same.
func TestUnitsThatAreNotGiven(t *testing.T) {
	dir := tree(t, map[string]string{
		"m/knowledge.yaml": units(
			"id: good, path: good.md",
			"id: gone, path: gone.md",
			"id: up, path: ../outside.md",
			"id: root, path: /etc/passwd",
			"id: folder, path: sub",
			"id: twice, path: good.md", "id: twice, path: other.md",
			"id: nowhere",
			"id: changed, path: good.md, content_hash: {algorithm: sha256, value: "+artifact.Sum([]byte("else")).Hex()+"}",
			"id: same, path: good.md, content_hash: {algorithm: sha256, value: "+artifact.Sum([]byte("good")).Hex()+"}",
			"id: odd, path: good.md, content_hash: {algorithm: md5, value: aa}",
			"id: binary, path: binary",
			"id: large, path: large.md",
			"id: skill, path: good.md, kind: skill",
			"id: link, path: link.md",
		),
		"m/good.md": "good", "m/other.md": "other", "outside.md": "outside", "m/sub/a.md": "a", "m/binary": "\xff\x00", "m/large.md": strings.Repeat("x", 3001),
	})
	if runtime.GOOS != "windows" {
		if err := os.Symlink("../outside.md", filepath.Join(dir, "m", "link.md")); err != nil {
			t.Fatal(err)
		}
	}
	s := below(filepath.Join(dir, "m"))
	s.MaxBytes, s.Plan.MaxUnits = 8000, kcp.Number{Value: 50, Set: true}
	s.Load.MaxUnitBytes = 3000
	a := read(t, do(t, port(t, s), effect(t, `{"task":"alpha"}`)))
	got := map[string]string{}
	for _, r := range a.Refused {
		got[r.ID] = r.Code
		if r.Reason == "" || strings.Contains(r.Reason, dir) {
			t.Errorf("%s: reason %q", r.ID, r.Reason)
		}
	}
	for id, code := range map[string]string{
		"gone": "not-found", "up": "access", "root": "access", "folder": "not-regular", "twice": "access", "nowhere": "no-path", "changed": "hash-mismatch",
		"odd": "hash", "binary": codeNotText, "large": "too-large", "skill": "skill_eligibility", "link": "outside",
	} {
		if got[id] != code && (id != "link" || runtime.GOOS != "windows") {
			t.Errorf("%s: %q, want %s", id, got[id], code)
		}
	}
	var given []string
	for _, d := range a.Documents {
		given = append(given, d.ID+"="+d.Text)
	}
	if text := strings.Join(given, " "); text != "good=good same=good" {
		t.Errorf("given %s", text)
	}
}

// TestAccess: texts that are not for everybody give the result their class, and
// restricted ones are read only where the pack keeps that class.
func TestAccess(t *testing.T) {
	dir := tree(t, map[string]string{
		"knowledge.yaml": units("id: a, path: a.md, triggers: [public, all]", "id: b, path: b.md, triggers: [member, all], access: authenticated",
			"id: c, path: c.md, triggers: [secret, all], access: restricted", "id: d, path: c.md, triggers: [odd, all], access: classified", "id: e, path: c.md, triggers: [empty, all], access: ''"),
		"a.md": "A", "b.md": "B", "c.md": "C",
	})
	s := below(dir)
	for _, c := range []struct {
		task, credential string
		keeps            bool
		ids, class       string
	}{
		{"public", "", false, "a", ""},
		{"member", "", false, "b", "authenticated"},
		{"public member", "", true, "a b", "authenticated"},
		{"secret", "", true, "c:access", ""},
		{"secret", "key", false, "c:restricted", ""},
		{"secret", "key", true, "c", "restricted"},
		{"odd", "key", false, "d:restricted", ""},
		{"odd", "key", true, "d", "restricted"},
		{"empty", "key", false, "e:restricted", ""},
		{"all", "key", false, "a b c:restricted d:restricted e:restricted", "authenticated"},
		{"all", "key", true, "a b c d e", "restricted"},
	} {
		s.Plan.Capabilities.Credentials = nil
		if c.credential != "" {
			s.Plan.Capabilities.Credentials = []string{c.credential}
		}
		e := effect(t, `{"task":"`+c.task+`"}`)
		if c.keeps {
			e = keeping(t, `{"task":"`+c.task+`"}`)
		}
		o := do(t, port(t, s), e)
		if a := read(t, o); a.ids() != c.ids || o.Access != c.class {
			t.Errorf("%+v: %s, class %q", c, a.ids(), o.Access)
		}
	}
}

// TestAttestation: a manifest that asks for it keeps its restricted units from
// whoever has none.
func TestAttestation(t *testing.T) {
	s := below(tree(t, map[string]string{
		"knowledge.yaml": "project: p\ntrust: {agent_requirements: {require_attestation: true, trusted_providers: [soc.example]}}\nunits:\n  - {id: a, path: a.md, intent: alpha, access: restricted}\n", "a.md": "A",
	}))
	s.Plan.Capabilities.Credentials = []string{"key"}
	if a := read(t, do(t, port(t, s), keeping(t, `{"task":"alpha"}`))); a.ids() != "a:attestation" {
		t.Error(a.ids())
	}
	s.Plan.Capabilities.AttestationProvider = kcp.String{Value: "soc.example", Set: true}
	if a := read(t, do(t, port(t, s), keeping(t, `{"task":"alpha"}`))); a.ids() != "a" {
		t.Error(a.ids())
	}
}

func priced(id, currency, price string) string {
	return "id: " + id + ", path: a.md, payment: {methods: [{type: x402, currency: " + currency + `, price_per_request: "` + price + `"}]}`
}

// TestMoney: nothing is planned beyond the budget, and what was asked for is
// charged, in its own currency, rounded up.
func TestMoney(t *testing.T) {
	files := map[string]string{"a.md": "A"}
	for _, c := range []struct {
		name, blocks, budget string
		ids                  string
		micros               uint64
	}{
		{"no budget, no money", priced("a", "USDC", "0.1"), "", "a:payment", 0},
		{"within", priced("a", "USDC", "0.1"), "0.3", "a", 100_000},
		{"one too many", priced("a", "USDC", "0.2") + "\n" + priced("b", "USDC", "0.2"), "0.3", "a", 200_000},
		{"tenths add up", priced("a", "USDC", "0.1") + "\n" + priced("b", "USDC", "0.2"), "0.3", "a b", 300_000},
		{"seventh decimal", priced("a", "USDC", "0.0000001"), "1", "a", 1},
		{"just above a millionth", priced("a", "USDC", "0.0000011"), "1", "a", 2},
		{"many millionths", priced("a", "USDC", "0.000001") + "\n" + priced("b", "USDC", "0.000002"), "1", "a b", 3},
		{"other currency", priced("a", "EURC", "0.1"), "0.3", "", 0},
		{"broken price", priced("a", "USDC", "0,1"), "0.3", "a:payment", 0},
		{"negative price", priced("a", "USDC", "-0.1"), "0.3", "a:payment", 0},
		{"free of charge", priced("a", "USDC", "0"), "0", "a", 0},
		{"no money left", priced("a", "USDC", "0.000001"), "0", "", 0},
		{"not there, but asked for", strings.Replace(priced("a", "USDC", "0.1"), "a.md", "gone.md", 1), "0.3", "a:not-found", 100_000},
		{"restricted is not asked for", priced("a", "USDC", "0.1") + ", access: restricted", "0.3", "a:restricted", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			files["knowledge.yaml"] = units(strings.Split(c.blocks, "\n")...)
			s := below(tree(t, files))
			s.Plan.Capabilities.Credentials = []string{"key"}
			if c.budget != "" {
				amount, _ := value(t, c.budget).Float()
				s.Plan.Capabilities.PaymentMethods, s.Plan.Budget = []string{"free", "x402"}, &planner.Budget{Amount: amount}
			}
			o := do(t, port(t, s), effect(t, `{"task":"alpha"}`))
			a := read(t, o)
			if a.ids() != c.ids || o.Usage.Cost["USDC"] != c.micros || (c.micros == 0) != (o.Usage.Cost == nil) {
				t.Errorf("%s, %v", a.ids(), o.Usage.Cost)
			}
			if c.ids == "" && (len(a.Plan.Skipped) != 1 || a.Plan.Skipped[0].Gate != "money_budget") {
				t.Errorf("%+v", a.Plan.Skipped)
			}
			if c.ids == "a" && a.Plan.Selected[0].Cost == "" {
				t.Errorf("the plan does not say what it costs")
			}
		})
	}
}

// TestSpentStaysReserved: whatever the prices are, what is charged is never more
// than what was reserved.
func TestSpentStaysReserved(t *testing.T) {
	var blocks []string
	for i := range 40 {
		blocks = append(blocks, priced(fmt.Sprintf("u%02d", i), "USDC", fmt.Sprintf("0.0%d1%d7", i%9+1, i%7)))
	}
	s := below(tree(t, map[string]string{"knowledge.yaml": units(blocks...), "a.md": "A"}))
	s.Plan.MaxUnits = kcp.Number{Value: 40, Set: true}
	s.Plan.Capabilities.PaymentMethods = []string{"x402"}
	for _, budget := range []float64{0.1, 0.29, 0.7, 0.99999991, 1.0000001, 3} {
		s.Plan.Budget = &planner.Budget{Amount: budget}
		p := port(t, s)
		call, err := p.Tools()["handbook"].Shape(policy.Call{Args: value(t, `{"task":"alpha"}`)})
		if err != nil {
			t.Fatal(err)
		}
		o := do(t, p, effect(t, `{"task":"alpha"}`))
		if used := o.Usage.Cost["USDC"]; used == 0 || used > call.Reserve.Cost["USDC"] || o.Usage.Units > call.Reserve.Units {
			t.Errorf("budget %v: used %d, reserved %+v", budget, used, call.Reserve)
		}
	}
}

// TestContextBudgetIsKept: also by units that declare little, or nothing.
func TestContextBudgetIsKept(t *testing.T) {
	dir := tree(t, map[string]string{
		"knowledge.yaml": units("id: a, path: long.md, size_tokens: 1", "id: b, path: long.md", "id: c, path: long.md, bytes: 4", "id: d, path: short.md, size_tokens: 60", "id: e, path: short.md"),
		"long.md":        strings.Repeat("x", 800), "short.md": "short",
	})
	s := below(dir)
	for budget, want := range map[float64]string{
		99: "d e a:context_budget b:context_budget c:context_budget", 100: "a b:context_budget c:context_budget d:context_budget e:context_budget",
		162: "a d e b:context_budget c:context_budget", 1000: "a b c d e",
	} {
		s.Plan.ContextBudget = kcp.Number{Value: budget, Set: true}
		if got := read(t, do(t, port(t, s), effect(t, `{"task":"alpha"}`))).ids(); got != want {
			t.Errorf("%v: %s, want %s", budget, got, want)
		}
	}
}

// TestResultIsBounded: by the source and by the permit, whichever is less, and
// however much a manifest says.
func TestResultIsBounded(t *testing.T) {
	long := strings.Repeat("é", 5000)
	blocks := []string{
		"id: a, path: a.md, triggers: [b]", "id: b, path: big.md", "id: c, path: c.md", "id: d, path: a.md, audience: ['" + long + "']", "id: '" + long + "', path: a.md, deprecated: true",
	}
	for i := range 2 * maxSkipped {
		blocks = append(blocks, fmt.Sprintf("id: s%03d, path: a.md, audience: [human]", i))
	}
	files := map[string]string{
		"knowledge.yaml": strings.Replace(units(blocks...), "intent: alpha", "intent: 'alpha "+long+"'", 1),
		"a.md":           strings.Repeat("a", 900), "big.md": strings.Repeat("\x01", 9000), "c.md": "C",
	}
	s := below(tree(t, files))
	s.MaxBytes = 60_000
	o := do(t, port(t, s), effect(t, `{"task":"alpha"}`))
	a := read(t, o)
	if n := len(o.Result.AppendCompact(nil)); n > 60_000 {
		t.Errorf("%d bytes", n)
	}
	if a.ids() != "a c b:too-large" || len(a.Plan.Skipped) != maxSkipped || a.Plan.SkippedMore != maxSkipped+2 {
		t.Errorf("%s, %d skipped and %d more", a.ids(), len(a.Plan.Skipped), a.Plan.SkippedMore)
	}
	if title := a.Documents[0].Title; len(title) > maxText+3 || !strings.HasSuffix(title, "é…") {
		t.Errorf("title %q", title)
	}
	base := uint64(len(o.Result.AppendCompact(nil)))
	s.MaxBytes = 0
	p := port(t, s)
	for _, most := range []uint64{base, base - 1, base - 500, base - 1000} {
		e := effect(t, `{"task":"alpha"}`)
		e.Permit.OutputBytes = most
		o := do(t, p, e)
		a := read(t, o)
		if n := uint64(len(o.Result.AppendCompact(nil))); n > most {
			t.Errorf("%d bytes of %d", n, most)
		}
		if most < base && a.ids() == "a c b:too-large" {
			t.Errorf("%d: %s", most, a.ids())
		}
	}
	e := effect(t, `{"task":"alpha"}`)
	e.Permit.OutputBytes = 1000
	expectFailure(t, do(t, p, e), "invalid", "and a result may have 1000")
}

// TestEnded: a retrieval ends with its run or its deadline, and says which.
func TestEnded(t *testing.T) {
	p := port(t, below(tree(t, pages)))
	over, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	gone, stop := context.WithCancel(t.Context())
	stop()
	for class, ctx := range map[string]context.Context{"timeout": over, "cancelled": gone} {
		o, err := p.Do(ctx, effect(t, task))
		if err != nil || o.Class != class || o.Retryable != (class == "timeout") {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// endingContext ends when it was asked so many times whether it has.
type endingContext struct {
	context.Context
	left *int
}

func (c endingContext) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndsAnywhere: wherever the end comes, the outcome says so, and what was asked
// for by then is charged.
func TestEndsAnywhere(t *testing.T) {
	s := below(tree(t, map[string]string{"knowledge.yaml": units(priced("a", "USDC", "0.1"), priced("b", "USDC", "0.1")), "a.md": "A"}))
	s.Plan.Capabilities.PaymentMethods, s.Plan.Budget = []string{"x402"}, &planner.Budget{Amount: 1}
	p := port(t, s)
	charged := map[uint64]bool{}
	for n := range 100 {
		left := n
		o, err := p.Do(endingContext{t.Context(), &left}, effect(t, `{"task":"alpha"}`))
		if err != nil {
			t.Fatal(err)
		}
		charged[o.Usage.Cost["USDC"]] = true
		if !o.Failed {
			if o.Usage.Cost["USDC"] != 200_000 || n == 0 {
				t.Errorf("after %d: %+v", n, o.Usage)
			}
			if len(charged) != 3 {
				t.Errorf("charged %v on the way", charged)
			}
			return
		}
		if o.Class != graph.ClassCancelled || !o.Result.IsNull() {
			t.Errorf("after %d: %+v", n, o)
		}
	}
	t.Error("it never comes to an end")
}

// FuzzManifest: whatever a manifest says, every selected unit is given or refused,
// the result is bounded, and nothing outside of the folder is read.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(handbook), "install the server")
	f.Add([]byte(units("id: a, path: ../secret.md", "id: b, path: a.md")), "alpha")
	f.Add([]byte("project: p\ncomposition: {includes: [{source: ../knowledge.yaml}]}\nunits: []\n"), "alpha")
	f.Add([]byte("- a"), "alpha")
	dir := tree(f, map[string]string{"secret.md": "planted-secret", "m/a.md": "A", "m/start/install.md": "Run it."})
	s := below(filepath.Join(dir, "m"))
	s.MaxBytes, s.Plan.Capabilities.Credentials = 20_000, []string{"key"}
	p := port(f, s)
	f.Fuzz(func(t *testing.T, manifest []byte, task string) {
		if err := os.WriteFile(s.Location, manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		args, err := artifact.Encode(map[string]string{"task": task})
		if err != nil {
			t.Skip()
		}
		e := keeping(t, string(args))
		o := do(t, p, e)
		if again := do(t, p, e); !again.Result.Equal(o.Result) || again.Error != o.Error {
			t.Errorf("twice asked, two answers")
		}
		text := o.Error + string(o.Result.AppendCompact(nil))
		if strings.Contains(text, "planted") && !strings.Contains(string(manifest)+task, "planted") || strings.Contains(text, dir) {
			t.Errorf("reads or names what is outside: %s", text)
		}
		if len(o.Result.AppendCompact(nil)) > 20_000 {
			t.Errorf("%d bytes", len(text))
		}
		if !o.Failed {
			read(t, o)
		}
	})
}

// TestFailureOfAnythingElse: an error that nobody knows is no reason to try again.
func TestFailureOfAnythingElse(t *testing.T) {
	s := &Source{Manifest: "k", Location: "k"}
	if o := s.failure(t.Context(), errors.New("any")); !o.Failed || o.Class != "invalid" || o.Retryable || o.Error != "any" {
		t.Errorf("%+v", o)
	}
}
