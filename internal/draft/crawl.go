package draft

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// CrawlOptions bounds a walk over a site.
type CrawlOptions struct {
	MaxPages int           // pages that are read, at most MostPages
	Between  time.Duration // pause between two pages, or longer if the site asks
	// Pause waits, and is false when the context has ended. Tests need not wait.
	Pause func(ctx context.Context, d time.Duration) bool
}

// Bounds of a walk.
const (
	DefaultPages = 20
	MostPages    = 100
	mostQueued   = 1_000
	longestPause = 10 * time.Second
	mostHeadings = 15
)

// Crawl is what a walk over the pages of a site found.
type Crawl struct {
	Pages      []Page
	Disallowed []string // of robots.txt, as written
	Problems   []Tried  // pages that could not be read
}

// Page is what a page says of itself.
type Page struct {
	Address     string
	Title       string
	Description string
	Headings    []string
	First       string // the first paragraph
	links       []string
	unlisted    bool // the page asks not to be listed
}

// notPages are the extensions of what is no page.
var notPages = strings.Fields(".png .jpg .jpeg .gif .svg .webp .ico .css .js .mjs .json .xml .woff .woff2 .ttf .eot " +
	".zip .gz .tar .tgz .7z .pdf .mp3 .mp4 .webm .mov .exe .dmg .iso .wasm .map")

// crawlSite walks breadth first over the pages of one origin, as its robots.txt
// allows. A site whose robots.txt cannot be read is not walked: nobody knows what
// it allows (RFC 9309 section 2.3.1.4).
func crawlSite(ctx context.Context, base *url.URL, get Fetcher, o CrawlOptions) *Crawl {
	c := &crawler{ctx: ctx, get: get, o: o, crawl: &Crawl{}, seen: map[string]bool{}}
	if c.o.MaxPages <= 0 {
		c.o.MaxPages = DefaultPages
	}
	c.o.MaxPages = min(c.o.MaxPages, MostPages)
	c.origin = originOf(base)
	if !c.readRobots(base) {
		return c.crawl
	}
	c.push(base)
	for len(c.queue) > 0 && len(c.crawl.Pages) < c.o.MaxPages && c.tries < 2*c.o.MaxPages {
		next := c.queue[0]
		c.queue = c.queue[1:]
		if c.tries > 0 && !c.o.Pause(ctx, c.between()) {
			break
		}
		c.tries++
		c.visit(next)
	}
	return c.crawl
}

type crawler struct {
	ctx    context.Context
	get    Fetcher
	o      CrawlOptions
	origin string
	robots robots
	queue  []string
	seen   map[string]bool
	tries  int
	crawl  *Crawl
}

func (c *crawler) between() time.Duration { return max(c.o.Between, min(c.robots.delay, longestPause)) }

func (c *crawler) readRobots(base *url.URL) bool {
	address := base.Scheme + "://" + base.Host + "/robots.txt"
	data, _, err := c.get.Get(c.ctx, address)
	switch {
	case err == nil && !looksLikePage(data):
		c.robots = readRobots(string(data))
		c.crawl.Disallowed = c.robots.disallowed()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		c.fail(address, err)
		return false
	}
	return true
}

func (c *crawler) fail(address string, err error) {
	outcome := TriedFailed
	if errors.Is(err, fs.ErrNotExist) {
		outcome = TriedNotThere
	}
	c.crawl.Problems = append(c.crawl.Problems, Tried{address, outcome, oneLine(err.Error())})
}

// push queues a page of the origin that was not seen yet.
func (c *crawler) push(u *url.URL) {
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: u.RawQuery}
	if u.Path == "" {
		u.Path = "/"
	}
	key := u.String()
	if originOf(u) != c.origin || u.RawQuery != "" || c.seen[key] || len(c.queue) >= mostQueued ||
		slices.Contains(notPages, strings.ToLower(path.Ext(u.Path))) || !c.robots.allows(u.EscapedPath()) {
		return
	}
	c.seen[key] = true
	c.queue = append(c.queue, key)
}

func (c *crawler) visit(address string) {
	data, location, err := c.get.Get(c.ctx, address)
	if err != nil {
		c.fail(address, err)
		return
	}
	base, err := url.Parse(location)
	if err != nil || originOf(base) != c.origin || !c.robots.allows(base.EscapedPath()) {
		c.crawl.Problems = append(c.crawl.Problems, Tried{address, TriedUnusable, "leads to " + oneLine(location)})
		return
	}
	page := readPage(data)
	page.Address = location
	c.seen[location] = true
	if !page.unlisted && !slices.ContainsFunc(c.crawl.Pages, func(p Page) bool { return p.Address == location }) {
		c.crawl.Pages = append(c.crawl.Pages, page)
	}
	for _, link := range page.links {
		if u, err := base.Parse(link); err == nil {
			c.push(u)
		}
	}
}

// Draft makes a manifest of the pages. Without a page it is nil.
func (c *Crawl) Draft(o LLMsOptions) *Draft {
	if len(c.Pages) == 0 {
		return nil
	}
	root, err := url.Parse(c.Pages[0].Address)
	if err != nil {
		return nil
	}
	d := &Draft{
		Head:    []string{"Drafted by writ discover from the pages of " + root.Host + ".", "Review it before you publish it."},
		Project: c.Pages[0].Title, Version: "1.0.0", VersionGuessed: true, Updated: o.Today, Publisher: o.Publisher,
	}
	if d.Project == "" {
		d.Project, d.ProjectGuessed = root.Hostname(), true
	}
	ids, paths := names{}, map[string]bool{}
	for i := range c.Pages {
		p := &c.Pages[i]
		u, err := url.Parse(p.Address)
		if err != nil {
			continue
		}
		file, problem := unitPath(u)
		if problem != "" || paths[file] || len(d.Units) >= maxScanUnits {
			continue
		}
		paths[file] = true
		d.Units = append(d.Units, p.unit(file, ids))
	}
	return d
}

func (p *Page) unit(file string, ids names) Unit {
	title := p.Title
	if title == "" && len(p.Headings) > 0 {
		title = p.Headings[0]
	}
	u := Unit{Path: file, Intent: title, Scope: "global", Audience: everybody}
	u.ID = ids.take(slug(strings.TrimSuffix(file, path.Ext(file))))
	if about := p.Description; about != "" || p.First != "" {
		if about == "" {
			about = p.First
		}
		u.Intent = cut(strings.TrimPrefix(title+" — "+about, " — "), longestIntent)
	}
	if u.Intent == "" {
		u.Intent, u.IntentGuessed = "Page: "+file, true
	}
	u.Triggers = keepTriggers(titleWords(append([]string{title}, p.Headings...)...))
	if len(u.Triggers) == 0 {
		u.Triggers = []string{u.ID}
	}
	return u
}
