package draft

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of an llms.txt. Real ones have up to a few thousand links.
const (
	maxLLMsTxtBytes = 4 << 20
	maxLLMsTxtLinks = 10_000
	longestLine     = 64 << 10 // what is beyond it is not read
	longestProse    = 2_000    // of a summary or a description
)

// llmsTxt is what an llms.txt says, in its order.
type llmsTxt struct {
	title, summary string
	knowledge      string // the manifest that it names itself
	links          []link
	leftOut        int // links beyond maxLLMsTxtLinks
}

// link is one link of a list.
type link struct {
	title, target string
	description   string
	section       string // the heading of the second level above it
	below         string // the nearest heading below that one
}

// The ways in which a text is no llms.txt that can be converted.
var (
	errNoLinks  = errors.New("llms.txt contains no links — nothing to convert")
	errWebPage  = errors.New("this is a web page, not an llms.txt; name the address of the text file")
	errLLMsSize = fmt.Errorf("llms.txt has more than %d bytes; convert a part of it", maxLLMsTxtBytes)
	errBinary   = errors.New("this is no text; an llms.txt is Markdown in UTF-8")
)

// readLLMsTxt reads the text. It takes what people write and not only what the
// proposal shows: links in lists of any mark and depth, with the description
// behind a colon or a dash, with text before the link, or no link but an
// address. Links in code, comments, quotations and running text are not part of
// a list and do not count. Only where no list has a link do lines count that are
// nothing but a link, with a label before it or not, or a label and a path from
// the root. Without any link the error
// is errNoLinks, and the text is given all the same.
func readLLMsTxt(data []byte) (*llmsTxt, error) {
	if len(data) > maxLLMsTxtBytes {
		return nil, errLLMsSize
	}
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), "\ufeff")
	if strings.ContainsRune(text, 0) || strings.Count(text, "\ufffd") > utf8.RuneCountInString(text)/10 {
		return nil, errBinary
	}
	start := strings.ToLower(strings.TrimSpace(text[:min(len(text), 256)]))
	if strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html") || strings.HasPrefix(start, "<head") {
		return nil, errWebPage
	}
	r := &llmsReader{out: &llmsTxt{}}
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)) {
		line = strings.TrimRight(line, "\n")
		r.line(line[:min(len(line), longestLine)])
	}
	if len(r.out.links) == 0 {
		r.out.links = r.loose
	}
	if len(r.out.links) == 0 {
		return r.out, errNoLinks
	}
	return r.out, nil
}

// llmsReader reads line by line.
type llmsReader struct {
	out            *llmsTxt
	fence          fence
	section, below string
	loose          []link // of lines that are no list items
	before         string // the line before, if a line below can make a heading of it
	listed         bool   // the line before is part of a list item
	quoting        bool   // the summary goes on
	summed         bool   // the summary is complete
}

func (r *llmsReader) line(line string) {
	if r.fence.skips(line) {
		r.before, r.listed = "", false
		return
	}
	trimmed := strings.TrimSpace(line)
	quoted, isQuote := strings.CutPrefix(trimmed, ">")
	if !isQuote {
		r.summed = r.summed || r.quoting
		r.quoting = false
	}
	level, head := heading(line)
	if level == 0 && r.before != "" {
		level, head = underlined(trimmed), r.before
	}
	before, listed := "", false
	item, isItem := listItem(line)
	switch {
	case isQuote:
		r.quote(strings.TrimSpace(quoted))
	case level > 0:
		r.heading(level, plainText(head))
	case isItem:
		r.item(item)
		r.loosePath(item)
		listed = true
	case r.listed && trimmed != "" && trimmed != line:
		r.more(trimmed)
		listed = true
	default:
		r.looseLine(trimmed)
		r.loosePath(trimmed)
		before = trimmed
	}
	r.before, r.listed = before, listed
}

// underlined gives the level that a line of = or - gives to the line above it.
func underlined(line string) int {
	switch {
	case len(line) < 2:
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

func (r *llmsReader) heading(level int, text string) {
	switch {
	case level == 1 && r.out.title == "":
		r.out.title = text
	case level <= 2:
		r.section, r.below = text, ""
		r.summed = true
	default:
		r.below = text
	}
}

// more reads a line that goes on with a list item.
func (r *llmsReader) more(line string) {
	if len(linksIn(line)) > 0 {
		r.item(line)
		return
	}
	if n := len(r.out.links); n > 0 && r.out.links[n-1].section == r.section && len(r.out.links[n-1].description) < longestProse {
		l := &r.out.links[n-1]
		l.description = oneLine(l.description + " " + describing(line))
	}
}

// looseLine keeps a line that is nothing but a link and a label.
func (r *llmsReader) looseLine(line string) {
	found := linksIn(line)
	if len(found) != 1 || found[0].end != len(line) || len(r.loose) >= maxLLMsTxtLinks {
		return
	}
	label, isLabel := strings.CutSuffix(strings.TrimSpace(line[:found[0].start]), ":")
	if found[0].start > 0 && !isLabel {
		return
	}
	title := found[0].title
	if title == "" {
		title = label
	}
	r.loose = append(r.loose, link{title: plainText(title), target: found[0].target, section: r.section, below: r.below})
}

// loosePath keeps a line or an item that is a label and a path from the root.
func (r *llmsReader) loosePath(line string) {
	label, target, ok := strings.Cut(line, ": /")
	if ok && label != "" && !strings.ContainsAny(target, " \t") && len(linksIn(line)) == 0 && len(r.loose) < maxLLMsTxtLinks {
		r.loose = append(r.loose, link{title: plainText(label), target: "/" + target, section: r.section, below: r.below})
	}
}

// quote reads a line of the summary, which is the first quotation, or of the
// header, which may name a manifest.
func (r *llmsReader) quote(text string) {
	if r.section != "" {
		return
	}
	if where, ok := strings.CutPrefix(text, "knowledge:"); ok {
		if where = strings.TrimSpace(where); strings.HasPrefix(where, "/") && r.out.knowledge == "" {
			r.out.knowledge = where
		}
		return
	}
	if !r.summed && len(r.out.summary) < longestProse {
		r.quoting = true
		r.out.summary = oneLine(r.out.summary + " " + plainText(text))
	}
}

// listItem gives the text of a list item, nested or not, or of a table's row.
func listItem(line string) (string, bool) {
	text := strings.TrimLeft(line, " \t")
	if row, ok := strings.CutPrefix(text, "|"); ok {
		return strings.Trim(row, "| "), true
	}
	if rest := strings.TrimLeft(text, "0123456789"); rest != text && len(text)-len(rest) < 10 {
		if inside, ok := cutAny(rest, ". ", ") "); ok {
			return strings.TrimSpace(inside), true
		}
	}
	if text == "" || strings.IndexByte("-*+", text[0]) < 0 {
		return "", false
	}
	// "-[a](b)" has no blank; "---" and "**bold**" are no items.
	inside := strings.TrimSpace(text[1:])
	if nested, ok := listItem(inside); ok && text[1:] != inside {
		return nested, true
	}
	if task, ok := cutAny(inside, "[ ] ", "[x] ", "[X] "); ok {
		inside = strings.TrimSpace(task)
	}
	if text[1:] != inside || strings.HasPrefix(inside, "[") || strings.HasPrefix(inside, "<") {
		return inside, inside != ""
	}
	return "", false
}

func cutAny(text string, prefixes ...string) (string, bool) {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(text, p); ok {
			return rest, true
		}
	}
	return text, false
}

// item takes the links of one item. What stands behind the last of them
// describes it; when nothing does, what stands before the first.
func (r *llmsReader) item(item string) {
	found := linksIn(item)
	for i, l := range found {
		if len(r.out.links) >= maxLLMsTxtLinks {
			r.out.leftOut++
			continue
		}
		one := link{title: plainText(l.title), target: l.target, section: r.section, below: r.below}
		if i == len(found)-1 {
			one.description = describing(item[l.end:])
			before := item[:found[0].start]
			switch {
			case l.title == "":
				one.title = describing(before)
			case one.description != "" || len(found) > 1 || describing(before) == "":
			case strings.HasSuffix(strings.TrimSpace(before), ":"):
				one.description = describing(before)
			default:
				one.description = describing(item) // the link is part of a sentence
			}
		}
		r.out.links = append(r.out.links, one)
	}
}

// describing takes what joins a description to its link off its ends.
func describing(text string) string {
	text = plainText(text)
	text = strings.Trim(text, " :-–—|,;→>*_")
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return ""
	}
	if inside, ok := strings.CutPrefix(text, "("); ok && strings.HasSuffix(inside, ")") && strings.Count(inside, "(") == 0 {
		text = strings.TrimSuffix(inside, ")")
	}
	return text
}
