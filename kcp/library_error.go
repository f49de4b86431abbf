package kcp

import (
	"strconv"
	"strings"
)

// doubt says where the fast reader gave up. Odd means that it saw something that
// is probably wrong, not merely something that it does not read; problem says
// what, where that is more than the library can tell.
type doubt struct {
	pos     Position
	odd     bool
	problem string
}

// libraryProblems says in a publisher's words what the library reports.
var libraryProblems = []struct{ library, ours string }{
	{"did not find expected key", "expected a key here; check the indentation and the quotes above"},
	{"did not find expected '-' indicator", "expected \"- \" here; the entries of a list must stand below each other"},
	{"did not find expected ',' or ']'", "expected \",\" or \"]\"; the list that begins with \"[\" is not closed"},
	{"did not find expected ',' or '}'", "expected \",\" or \"}\"; the mapping that begins with \"{\" is not closed"},
	{"mapping values are not allowed in this context", "unexpected \": \"; put the text in quotes, or check the indentation"},
	{"block sequence entries are not allowed in this context", "unexpected \"- \"; begin the list on a line of its own"},
	{"mapping keys are not allowed in this context", "unexpected \"? \"; put the text in quotes"},
	{"found character that cannot start any token", "unexpected character; put text that begins with @, ` or % in quotes, and indent with blanks"},
	{"found unexpected end of stream", "the text ends inside quotes; close them"},
	{"found unexpected document indicator", "a document marker stands inside quotes; close them"},
	{"could not find expected ':'", "expected \": \" after the key; check the indentation and the quotes"},
	{"found unknown escape character", "unknown escape after \"\\\"; write \"\\\\\" for a backslash, or use single quotes"},
	{"found invalid Unicode character escape code", "the escape is no Unicode character; write the character itself"},
	{"did not find expected hexdecimal number", "the escape needs hexadecimal digits"},
	{"found a tab character that violates indentation", "a tab in the indentation; indent with blanks"},
	{"found a tab character where an indentation space is expected", "a tab in the indentation; indent with blanks"},
	{"did not find expected comment or line break", "unexpected text behind \"|\" or \">\"; begin the text on the next line"},
	{"found undefined tag handle", "unknown tag; remove it"},
	{"did not find expected alphabetic or numeric character", "a name is missing after \"&\" or \"*\", or it has other characters than letters, digits, \"-\" and \"_\"; put the text in quotes"},
	{"did not find expected node content", "expected a value here"},
	{"did not find expected <document start>", "expected one mapping; check the indentation and the quotes above"},
	{"found incompatible YAML document", "only YAML 1.1 and 1.2 can be read; remove the %YAML line"},
	{"exceeded max depth", "values are nested deeper than " + strconv.Itoa(maxDepth)},
}

// syntaxError reports an error of the library at the best place that is known.
// The library names a line at most, and often the one where the surrounding
// block begins; the fast reader stops where the oddity is.
func (r *libraryReader) syntaxError(err error, doubt doubt) {
	line, problem := splitLibraryError(err.Error())
	problem = r.mask.restore(problem, false)
	pos := doubt.pos
	if line > 0 && !doubt.odd {
		text := lineText(r.text, line)
		pos = Position{Line: line, Column: len(text) - len(strings.TrimLeft(text, " ")) + 1}
	}
	if pos.Line == 0 {
		pos = Position{Line: 1, Column: 1}
	}
	if name, ok := strings.CutPrefix(problem, "unknown anchor "); ok {
		name = strings.TrimSuffix(strings.Trim(name, "'"), "' referenced")
		if i := strings.Index(r.text, "*"+name); i >= 0 {
			pos = positionOf(r.text, i)
		}
		r.fail(pos.Line, pos.Column, "alias *%s names no anchor &%s before it", excerpt(name), excerpt(name))
		return
	}
	if doubt.problem != "" {
		r.fail(pos.Line, pos.Column, "%s", doubt.problem)
		return
	}
	r.fail(pos.Line, pos.Column, "%s", r.inOurWords(problem, pos))
}

// splitLibraryError takes "yaml: line 3: problem" apart. The line is 0 when there
// is none.
func splitLibraryError(text string) (line int, problem string) {
	problem = strings.TrimPrefix(text, "yaml: ")
	if rest, ok := strings.CutPrefix(problem, "line "); ok {
		number, after, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			return n, after
		}
	}
	return 0, problem
}

// inOurWords says what the library reports so that a publisher can act on it.
func (r *libraryReader) inOurWords(problem string, pos Position) string {
	if line := lineText(r.text, pos.Line); pos.Column <= len(line) && line[pos.Column-1] == '\t' {
		if strings.Trim(line, " \t") == "" {
			return "a tab in a line that is empty otherwise; remove it"
		}
		return "a tab in the indentation; indent with blanks"
	}
	for _, p := range libraryProblems {
		if strings.HasPrefix(problem, p.library) {
			return p.ours
		}
	}
	return problem
}
