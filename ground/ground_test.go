package ground

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
)

// fixtureRoot gives the shared fixture folder and skips the test without one.
func fixtureRoot(t *testing.T) string {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no fixtures at %s; set WRIT_FIXTURES to run this test", root)
	}
	return root
}

func fixture(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{fixtureRoot(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := artifact.Decode(data, v, artifact.IgnoreUnknown); err != nil {
		t.Fatal(err)
	}
}

func TestSplitClaims(t *testing.T) {
	for answer, want := range map[string][]string{
		"":                              nil,
		" \n ":                          nil,
		"A. B! C? D":                    {"A.", "B!", "C?", "D"},
		"v1.2 is out. See e.g. this.":   {"v1.2 is out.", "See e.g.", "this."},
		"“Quoted.” Next":                {"“Quoted.” Next"},
		"- one\n- two":                  {"- one", "- two"},
		"A.\u00a0\ufeff B\r\n\r\n\tC ":  {"A.", "B", "C"},
		"one\rtwo\u2028three":           {"one\rtwo\u2028three"},
		"no stop, three  blanks   here": {"no stop, three  blanks   here"},
	} {
		if got := SplitClaims(answer); !slices.Equal(got, want) {
			t.Errorf("SplitClaims(%q) = %q, want %q", answer, got, want)
		}
	}
}

func TestSplitClaimsLosesNoText(t *testing.T) {
	drop := func(s string) string {
		return strings.Map(func(r rune) rune {
			if isSpace(r) {
				return -1
			}
			return r
		}, s)
	}
	text := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("ab.!? \n\r\t\u00a0”")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		answer := text.Draw(t, "answer")
		claims := SplitClaims(answer)
		if got, want := drop(strings.Join(claims, "")), drop(answer); got != want {
			t.Fatalf("claims hold %q, the answer %q", got, want)
		}
		for _, claim := range claims {
			if claim != trimSpace(claim) || claim == "" || strings.Contains(claim, "\n") {
				t.Fatalf("claim %q is not trimmed, or empty, or has lines", claim)
			}
			if again := SplitClaims(claim); len(again) != 1 {
				t.Fatalf("claim %q splits into %q", claim, again)
			}
		}
	})
}

func TestParseVerdict(t *testing.T) {
	const unreadable = "verifier returned an unparseable verdict"
	for reply, want := range map[string]Verdict{
		`{"supportedBy":"u","note":"n"}`:                   {"u", "n"},
		"```json\n{\"supportedBy\":\"u\"}\n```":            {"u", ""},
		"```\n{\"supportedBy\":null,\"note\":\"n\"}```\n":  {"", "n"},
		" ```JSON {\"supportedBy\":\"u\",\"more\":1} ``` ": {"u", ""},
		`{"supportedBy":"","note":5}`:                      {"", ""},
		`{"supportedBy":["u"]}`:                            {"", ""},
		`{}`:                                               {"", ""},
		`Sure: {"supportedBy":"u"}`:                        {"", unreadable},
		`{"supportedBy":"u"} and more`:                     {"", unreadable},
		`{"supportedBy":"u","supportedBy":"v"}`:            {"", unreadable},
		"":                                                 {"", unreadable},
		"null":                                             {"", unreadable},
		"```":                                              {"", unreadable},
		"```json":                                          {"", unreadable},
	} {
		if got := ParseVerdict(reply); got != want {
			t.Errorf("ParseVerdict(%q) = %+v, want %+v", reply, got, want)
		}
	}
}

func TestAdjudicate(t *testing.T) {
	claims := []string{"a", "b", "c", "d", "e"}
	verdicts := []Verdict{{"u", "yes"}, {"", ""}, {"", "not stated"}, {"ghost", "yes"}}
	got, err := artifact.EncodeCompact(Adjudicate(claims, verdicts, []Unit{{"u", "old"}, {"w", "2"}, {"u", "new"}}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"status":"partial-unsupported","claims":[` +
		`{"claim":"a","grounded":true,"unitId":"u","sha256":"new"},` +
		`{"claim":"b","grounded":false,"reason":"no loaded unit supports this claim"},` +
		`{"claim":"c","grounded":false,"reason":"unsupported: not stated"},` +
		`{"claim":"d","grounded":false,"reason":"verifier cited unit 'ghost' that was not loaded — fail-closed"},` +
		`{"claim":"e","grounded":false,"reason":"no loaded unit supports this claim"}],` +
		`"grounded":[{"claim":"a","grounded":true,"unitId":"u","sha256":"new"}],"gaps":[` +
		`{"claim":"b","reason":"no loaded unit supports this claim"},` +
		`{"claim":"c","reason":"unsupported: not stated"},` +
		`{"claim":"d","reason":"verifier cited unit 'ghost' that was not loaded — fail-closed"},` +
		`{"claim":"e","reason":"no loaded unit supports this claim"}],"gapsTruncated":0}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	empty, err := artifact.EncodeCompact(Adjudicate(nil, nil, nil))
	if err != nil || string(empty) != `{"status":"grounded","claims":[],"grounded":[],"gaps":[],"gapsTruncated":0}` {
		t.Errorf("%s, %v", empty, err)
	}
}

func TestAdjudicateProperties(t *testing.T) {
	id := rapid.SampledFrom([]string{"", "u", "v", "w", "ghost"})
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 60).Draw(t, "claims")
		verdicts := rapid.SliceOfN(rapid.Map(id, func(id string) Verdict { return Verdict{SupportedBy: id} }), 0, 60).Draw(t, "verdicts")
		loaded := map[string]bool{}
		var units []Unit
		for _, u := range rapid.SliceOf(rapid.SampledFrom([]string{"u", "v", "w"})).Draw(t, "loaded") {
			loaded[u], units = true, append(units, Unit{u, "sha-" + u})
		}
		g := Adjudicate(claims, verdicts, units)
		if len(g.Claims) != len(claims) || len(g.Grounded)+len(g.Gaps)+g.GapsTruncated != len(claims) {
			t.Fatal("claims got lost")
		}
		if len(g.Gaps) > MaxGaps || g.GapsTruncated > 0 && len(g.Gaps) < MaxGaps {
			t.Fatalf("%d gaps listed, %d truncated", len(g.Gaps), g.GapsTruncated)
		}
		if (g.Status == StatusGrounded) != (len(g.Gaps) == 0) {
			t.Fatalf("status %s with %d gaps", g.Status, len(g.Gaps))
		}
		for i, c := range g.Claims {
			supported := i < len(verdicts) && loaded[verdicts[i].SupportedBy]
			if c.Grounded != supported || c.Claim != claims[i] {
				t.Fatalf("claim %d grounded %v, want %v", i, c.Grounded, supported)
			}
			if c.Grounded != c.SHA256.Set || c.Grounded == c.Reason.Set || c.SHA256.Set && c.SHA256.Value != "sha-"+c.UnitID.Value {
				t.Fatalf("claim %+v is inconsistent", c)
			}
		}
	})
}

// The recorded runs 102 and 105 hold real grounding blocks.
func TestGroundingTranscripts(t *testing.T) {
	var record struct {
		Stdout string `json:"stdout"`
	}
	decode(t, fixture(t, "transcripts", "102-ask-ground-json.json"), &record)
	var run struct {
		Synthesis struct {
			Answer string `json:"answer"`
			Loaded []struct {
				ID     string `json:"id"`
				SHA256 string `json:"sha256"`
			} `json:"unitsLoaded"`
		} `json:"synthesis"`
		Grounding artifact.Value `json:"grounding"`
	}
	decode(t, []byte(record.Stdout), &run)
	var loaded []Unit
	for _, u := range run.Synthesis.Loaded {
		loaded = append(loaded, Unit{u.ID, u.SHA256})
	}
	g := Adjudicate(SplitClaims(run.Synthesis.Answer), []Verdict{
		ParseVerdict(`{"supportedBy":"chipfab-exclusive"}`),
		ParseVerdict(`{"supportedBy":"datacenter-power"}`),
		ParseVerdict(`{"supportedBy":null,"note":"not stated"}`),
	}, loaded)
	got, err := artifact.Encode(g)
	if err != nil {
		t.Fatal(err)
	}
	want, err := artifact.Encode(run.Grounding)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}

	decode(t, fixture(t, "transcripts", "105-ask-ground-rounds-json.json"), &record)
	var rounds struct {
		Rounds []struct {
			SeededTerms []string `json:"seededTerms"`
		} `json:"rounds"`
	}
	decode(t, []byte(record.Stdout), &rounds)
	accepted, _ := GateTerms(SeedTerms(g), "who won the exclusive story", 6)
	if diff := cmp.Diff(rounds.Rounds[1].SeededTerms, accepted); diff != "" {
		t.Error(diff)
	}
	t.Logf("transcripts 102 and 105: grounding and seeded terms equal")
}

func TestSeedTerms(t *testing.T) {
	g := Adjudicate([]string{"Known thing.", "Grid capacity.", "Grid is on"}, []Verdict{{"u", ""}}, []Unit{{"u", "1"}})
	if got := SeedTerms(g); !slices.Equal(got, []string{"grid", "capacity", "grid"}) {
		t.Errorf("seeds %q", got)
	}
}

func TestGateTerms(t *testing.T) {
	proposed := []string{"Power  Grid", "power grid", "-a", "a-b_c", "it's", "", strings.Repeat("x", 41), "compute", "Compute-Award",
		"compute award now", "strømnett", "日本", strings.Repeat("x", 40), " b-c ", "last one"}
	accepted, rejected := GateTerms(proposed, "compute award", 6)
	wantAccepted := []string{"power grid", "compute award now", "strømnett", "日本", strings.Repeat("x", 40), "b-c"}
	wantRejected := []string{"power grid", "-a", "a-b_c", "it's", "", strings.Repeat("x", 41), "compute", "Compute-Award", "last one"}
	if diff := cmp.Diff(wantAccepted, accepted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantRejected, rejected); diff != "" {
		t.Error(diff)
	}
	if accepted, _ := GateTerms([]string{"new"}, "", 0); accepted != nil {
		t.Errorf("accepted %q of a limit of none", accepted)
	}
}

func TestGateTermsProperties(t *testing.T) {
	text := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune("abAB -_'é1\t")), rapid.Rune()), 0, 45, -1)
	rapid.Check(t, func(t *rapid.T) {
		proposed := rapid.SliceOfN(text, 0, 12).Draw(t, "proposed")
		knownText := text.Draw(t, "known")
		limit := rapid.IntRange(0, 6).Draw(t, "limit")
		accepted, rejected := GateTerms(proposed, knownText, limit)
		if len(accepted) > limit || len(accepted)+len(rejected) != len(proposed) {
			t.Fatalf("%d accepted and %d rejected of %d, limit %d", len(accepted), len(rejected), len(proposed), limit)
		}
		seen := map[string]bool{}
		for _, term := range accepted {
			if n := utf8.RuneCountInString(term); n < 1 || n > 40 || seen[term] || strings.Contains(term, "  ") {
				t.Fatalf("accepted %q", term)
			}
			seen[term] = true
			for i, r := range term {
				if letter := unicode.IsLetter(r) || unicode.IsNumber(r); !letter && (i == 0 || r != ' ' && r != '-') {
					t.Fatalf("accepted %q with %q", term, r)
				}
			}
		}
		// What was accepted is known from then on, so it is never accepted again.
		if again, _ := GateTerms(accepted, knownText+" "+strings.Join(accepted, " "), 6); len(again) != 0 {
			t.Fatalf("%q accepted again as %q", accepted, again)
		}
	})
}

func TestParseCritique(t *testing.T) {
	const note = "critic output was not valid JSON — treated as no proposals"
	for reply, want := range map[string]Critique{
		`{"terms":["a","b"],"note":"n"}`:                      {[]string{"a", "b"}, "n"},
		"Here: ```json\n{\"terms\":[\"a\"]}\n``` done":        {[]string{"a"}, ""},
		`{"terms":[1.50,true,null,["x",null,2],{}],"note":1}`: {[]string{"1.5", "true", "null", "x,,2", "[object Object]"}, ""},
		`{"terms":"a","note":"n"}`:                            {nil, "n"},
		`{}`:                                                  {nil, ""},
		`{"terms":["a"]} or {"terms":["b"]}`:                  {nil, note},
		`{"terms":["a"],"terms":["b"]}`:                       {nil, note},
		`} {`:                                                 {nil, note},
		`no`:                                                  {nil, note},
		`{"terms":` + strings.Repeat("[", 500):                {nil, note},
		`{"terms":` + strings.Repeat("[", 500) + `}`:          {nil, note},
		`{"terms":[1e400,-1e400]}`:                            {[]string{"Infinity", "-Infinity"}, ""},
	} {
		if diff := cmp.Diff(want, ParseCritique(reply)); diff != "" {
			t.Errorf("%.60q: %s", reply, diff)
		}
	}
}

func ExampleAdjudicate() {
	claims := SplitClaims("The grid is full. Hydro power helps.")
	verdicts := []Verdict{ParseVerdict(`{"supportedBy": "grid"}`), ParseVerdict(`{"supportedBy": "hydro"}`)}
	g := Adjudicate(claims, verdicts, []Unit{{ID: "grid", SHA256: "7d83"}})
	fmt.Println(g.Status, len(g.Grounded))
	fmt.Println(g.Gaps[0].Reason)
	// Output:
	// partial-unsupported 1
	// verifier cited unit 'hydro' that was not loaded — fail-closed
}
