package cli

import (
	"fmt"
	"time"
)

// progress is one line on standard error about work that takes long.
type progress struct {
	r     *runner
	begun time.Time
	shown bool
}

// quickWork is how long work may take before it says how far it has come.
const quickWork = 500 * time.Millisecond

func (r *runner) newProgress() *progress { return &progress{r: r, begun: r.Now()} }

// line shows how far the work has come, in visible text.
func (p *progress) line(line string) {
	if !p.r.ErrTerminal || p.r.Now().Sub(p.begun) < quickWork {
		return
	}
	width := min(max(p.r.Width, narrowestWidth), widestWidth) - 1 // a full line would wrap
	if runes := []rune(line); len(runes) > width {
		line = string(runes[:width-1]) + "…"
	}
	fmt.Fprint(p.r.Err, "\r\x1b[K"+line)
	p.shown = true
}

// clear takes the line away again.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.r.Err, "\r\x1b[K")
	}
}
