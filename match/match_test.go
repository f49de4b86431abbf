package match

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf16"

	json "github.com/go-json-experiment/json"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"pgregory.net/rapid"
)

// fixtures gives the lines of a shared fixture file. It skips the test where
// there is no fixture folder, and fails it where only the file is missing.
func fixtures(t *testing.T, file string) []string {
	t.Helper()
	root := os.Getenv("WRIT_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no fixtures at %s; set WRIT_FIXTURES to run this test", root)
	}
	f, err := os.Open(filepath.Join(root, "vectors", "differential", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func decode(t *testing.T, line string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), v); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
}

func TestLower(t *testing.T) {
	for in, want := range map[string]string{
		"":            "",
		"already low": "already low",
		"ABC xyz":     "abc xyz",
		"İ":           "i\u0307",
		"ΣΊΣΥΦΟΣ":     "σίσυφος",
		"Σ":           "σ",
		"ΑΣ":          "ας",
		"ΑΣ.":         "ας.",
		"Α.Σ.Β":       "α.σ.β",
		"ΑΣ'Β":        "ασ'β",
		"ʰΣ.":         "ʰσ.", // ʰ is cased and ignorable; as in ICU, only the latter counts
		"αΣʰ":         "αςʰ",
		"ªΣ":          "ªς",
		"ẞ":           "ß",
		"\u212a":      "k",
		"Ⅷ":           "ⅷ",
		"𐐀":           "𐐨",
	} {
		if got := Lower(in); got != want {
			t.Errorf("Lower(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLowerOfLowerASCIIDoesNotAllocate(t *testing.T) {
	s := "deploy the release, then verify it"
	if n := testing.AllocsPerRun(100, func() { Lower(s) }); n != 0 {
		t.Errorf("Lower allocated %v times", n)
	}
}

// cases.Lower implements the same mapping with two differences around the final
// sigma: it looks ahead only 30 ignorable characters, and it counts characters
// that are both cased and ignorable as cased before the sigma.
func TestLowerAgreesWithTextCases(t *testing.T) {
	letters := []rune("abzABZ019 .':·-_ΣσςαΩ\u0301\u00adἍİıẞßÅ\u212aǅ日\u3000𐐀½Ⅷⓐª^`")
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.OneOf(rapid.SampledFrom(letters), rapid.Rune()).Filter(func(r rune) bool { return !cased(r) || !caseIgnorable(r) })
		s := rapid.StringOfN(plain, 0, 20, -1).Draw(t, "s")
		if got, want := Lower(s), cases.Lower(language.Und).String(s); got != want {
			t.Fatalf("Lower(%q) = %q, cases gives %q", s, got, want)
		}
	})
}

func TestTerms(t *testing.T) {
	for in, want := range map[string][]string{
		"How do I deploy a release to Production?": {"deploy", "release", "production"},
		"AI is ok go UK":            nil,
		"alpha alpha":               {"alpha", "alpha"},
		"nai\u0308ve x86_64 v1.2.3": {"nai", "x86"},
		"𝒜𝒷 𝒜":                      {"𝒜𝒷"},
		"½¾²":                       {"½¾²"},
		"get getting got":           {"got"},
	} {
		if got := Terms(in); !slices.Equal(got, want) {
			t.Errorf("Terms(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTermsFixtures(t *testing.T) {
	lines := fixtures(t, "terms.jsonl")
	for i, line := range lines {
		var record struct {
			Text  string   `json:"text"`
			Terms []string `json:"terms"`
		}
		decode(t, line, &record)
		if got := Terms(record.Text); !slices.Equal(got, record.Terms) {
			t.Errorf("line %d: Terms(%q) = %q, want %q", i+1, record.Text, got, record.Terms)
		}
	}
	t.Logf("terms.jsonl: %d records ran, 0 deviations", len(lines))
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"", "How do I deploy?", "ΣΊΣΥΦΟΣ İSTANBUL", "nai\u0308ve", "𝒜𝒷 ½", "\xff\xfeabc", "x86_64"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lowered, terms := Lower(text), Terms(text)
		rest := lowered
		for _, term := range terms {
			at := strings.Index(rest, term)
			if at < 0 {
				t.Fatalf("term %q is not in order in %q", term, lowered)
			}
			rest = rest[at+len(term):]
			if units := len(utf16.Encode([]rune(term))); units < 3 {
				t.Fatalf("term %q has %d code units", term, units)
			}
			if stopword(term) {
				t.Fatalf("stopword %q is a term", term)
			}
			for _, r := range term {
				if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
					t.Fatalf("term %q has %q", term, r)
				}
			}
		}
		if again := Terms(strings.Join(terms, " ")); !slices.Equal(again, terms) {
			// The final sigma depends on what surrounds a word, so compare without it.
			if fold(again) != fold(terms) {
				t.Fatalf("terms of terms: %q became %q", terms, again)
			}
		}
	})
}

func fold(terms []string) string { return strings.ReplaceAll(strings.Join(terms, " "), "ς", "σ") }

func TestCompareIDsOrder(t *testing.T) {
	for name, want := range map[string][]string{
		"mixed":       {"_x", "-x", "1", "10", "2", "a", "A", "å", "a b", "a_b", "a-b", "a.b", "aa", "ab", "b", "B", "e", "é", "f", "ø", "ss", "ß", "z", "Z", "zz"},
		"punctuation": strings.Split(" _-,;:!?.'\"([{@*/\\&#%`^+<=>|~$019az", ""),
		"accents":     {"ab", "aB", "Ab", "AB", "áb", "áB", "abc", "Abc", "ABC"},
		"ligatures":   {"ad", "ae", "æ", "af", "o", "ö", "ø", "oe", "œ", "of", "s", "ss", "ß", "st", "zz", "þ", "α"},
	} {
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortStableFunc(got, CompareIDs)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

func TestCollationFixture(t *testing.T) {
	for _, line := range fixtures(t, "edge-plans.jsonl") {
		if !strings.HasPrefix(line, `{"name":"sort-collation"`) {
			continue
		}
		var record struct {
			Outcome struct {
				Selected []struct {
					ID string `json:"id"`
				} `json:"selected"`
			} `json:"outcome"`
		}
		decode(t, line, &record)
		var want []string
		for _, unit := range record.Outcome.Selected {
			want = append(want, unit.ID)
		}
		got := slices.Clone(want)
		slices.Sort(got)
		slices.SortStableFunc(got, CompareIDs)
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		t.Logf("edge-plans.jsonl, sort-collation: %d ids in order", len(want))
		return
	}
	t.Error("edge-plans.jsonl has no record sort-collation")
}

func TestASCIIFastPathIsTheCollation(t *testing.T) {
	printable := rapid.StringOfN(rapid.RuneFrom(nil, &unicode.RangeTable{R16: []unicode.Range16{{Lo: ' ', Hi: '~', Stride: 1}}}), 0, 12, -1)
	few := rapid.StringOfN(rapid.SampledFrom([]rune("aAbB-_. 1")), 0, 8, -1)
	collator := collators.New().(interface{ CompareString(a, b string) int })
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom([]*rapid.Generator[string]{printable, few}).Draw(t, "source")
		a, b := source.Draw(t, "a"), source.Draw(t, "b")
		got, ok := compareASCII(a, b)
		if want := collator.CompareString(a, b); !ok || got != want {
			t.Fatalf("compareASCII(%q, %q) = %d, %v; the collator gives %d", a, b, got, ok, want)
		}
	})
	for x := ' '; x <= '~'; x++ {
		for y := ' '; y <= '~'; y++ {
			if got, _ := compareASCII(string(x), string(y)); got != collator.CompareString(string(x), string(y)) {
				t.Errorf("%q and %q compare differently", x, y)
			}
		}
	}
}

func TestCompareIDsIsAnOrder(t *testing.T) {
	id := rapid.StringOfN(rapid.SampledFrom([]rune("aAbB-_. 1áåßøæ日")), 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := id.Draw(t, "a"), id.Draw(t, "b"), id.Draw(t, "c")
		if CompareIDs(a, b) != -CompareIDs(b, a) {
			t.Fatalf("%q and %q are not antisymmetric", a, b)
		}
		if CompareIDs(a, b) <= 0 && CompareIDs(b, c) <= 0 && CompareIDs(a, c) > 0 {
			t.Fatalf("%q, %q, %q are not transitive", a, b, c)
		}
	})
}

func TestCompareIDsConcurrently(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				if CompareIDs("é", "f") >= 0 || CompareIDs("zz", "ø") <= 0 {
					t.Error("wrong order under concurrency")
				}
			}
		})
	}
	group.Wait()
}

func TestUTF16Order(t *testing.T) {
	if !UTF16Less("😀", "\uffff") || UTF16Less("\uffff", "😀") {
		t.Error("a surrogate pair must come before U+FFFF")
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\ud7ff\ue000\uffff𐀀😀é")), 0, 4, -1)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := CompareUTF16(a, b); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Fatalf("CompareUTF16(%q, %q) = %d, want the sign of %d", a, b, got, want)
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	for b.Loop() {
		Terms("How do I deploy a release to the production cluster, and who approves it?")
	}
}

func BenchmarkCompareIDs(b *testing.B) {
	b.Run("ascii", func(b *testing.B) {
		for b.Loop() {
			CompareIDs("deploy-guide", "deploy_guide")
		}
	})
	b.Run("unicode", func(b *testing.B) {
		for b.Loop() {
			CompareIDs("é-guide", "e-guide")
		}
	})
}
