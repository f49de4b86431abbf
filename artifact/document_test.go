package artifact

import (
	"errors"
	"strings"
	"testing"
)

func TestParseDocumentReadsBothForms(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"json", `{"b": [1, 2.50, "x"], "a": null}`, `{"b":[1,2.50,"x"],"a":null}`},
		{"yaml", "b:\n  - 1\n  - 2.50\n  - x\na: ~\n", `{"b":[1,2.50,"x"],"a":null}`},
		{"core booleans only", "a: true\nb: FALSE\nc: yes\nd: on\n", `{"a":true,"b":false,"c":"yes","d":"on"}`},
		{"integers", "a: +5\nb: -3\nc: 0x1F\nd: 0o17\n", `{"a":5,"b":-3,"c":31,"d":15}`},
		{"floats", "a: .5\nb: 1.\nc: 1e3\nd: -0.25\n", `{"a":0.5,"b":1.0,"c":1e3,"d":-0.25}`},
		{"dates are text", "a: 2024-01-01\nb: 1_000\nc: 1:30\n", `{"a":"2024-01-01","b":"1_000","c":"1:30"}`},
		{"quoted is text", "a: '1'\nb: \"true\"\nc: |\n  x\n", `{"a":"1","b":"true","c":"x\n"}`},
		{"keys are text", "1: a\ntrue: b\n", `{"1":"a","true":"b"}`},
		{"comments", "# x\na: 1 # y\n", `{"a":1}`},
		{"flow inside", "a: {b: [1, x]}\n", `{"a":{"b":[1,"x"]}}`},
		{"question marks", "a: {b: string?, c: [x ? y, z?]}\nd: u?v\n? e\n: 1\n", `{"a":{"b":"string?","c":["x ? y","z?"]},"d":"u?v","e":1}`},
		{"expressions", "a: '=state.x ? 1 : 2'\n", `{"a":"=state.x ? 1 : 2"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, err := ParseDocument([]byte(c.text), "f")
			if err != nil {
				t.Fatal(err)
			}
			if got := doc.Value().String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestParseDocumentRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"json duplicate", "{\"a\":1,\n \"a\":2}", `f:2:2: member "a" appears twice, first on line 1`},
		{"yaml duplicate", "a: 1\nb: 2\na: 3\n", `f:3:1: key "a" appears twice, first on line 1`},
		{"two json documents", "{}\n{}", "f:2:1: text after the end"},
		{"two yaml documents", "a: 1\n---\nb: 2\n", "a second document begins here"},
		{"anchor", "a: &x 1\n", "f:1:4: anchors and aliases"},
		{"alias", "a: &x 1\nb: *x\n", "anchors and aliases"},
		{"merge", "a:\n  <<: {b: 1}\n", "f:2:3: merge keys"},
		{"tag", "a: !!str 1\n", "f:1:4: tags"},
		{"bare tag", "a: ! 1\n", "tags"},
		{"leading zero", "a: 010\n", "f:1:4: 010 begins with a zero"},
		{"infinity", "a: .inf\n", "no JSON form"},
		{"yaml range", "a: 1e999\n", "out of range"},
		{"json range", `{"a": 1e999}`, "f:1:7: number 1e999 is out of range"},
		{"list key", "? [a]\n: 1\n", "a key must be text"},
		{"null key", "~: 1\n", "the key is null"},
		{"empty", "", "f:1:1: document is empty"},
		{"only comments", "# x\n", "document is empty"},
		{"bom", "\xef\xbb\xbfa: 1\n", "byte order mark"},
		{"not utf-8", "a: 1\nb: \xff\n", "f:2:4: text is not UTF-8"},
		{"lone surrogate", `{"a":"\ud800"}`, "f:1:"},
		{"tab", "a:\n\tb: 1\n", "f:2:"},
		{"flow colon", "a: {b:, c: 1}\n", "f:1:5: key"},
		{"bare return", "a: 1\rb: 2\n", "line separator"},
		{"json depth", strings.Repeat("[", 128), "f:1:128: nested more than 127"},
		{"yaml depth", "a: " + strings.Repeat("[", 128) + strings.Repeat("]", 128), "nested more than 127"},
		{"yaml separators", "a: [" + strings.Repeat(",", maxYAMLMarks) + "]", "separators"},
		{"bytes", strings.Repeat(" ", MaxDocumentBytes+1), "at most"},
		{"values", "[" + strings.Repeat("0,", MaxDocumentNodes) + "0]", "more than 500000 values"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseDocument([]byte(c.text), "f")
			var typed *DocumentError
			if !errors.As(err, &typed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestPositions(t *testing.T) {
	for name, text := range map[string]string{
		"json": "{\"é\": 1,\n  \"a/b\": [true,\n    {\"c\": 2}]}",
		"yaml": "é: 1\na/b:\n  - true\n  - c: 2\n",
	} {
		doc, err := ParseDocument([]byte(text), "f")
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][4]int{
			"json": {3, 11, 3, 6},
			"yaml": {4, 8, 4, 5},
		}[name]
		line, column := doc.Position("/a~1b/1/c")
		nameLine, nameColumn := doc.NamePosition("/a~1b/1/c")
		if got := [4]int{line, column, nameLine, nameColumn}; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		aboveLine, aboveColumn := doc.Position("/a~1b/1/nothing/here")
		hereLine, hereColumn := doc.Position("/a~1b/1")
		if aboveLine != hereLine || aboveColumn != hereColumn {
			t.Errorf("%s: an absent value is at %d:%d, want %d:%d", name, aboveLine, aboveColumn, hereLine, hereColumn)
		}
	}
}

func TestVersion1RepeatedNames(t *testing.T) {
	doc, err := ParseVersion1([]byte(`{"free":{"b":1,"a":2,"a":[{"x":1,"x":2}]},"map":{"k":1,"k":2},"typed":{"v":1,"v":1}}`), "f")
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(doc)
	o := r.Root().Object()
	if got := o.Need("free").Value().String(); got != `{"a":[{"x":2}],"b":1}` {
		t.Errorf("free value is %s", got)
	}
	for name, f := range o.Need("map").Map() {
		if name != "k" || f.Uint64() != 2 {
			t.Errorf("map holds %s", name)
		}
	}
	if r.Failed() {
		t.Fatal(r.Err())
	}
	o.Need("typed").Object()
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `member "v" appears twice`) {
		t.Errorf("error %v", err)
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, seed := range []string{"a: 1\n", `{"a":[1]}`, "- x\n- {y: z}\n", "a: |\n  b\n", "? a\n: b", "{a: 1e5}", "[\"\\ud83d\\ude00\"]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := ParseDocument(data, "f")
		if err != nil {
			var typed *DocumentError
			if !errors.As(err, &typed) || typed.Problems[0].Line < 1 || typed.Problems[0].Column < 1 {
				t.Fatalf("error %v (%T) has no position", err, err)
			}
			return
		}
		text := doc.Value().AppendCompact(nil)
		again, err := ParseDocument(append([]byte(" "), text...), "f")
		if text[0] != '{' && text[0] != '[' {
			return // a scalar is read as YAML again
		}
		if err != nil || !again.Value().Equal(doc.Value()) {
			t.Fatalf("%q gives %s, which reads as %v", data, text, err)
		}
	})
}

// TestParseYAML: a flow mapping is read although it begins like JSON, and as strictly
// as any other.
func TestParseYAML(t *testing.T) {
	for text, want := range map[string]string{
		`{a: b, c: [1, yes]}`: `{"a":"b","c":[1,"yes"]}`, "a: {b: 1}": `{"a":{"b":1}}`, `{"a": 1}`: `{"a":1}`,
		`{a: 1, a: 2}`: `f:1:8: key "a" appears twice, first on line 1; keep one`, "": "f:1:1: document is empty",
		"{a: \xff}": "f:1:5: text is not UTF-8",
	} {
		doc, err := ParseYAML([]byte(text), "f")
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = doc.Value().String()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
