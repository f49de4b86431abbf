package cli

import (
	"strings"
)

// page composes text for a person: wrapped, aligned, and coloured if the
// terminal allows it. Text gets onto a page only as spans, and a span is
// always visible text, so nothing that a manifest says is obeyed by a
// terminal.
//
// The escape sequences are our own: six styles need no library, and the usual
// one costs about 0.4 ms of every process start, a tenth of a whole run.
type page struct {
	b      strings.Builder
	width  int
	colour bool
	look   style // of the terminal, as far as we have written
}

// Widths of a page. Beyond the widest, lines get hard to read.
const (
	unknownWidth   = 80
	narrowestWidth = 40
	widestWidth    = 120
)

func (r *runner) newPage() *page {
	width := unknownWidth
	if r.OutTerminal && r.Width > 0 {
		width = min(max(r.Width, narrowestWidth), widestWidth)
	}
	return &page{width: width, colour: r.wantsColour()}
}

// wantsColour follows --color, then NO_COLOR (no-color.org) and TERM.
func (r *runner) wantsColour() bool {
	switch r.color.text {
	case "always":
		return true
	case "never":
		return false
	}
	return r.OutTerminal && r.Env("NO_COLOR") == "" && r.Env("TERM") != "dumb"
}

func (r *runner) print(p *page) { r.out.WriteString(p.b.String()) }

// present prints a document for a program, or a page for a person, and gives the
// error that stands for the verdict.
func (r *runner) present(asJSON bool, document any, write func(*page), good bool) error {
	if asJSON {
		if err := r.printDocument(document); err != nil {
			return err
		}
	} else {
		p := r.newPage()
		write(p)
		r.print(p)
	}
	if !good {
		return errNegative
	}
	return nil
}

// style is the look of a span, as the parameters of an SGR sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// span is a run of visible text in one style.
type span struct {
	text  string
	style style
	whole bool // never broken over two lines
}

func in(s style, text string) span { return span{text: visible(text), style: s} }

func text(t string) span { return in(plain, t) }

// name is a span that is never broken, such as an id or a path: a person must
// be able to copy it.
func name(s style, text string) span { return span{text: visible(text), style: s, whole: true} }

// spans puts runs of text together.
func spans(list ...span) []span { return list }

func spanColumns(list []span) int {
	n := 0
	for _, s := range list {
		n += columns(s.text)
	}
	return n
}

// blank ends a line, or writes an empty one. No style crosses it.
func (p *page) blank() {
	p.switchTo(plain)
	p.b.WriteByte('\n')
}

// heading starts a block.
func (p *page) heading(title string, rest ...span) {
	p.blank()
	p.line(0, append([]span{in(bold, title)}, rest...)...)
	p.blank()
}

// line writes spans from a column on, wrapped; what is wrapped is indented
// alike.
func (p *page) line(indent int, list ...span) { p.hang(indent, indent, list...) }

// hang is line with another indent for what is wrapped.
func (p *page) hang(first, rest int, list ...span) {
	p.pad(first)
	p.flow(first, rest, list)
	p.blank()
}

func (p *page) pad(n int) {
	for range n {
		p.b.WriteByte(' ')
	}
}

func (p *page) put(s span) {
	if s.text == "" {
		return
	}
	p.switchTo(s.style)
	p.b.WriteString(s.text)
}

// switchTo changes the look of what follows.
func (p *page) switchTo(s style) {
	if !p.colour || s == p.look {
		return
	}
	if p.look != plain {
		p.b.WriteString("\x1b[0m")
	}
	if s != plain {
		p.b.WriteString("\x1b[" + string(s) + "m")
	}
	p.look = s
}

// flow writes spans from column at on and breaks between words. What does not
// fit into a line of its own is left to stick out.
func (p *page) flow(at, indent int, list []span) {
	lineStart := true
	for _, w := range wordsOf(list) {
		if !lineStart && at+w.gap+w.columns > p.width {
			p.blank()
			p.pad(indent)
			at, lineStart = indent, true
		}
		if !lineStart {
			p.pad(w.gap)
			at += w.gap
		}
		for _, piece := range w.pieces {
			p.put(piece)
		}
		at += w.columns
		lineStart = false
	}
}

// word is what stays together on a line: pieces of spans without a gap.
type word struct {
	gap     int // blanks before it, unless it starts a line
	columns int
	pieces  []span
}

func wordsOf(list []span) []word {
	var words []word
	glued, gap := false, 0 // how the next piece stands to the last word
	add := func(s span) {
		if !glued {
			words = append(words, word{gap: gap})
			gap = 0
		}
		w := &words[len(words)-1]
		w.pieces = append(w.pieces, s)
		w.columns += columns(s.text)
		glued = true
	}
	for _, s := range list {
		if s.whole && s.text != "" {
			add(s)
			continue
		}
		for i, part := range strings.Split(s.text, " ") {
			if i > 0 {
				glued = false
				gap++
			}
			for j, piece := range breakable(part) {
				glued = glued && j == 0
				add(span{text: piece, style: s.style})
			}
		}
	}
	return words
}

// breakable cuts a word where a script without blanks may be broken: between
// two characters of double width.
func breakable(part string) []string {
	if part == "" {
		return nil
	}
	var pieces []string
	start, wide := 0, false
	for i, r := range part {
		nowWide := runeColumns(r) == 2
		if i > start && wide && nowWide {
			pieces = append(pieces, part[start:i])
			start = i
		}
		if runeColumns(r) > 0 {
			wide = nowWide
		}
	}
	return append(pieces, part[start:])
}

// row is a line of a table; the last cell is prose and wraps.
type row [][]span

// table is a list of rows with aligned columns.
type table struct {
	indent int
	right  int // columns from this one on are aligned right; 0 means none
	rows   []row
}

func (t *table) add(cells ...[]span) { t.rows = append(t.rows, cells) }

// cell is the usual content of a table's cell.
func cell(s style, text string) []span { return spans(name(s, text)) }

const (
	gutter    = 2  // blanks between columns
	leastText = 36 // columns that prose needs to stand beside the others
)

// table writes rows. Where the prose of a row has too little room beside the
// other cells, it goes below them.
func (p *page) table(t *table) {
	widths := p.columnWidths(t)
	for _, r := range t.rows {
		p.pad(t.indent)
		at := t.indent
		start := t.indent // where the next cell should start
		for i, c := range r {
			if i == len(r)-1 && t.right == 0 {
				p.lastCell(at, start, t.indent, c)
				break
			}
			start = p.fixedCell(&at, start, widths[i], c, t.right > 0 && i >= t.right)
		}
		p.blank()
	}
}

// fixedCell writes one cell at its column, and gives the column of the next.
func (p *page) fixedCell(at *int, start, width int, c []span, right bool) int {
	n := spanColumns(c)
	if right {
		start += max(0, width-n)
	}
	if n > 0 {
		p.pad(max(0, start-*at))
		for _, s := range c {
			p.put(s)
		}
		*at = max(*at, start) + n
	}
	if right {
		return *at + gutter
	}
	return start + width + gutter
}

func (p *page) lastCell(at, start, indent int, c []span) {
	if len(c) == 0 {
		return
	}
	if at+gutter > start && at > indent || p.width-start < leastText && start+spanColumns(c) > p.width {
		start = indent + 4
		p.blank()
		at = 0
	}
	p.pad(start - at)
	p.flow(start, start, c)
}

// columnWidths gives each column the width of its widest cell. Where that
// leaves too little room for the prose, the widest cells are not counted: they
// stick out and push their prose below.
func (p *page) columnWidths(t *table) []int {
	widths := t.widest(func(int) int { return p.width })
	if t.right > 0 || len(widths) < 2 {
		return widths
	}
	room, widest := p.width-t.indent-leastText, 0
	for i := range widths[:len(widths)-1] {
		room -= widths[i] + gutter
		if widths[i] > widths[widest] {
			widest = i
		}
	}
	if room >= 0 {
		return widths
	}
	limit := widths[widest] + room
	return t.widest(func(column int) int {
		if column == widest {
			return limit
		}
		return p.width
	})
}

// widest gives the width of each column's widest cell that keeps to the limit.
func (t *table) widest(limit func(column int) int) []int {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := spanColumns(c); n <= limit(i) {
				widths[i] = max(widths[i], n)
			}
		}
	}
	return widths
}
