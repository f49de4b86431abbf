package draft

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// readPage reads a page of HTML: its title, what it says of itself, headings of
// three levels, the first paragraph, and its links. What is not well formed is
// read as a browser would.
func readPage(data []byte) Page {
	r := &pageReader{tokens: html.NewTokenizer(bytes.NewReader(data))}
	for {
		switch r.tokens.Next() {
		case html.ErrorToken:
			r.close()
			return r.page
		case html.StartTagToken, html.SelfClosingTagToken:
			r.open()
		case html.EndTagToken:
			name, _ := r.tokens.TagName()
			if string(name) == r.inside {
				r.close()
			}
		case html.TextToken:
			if r.inside != "" && r.text.Len() < longestProse {
				r.text.Write(r.tokens.Text())
			}
		}
	}
}

type pageReader struct {
	tokens *html.Tokenizer
	page   Page
	inside string // the element whose text is collected
	text   strings.Builder
}

func (r *pageReader) open() {
	token := r.tokens.Token()
	attribute := map[string]string{}
	for _, a := range token.Attr {
		if _, taken := attribute[a.Key]; !taken {
			attribute[a.Key] = a.Val
		}
	}
	switch token.Data {
	case "a":
		if href := strings.TrimSpace(attribute["href"]); href != "" && !strings.Contains(attribute["rel"], "nofollow") && len(r.page.links) < mostQueued {
			r.page.links = append(r.page.links, href)
		}
	case "meta":
		switch strings.ToLower(attribute["name"]) {
		case "description":
			r.page.Description = oneLine(attribute["content"])
		case "robots":
			r.page.unlisted = r.page.unlisted || strings.Contains(strings.ToLower(attribute["content"]), "noindex")
		}
	case "title", "h1", "h2", "h3", "p":
		r.close()
		r.inside = token.Data
	}
}

// close keeps the text of the element that ends.
func (r *pageReader) close() {
	text := oneLine(html.UnescapeString(r.text.String()))
	r.text.Reset()
	switch inside := r.inside; {
	case text == "":
	case inside == "title" && r.page.Title == "":
		r.page.Title = cut(text, longestIntent)
	case inside == "p" && r.page.First == "":
		r.page.First = text
	case strings.HasPrefix(inside, "h") && len(r.page.Headings) < mostHeadings:
		r.page.Headings = append(r.page.Headings, cut(text, longestIntent))
	}
	r.inside = ""
}

// robots are the rules of a robots.txt for us (RFC 9309).
type robots struct {
	rules []robotsRule
	delay time.Duration
}

type robotsRule struct {
	path  string
	allow bool
	match *regexp.Regexp
}

// mostRules bounds a robots.txt.
const mostRules = 1_000

// readRobots reads the group for writ, or else that for everybody.
func readRobots(text string) robots {
	groups := map[string]*robots{}
	var agents []string
	fresh := false // the last line named an agent
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r", "\n")) {
		line, _, _ = strings.Cut(line, "#")
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if !fresh {
				agents = nil
			}
			fresh = true
			agents = append(agents, strings.ToLower(value))
			if groups[strings.ToLower(value)] == nil {
				groups[strings.ToLower(value)] = &robots{}
			}
		case "allow", "disallow", "crawl-delay":
			fresh = false
			for _, agent := range agents {
				groups[agent].add(key, value)
			}
		}
	}
	for _, agent := range []string{"writ", "*"} {
		if g := groups[agent]; g != nil {
			return *g
		}
	}
	return robots{}
}

func (r *robots) add(key, value string) {
	switch {
	case key == "crawl-delay":
		if d, err := time.ParseDuration(value + "s"); err == nil && d > 0 {
			r.delay = d
		}
	case value == "" || len(r.rules) >= mostRules: // an empty rule allows everything
	default:
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(value, "$")), `\*`, ".*")
		if strings.HasSuffix(value, "$") {
			pattern += "$"
		}
		if match, err := regexp.Compile("^" + pattern); err == nil {
			r.rules = append(r.rules, robotsRule{value, key == "allow", match})
		}
	}
}

// allows follows the longest rule that matches; of equals the one that allows.
func (r *robots) allows(path string) bool {
	longest, allow := -1, true
	for _, rule := range r.rules {
		if n := len(rule.path); n >= longest && rule.match.MatchString(path) {
			allow = rule.allow || n == longest && allow
			longest = n
		}
	}
	return allow
}

func (r *robots) disallowed() []string {
	var list []string
	for _, rule := range r.rules {
		if !rule.allow {
			list = append(list, rule.path)
		}
	}
	return list
}
