package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
)

const drawnGraph = `n: {tool: search, retry: 3, timeout: 30s, set: {/a: 1}, next: m, routes: {failed: f}, max_visits: 4}
m:
  set: {}
  cases: [{name: again, when: visit < 3, to: n}, {when: visit == 9, to: f}]
  next: e
f: {fail: "no"}` + end

func TestText(t *testing.T) {
	c, _ := compileText(t, small(drawnGraph))
	got := regexp.MustCompile("sha256:[0-9a-f]+").ReplaceAllString(Text(c), "sha256:X")
	const want = `g, version 2, sha256:X
at most 9 steps, 0 tokens, 0 micro-USD, 1m

  1  n  tool search  (3 attempts, timeout 30s, at most 4 visits, writes /a)
       -> m
       -> f  failed

  2  m  set
       <- n  again if visit < 3
       -> e
       -> f  if visit == 9

  3  e  end
  3  f  fail
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMermaid(t *testing.T) {
	c, _ := compileText(t, small(drawnGraph))
	const want = `flowchart TD
  n0(["e<br/>end"])
  n1(["f<br/>fail"])
  n2("m<br/>set")
  n3["n<br/>tool search"]
  n2 -.->|"again if visit #60; 3"| n3
  n2 --> n0
  n2 -->|"if visit == 9"| n1
  n3 --> n2
  n3 -->|"failed"| n1
`
	if got := Mermaid(c); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSVGIsWellFormed draws every sample and reads the drawing back.
func TestSVGIsWellFormed(t *testing.T) {
	for _, text := range []string{refundGraph, everyMember, small(forkGraph), small(drawnGraph), hostileGraph} {
		c, _ := compileText(t, text)
		svg := string(SVG(c))
		boxes := 0
		for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, svg)
			}
			if e, ok := token.(xml.StartElement); ok {
				switch e.Name.Local {
				case "rect":
					boxes++
				case "script", "a", "image", "foreignObject":
					t.Errorf("drawing has an element %s", e.Name.Local)
				}
			}
		}
		if boxes != len(c.Nodes) {
			t.Errorf("%d boxes for %d nodes", boxes, len(c.Nodes))
		}
		if again, _ := compileText(t, text); svg != string(SVG(again)) || Text(c) != Text(again) || Mermaid(c) != Mermaid(again) {
			t.Error("a drawing differs from itself")
		}
	}
}

// hostileGraph has routes that try to leave their label.
var hostileGraph = version1("", edge1("a", "continue", "b")+
	`,{"id":"x","from":"a","route":"</text><script>\"&\u001b[2J|]","to":"b"},{"id":"y","from":"a","route":"","to":"b"}`, "", "")

func TestHostileRoutes(t *testing.T) {
	c, _ := compileText(t, hostileGraph)
	for name, out := range map[string]string{"text": Text(c), "mermaid": Mermaid(c), "svg": string(SVG(c))} {
		if strings.ContainsRune(out, 0x1b) || name != "text" && strings.Contains(out, "<script") {
			t.Errorf("%s lets a route through:\n%s", name, out)
		}
	}
}

func TestDrawingLevels(t *testing.T) {
	c, _, err := large(2_000).Compile(Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := draw(c, true)
	for _, e := range d.edges {
		if !e.back && d.level[e.from] >= d.level[e.to] {
			t.Fatalf("edge from level %d to level %d", d.level[e.from], d.level[e.to])
		}
	}
	if d.level[c.Entry.Index] != 0 {
		t.Error("the entry is not on the first level")
	}
}

func ExampleNewBuilder() {
	built, err := counter()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(built.Definition.Digest().Hex())
	fmt.Print(Text(built.Compiled))
	// Output:
	// f27da0921d4bfbfce4a6b9b6daa93c6bee6f919175773df3abee443c7ef029a0
	// portable-counter, version 1, f27da0921d4bfbfce4a6b9b6daa93c6bee6f919175773df3abee443c7ef029a0
	// at most 10 steps, 100 tokens, 1000 micro-USD, 30s
	//
	//   1  increment  handler  (writes /count)
	//        -> done
	//
	//   2  done  handler  (terminal)
}

// A limit that stands for none is not told as a number.
func TestTextWithoutLimits(t *testing.T) {
	for _, l := range []Limits{DefaultLimits(), {MaxSteps: 100, MaxTokens: 1<<64 - 1, MaxCostMicros: 1<<64 - 1, TimeoutMillis: 30_000}} {
		if got, want := limitWords(l), "at most 100 steps, any number of tokens, any number of micro-USD, 30s"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
