package draft

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/match"
)

// LLMsOptions says what an llms.txt cannot say itself.
type LLMsOptions struct {
	// Location is where the text was read: an https address, against which relative
	// links are resolved, or a file.
	Location  string
	Publisher string
	Today     string // YYYY-MM-DD
}

// FromLLMsTxt drafts a manifest from an llms.txt (agent contract section 17.2,
// with more of what people write understood). Each link of a list to the main
// origin becomes a unit; links elsewhere, and those whose path may not stand in
// a manifest, are listed in notes. docs/publishing.md says what becomes of what.
//
// Text without any link, a web page and what is no text give an error.
func FromLLMsTxt(data []byte, o LLMsOptions) (*Draft, error) {
	text, err := readLLMsTxt(data)
	if err != nil {
		return nil, err
	}
	c := &llmsDraft{base: baseOf(o.Location), ids: names{}, byPath: map[string]int{}}
	c.origin = c.mainOrigin(text.links)
	for i := range text.links {
		c.link(&text.links[i])
	}
	if len(c.units) == 0 {
		return nil, fmt.Errorf("none of the %d links of the llms.txt can be a unit%s", len(text.links), c.whyNone())
	}
	d := &Draft{
		Head: []string{
			"Drafted by writ init --from-llms-txt. Review it before you publish it.",
			"",
			"An llms.txt says nothing of audiences, validity, payment, signatures or",
			"federation. None of that is guessed; the TODOs say what to add.",
		},
		Project: text.title, Version: "1.0.0", VersionGuessed: true,
		Updated: o.Today, Publisher: o.Publisher, Intent: text.summary, Units: c.units,
	}
	if d.Project == "" {
		d.Project, d.ProjectGuessed = c.nameOfOrigin(), true
	}
	d.Notes = c.notes(text)
	return d, nil
}

// llmsDraft turns links into units.
type llmsDraft struct {
	base   *url.URL // where the text came from; nil for a file
	origin string   // scheme and host of what the units are on; empty if all is relative
	ids    names
	byPath map[string]int // index in units
	units  []Unit

	offSite, unusable []string
}

func baseOf(location string) *url.URL {
	if !isAddress(location) {
		return nil
	}
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// address reads a target as an absolute or relative web address. A target that
// begins with // takes https. The error says what else it is.
func (c *llmsDraft) address(target string) (*url.URL, error) {
	target = strings.TrimSpace(strings.ReplaceAll(target, `\`, "/"))
	u, err := url.Parse(strings.ReplaceAll(target, " ", "%20"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("no address")
	case u.Host != "" && u.Scheme == "":
		u.Scheme = "https"
	case u.Scheme == "" && c.base != nil:
		u = c.base.ResolveReference(u)
	}
	if u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" {
		return nil, fmt.Errorf("no web address")
	}
	return u, nil
}

// originOf gives scheme and host as they are compared: http counts as https, and
// a leading www. does not count.
func originOf(u *url.URL) string {
	if u.Host == "" {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" && port != "443" && port != "80" {
		host += ":" + port
	}
	return "https://" + strings.TrimPrefix(host, "www.")
}

// mainOrigin gives the origin that most links have; of equals the first.
func (c *llmsDraft) mainOrigin(links []link) string {
	counts := map[string]int{}
	best := ""
	var order []string
	for i := range links {
		u, err := c.address(links[i].target)
		if err != nil {
			continue
		}
		if o := originOf(u); o != "" {
			if counts[o] == 0 {
				order = append(order, o)
			}
			counts[o]++
		}
	}
	for _, o := range order {
		if counts[o] > counts[best] {
			best = o
		}
	}
	return best
}

// link makes a unit of a link, or takes note why not.
func (c *llmsDraft) link(l *link) {
	u, err := c.address(l.target)
	if err != nil {
		c.unusable = append(c.unusable, l.target+"  ("+err.Error()+")")
		return
	}
	if o := originOf(u); o != "" && o != c.origin {
		c.offSite = append(c.offSite, l.target)
		return
	}
	file, problem := unitPath(u)
	if problem != "" {
		c.unusable = append(c.unusable, l.target+"  ("+problem+")")
		return
	}
	if i, taken := c.byPath[file]; taken {
		c.units[i].Triggers = keepWords(append(c.units[i].Triggers, l.triggers()...))
		return
	}
	c.byPath[file] = len(c.units)
	c.units = append(c.units, c.unit(l, file))
}

func (c *llmsDraft) unit(l *link, file string) Unit {
	title := l.title
	if title == "" {
		title = nameOfPath(file)
	}
	id := slug(title)
	if id == "" {
		id = slug(nameOfPath(file))
	}
	words := l.triggers()
	if c.ids[id] { // what the name does not tell apart, the path may
		words = append(match.Terms(nameOfPath(file)), words...)
	}
	u := Unit{
		ID: c.ids.take(id), Path: file, Intent: l.description,
		Scope: "global", Audience: everybody, Triggers: keepWords(words),
	}
	if u.Intent == "" {
		u.Intent = title
	}
	u.Intent = cut(u.Intent, 500)
	if len(u.Triggers) == 0 {
		u.Triggers = keepTriggers([]string{strings.ToLower(title), nameOfPath(file)})
	}
	if len(u.Triggers) == 0 {
		u.Triggers = []string{u.ID}
	}
	if strings.EqualFold(l.section, "optional") {
		u.Hints = "load_strategy: lazy, priority: reference"
	}
	return u
}

// unitPath makes a path below the manifest's folder of an address. The path is
// that of the file, so escapes are resolved; a query cannot be part of it.
func unitPath(u *url.URL) (file, problem string) {
	switch {
	case u.Host == "" && u.Path == "" && u.RawQuery == "":
		return "", "a place in this file"
	case u.RawQuery != "":
		return "", "has a query"
	}
	// Dot segments that stay inside mean what a browser makes of them.
	inside := strings.TrimPrefix(path.Clean("/"+u.Path), "/")
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == ".." && u.Host == "" {
			return "", "leads out of the folder"
		}
	}
	if inside == "" {
		return "index", ""
	}
	if !usablePath(inside) {
		return "", "cannot be a path"
	}
	return inside, ""
}

// nameOfPath gives the last segment of a path without its extension.
func nameOfPath(file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(base, path.Ext(base))
}

// longTriggers are as many words as a unit gets from its headings and title.
const longTriggers = 8

// triggers gives the words of the headings above a link and of its title. The
// title's come first, so that they are never cut off.
func (l *link) triggers() []string {
	words := match.Terms(l.title)
	words = append(words, match.Terms(l.below)...)
	if !strings.EqualFold(l.section, "optional") {
		words = append(words, match.Terms(l.section)...)
	}
	return words
}

func keepWords(words []string) []string {
	var kept []string
	for _, w := range words {
		if !slices.Contains(kept, w) && len(w) <= longestTrigger && len(kept) < longTriggers {
			kept = append(kept, w)
		}
	}
	return kept
}

func (c *llmsDraft) nameOfOrigin() string {
	_, host, _ := strings.Cut(c.origin, "://")
	if host == "" && c.base != nil {
		host = c.base.Hostname()
	}
	if host = strings.Trim(oneLine(host), "."); host == "" {
		return "website"
	}
	return host
}

func (c *llmsDraft) notes(text *llmsTxt) []string {
	var notes []string
	if text.knowledge != "" {
		notes = append(notes, "TODO: the llms.txt names a manifest already: "+text.knowledge+"\nCompare the two before you publish this one.")
	}
	if n := len(c.offSite); n > 0 {
		notes = append(notes, fmt.Sprintf("TODO: %d link(s) point at other origins and are not units.\n"+
			"Add them under manifests if they publish a knowledge.yaml of their own:\n%s", n, indented(c.offSite)))
	}
	if n := len(c.unusable); n > 0 {
		notes = append(notes, fmt.Sprintf("%d link(s) cannot be units:\n%s", n, indented(c.unusable)))
	}
	if text.leftOut > 0 {
		notes = append(notes, fmt.Sprintf("%d link(s) beyond the first %d were left out.", text.leftOut, maxLLMsTxtLinks))
	}
	return notes
}

func (c *llmsDraft) whyNone() string {
	switch all := append(c.unusable, c.offSite...); {
	case len(all) == 0:
		return ""
	default:
		return ", such as " + oneLine(all[0])
	}
}
