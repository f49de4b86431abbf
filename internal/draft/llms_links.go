package draft

import "strings"

// inlineLink is one link in a line of Markdown; item[start:end] is all of it.
type inlineLink struct {
	title, target string
	start, end    int
}

// linksIn gives the links of a line: [title](target "tooltip"), <address> and a
// bare address. Images and links in code do not count.
func linksIn(line string) []inlineLink {
	if !strings.Contains(line, "](") && !strings.Contains(line, "://") {
		return nil
	}
	var links []inlineLink
	closing := matching(line)
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '\\':
			i += 2
		case c == '`':
			i = skipCode(line, i)
		case c == '!' && i+1 < len(line) && line[i+1] == '[':
			i = skipImage(line, i, closing)
		case c == '[':
			if l, ok := bracketLink(line, i, closing); ok {
				links = append(links, l)
				i = l.end
			} else {
				i++
			}
		case c == '<' && isAddress(line[i+1:]):
			end := strings.IndexAny(line[i:], "> ")
			if end < 0 || line[i+end] != '>' {
				i++
				continue
			}
			links = append(links, inlineLink{target: line[i+1 : i+end], start: i, end: i + end + 1})
			i += end + 1
		case c == 'h' && isAddress(line[i:]) && !(i > 0 && isWordByte(line[i-1])):
			end := i + bareLength(line[i:])
			links = append(links, inlineLink{target: line[i:end], start: i, end: end})
			i = end
		default:
			i++
		}
	}
	return links
}

func isAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// bareLength is how far a bare address reaches: to the next blank, without the
// punctuation of the sentence around it.
func bareLength(text string) int {
	end := strings.IndexAny(text, " \t<>\"`|*")
	if end < 0 {
		end = len(text)
	}
	for end > 0 && strings.IndexByte(".,;:!?'", text[end-1]) >= 0 {
		end--
	}
	if strings.HasSuffix(text[:end], ")") && strings.Count(text[:end], "(") < strings.Count(text[:end], ")") {
		end--
	}
	return end
}

// skipCode gives the place behind code in backticks, or behind the backticks
// when nothing closes them.
func skipCode(line string, at int) int {
	n := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
	mark := line[at : at+n]
	if i := strings.Index(line[at+n:], mark); i >= 0 {
		return at + n + i + n
	}
	return at + n
}

func skipImage(line string, at int, closing map[int]int) int {
	if l, ok := bracketLink(line, at+1, closing); ok {
		return l.end
	}
	return at + 2
}

// bracketLink reads [title](target "tooltip") from the bracket on.
func bracketLink(line string, at int, closing map[int]int) (inlineLink, bool) {
	end, ok := closing[at]
	if !ok || end+1 >= len(line) || line[end+1] != '(' {
		return inlineLink{}, false
	}
	l := inlineLink{title: line[at+1 : end], start: at}
	inside := end + 2
	for inside < len(line) && line[inside] == ' ' {
		inside++
	}
	if inside < len(line) && line[inside] == '<' {
		target, rest, ok := strings.Cut(line[inside+1:], ">")
		after, _, closed := strings.Cut(rest, ")")
		l.target, l.end = target, inside+1+len(target)+1+len(after)+1
		return l, ok && closed
	}
	last, ok := closing[end+1]
	if !ok {
		return inlineLink{}, false
	}
	l.target, l.end = withoutTooltip(line[inside:max(inside, last)]), last+1
	return l, true
}

// withoutTooltip takes the title in quotes off a target.
func withoutTooltip(target string) string {
	target = strings.TrimSpace(target)
	for _, quote := range []string{`"`, `'`} {
		if i := strings.Index(target, " "+quote); i >= 0 && strings.HasSuffix(target, quote) && len(target) > i+2 {
			return strings.TrimSpace(target[:i])
		}
	}
	return target
}

// matching gives the place of the bracket that closes each [ and each (, in one
// pass over the line.
func matching(line string) map[int]int {
	closing := map[int]int{}
	var square, round []int
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '[':
			square = append(square, i)
		case '(':
			round = append(round, i)
		case ']':
			if n := len(square); n > 0 {
				closing[square[n-1]] = i
				square = square[:n-1]
			}
		case ')':
			if n := len(round); n > 0 {
				closing[round[n-1]] = i
				round = round[:n-1]
			}
		}
	}
	return closing
}
