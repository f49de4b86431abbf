package draft

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/match"
)

// An intent that is taken from a comment or a page has a length that a sentence
// has.
const (
	shortestIntent = 11
	longestIntent  = 199
)

// commentIntent gives what the first comment of a source file says the file is
// for, or "". Licences, directives and shebang lines say nothing of that.
func commentIntent(source string) string {
	for range 4 { // comments that are looked at
		text, rest := leadingComment(source)
		if rest == source {
			return ""
		}
		source = rest
		if text = sentence(text); text != "" && !boilerplate.MatchString(text) {
			return text
		}
	}
	return ""
}

var boilerplate = regexp.MustCompile(`(?i)\bcopyright\b|licen[sc]ed under|permission is hereby|spdx-|all rights reserved|eslint|@ts-|go:build|\+build|generated|coding[:=]`)

// leadingComment takes the first comment off a source file. The rest is the
// same text when there is none.
func leadingComment(source string) (text, rest string) {
	trimmed := strings.TrimLeft(source, " \t\r\n")
	for _, block := range [...][2]string{{"/*", "*/"}, {`"""`, `"""`}, {"'''", "'''"}} {
		if inside, ok := strings.CutPrefix(trimmed, block[0]); ok {
			body, rest, ok := strings.Cut(inside, block[1])
			if !ok {
				return "", source
			}
			return joinLines(body, "*!"), rest
		}
	}
	for _, mark := range []string{"//", "#!", "#"} {
		if !strings.HasPrefix(trimmed, mark) {
			continue
		}
		if mark == "#" && strings.HasPrefix(trimmed, "#include") {
			break
		}
		var lines []string
		for strings.HasPrefix(trimmed, mark) {
			line, more, _ := strings.Cut(trimmed, "\n")
			lines = append(lines, line[len(mark):])
			trimmed = strings.TrimLeft(more, " \t")
			if mark == "#!" {
				return "", trimmed
			}
		}
		return joinLines(strings.Join(lines, "\n"), "/!"), trimmed
	}
	// A Go file begins with its package when that has no comment.
	return "", source
}

// joinLines makes one line of a comment's first paragraph.
func joinLines(body, marks string) string {
	var words []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), marks))
		if line == "" && len(words) > 0 || strings.HasPrefix(line, "@") {
			break
		}
		words = append(words, line)
	}
	return oneLine(strings.Join(words, " "))
}

// sentence gives text if it is as long as a sentence, or its first sentence.
func sentence(text string) string {
	if n := utf8.RuneCountInString(text); n > longestIntent {
		if i := strings.Index(text, ". "); i > 0 {
			text = text[:i+1]
		}
	}
	n := utf8.RuneCountInString(text)
	if n < shortestIntent || n > longestIntent || !strings.ContainsFunc(text, isLetter) {
		return ""
	}
	return text
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f }

// pageTitle gives the title of a Markdown page, from its front matter or its
// first heading, and the description of the front matter.
func pageTitle(page string) (title, description string) {
	page = strings.ReplaceAll(page, "\r\n", "\n")
	if body, ok := strings.CutPrefix(page, "---\n"); ok {
		if front, rest, ok := strings.Cut(body, "\n---"); ok {
			title, description = frontMatter(front)
			page = rest
		}
	}
	fence := fence{}
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if title != "" {
			break
		}
		if fence.skips(line) {
			continue
		}
		if level, text := heading(line); level == 1 {
			title = plainText(text)
		}
	}
	return title, description
}

// frontMatter reads title and description, each on one line of its own.
func frontMatter(front string) (title, description string) {
	for line := range strings.Lines(front) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if strings.ContainsAny(value, "{}[]|>&*") {
			continue // more than one line of text, or no text
		}
		switch key {
		case "title":
			title = plainText(value)
		case "description":
			description = plainText(value)
		}
	}
	return title, description
}

// heading gives the level and the text of an ATX heading; level 0 is none.
func heading(line string) (level int, text string) {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return 0, ""
	}
	rest := strings.TrimLeft(trimmed, "#")
	level = len(trimmed) - len(rest)
	if level == 0 || level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(rest)
	if closed := strings.TrimRight(text, "#"); closed == "" || strings.HasSuffix(closed, " ") {
		text = strings.TrimSpace(closed)
	}
	return level, text
}

// fence keeps track of fenced code and of HTML comments over lines.
type fence struct {
	mark    string // what ends the code, empty outside
	comment bool
}

// skips reports whether a line is code or a comment.
func (f *fence) skips(line string) bool {
	trimmed := strings.TrimSpace(line)
	switch {
	case f.mark != "":
		if strings.HasPrefix(trimmed, f.mark) && strings.Trim(trimmed, f.mark[:1]) == "" {
			f.mark = ""
		}
		return true
	case f.comment:
		f.comment = !strings.Contains(trimmed, "-->")
		return true
	}
	for _, c := range []string{"`", "~"} {
		n := len(trimmed) - len(strings.TrimLeft(trimmed, c))
		if n >= 3 && !(c == "`" && strings.Contains(trimmed[n:], "`")) {
			f.mark = trimmed[:n]
			return true
		}
	}
	if strings.HasPrefix(trimmed, "<!--") {
		f.comment = !strings.Contains(trimmed, "-->")
		return true
	}
	return false
}

var (
	imageText = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	linkText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	tagText   = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
)

// plainText takes the marks of Markdown and HTML off a text.
func plainText(text string) string {
	text = imageText.ReplaceAllString(text, " ")
	text = linkText.ReplaceAllString(text, "$1")
	text = tagText.ReplaceAllString(text, " ")
	text = html.UnescapeString(text)
	for _, mark := range []string{"**", "__", "`"} {
		text = strings.ReplaceAll(text, mark, "")
	}
	return oneLine(unescape(text))
}

// unescape takes away the backslash before a punctuation mark.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\\`*_{}[]()#+-.!|<>~\"'&", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// titleWords gives the words of a title that a task is matched by.
func titleWords(titles ...string) []string {
	var words []string
	for _, title := range titles {
		for _, word := range match.Terms(title) {
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}
