package graph

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Measures of a drawing, in pixels.
const (
	charWidth   = 7
	boxHeight   = 44
	boxPadding  = 14
	columnGap   = 36
	levelGap    = 64
	margin      = 24
	labelHeight = 13
	leastWidth  = 320 // so that labels are not cut off
	longestText = 40  // characters of a label
)

// box is where a node is drawn.
type box struct{ x, y, width int }

func (b box) centre() int { return b.x + b.width/2 }

// SVG draws a graph as an SVG document without scripts, links or outside
// resources. Colours follow the reader's light or dark preference.
func SVG(c *Compiled) []byte {
	d := draw(c, true)
	boxes, width, height := d.place()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", escapeXML("graph "+c.ID))
	b.WriteString(svgStyle)
	lanes := 0
	labels := map[int]int{} // written so far, by source
	for _, e := range d.edges {
		if e.back {
			lanes++
			writeBack(&b, boxes[e.from], boxes[e.to], e.label, width-margin/2-lanes*laneWidth)
			continue
		}
		writeEdge(&b, boxes, e, labels[e.from])
		if e.label != "" {
			labels[e.from]++
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		at := boxes[i]
		class := "node " + string(n.Kind)
		if n == c.Entry {
			class += " entry"
		}
		radius := 4
		if n.Kind == KindEnd || n.Terminal {
			radius = boxHeight / 2
		}
		fmt.Fprintf(&b, `<g class="%s"><rect x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, class, at.x, at.y, at.width, boxHeight, radius)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, at.centre(), at.y+18, escapeXML(shorten(n.ID)))
		fmt.Fprintf(&b, `<text class="kind" x="%d" y="%d">%s</text></g>`+"\n", at.centre(), at.y+34, escapeXML(shorten(kindLabel(n))))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

const svgStyle = `<style>
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328;text-anchor:middle}
.kind,.label{fill:#656d76;font-size:11px}
rect{fill:#f6f8fa;stroke:#8c959f}
.entry rect{stroke:#0969da;stroke-width:2}
path{fill:none;stroke:#8c959f}
.back{stroke-dasharray:4 3}
.tip{fill:#8c959f;stroke:none}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.kind,.label{fill:#8d96a0}
rect{fill:#161b22;stroke:#6e7681}
.entry rect{stroke:#4493f8}
path{stroke:#6e7681}
.tip{fill:#6e7681}
}
</style>
`

// place gives each point its box, and the size of the drawing. Levels are centred.
func (d *drawing) place() (boxes []box, width, height int) {
	boxes = make([]box, len(d.level))
	widths := make([]int, len(d.levels))
	for l, points := range d.levels {
		for k, i := range points {
			boxes[i] = box{x: widths[l], y: margin + l*(boxHeight+levelGap), width: d.boxWidth(i)}
			widths[l] += boxes[i].width
			if k < len(points)-1 {
				widths[l] += columnGap
			}
		}
		width = max(width, widths[l], leastWidth)
	}
	for i := range boxes {
		boxes[i].x += margin + (width-widths[d.level[i]])/2
	}
	lanes := 0
	for _, e := range d.edges {
		if e.back {
			lanes++
		}
	}
	return boxes, width + 2*margin + lanes*laneWidth, 2*margin + len(d.levels)*(boxHeight+levelGap) - levelGap
}

func (d *drawing) boxWidth(point int) int {
	if point >= len(d.graph.Nodes) {
		return 0 // a bend
	}
	n := &d.graph.Nodes[point]
	chars := max(utf8.RuneCountInString(shorten(n.ID)), utf8.RuneCountInString(shorten(kindLabel(n))))
	return chars*charWidth + 2*boxPadding
}

// laneWidth is the room that each edge back takes on the right.
const laneWidth = 14

// writeBack draws an edge that closes a cycle, on the right.
func writeBack(b *strings.Builder, from, to box, label string, right int) {
	x1, y1, x2, y2 := from.x+from.width, from.y+boxHeight/2, to.x+to.width, to.y+boxHeight/2
	if from == to {
		y1, y2 = y1+boxHeight/4, y2-boxHeight/4
	}
	fmt.Fprintf(b, `<path class="back" d="M%d %dC%d %d %d %d %d %d"/>`, x1, y1, right, y1, right, y2, x2+6, y2)
	fmt.Fprintf(b, `<path class="tip" d="M%d %dl8 -4v8z"/>`, x2, y2)
	writeLabel(b, label, right-columnGap, (y1+y2)/2)
}

// writeEdge draws an edge through its bends. The labels of a node's edges stand
// below each other.
func writeEdge(b *strings.Builder, boxes []box, e drawnEdge, labels int) {
	x, y := boxes[e.from].centre(), boxes[e.from].y+boxHeight
	next := boxes[append(e.bends[:len(e.bends):len(e.bends)], e.to)[0]]
	labelX, labelY := x+(next.centre()-x)/2, y+18+labels%4*labelHeight
	fmt.Fprintf(b, `<path d="M%d %d`, x, y)
	curve := func(toX, toY int) {
		middle := (y + toY) / 2
		fmt.Fprintf(b, "C%d %d %d %d %d %d", x, middle, toX, middle, toX, toY)
		x, y = toX, toY
	}
	for _, p := range e.bends {
		curve(boxes[p].centre(), boxes[p].y)
		y += boxHeight
		fmt.Fprintf(b, "V%d", y)
	}
	to := boxes[e.to]
	curve(to.centre(), to.y-6)
	fmt.Fprintf(b, `"/><path class="tip" d="M%d %dl-4 -8h8z"/>`, to.centre(), to.y)
	writeLabel(b, e.label, labelX, labelY)
}

func writeLabel(b *strings.Builder, label string, x, y int) {
	if label != "" {
		fmt.Fprintf(b, `<text class="label" x="%d" y="%d">%s</text>`, x, y, escapeXML(shorten(label)))
	}
	b.WriteByte('\n')
}

func shorten(s string) string {
	s = printable(s)
	if runes := []rune(s); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return s
}

// xmlText escapes text for XML; control characters are gone already.
var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escapeXML(s string) string { return xmlText.Replace(s) }
