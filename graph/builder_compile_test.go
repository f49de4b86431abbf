package graph

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// notGraphs are handlers that the compiler refuses, with what it says. What stands
// in the place of the line is the only difference to one that it takes.
var notGraphs = []struct{ line, want string }{
	{"return v.Take(rework), nil", ""},
	{"v.State.Cuont.Set(1); return v.Continue(), nil", "Cuont"},
	{`v.State.Count.Set("one"); return v.Continue(), nil`, "cannot use"},
	{"v.State.Done.Set(true); return v.Continue(), nil", "Set undefined"}, // declared as read only
	{"v.State.Total.Get(); return v.Continue(), nil", "Get undefined"},    // declared as written only
	{"return v.Take(elsewhere), nil", "cannot use elsewhere"},             // a route of another node
	{"return v.Take(rewrok), nil", "undefined: rewrok"},
	{`return v.Take("rework"), nil`, "cannot use"},
}

const notGraph = `package main

import (
	"context"

	"github.com/writ-dev/writ/graph"
)

type view struct {
	Count graph.ReadWrite[int] ` + "`path:\"/count\"`" + `
	Done  graph.Read[bool]     ` + "`path:\"/done\"`" + `
	Total graph.Write[int]     ` + "`path:\"/total\"`" + `
}

type other struct{}

var (
	rework    = graph.NewRoute[view]("rework")
	elsewhere = graph.NewRoute[other]("elsewhere")
)

func handle(_ context.Context, v *graph.View[view]) (graph.Exit[view], error) {
	LINE
}

func main() { graph.AddNode(graph.NewBuilder("g", "s"), "n", handle).On(rework, nil); _ = elsewhere }
`

// TestWrongNamesDoNotCompile builds handlers with a wrong field, type or route.
func TestWrongNamesDoNotCompile(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// A file that is in the module for the compiler alone.
	file, inside := filepath.Join(t.TempDir(), "main.go"), filepath.Join(here, "testdata", "wrong", "main.go")
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{inside: file}})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range notGraphs {
		if err := os.WriteFile(file, []byte(strings.Replace(notGraph, "LINE", c.line, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), tool, "build", "-overlay", overlay, "-o", os.DevNull, inside).CombinedOutput()
		if (err == nil) != (c.want == "") || !strings.Contains(string(said), c.want) {
			t.Errorf("%s: %v\n%s\nwant %q", c.line, err, said, c.want)
		}
	}
}
