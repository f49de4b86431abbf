package planner_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// fixtures gives the folder of shared fixtures, and skips the test where it is
// absent.
func fixtures(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("WRIT_FIXTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no shared fixtures at %s (set WRIT_FIXTURES)", dir)
	}
	return dir
}

// options is how fixtures write planner options.
type options struct {
	AsOf         string     `json:"asOf"`
	Env          kcp.String `json:"env"`
	MaxUnits     kcp.Number `json:"maxUnits"`
	Strict       bool       `json:"strict"`
	Capabilities struct {
		Role                string     `json:"role"`
		PaymentMethods      []string   `json:"paymentMethods"`
		Credentials         []string   `json:"credentials"`
		AttestationProvider kcp.String `json:"attestationProvider"`
	} `json:"capabilities"`
	Budget        *planner.Budget        `json:"budget"`
	ContextBudget kcp.Number             `json:"contextBudget"`
	GrantCeiling  kcp.String             `json:"grantCeiling"`
	Spend         *planner.SpendProposal `json:"spend"`
	Action        *planner.Action        `json:"action"`
}

func (o options) planner() planner.Options {
	return planner.Options{
		Capabilities: planner.Capabilities(o.Capabilities), Env: o.Env, AsOf: o.AsOf, MaxUnits: o.MaxUnits, Strict: o.Strict,
		Budget: o.Budget, ContextBudget: o.ContextBudget, GrantCeiling: o.GrantCeiling, Spend: o.Spend, Action: o.Action,
	}
}

// record is one line of a differential file.
type record struct {
	Name         string         `json:"name"`
	Manifest     string         `json:"manifest"`
	ManifestPath string         `json:"manifestPath"`
	Source       string         `json:"source"`
	Task         string         `json:"task"`
	Options      options        `json:"options"`
	Outcome      artifact.Value `json:"outcome"`
	PlanJSON     string         `json:"planJson"`
	TraceJSON    string         `json:"traceJson"`
	Trace        artifact.Value `json:"trace"`
	Error        string         `json:"error"`
}

func lines(t *testing.T, path string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("fixtures are there but a file is not: %v", err)
	}
	var list [][]byte
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		list = append(list, bytes.Clone(scanner.Bytes()))
	}
	return list
}

func records(t *testing.T, path string) []record {
	t.Helper()
	var list []record
	for i, line := range lines(t, path) {
		var r record
		if err := artifact.Decode(line, &r, artifact.IgnoreUnknown); err != nil {
			t.Fatalf("%s:%d: %v", path, i+1, err)
		}
		list = append(list, r)
	}
	return list
}

func parse(t testing.TB, text, source string) *kcp.Manifest {
	t.Helper()
	m, _, err := kcp.Parse([]byte(text), source)
	if err != nil {
		t.Fatalf("parse %s: %v", source, err)
	}
	return m
}

// outcome is the portable projection that vectors compare.
func outcome(plan *planner.LoadPlan) string {
	pick := func(v artifact.Value, names ...string) artifact.Value {
		var members []artifact.Member
		for _, name := range names {
			if value, ok := v.Get(name); ok {
				members = append(members, artifact.Member{Name: name, Value: value})
			}
		}
		return artifact.ObjectValue(members...)
	}
	each := func(v artifact.Value, names ...string) artifact.Value {
		var list []artifact.Value
		for _, element := range v.Elements() {
			list = append(list, pick(element, names...))
		}
		return artifact.ArrayValue(list...)
	}
	data, err := artifact.Encode(plan)
	if err != nil {
		panic(err)
	}
	v, err := artifact.ParseValue(data)
	if err != nil {
		panic(err)
	}
	get := func(name string) artifact.Value { value, _ := v.Get(name); return value }
	return artifact.ObjectValue(
		artifact.Member{Name: "selected", Value: each(get("selected"), "id", "loadEligible", "score")},
		artifact.Member{Name: "skipped", Value: each(get("skipped"), "id", "reason")},
		artifact.Member{Name: "federation", Value: each(get("federation"), "id", "selected", "reason", "credentialNeeded")},
		artifact.Member{Name: "trust", Value: pick(get("trust"), "requiresAttestation", "agentCanAttest")},
		artifact.Member{Name: "budget", Value: pick(get("budget"), "rateTier", "ceiling", "projectedSpend", "remaining", "currency")},
		artifact.Member{Name: "context", Value: pick(get("context"), "ceiling", "projectedTokens", "remaining", "approximate", "unmeasured")},
		artifact.Member{Name: "warnings", Value: get("warnings")},
	).String()
}

// sameJSON compares two JSON texts whatever the order of their members.
func sameJSON(t *testing.T, want, got string) string {
	t.Helper()
	w, err := artifact.ParseValue([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	g, err := artifact.ParseValue([]byte(got))
	if err != nil {
		t.Fatal(err)
	}
	if w.Equal(g) {
		return ""
	}
	return "want " + want + "\ngot  " + got
}

// tally counts what became of the records of a file.
type tally struct {
	ran, matched int
	deviated     []string
}

func (c *tally) log(t *testing.T, file string) {
	t.Helper()
	t.Logf("%s: %d ran, %d matched, %d deviated %v, 0 deferred", file, c.ran, c.matched, len(c.deviated), c.deviated)
}

// judge counts one record: a difference is allowed only by name.
func (c *tally) judge(t *testing.T, name, difference string, deviation bool) {
	t.Helper()
	c.ran++
	switch {
	case difference == "":
		c.matched++
		if deviation {
			t.Errorf("%s is listed as a deviation but matches", name)
		}
	case deviation:
		c.deviated = append(c.deviated, name)
	default:
		t.Errorf("%s:\n%s", name, difference)
	}
}

func TestPublishedVectors(t *testing.T) {
	dir := filepath.Join(fixtures(t), "vectors")
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	var c tally
	for _, file := range files {
		if filepath.Base(file) == "ed25519-speccheck.json" {
			continue // keys, not plans: tested with signatures
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Name     string         `json:"name"`
			Manifest string         `json:"manifest"`
			Task     string         `json:"task"`
			Options  options        `json:"options"`
			Expect   artifact.Value `json:"expect"`
		}
		if err := artifact.Decode(data, &v, artifact.IgnoreUnknown); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		plan, _ := planner.Plan(parse(t, v.Manifest, v.Name), v.Task, v.Options.planner())
		c.judge(t, v.Name, sameJSON(t, v.Expect.String(), outcome(plan)), false)
	}
	if c.ran < 13 {
		t.Errorf("only %d published vectors, want at least 13", c.ran)
	}
	c.log(t, "vectors/*.json")
}

func TestEdgePlans(t *testing.T) {
	var c tally
	for _, r := range records(t, filepath.Join(fixtures(t), "vectors", "differential", "edge-plans.jsonl")) {
		m := parse(t, r.Manifest, "edge.yaml")
		plan, trace := planner.Plan(m, r.Task, r.Options.planner())
		difference := "the reference fails: " + r.Error
		if r.Error == "" {
			difference = cmp.Diff(r.PlanJSON, encoded(t, plan))
			if echoOrder[r.Name] {
				difference = sameJSON(t, r.PlanJSON, encoded(t, plan))
			}
			difference += sameJSON(t, r.Outcome.String(), outcome(plan)) +
				cmp.Diff(r.Trace.String(), traceLike(t, r.Trace, trace))
		}
		c.judge(t, r.Name, difference, deviations[r.Name])
	}
	c.log(t, "edge-plans.jsonl")
}

func TestExactArtifacts(t *testing.T) {
	dir := fixtures(t)
	for _, file := range []string{"exact-json.jsonl", "vector-json.jsonl"} {
		var c tally
		for _, r := range records(t, filepath.Join(dir, "vectors", "differential", file)) {
			name, text := r.Name, r.Manifest
			if r.ManifestPath != "" {
				name, text = r.ManifestPath, example(t, dir, r.ManifestPath)
			}
			plan, trace := planner.Plan(parse(t, text, r.Source), r.Task, r.Options.planner())
			c.judge(t, name, cmp.Diff(r.PlanJSON, encoded(t, plan))+cmp.Diff(r.TraceJSON, encodedTrace(t, trace, correlation(r.TraceJSON))), false)
		}
		c.log(t, file)
	}
}

func TestExamplePlans(t *testing.T) {
	dir := fixtures(t)
	files, _ := filepath.Glob(filepath.Join(dir, "vectors", "differential", "examples-*.jsonl"))
	if len(files) != 10 {
		t.Errorf("%d example files, want 10", len(files))
	}
	for _, file := range files {
		var c tally
		for i, r := range records(t, file) {
			plan, trace := planner.Plan(parse(t, example(t, dir, r.ManifestPath), r.ManifestPath), r.Task, r.Options.planner())
			c.judge(t, fmt.Sprintf("%s record %d", filepath.Base(file), i+1),
				sameJSON(t, r.Outcome.String(), outcome(plan))+cmp.Diff(r.Trace.String(), traceLike(t, r.Trace, trace)), false)
		}
		c.log(t, filepath.Base(file))
	}
}

func example(t *testing.T, dir, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "examples", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func encoded(t *testing.T, plan *planner.LoadPlan) string {
	t.Helper()
	data, err := plan.JSON("")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func correlation(recorded string) string {
	envelope, err := artifact.ReadEnvelope([]byte(recorded))
	if err != nil {
		return ""
	}
	return envelope.CorrelationID
}

func encodedTrace(t *testing.T, trace *planner.Trace, correlationID string) string {
	t.Helper()
	data, err := trace.JSON(correlationID)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// traceLike gives the members of a trace that the record has, in the record's
// order: some files leave out the task, the plan and the capabilities.
func traceLike(t *testing.T, recorded artifact.Value, trace *planner.Trace) string {
	t.Helper()
	data, err := artifact.Encode(trace.Document())
	if err != nil {
		t.Fatal(err)
	}
	v, err := artifact.ParseValue(data)
	if err != nil {
		t.Fatal(err)
	}
	var members []artifact.Member
	for _, m := range recorded.Members() {
		if value, ok := v.Get(m.Name); ok {
			members = append(members, artifact.Member{Name: m.Name, Value: value})
		}
	}
	return artifact.ObjectValue(members...).String()
}

func TestDiffFixtures(t *testing.T) {
	var c tally
	for i, line := range lines(t, filepath.Join(fixtures(t), "vectors", "differential", "diff.jsonl")) {
		type side struct {
			Task kcp.String `json:"task"`
			Opt  options    `json:"opt"`
		}
		var r struct {
			Manifest string         `json:"manifest"`
			A        side           `json:"a"`
			B        side           `json:"b"`
			Diff     artifact.Value `json:"diff"`
		}
		if err := artifact.Decode(line, &r, artifact.IgnoreUnknown); err != nil {
			t.Fatal(err)
		}
		m := parse(t, r.Manifest, "diff.yaml")
		plan := func(s side) *planner.LoadPlan {
			o := s.Opt.planner()
			if o.AsOf == "" {
				o.AsOf = "2026-01-01"
			}
			p, _ := planner.Plan(m, s.Task.Or("alpha"), o)
			return p
		}
		a, b := plan(r.A), plan(r.B)
		got, err := artifact.EncodeCompact(planner.Diff(a, b))
		if err != nil {
			t.Fatal(err)
		}
		saved, err := planner.DiffArtifacts([]byte(encoded(t, a)), []byte(encoded(t, b)))
		if err != nil {
			t.Fatal(err)
		}
		again, _ := artifact.EncodeCompact(saved)
		c.judge(t, fmt.Sprint("line ", i+1), cmp.Diff(r.Diff.String(), string(got))+cmp.Diff(string(got), string(again)), false)
	}
	c.log(t, "diff.jsonl")
}

func TestServingFixtures(t *testing.T) {
	var c tally
	for i, line := range lines(t, filepath.Join(fixtures(t), "vectors", "differential", "serving.jsonl")) {
		var r struct {
			Serving struct {
				Manifest []string `json:"manifest"`
			} `json:"serving"`
			Source kcp.String     `json:"source"`
			Check  artifact.Value `json:"check"`
		}
		if err := artifact.Decode(line, &r, artifact.IgnoreUnknown); err != nil {
			t.Fatal(err)
		}
		check := planner.CheckServing(&kcp.Serving{Manifest: kcp.List{Items: r.Serving.Manifest}}, r.Source.Value)
		got, err := artifact.EncodeCompact(check)
		if err != nil {
			t.Fatal(err)
		}
		c.judge(t, fmt.Sprint("line ", i+1), cmp.Diff(r.Check.String(), string(got)), false)
	}
	c.log(t, "serving.jsonl")
}

// echoOrder are the records whose options were given in another order of keys.
// The plan echoes an action's keys in one fixed order, so these are compared
// whatever the order.
var echoOrder = set("deny-order deny-order-strict")

// deviations are the records of edge-plans.jsonl that docs/deviations.md
// lists; each has its right answer in testdata.
var deviations = set(`
	audience-scalar-is-open temporal-scalar temporal-self supersession-mutual deprecated-0 deprecated-""
	load-eligible-"false" load-eligible-no load-eligible-1 kind-case access-unknown access-case
	payment-no-fields payment-methods-scalar payment-junk-item price-"abc" price-"" price-"-1" price-"0x10"
	price-"1_0" price-"0,5" price-null money-negative size-tokens-"" size-tokens-true size-tokens-[5]
	size-tokens-[] size-tokens-"0x10" size-tokens--5 bytes--3 context-neg context-inf duplicate-ids empty-ids
	federation-noenv federation-empty deny-question-mark deny-question-mark-strict
	timestamps-unquoted timestamps-unquoted-until`)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(names) {
		m[name] = true
	}
	return m
}

// The golden files of a port: its diffs are ours, and so are its traces but for
// one sentence, which it still writes as an older reference did.
func TestPortGoldenFiles(t *testing.T) {
	dir := filepath.Join(fixtures(t), "vectors", "rust-fixtures")
	type golden struct {
		Name     string         `json:"name"`
		Manifest string         `json:"manifest"`
		Task     string         `json:"task"`
		Options  options        `json:"options"`
		A        options        `json:"a"`
		B        options        `json:"b"`
		Expect   artifact.Value `json:"expect"`
	}
	for _, kind := range []string{"diff", "trace"} {
		files, _ := filepath.Glob(filepath.Join(dir, kind, "*.json"))
		var c tally
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := artifact.Decode(data, &g, artifact.IgnoreUnknown); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			m := parse(t, g.Manifest, g.Name)
			if kind == "diff" {
				a, _ := planner.Plan(m, g.Task, g.A.planner())
				b, _ := planner.Plan(m, g.Task, g.B.planner())
				got, _ := artifact.EncodeCompact(planner.Diff(a, b))
				c.judge(t, g.Name, sameJSON(t, g.Expect.String(), string(got)), false)
				continue
			}
			_, trace := planner.Plan(m, g.Task, g.Options.planner())
			want := strings.ReplaceAll(g.Expect.String(), `"not a skill"`, `"not a governed procedure"`)
			c.judge(t, g.Name, sameJSON(t, want, traceLike(t, g.Expect, trace)), false)
		}
		c.log(t, "rust-fixtures/"+kind)
		if c.ran == 0 {
			t.Errorf("no golden files in %s", kind)
		}
	}
}
