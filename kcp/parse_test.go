package kcp

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f:1:1: manifest is not a YAML mapping"},
		{"# only a comment\n", "f:1:1: manifest is not a YAML mapping"},
		{"- a\n", "f:1:1: manifest is not a YAML mapping"},
		{"~\n", "f:1:1: manifest is not a YAML mapping"},
		{"a: b\n---\nc: d\n", "f:2:1: expected a single document in the stream, but found more"},
		{"a: b\n...\nc: d\n", "f:3:1: expected a single document in the stream, but found more"},
		{"project: a\nproject: b\n", `f:2:1: duplicated mapping key "project", first at line 1, column 1`},
		{"1: a\n\"1\": b\n", `f:2:1: duplicated mapping key "1", first at line 1, column 1`},
		{"x: {a: 1, b: 2, 'a': 3}\n", `f:1:17: duplicated mapping key "a", first at line 1, column 5`},
		{"? a\n: b\na: c\n", `f:3:1: duplicated mapping key "a", first at line 1, column 3`},
		{"a: &x {b: 1, b: 2}\n", `f:1:14: duplicated mapping key "b", first at line 1, column 8`},
		{"project: a\nunits:\n\t- id: x\n", "f:3:1: a tab in the indentation"},
		{"a: \"b\nc: d\n", "f:1:4: the text ends inside quotes"},
		{"é: \"b\n", "f:1:5: the text ends inside quotes"},
		{"a: 'b\nc: d\n", "f:1:4: the text ends inside quotes"},
		{"a: [b\n", `f:2:1: expected "," or "]"; what begins at line 1, column 4 is not closed`},
		{"a: {b: c\nd: e\n", `f:2:1: expected "," or "}"; what begins at line 1, column 4 is not closed`},
		{"intent: What: is it\n", `f:1:13: unexpected ": "`},
		{"units:\n  - id: a\n   path: b\n", `f:3:4: expected "- " here`},
		{"units:\n  - id: a\n    path: b\n      hash: c\n", `f:4:7: "hash" is indented deeper than "path" on line 3, which already has a value`},
		{"a: [b]\n  c: d\n", `f:2:3: "c" is indented deeper than "a" on line 1`},
		{"a: \"b\"\n  c: d\n", `f:2:3: "c" is indented deeper than "a" on line 1`},
		{"a: @x\n", "f:1:4: unexpected character"},
		{"a: b\nc: *x\n", "f:2:4: alias *x names no anchor &x before it"},
		{"a: &x.y b\n", "a name is missing"},
		{"a: !foo b\n", "f:1:4: unknown tag !foo"},
		{"!foo\na: b\n", "f:1:1: unknown tag !foo"},
		{"a: !!int b\n", "f:1:4: the value does not fit its tag !!int"},
		{"a: !!str [b]\n", "f:1:4: tag !!str does not fit"},
		{"a: !!set {b: c}\n", "f:1:14: a value in a !!set must be null"},
		{"a: !!omap [{b: 1}, {b: 2}]\n", "f:1:4: key \"b\" is in the !!omap twice"},
		{"a: !!pairs [{b: 1, c: 2}]\n", "f:1:4: an entry of !!pairs"},
		{"<<: 5\n", `f:1:5: "<<" can only merge a mapping`},
		{"a: &a {b: 1, <<: *a}\n", `f:1:18: "<<" merges a mapping into itself`},
		{"a: [b:]\n", `the colon after "b" needs a blank behind it`},
		{"a: \"\\q\"\n", `f:1:5: unknown escape after "\"`},
		{"a: \"\\ud83d\"\n", "f:1:5: the escape is no Unicode character"},
		{"a: |x\n  y\n", "f:1:5: unexpected text behind"},
		{"foo\nbar: 1\n", `f:1:1: expected ": " after the key`},
		{"a: b\nfoo\nbar: 1\n", `f:2:1: expected ": " after the key`},
		{"%YAML 2.0\n---\na: b\n", "only YAML 1.1 and 1.2 can be read"},
		{"a: \x01\n", "f:1:4: character U+0001 is not printable"},
		{"a: b\x00\n", "f:1:5: character U+0000 is not printable"},
		{"a: \u0080\n", "f:1:4: character U+0080 is not printable"},
		{"a: b\nc: \xff\n", "f:2:4: byte 0xff is not valid UTF-8"},
		{"a: b\r\nc: \xc3\n", "f:2:4: byte 0xc3 is not valid UTF-8"},
		{"a: \ufeff\n", "f:1:4: byte order mark inside the text"},
	} {
		_, _, err := Parse([]byte(c.text), "f")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\n\r") || syntax.Pos.Line < 1 || syntax.Pos.Column < 1) {
			t.Errorf("%q: error %q has no place or more than one line", c.text, err)
		}
	}
}

func TestLimits(t *testing.T) {
	if _, _, err := ParseWith([]byte("project: abc\n"), "f", Limits{MaxBytes: 12}); err == nil ||
		!strings.Contains(err.Error(), "f: manifest has 13 bytes, more than the limit of 12") {
		t.Errorf("size limit: %v", err)
	}
	if _, _, err := ParseWith([]byte("project: abc\n"), "f", Limits{MaxBytes: 13}); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	two := []byte("units:\n- id: a\n- id: b\n")
	if _, _, err := ParseWith(two, "f", Limits{MaxUnits: 1}); err == nil || !strings.Contains(err.Error(), "f:3:3: manifest has more than 1 units") {
		t.Errorf("unit limit: %v", err)
	}
	if m, _, err := ParseWith(two, "f", Limits{MaxUnits: 2}); err != nil || len(m.Units) != 2 {
		t.Errorf("at the limit: %v", err)
	}
}

// TestLibraryDifferences reads texts that the library alone would read
// differently from YAML 1.2, or not at all.
func TestLibraryDifferences(t *testing.T) {
	const anchor = "x: &x y\n" // leaves the text to the library reader
	for _, c := range []struct{ text, project string }{
		{"project: [what?, is it? yes, ?z]\n", "what?,is it? yes,?z"},
		{"project: a\u0085b\u2028c\u2029d\n", "a\u0085b\u2028c\u2029d"},
		{"project: \"a\\/b \\ud83d\\ude00 \\\\ud83d\\ude00?\"\n", ""}, // an unpaired half

		{"project: \"a\\/b \\ud83d\\ude00 \\\\/?\"\n", "a/b 😀 \\/?"},
		{"project: 'a\\/b \\ud83d\\ude00'\n", `a\/b \ud83d\ude00`},
		{"project: \ue000?\uf8ff\n", "\ue000?\uf8ff"},
		{"project: ! 5.0\n", "5.0"},
		{"project: !!str 5.0\n", "5.0"},
		{"project: !!int \"0x1F\"\n", "31"},
		{"project: !!binary aGVsbG8=\n", "104,101,108,108,111"},
		{"project: !!pairs [{a: 1}, {b: [2]}]\n", "a,1,b,2"},
		{"project: !!omap [{a: 1}]\n", "[object Object]"},
		{"project: !!set {a, b}\n", "[object Object]"},
		{"project: !!timestamp 2026-01-01\n", "2026-01-01"},
		{"project: !<tag:yaml.org,2002:str> 5.0\n", "5.0"},
		{"project: <<\n", "<<"},
		{"project: &p [a, *p, [b, ~]]\n", "a,,b,"},
		{"project:\n  yes\n", "yes"},
	} {
		m, _, err := parseWithLibrary([]byte(anchor+c.text), "f")
		switch {
		case c.project == "" && err == nil:
			t.Errorf("%q: no error", c.text)
		case c.project != "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case err == nil && m.Project != c.project:
			t.Errorf("%q: reads as %q, want %q", c.text, m.Project, c.project)
		}
	}
	for _, version := range []string{"1.1", "1.2", "1.3"} {
		if _, _, err := Parse([]byte("# c\n%YAML "+version+"\n---\na: b\n"), "f"); err != nil {
			t.Errorf("version %s: %v", version, err)
		}
	}
}

func TestMergeKeys(t *testing.T) {
	m, _, err := Parse([]byte(`base: &b {id: base, path: b.md, intent: base}
more: &m {path: m.md, scope: module}
units:
  - {<<: [*b, *m], id: own}
  - {id: later, <<: *b}
  - <<: {path: inline.md}
    "<<": ignored
authority: {<<: {read: denied, write: denied}, write: initiative}
`), "f")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"own b.md module", "later b.md ", " inline.md "} {
		u := m.Units[i]
		if got := u.ID + " " + u.Path + " " + u.Scope.Value; got != want {
			t.Errorf("unit %d is %q, want %q", i, got, want)
		}
	}
	if a := m.Authority.Actions; len(a) != 2 || a[1].Name != "write" || a[1].Value.Value != "initiative" {
		t.Errorf("authority is %+v", a)
	}
	root, _, err := Parse([]byte("defaults: &d {project: p, units: [{id: a}]}\nversion: \"2\"\n<<: *d\n"), "f")
	if err != nil || root.Project != "p" || root.Version != "2" || len(root.Units) != 1 {
		t.Errorf("merged root: %+v, %v", root, err)
	}
}

func TestPosition(t *testing.T) {
	const body = `project: p
units:
  - one
  - id: a
    temporal: {valid_from: "2026-01-01"}
    intent: é — ü
    triggers:
      - x
      - "y"
"quoted key": {a: [b, {c: d}]}
`
	for name, prefix := range map[string]string{"fast": "", "library": "x: &x y\n"} {
		m, _, err := Parse([]byte(prefix+body), "f")
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]Position{
			"project":                       {1, 10},
			"units":                         {3, 3},
			"units[0]":                      {3, 5},
			"units[1]":                      {4, 5},
			"units[1].id":                   {4, 9},
			"units[1].temporal.valid_from":  {5, 28},
			"units[1].temporal.valid_until": {5, 15},
			"units[1].intent":               {6, 13},
			"units[1].triggers[1]":          {9, 9},
			"units[1].triggers[7]":          {8, 7},
			"units[9].id":                   {3, 3},
			"quoted key.a[1].c":             {10, 27},
			"nowhere":                       {1, 1},
			"":                              {1, 1},
		} {
			if prefix != "" && want.Line > 1 || prefix != "" && path == "project" {
				want.Line++
			}
			if got := m.Position(path); got != want {
				t.Errorf("%s: %q is at %v, want %v", name, path, got, want)
			}
		}
	}
	if p := new(Manifest).Position("project"); p != (Position{}) {
		t.Errorf("a manifest without text has %v", p)
	}
}

func TestExactTextSurvives(t *testing.T) {
	for _, text := range []string{"a: b", "a: b\n", "\ufeffa: b", "a: b\r"} {
		m, _, err := Parse([]byte(text), "f")
		if err != nil || m.Digest() != artifact.Sum([]byte(text)) {
			t.Errorf("%q: another digest, or %v", text, err)
		}
	}
}

func TestPlainNumbers(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "017": 17, "0o17": 15, "0b101": 5, "0x1f": 31, "-0x1F": -31, "+12": 12,
		"1.": 1, ".5": .5, "1e3": 1000, "1.5E-3": .0015, "0x1FFFFFFFFFFFFFFFFF": 590295810358705651711,
		".inf": math.Inf(1), "-.INF": math.Inf(-1), strings.Repeat("9", 400): math.Inf(1),
	} {
		if kind, x := scalarTypeOf(text); kind != typeNumber || x != want {
			t.Errorf("%s: type %v, %v, want %v", text, kind, x, want)
		}
	}
	for _, text := range []string{
		"+.5", "-.5", "1_000", "0x", "0b2", "0o8", "0O17", "1e", "e1", ".", "+", "-", "--1", "1.2.3", "12e400", "+.nan", "0x1.8", "1 2", "١",
	} {
		if kind, x := scalarTypeOf(text); kind != typeString {
			t.Errorf("%s: type %v, %v, want text", text, kind, x)
		}
	}
	if kind, x := scalarTypeOf(".NaN"); kind != typeNumber || !math.IsNaN(x) {
		t.Errorf(".NaN: %v %v", kind, x)
	}
}

func TestSimilarity(t *testing.T) {
	// Ratios of Python's difflib.SequenceMatcher(None, a, b).
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"load_eligible", "laod_eligible", 24.0 / 26},
		{"triggers", "trigers", 14.0 / 15},
		{"abcd", "bcde", 0.75},
		{"", "", 1},
		{"a", "b", 0},
	} {
		if got := similarity(c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s, %s: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	for key, want := range map[string]string{
		"laod_eligible": "load_eligible", "Audience": "audience", "title": "", "name": "", "description": "", "x-path": "",
		strings.Repeat("intent", 1000): "",
	} {
		if got := similarUnitField(key); got != want {
			t.Errorf("%s looks like %q, want %q", excerpt(key), got, want)
		}
	}
}

func TestGovernedKind(t *testing.T) {
	for kind, want := range map[string]string{
		"skill": "skill", "playbook": "playbook", "Skill": "skill", " PLAYBOOK\t": "playbook",
		"": "", "knowledge": "", "skills": "", "sk ill": "",
	} {
		u := Unit{Kind: artifact.Some(kind)}
		if got := u.GovernedKind(); got != want || u.Governed() != (want != "") {
			t.Errorf("%q: %q, want %q", kind, got, want)
		}
	}
}

func TestValidDate(t *testing.T) {
	for _, s := range []string{
		"2026-01-31", "2024-02-29", "2000-02-29", "0000-01-01", "2026-07-05T10:00:00Z", "2026-07-05 10:00",
		"2026-07-05T24:00", "2026-07-05T23:59:60Z", "2026-07-05T10:00:00.25+02:00", "2026-07-05T10:00 -0530",
	} {
		if !ValidDate(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{
		"", "soon", "2026-7-5", "2026-13-01", "2026-00-10", "2026-02-29", "1900-02-29", "2026-04-31", "2026-01-00",
		"20260705", "2026-07-05X", "2026-07-05T25:00", "2026-07-05T24:01", "2026-07-05T10:60", "2026-07-05T10:00:61",
		"2026-07-05T10\n", "2026-07-05T", "2026-07-05 soon", "2026-07-05T10:00:00.", "2026-07-05T10:00+99", "2026-07-05T10:00:00Zx", " 2026-07-05", "-026-07-05", "２026-07-05",
	} {
		if ValidDate(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestTemporalOf(t *testing.T) {
	from, until := artifact.Some("2026-01-01"), artifact.Some("2027-01-01")
	m := &Manifest{}
	if m.TemporalOf(&Unit{}) != nil {
		t.Error("a window from nowhere")
	}
	m.Temporal = &Temporal{ValidFrom: from, SupersededBy: artifact.Some("x")}
	if got := *m.TemporalOf(&Unit{}); got != *m.Temporal {
		t.Errorf("without its own: %+v", got)
	}
	own := Temporal{ValidFrom: artifact.Some("2026-06-01"), ValidUntil: until, SupersededBy: artifact.Some("")}
	want := own
	if got := *m.TemporalOf(&Unit{Temporal: &own}); got != want {
		t.Errorf("with its own: %+v, want %+v", got, want)
	}
	own = Temporal{ValidUntil: until}
	if got := *m.TemporalOf(&Unit{Temporal: &own}); got.ValidFrom != from || got.ValidUntil != until || own.ValidFrom.Set {
		t.Errorf("field by field: %+v", got)
	}
	m.Temporal.Malformed = true
	if !m.TemporalOf(&Unit{Temporal: &own}).Malformed {
		t.Error("a malformed default is lost")
	}
}
