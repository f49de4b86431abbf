package load

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// including gives a manifest with one unit that includes others.
func including(id string, includes ...string) string {
	text := "project: p\nversion: 1.0.0\n"
	if len(includes) > 0 {
		text += "composition:\n  includes:\n"
	}
	for _, in := range includes {
		text += "    - {" + in + "}\n"
	}
	return text + "units:\n  - {id: " + id + ", path: " + id + ".md, intent: What " + id + " is}\n"
}

func from(sources ...string) []string {
	for i, s := range sources {
		sources[i] = "source: '" + s + "'"
	}
	return sources
}

func composedOf(t *testing.T, location string, o Options) (*Loaded, string) {
	t.Helper()
	l, err := Manifest(context.Background(), location, o)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, u := range l.Manifest.Units {
		list = append(list, u.ID)
	}
	return l, strings.Join(list, " ")
}

// problems gives the codes and the messages of all findings.
func problems(l *Loaded) string {
	var b strings.Builder
	for _, f := range l.Findings {
		fmt.Fprintf(&b, "%s %s %d: %s\n", f.Severity, f.Code, f.Pos.Line, f.Message)
	}
	return b.String()
}

func TestComposeLocal(t *testing.T) {
	tree(t, map[string]string{
		"k.yaml":                including("top", "source: a/k.yaml, as: a", "source: ./b", "source: gone.yaml"),
		"a/k.yaml":              including("one", "source: sub/k.yaml, as: s"),
		"a/sub/k.yaml":          including("two"),
		"a/sub/two.md":          "content",
		"b/knowledge.yaml":      including("three", "source: ../above/k.yaml"),
		"above/k.yaml":          including("four"),
		"../outside/never.yaml": including("never"),
	})
	l, ids := composedOf(t, "k.yaml", Options{})
	if ids != "top a:one a:s:two three four" || l.Parts != 5 || len(l.Included) != 4 || l.Included[1].Source != "a/sub/k.yaml" {
		t.Errorf("units %q of %d manifests: %v", ids, l.Parts, l.Included)
	}
	if u, refusal := l.Unit(context.Background(), "a:s:two"); refusal != nil || string(u.Bytes) != "content" {
		t.Errorf("an included unit is %q, %v", u.Bytes, refusal)
	}
	if _, refusal := l.Unit(context.Background(), "four"); refusal == nil || refusal.Code != UnsafePath {
		t.Errorf("a unit above its manifest: %v", refusal)
	}
	got := problems(l)
	if !strings.Contains(got, "warning composition-include-failed 7: the include 'gone.yaml' failed, and its units are left out: manifest not found") ||
		!strings.Contains(got, "warning composition-path-escapes 6: b/knowledge.yaml:5:16: 1 unit is of this include not below") {
		t.Errorf("findings:\n%s", got)
	}
	if l.Digest != artifact.Sum(l.Bytes) || l.Manifest.Digest() != l.Digest || l.Manifest.Composition != nil {
		t.Error("the composed manifest is not that of the file")
	}
	if l, ids := composedOf(t, "k.yaml", Options{NoCompose: true}); ids != "top" || l.Manifest.Composition == nil || l.Parts != 1 {
		t.Errorf("without composing: %q", ids)
	}
}

func TestComposeStaysBelowRoot(t *testing.T) {
	dir := tree(t, map[string]string{
		"outside.yaml":  including("outside"),
		"in/k.yaml":     including("top", from("../outside.yaml", "sub/k.yaml", "/etc/passwd")...),
		"in/sub/k.yaml": including("sub", from("../../outside.yaml")...),
	})
	t.Chdir(dir + "/in/sub")
	for _, location := range []string{"../k.yaml", dir + "/in/k.yaml"} {
		for _, root := range []string{"", dir + "/in"} {
			l, ids := composedOf(t, location, Options{Root: root})
			if ids != "top sub" || strings.Count(problems(l), "outside the root directory") != 3 {
				t.Errorf("%s below %q: units %q\n%s", location, root, ids, problems(l))
			}
		}
	}
}

func TestComposeCircles(t *testing.T) {
	tree(t, map[string]string{
		"self.yaml":  including("self", from("./sub/../self.yaml")...),
		"a.yaml":     including("a", from("b.yaml")...),
		"b.yaml":     including("b", from("c.yaml", "d.yaml")...),
		"c.yaml":     including("c", from("./a.yaml")...),
		"d.yaml":     including("d"),
		"top.yaml":   including("top", "source: left.yaml, as: l", "source: right.yaml, as: r"),
		"left.yaml":  including("left", from("d.yaml")...),
		"right.yaml": including("right", from("d.yaml")...),
	})
	for location, want := range map[string][3]string{
		"self.yaml": {"self", "error composition-include-circular 5: circular includes: self.yaml includes self.yaml"},
		"a.yaml":    {"a b c d", "circular includes: a.yaml includes b.yaml includes c.yaml includes a.yaml"},
		"top.yaml":  {"top l:left l:d r:right r:d", ""}, // a diamond is no circle
	} {
		l, ids := composedOf(t, location, Options{})
		if got := problems(l); ids != want[0] || !strings.Contains(got, want[1]) || (got == "") != (want[1] == "") {
			t.Errorf("%s: units %q\n%s", location, ids, got)
		}
	}
}

func TestComposeLimits(t *testing.T) {
	files := map[string]string{"small.yaml": including("small")}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("source: small.yaml, as: p%d", i))
	}
	files["many.yaml"] = including("many", many...)
	for i := range 12 {
		files[fmt.Sprintf("deep%d.yaml", i)] = including(fmt.Sprintf("u%d", i), from(fmt.Sprintf("deep%d.yaml", i+1))...)
	}
	for i := range 8 { // each includes the next one four times: 4^7 without a bound
		var list []string
		for k := range 4 {
			list = append(list, fmt.Sprintf("source: wide%d.yaml, as: w%d", i+1, k))
		}
		files[fmt.Sprintf("wide%d.yaml", i)] = including("u", list...)
	}
	tree(t, files)
	l, _ := composedOf(t, "many.yaml", Options{})
	if l.Parts != 1+maxIncludes || len(l.Manifest.Units) != 1+maxIncludes || !strings.Contains(problems(l), "more than 256 includes") {
		t.Errorf("%d manifests of a thousand", l.Parts)
	}
	l, ids := composedOf(t, "deep0.yaml", Options{})
	if ids != "u0 u1 u2 u3 u4 u5 u6 u7 u8" || !strings.Contains(problems(l), "8 manifests deep") {
		t.Errorf("units %q\n%s", ids, problems(l))
	}
	if l, _ = composedOf(t, "wide0.yaml", Options{}); l.Parts > 1+maxIncludes || len(l.Findings) > 1000 {
		t.Errorf("%d manifests, %d findings", l.Parts, len(l.Findings))
	}
	l, ids = composedOf(t, "deep10.yaml", Options{MaxBytes: len(files["deep10.yaml"]) + 1})
	if !strings.HasPrefix(ids, "u10") || !strings.Contains(problems(l), "composition-include-failed") {
		t.Errorf("units %q\n%s", ids, problems(l))
	}
}

const grantedSkill = "  - {id: act, path: a.md, intent: i, kind: skill, load_eligible: true, action_scope: {tools: [t]}}\n"

func TestComposeIntegrity(t *testing.T) {
	part := including("part") + grantedSkill
	hash := artifact.Sum([]byte(part)).Hex()
	wrong := strings.Repeat("0", 64)
	pin := func(algorithm, value string) string {
		return "source: part.yaml, integrity: {manifest_hash: {algorithm: " + algorithm + ", value: '" + value + "'}}"
	}
	for _, test := range []struct {
		include        string
		present, grant bool
		finding        string
	}{
		{pin("sha256", hash), true, true, ""},
		{pin("sha256", strings.ToUpper(hash)), true, true, ""},
		{pin("sha256", wrong), false, false, "integrity.manifest_hash: expected " + wrong + ", observed " + hash},
		{pin("md5", hash), false, false, "a digest that can be checked"},
		{pin("sha512", hash), false, false, "a digest that can be checked"},
		{"source: part.yaml, integrity: {manifest_hash: 'sha256:" + hash + "'}", false, false, "a digest that can be checked"},
		{"source: part.yaml, integrity: {}", false, false, "neither manifest_hash nor expected_signer"},
		{"source: part.yaml, integrity: {expected_signer: k}", false, false, "expected k, observed unsigned"},
		{"source: part.yaml", true, false, "composition-unverified"},
	} {
		tree(t, map[string]string{"k.yaml": including("top", test.include), "part.yaml": part})
		l, ids := composedOf(t, "k.yaml", Options{})
		if (ids == "top part act") != test.present || !strings.Contains(problems(l), test.finding) || (problems(l) == "") != (test.finding == "") {
			t.Errorf("%s: units %q\n%s", test.include, ids, problems(l))
		}
		if u := l.Manifest.Names().Unit("act"); test.present && u.LoadEligible.Grants() != test.grant {
			t.Errorf("%s: the skill is %+v", test.include, u.LoadEligible)
		}
	}
}

// A key that the included manifest declares itself can carry any name, so only a
// key that the user trusts verifies a signer.
func TestComposeExpectedSigner(t *testing.T) {
	key, stranger := testKey('a'), testKey('b')
	text := kcp.DeclareSigning([]byte(including("part")+grantedSkill), publicText(key), "team", "part.yaml.sig")
	envelope, err := kcp.Sign(text, key, "team")
	if err != nil {
		t.Fatal(err)
	}
	hash := ", manifest_hash: {algorithm: sha256, value: " + artifact.Sum(text).Hex() + "}"
	for _, test := range []struct {
		signer, more   string
		o              func(part string) Options
		present, grant bool
		finding        string
	}{
		{"team", "", func(string) Options { return Options{} }, true, false, "composition-unverified"},
		{"team", "", func(part string) Options { return Options{Pins: pinsFor(t, part, publicText(key))} }, true, true, ""},
		{"team", "", func(string) Options { return Options{TrustKey: publicText(key)} }, true, true, ""},
		{"team", hash, func(string) Options { return Options{} }, true, true, ""},
		{"other", hash, func(string) Options { return Options{} }, false, false, "expected other, observed a signature by team"},
		{"other", "", func(part string) Options { return Options{Pins: pinsFor(t, part, publicText(key))} }, false, false,
			"integrity.expected_signer: expected other, observed a signature by team"},
		{"team", "", func(part string) Options { return Options{Pins: pinsFor(t, part, publicText(stranger))} }, false, false, "signature invalid"},
		{"team", "", func(string) Options { return Options{NoVerify: true} }, true, false, "composition-unverified"},
	} {
		dir := tree(t, map[string]string{
			"k.yaml":        including("top", "source: sub/part.yaml, integrity: {expected_signer: "+test.signer+test.more+"}"),
			"sub/part.yaml": string(text), "sub/part.yaml.sig": string(envelope),
		})
		l, ids := composedOf(t, "k.yaml", test.o(dir+"/sub"))
		if (ids == "top part act") != test.present || !strings.Contains(problems(l), test.finding) {
			t.Errorf("%s: units %q\n%s", test.signer, ids, problems(l))
		}
		if u := l.Manifest.Names().Unit("act"); test.present && u.LoadEligible.Grants() != test.grant {
			t.Errorf("%s: the skill is %+v", test.signer, u.LoadEligible)
		}
	}
}

func TestComposeRemote(t *testing.T) {
	s, o := newSite(t, map[string]string{
		"/d/k.yaml":      including("top", from("sub/k.yaml", "/moved.yaml", "file:///etc/passwd", "gone.yaml")...),
		"/d/sub/k.yaml":  including("sub"),
		"/d/sub/sub.md":  "content",
		"/moved.yaml":    "-> /else/k.yaml",
		"/else/k.yaml":   including("else", from("../d/k.yaml")...),
		"/else/else.md":  "content",
		"/other/knowing": "",
	})
	l, ids := composedOf(t, s.URL+"/d/k.yaml", o)
	got := problems(l)
	if ids != "top sub else" || !strings.Contains(got, "circular includes: "+s.URL+"/d/k.yaml includes "+s.URL+"/else/k.yaml includes ") ||
		!strings.Contains(got, "leads to no http(s) location") || !strings.Contains(got, "'gone.yaml' failed") {
		t.Errorf("units %q\n%s", ids, got)
	}
	if u, refusal := l.Unit(context.Background(), "sub"); refusal != nil || string(u.Bytes) != "content" {
		t.Errorf("an included unit is %q, %v", u.Bytes, refusal)
	}
	if _, refusal := l.Unit(context.Background(), "else"); refusal == nil || refusal.Code != UnsafePath {
		t.Errorf("a unit from above: %v", refusal)
	}

	tree(t, map[string]string{"k.yaml": including("local", from(s.URL+"/d/sub/k.yaml")...)})
	if l, ids = composedOf(t, "k.yaml", o); ids != "local sub" || !strings.Contains(problems(l), "composition-path-escapes") {
		t.Errorf("units %q\n%s", ids, problems(l))
	}
	if l, ids = composedOf(t, "k.yaml", Options{}); ids != "local" || !strings.Contains(problems(l), "reading over the network is off") {
		t.Errorf("units %q\n%s", ids, problems(l))
	}
}

func TestComposeRequiredSignature(t *testing.T) {
	part := including("part")
	hash := artifact.Sum([]byte(part)).Hex()
	key := testKey('a')
	for include, want := range map[string]string{
		"source: part.yaml": "top",
		"source: part.yaml, integrity: {manifest_hash: {algorithm: sha256, value: " + hash + "}}": "top part",
	} {
		text := kcp.DeclareSigning([]byte(including("top", include)), publicText(key), "team", "k.yaml.sig")
		envelope, err := kcp.Sign(text, key, "team")
		if err != nil {
			t.Fatal(err)
		}
		tree(t, map[string]string{"k.yaml": string(text), "k.yaml.sig": string(envelope), "part.yaml": part})
		if l, ids := composedOf(t, "k.yaml", Options{RequireSignature: true, TrustKey: publicText(key)}); ids != want {
			t.Errorf("%s: units %q\n%s", include, ids, problems(l))
		}
	}
}

func TestComposeContextEnds(t *testing.T) {
	tree(t, map[string]string{"k.yaml": including("top", from("part.yaml")...), "part.yaml": including("part")})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if l, err := Manifest(ctx, "k.yaml", Options{}); l != nil || err == nil {
		t.Errorf("a manifest after the end of the context: %v, %v", l, err)
	}
}

// Warnings of an include are cut, and an error behind them is not.
func TestComposeFindingsOfIncludes(t *testing.T) {
	text := including("part", from("top.yaml")...)
	for i := range 40 {
		text += fmt.Sprintf("  - {id: u%d, path: u.md, intent: i, deprecated: yes}\n", i)
	}
	tree(t, map[string]string{"top.yaml": including("top", from("part.yaml")...), "part.yaml": text})
	l, _ := composedOf(t, "top.yaml", Options{})
	got := problems(l)
	if strings.Count(got, "not-a-boolean") != mostTakenOver || !strings.Contains(got, "part.yaml has 20 more findings") ||
		!strings.Contains(got, "error composition-include-circular 5: part.yaml:5:16: circular includes") {
		t.Errorf("findings:\n%s", got)
	}
}
