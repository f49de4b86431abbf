package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/internal/draft"
)

type discoverOptions struct {
	*runner
	crawl, json, allowPrivate bool
	maxPages                  given
	publisher                 given
}

func newDiscover(r *runner) *cobra.Command {
	o := &discoverOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "discover URL",
		Short: "say what a site publishes for agents",
		Long: "discover asks a site for a manifest: knowledge.yaml at its root and under .well-known, what kcp.json and llms.txt " +
			"name, catalogs. With --crawl it walks the pages of a site that has none, as robots.txt allows, and drafts one. " +
			"What could not be asked is never called absent.",
		Example: `writ discover https://docs.example.com
writ discover https://github.com/acme/handbook
writ discover https://www.example.com --crawl > knowledge.yaml`,
		Annotations: exits("something was found or, with --crawl, drafted", "there is nothing, or a host could not be asked", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
	}
	walk := flagGroup{cmd.Flags(), "Crawl"}
	walk.boolean(&o.crawl, "crawl", "when there is nothing, walk the pages and print a draft")
	walk.value(&o.maxPages, "max-pages", "N", "50", "read at most N pages (default 20, at most 100)")
	walk.value(&o.publisher, "publisher", "NAME", `"Tern Software"`, "who publishes the manifest of the draft")
	walk.boolean(&o.allowPrivate, "allow-private-hosts", "also read from this machine and from private networks")
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print what was found as JSON")
	return cmd
}

// betweenPages keeps a walk from being a burden.
const betweenPages = time.Second

func (o *discoverOptions) run(cmd *cobra.Command, words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ discover https://docs.example.com", "discover takes one address, and %d are named", len(words))
	}
	pages, err := o.maxPages.count("max-pages")
	if err != nil {
		return err
	}
	if o.maxPages.set && (pages.Value < 1 || pages.Value > draft.MostPages) {
		return badValue("max-pages", o.maxPages.text, fmt.Sprintf("is not from 1 to %d", draft.MostPages), o.maxPages.example)
	}
	var walk *draft.CrawlOptions
	if o.crawl {
		walk = &draft.CrawlOptions{MaxPages: int(pages.Value), Between: betweenPages, Pause: pause}
	}
	d, err := draft.Discover(cmd.Context(), words[0], newNetwork(o.allowPrivate), walk)
	if err != nil {
		return err
	}
	var made *draft.Draft
	if d.Crawl != nil {
		made = d.Crawl.Draft(draft.LLMsOptions{Publisher: o.publisher.text, Today: o.today()})
	}
	switch {
	case o.json:
		err = o.printDocument(discoveryDocument(d, made))
	case made != nil:
		o.out.WriteString(made.Text())
	default:
		p := o.newPage()
		discoveryView{p, d}.write()
		o.print(p)
	}
	if err == nil && d.Manifest == nil && d.Catalog == nil && d.LLMsTxt == nil && made == nil {
		return errNegative
	}
	return err
}

// discovered is the JSON form. The keys of the reference come first.
type discovered struct {
	Found    bool                `json:"found"`
	URL      string              `json:"url,omitzero"`
	Manifest *discoveredManifest `json:"manifest,omitzero"`
	LLMsTxt  *discoveredLLMsTxt  `json:"llmsTxt,omitzero"`
	Catalog  *discoveredCatalog  `json:"catalog,omitzero"`
	Crawl    *discoveredCrawl    `json:"crawl,omitzero"`
	YAML     string              `json:"yaml,omitzero"`
	Tried    []discoveredTry     `json:"tried"`
}

type discoveredManifest struct {
	Project    string `json:"project"`
	Version    string `json:"version"`
	UnitCount  int    `json:"unitCount"`
	KCPVersion string `json:"kcpVersion,omitzero"`
}

type discoveredLLMsTxt struct {
	URL      string `json:"url"`
	Links    int    `json:"links"`
	Sections int    `json:"sections"`
}

type discoveredCatalog struct {
	URL     string            `json:"url"`
	Name    string            `json:"name"`
	Entries []discoveredEntry `json:"entries"`
}

type discoveredEntry struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Version string `json:"version"`
}

type discoveredCrawl struct {
	Pages      []discoveredPage `json:"pages"`
	Disallowed []string         `json:"robotsDisallowed"`
	Problems   []discoveredTry  `json:"problems"`
}

type discoveredPage struct {
	URL            string   `json:"url"`
	Title          string   `json:"title"`
	Headings       []string `json:"headings"`
	FirstParagraph string   `json:"firstParagraph"`
}

type discoveredTry struct {
	URL     string `json:"url"`
	Outcome string `json:"outcome"`
	Problem string `json:"problem,omitzero"`
}

func discoveryDocument(d *draft.Discovery, made *draft.Draft) discovered {
	doc := discovered{Tried: tries(d.Tried)}
	if m := d.Manifest; m != nil {
		doc.Found, doc.URL = true, m.Location
		doc.Manifest = &discoveredManifest{m.Project, m.Version, m.Units, m.KCPVersion.Value}
	}
	if l := d.LLMsTxt; l != nil {
		doc.LLMsTxt = &discoveredLLMsTxt{l.Location, l.Links, l.Sections}
	}
	if c := d.Catalog; c != nil {
		doc.Catalog = &discoveredCatalog{c.Location, c.Catalog.Name, []discoveredEntry{}}
		for _, e := range c.Catalog.Entries {
			doc.Catalog.Entries = append(doc.Catalog.Entries, discoveredEntry{e.Name, e.Source, e.Version})
		}
	}
	if c := d.Crawl; c != nil {
		doc.Crawl = &discoveredCrawl{[]discoveredPage{}, asList(c.Disallowed), tries(c.Problems)}
		for _, p := range c.Pages {
			doc.Crawl.Pages = append(doc.Crawl.Pages, discoveredPage{p.Address, p.Title, asList(p.Headings), p.First})
		}
	}
	if made != nil {
		doc.YAML = made.Text()
	}
	return doc
}

func tries(list []draft.Tried) []discoveredTry {
	made := make([]discoveredTry, len(list))
	for i, t := range list {
		made[i] = discoveredTry{t.Address, t.Outcome, t.Problem}
	}
	return made
}

// discoveryView writes what was found for a person.
type discoveryView struct {
	*page
	d *draft.Discovery
}

func (v discoveryView) write() {
	v.blank()
	for _, t := range v.d.Tried {
		mark := map[string]span{draft.TriedFound: markGood, draft.TriedFailed: markBad, draft.TriedUnusable: markWarn}[t.Outcome]
		note := t.Problem
		if mark.text == "" {
			mark, note = markNote, "not there"
		}
		v.hang(2, 4, mark, space, name(plain, t.Address), in(dim, "  "+note))
	}
	if c := v.d.Crawl; c != nil {
		for _, t := range c.Problems {
			v.hang(2, 4, markBad, space, name(plain, t.Address), in(dim, "  "+t.Problem))
		}
	}
	v.blank()
	v.verdict()
}

func (v discoveryView) verdict() {
	switch d := v.d; {
	case d.Manifest != nil:
		m := d.Manifest
		v.line(0, markGood, space, in(bold, "a manifest"), text("  "+m.Project+" "+m.Version+" · "+counted(m.Units, "unit")+" · by "+m.By))
		v.line(2, in(dim, `Plan with it: writ plan "your task" --manifest `+m.Location))
	case d.LLMsTxt != nil:
		l := d.LLMsTxt
		v.line(0, markGood, space, in(bold, "an llms.txt"), text(fmt.Sprintf("  %s in %s, and no manifest", counted(l.Links, "link"), counted(l.Sections, "section"))))
		v.line(2, in(dim, "Make a manifest of it: writ init --from-llms-txt "+l.Location))
	case d.Catalog != nil:
		c := d.Catalog.Catalog
		v.line(0, markGood, space, in(bold, "a catalog"), text("  "+c.Name+" · "+counted(len(c.Entries), "manifest")))
		t := &table{indent: 2}
		for _, e := range c.Entries {
			t.add(cell(bold, e.Name), spans(text(e.Version+" "), name(plain, e.Source)))
		}
		v.table(t)
	case d.Failed():
		v.line(0, markBad, space, in(bold, "unknown"), text("  a host could not be asked, so nothing can be said of what is there"))
	case d.Crawl != nil:
		v.line(0, markBad, space, in(bold, "nothing"), text("  and no page that may be read"))
	default:
		v.line(0, markBad, space, in(bold, "nothing"), text("  the site publishes no manifest, llms.txt or catalog"))
		v.line(2, in(dim, "Draft one from its pages: add --crawl"))
	}
}
