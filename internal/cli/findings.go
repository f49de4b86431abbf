package cli

import (
	"fmt"

	"github.com/writ-dev/writ/federation"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
)

// extension is what writ adds to documents that other implementations define,
// under the key "writ". It is there only when it has something to say.
type extension struct {
	Findings []federation.Finding `json:"findings"`
	Includes []includedPart       `json:"includes,omitempty"`
}

// includedPart is a manifest that the plan's manifest includes.
type includedPart struct {
	Source string `json:"source"`
	SHA256 string `json:"sha256"`
}

// planExtension gives the findings of a manifest, and what it is composed of.
func planExtension(loaded *load.Loaded) *extension {
	e := extensionOf(loaded.Findings)
	if len(loaded.Included) == 0 {
		return e
	}
	if e == nil {
		e = &extension{Findings: []federation.Finding{}}
	}
	for _, part := range loaded.Included {
		e.Includes = append(e.Includes, includedPart{part.Source, part.Digest.Hex()})
	}
	return e
}

func extensionOf(findings []kcp.Finding) *extension {
	e := federation.Extend(findings)
	if e == nil {
		return nil
	}
	return &extension{Findings: e.Findings}
}

// mostFindings bounds what a plan shows of them; validate shows all.
const mostFindings = 5

// writeFindings shows what in the manifest was not understood.
func (v planView) writeFindings() {
	findings := v.loaded.Findings
	if len(findings) == 0 {
		return
	}
	v.heading("Findings", text("  "+counted(len(findings), "finding")+" in the manifest"))
	for i := range findings[:min(mostFindings, len(findings))] {
		v.writeFinding(v.loaded.Source, &findings[i])
	}
	if more := len(findings) - mostFindings; more > 0 {
		v.line(2, in(dim, fmt.Sprintf("and %s more; `writ validate` shows them all", grouped(float64(more)))))
	}
}

// writeFinding writes a position that editors understand, the message, and how
// to mend it.
func (p *page) writeFinding(source string, f *kcp.Finding) {
	mark := markWarn
	if f.Severity == kcp.Error {
		mark = markBad
	}
	list := []span{mark, space}
	if f.Pos.Line > 0 {
		list = append(list, name(cyan, fmt.Sprintf("%s:%d:%d", source, f.Pos.Line, f.Pos.Column)), space)
	}
	p.hang(2, 4, append(list, text(f.Message))...)
	if f.Hint != "" {
		p.hang(4, 6, in(dim, "↳ "+f.Hint))
	}
}

// countBySeverity counts errors and warnings.
func countBySeverity(findings []kcp.Finding) (errors, warnings int) {
	for i := range findings {
		if findings[i].Severity == kcp.Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

func severities(findings []kcp.Finding) string {
	errors, warnings := countBySeverity(findings)
	return counted(errors, "error") + ", " + counted(warnings, "warning")
}
