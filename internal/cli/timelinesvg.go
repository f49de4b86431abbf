package cli

import (
	"fmt"
	"html"
	"strings"

	"github.com/writ-dev/writ/search"
)

// Measures of an SVG drawing, in its own units.
const (
	svgWidth   = 960
	svgMargin  = 16
	svgRow     = 22
	svgBar     = 12
	svgTop     = 72 // title, moment and labels of the axis
	svgChar    = 8  // of a letter in the labels
	svgMostID  = 40 // letters of a label
	svgGap     = 8  // between chains
	svgBottom  = 40
	svgLegends = 14
	svgLeast   = 3 // of a bar, so that a single day is seen
)

// svgStyle follows the reader's light or dark colours.
const svgStyle = `
  text { font: 12px ui-monospace, monospace; fill: #24292f }
  .title { font-weight: bold; font-size: 14px } .dim { fill: #6e7781 }
  .grid { stroke: #d0d7de } .now { stroke: #cf222e; stroke-width: 1.5 }
  .current { fill: #2da44e } .superseded { fill: #bf8700 } .future { fill: #218bff } .expired { fill: #afb8c1 } .unreadable { fill: #cf222e }
  .way { fill: #ffffff; fill-opacity: .6 } .recorded { fill: #8250df } .link { fill: none; stroke: #8c959f } .wait { stroke: #8c959f; stroke-dasharray: 2 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .dim { fill: #8d96a0 } .grid { stroke: #30363d } .way { fill: #0d1117 }
    .expired { fill: #484f58 } .link, .wait { stroke: #6e7681 }
  }
`

// svgDrawing writes a timeline as SVG.
type svgDrawing struct {
	strings.Builder
	*timeline
	left  int // where the axis begins
	scale scale
}

// svg draws the timeline as one SVG document that needs nothing else.
func (l *timeline) svg() string {
	d := &svgDrawing{timeline: l}
	longest, rows := 8, 0
	for _, chain := range l.chains {
		rows += len(chain)
		for i := range chain {
			longest = max(longest, min(svgMostID, columns(visible(chain[i].Unit.ID))))
		}
	}
	d.left = svgMargin + longest*svgChar + svgMargin
	d.scale = scale{l.axis, svgWidth - d.left - svgMargin}
	height := svgTop + rows*svgRow + len(l.chains)*svgGap + svgBottom
	m := l.loaded.Manifest
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", svgWidth, height, svgWidth, height)
	fmt.Fprintf(d, "<title>%s</title>\n<style>%s</style>\n", xml("When the units of "+m.Project+" are valid"), svgStyle)
	d.text(svgMargin, 24, "title", m.Project+" "+m.Version)
	moment := "as of " + l.at.AsOf
	if l.at.KnownAt != "" {
		moment += " · as known at " + l.at.KnownAt
	}
	d.text(svgMargin, 42, "dim", moment)
	d.drawAxis(height - svgBottom)
	y := svgTop
	for _, chain := range l.chains {
		d.drawChain(chain, y)
		y += len(chain)*svgRow + svgGap
	}
	d.drawLegend(height - svgLegends)
	d.WriteString("</svg>\n")
	return d.String()
}

// xml makes text safe inside an XML document.
func xml(text string) string { return html.EscapeString(visible(text)) }

func (d *svgDrawing) text(x, y int, class, text string) {
	fmt.Fprintf(d, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, xml(text))
}

func (d *svgDrawing) line(class string, x1, y1, x2, y2 int) {
	fmt.Fprintf(d, `<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", class, x1, y1, x2, y2)
}

func (d *svgDrawing) x(day search.Day) int { return d.left + min(d.scale.at(day), d.scale.steps) }

func (d *svgDrawing) drawAxis(bottom int) {
	for _, t := range ticksOf(d.axis, func(length int) int { return d.scale.steps / ((length + 3) * svgChar) }) {
		d.line("grid", d.x(t.day), svgTop-8, d.x(t.day), bottom)
		d.text(d.x(t.day)+3, svgTop-10, "dim", t.label)
	}
	if d.today != d.asOf && d.axis.Holds(d.today) {
		d.line("wait", d.x(d.today), svgTop-8, d.x(d.today), bottom)
	}
	d.line("now", d.x(d.asOf), svgTop-8, d.x(d.asOf), bottom)
}

func (d *svgDrawing) drawChain(chain search.Chain, y int) {
	if len(chain) > 1 {
		x := d.left - svgMargin/2
		fmt.Fprintf(d, `<path class="link" d="M%d %dh-4v%dh4"/>`+"\n", x, y+svgBar/2, (len(chain)-1)*svgRow)
	}
	for i := range chain {
		d.drawTrack(&chain[i], y+i*svgRow)
	}
}

func (d *svgDrawing) drawTrack(t *search.Track, y int) {
	id := []rune(visible(t.Unit.ID))
	if len(id) > svgMostID {
		id = append(id[:svgMostID-1], '…')
	}
	fmt.Fprintf(d, "<g><title>%s</title>\n", xml(t.Unit.ID+": "+string(t.Status)+", "+boundsText(t)))
	d.text(svgMargin, y+svgBar-1, string(t.Status)+"-id", string(id))
	d.rect(string(t.Status), t.Valid, y)
	d.rect("way", t.GivesWay, y)
	if day, ok := recordedDay(t); ok {
		if x := d.x(day); !t.Valid.Empty() && t.Valid.From > day {
			d.line("wait", x, y+svgBar/2, d.x(t.Valid.From), y+svgBar/2)
		}
		fmt.Fprintf(d, `<path class="recorded" d="M%d %dl5 5l-5 5l-5 -5z"/>`+"\n", d.x(day), y+1)
	}
	d.WriteString("</g>\n")
}

func (d *svgDrawing) rect(class string, days search.Span, y int) {
	if from, to := d.scale.span(days); to > from {
		fmt.Fprintf(d, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="2"/>`+"\n", class, d.left+from, y, max(to-from, svgLeast), svgBar)
	}
}

func (d *svgDrawing) drawLegend(y int) {
	x := svgMargin
	for _, s := range []search.Status{search.Current, search.Superseded, search.Future, search.Expired} {
		fmt.Fprintf(d, `<rect class="%s" x="%d" y="%d" width="10" height="10" rx="2"/>`+"\n", s, x, y-9)
		d.text(x+14, y, "dim", string(s))
		x += 14 + (len(s)+3)*svgChar
	}
	fmt.Fprintf(d, `<path class="recorded" d="M%d %dl5 5l-5 5l-5 -5z"/>`+"\n", x+5, y-9)
	rest := "recorded · pale where a successor is current"
	if len(d.always) > 0 {
		rest += " · " + counted(len(d.always), "unit") + " always valid"
	}
	d.text(x+14, y, "dim", rest)
}
