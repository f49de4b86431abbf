package draft

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
)

// manyUnits is a manifest in which every unit has something to mend.
func manyUnits(n int) []byte {
	var b strings.Builder
	b.WriteString("kcp_version: \"0.32\"\nproject: big\nversion: \"1\"\nunits:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - id: %d\n    path: p%d.md\n    intent: What is page %d?\n    audience: agent\n    validated: 2026-01-31\n    triggers: [page %d]\n", i, i, i, i)
	}
	return []byte(b.String())
}

func BenchmarkFix(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		data := manyUnits(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Fix(data, "knowledge.yaml"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCover(b *testing.B) {
	m, _, err := kcp.Parse(manyUnits(10_000), "knowledge.yaml")
	if err != nil {
		b.Fatal(err)
	}
	questions, err := ReadQuestions("what is page 77?\nparking\nwhere is the topik of pages\n")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Cover(m, questions, planner.Options{AsOf: today})
	}
}

func BenchmarkFromLLMsTxt(b *testing.B) {
	var text strings.Builder
	text.WriteString("# Harbour\n\n## Guides\n\n")
	for i := range 1_000 {
		fmt.Fprintf(&text, "- [Berth %d](https://harbour.example/berths/%d.md): Where berth %d is\n", i, i, i)
	}
	for b.Loop() {
		if _, err := FromLLMsTxt([]byte(text.String()), LLMsOptions{Today: today}); err != nil {
			b.Fatal(err)
		}
	}
}
