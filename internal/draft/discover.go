package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// Discovery is what a site publishes for agents. At most one of the manifest,
// the catalog, the llms.txt and the crawl is there: the first that was found.
type Discovery struct {
	Tried    []Tried // every address that was asked, in order
	Manifest *FoundManifest
	Catalog  *FoundCatalog
	LLMsTxt  *FoundLLMsTxt
	Crawl    *Crawl
}

// Tried is one address that was asked.
type Tried struct {
	Address string
	Outcome string // see the Tried constants
	Problem string // empty when found
}

// What can come of asking.
const (
	TriedFound    = "found"
	TriedNotThere = "not-there" // the host says that there is nothing
	TriedUnusable = "unusable"  // there is something else
	TriedFailed   = "failed"    // nobody knows: the host was not reached, or refused
)

// FoundManifest is a manifest that was found.
type FoundManifest struct {
	Location   string
	By         string // how it was found
	Project    string
	Version    string
	KCPVersion kcp.String
	Units      int
}

// FoundCatalog is a catalog of manifests.
type FoundCatalog struct {
	Location string
	Catalog  *Catalog
}

// FoundLLMsTxt is an llms.txt with links.
type FoundLLMsTxt struct {
	Location        string
	Links, Sections int
}

// Failed reports whether an address could not be asked, so that nothing can be
// said of what is there.
func (d *Discovery) Failed() bool {
	for _, t := range d.Tried {
		if t.Outcome == TriedFailed {
			return true
		}
	}
	return false
}

// Discover looks at the places where a site may publish a manifest
// (specification 1 and agent contract section 18): the well-known files, what
// kcp.json and llms.txt name, catalogs. When there is none of them and crawl is
// not nil, it walks the pages of the site.
//
// The error is about the address; what hosts answer is in the result.
func Discover(ctx context.Context, address string, get Fetcher, crawl *CrawlOptions) (*Discovery, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("%s: not the address of a site; write it like https://example.com", address)
	}
	s := &sight{ctx: ctx, get: get, base: base, d: &Discovery{}, asked: map[string]bool{}}
	if s.wellKnown() || s.llmsTxt() || s.catalogs() {
		return s.d, ctx.Err()
	}
	if crawl != nil && !s.d.Failed() {
		s.d.Crawl = crawlSite(ctx, base, get, *crawl)
	}
	return s.d, ctx.Err()
}

// sight is one discovery under way.
type sight struct {
	ctx   context.Context
	get   Fetcher
	base  *url.URL
	d     *Discovery
	asked map[string]bool
}

// at gives an address on the site.
func (s *sight) at(path string) string {
	u, err := s.base.Parse(path)
	if err != nil {
		return path
	}
	return u.String()
}

// ask reads an address, once.
func (s *sight) ask(address string) (data []byte, location string, ok bool) {
	if s.asked[address] || s.ctx.Err() != nil {
		return nil, "", false
	}
	s.asked[address] = true
	data, location, err := s.get.Get(s.ctx, address)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.note(address, TriedNotThere, err.Error())
	case err != nil:
		s.note(address, TriedFailed, err.Error())
	default:
		return data, location, true
	}
	return nil, "", false
}

func (s *sight) note(address, outcome, problem string) {
	s.d.Tried = append(s.d.Tried, Tried{address, outcome, oneLine(problem)})
}

// wellKnown asks the addresses that the specification and hosts of code have for
// a manifest.
func (s *sight) wellKnown() bool {
	var list []string
	if strings.HasSuffix(s.base.Path, ".yaml") || strings.HasSuffix(s.base.Path, ".yml") {
		list = append(list, s.base.String())
	}
	list = append(list, s.repository()...)
	list = append(list, s.at("/knowledge.yaml"))
	for _, address := range list {
		if s.manifest(address, "its place") {
			return true
		}
	}
	if s.pointer(s.at("/.well-known/kcp.json")) {
		return true
	}
	return s.manifest(s.at("/.well-known/knowledge.yaml"), "its place") ||
		s.manifest(s.at("/.well-known/kcp/knowledge.yaml"), "its place")
}

// repository gives where hosts of code serve the file of a repository.
func (s *sight) repository() []string {
	parts := strings.Split(strings.Trim(s.base.Path, "/"), "/")
	if len(parts) < 2 {
		return nil
	}
	owner, name := parts[0], strings.TrimSuffix(parts[1], ".git")
	switch strings.ToLower(s.base.Hostname()) {
	case "github.com", "www.github.com":
		return []string{"https://raw.githubusercontent.com/" + owner + "/" + name + "/HEAD/knowledge.yaml"}
	case "gitlab.com":
		return []string{"https://gitlab.com/" + owner + "/" + name + "/-/raw/HEAD/knowledge.yaml"}
	}
	return nil
}

// manifest asks for a manifest. Only what reads as one and names a project or
// units is one; a page that says 'not found' with success is not.
func (s *sight) manifest(address, by string) bool {
	data, location, ok := s.ask(address)
	if !ok {
		return false
	}
	m, _, err := kcp.Parse(data, location)
	switch {
	case looksLikePage(data):
		s.note(address, TriedUnusable, "a web page")
		return false
	case err != nil:
		s.note(address, TriedUnusable, err.Error())
		return false
	case len(m.Units) == 0 && len(m.Manifests) == 0:
		s.note(address, TriedUnusable, "YAML without units and manifests")
		return false
	}
	s.note(address, TriedFound, "")
	s.d.Manifest = &FoundManifest{
		Location: location, By: by, Project: m.Project, Version: m.Version, KCPVersion: m.KCPVersion, Units: len(m.Units),
	}
	return true
}

func looksLikePage(data []byte) bool {
	start := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(data[:min(len(data), 256)]), "\ufeff")))
	return strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html") || strings.HasPrefix(start, "<head")
}

// pointer follows a kcp.json (specification 1.4) to its manifest.
func (s *sight) pointer(address string) bool {
	data, location, ok := s.ask(address)
	if !ok {
		return false
	}
	v, err := artifact.ParseValue(data)
	if err != nil || v.Kind() != artifact.KindObject {
		s.note(address, TriedUnusable, "no JSON object")
		return false
	}
	field, _ := v.Get("manifest")
	target, problem := pointedAt(location, field.Text())
	if problem != "" {
		s.note(address, TriedUnusable, problem)
		return false
	}
	s.note(address, TriedFound, "")
	return s.manifest(target, "kcp.json")
}

// pointedAt resolves what a file of a site names: an absolute address, or a path
// from the root of the site.
func pointedAt(location, target string) (address, problem string) {
	base, err := url.Parse(location)
	if err != nil || target == "" {
		return "", "names no manifest"
	}
	if !isAddress(target) && !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") {
		return "", "names a manifest that is neither an address nor a path from the root: " + target
	}
	u, err := base.Parse(target)
	if err != nil {
		return "", "names a manifest that is no address: " + target
	}
	return u.String(), ""
}

// llmsTxt asks for an llms.txt, which may name a manifest, or be converted.
func (s *sight) llmsTxt() bool {
	address := s.at("/llms.txt")
	data, location, ok := s.ask(address)
	if !ok {
		return false
	}
	text, err := readLLMsTxt(data)
	if text == nil || err != nil && text.knowledge == "" {
		s.note(address, TriedUnusable, err.Error())
		return false
	}
	s.note(address, TriedFound, "")
	if text.knowledge != "" {
		if target, problem := pointedAt(location, text.knowledge); problem == "" && s.manifest(target, "llms.txt") {
			return true
		}
	}
	if len(text.links) == 0 {
		return false
	}
	sections := map[string]bool{}
	for i := range text.links {
		sections[text.links[i].section] = true
	}
	s.d.LLMsTxt = &FoundLLMsTxt{location, len(text.links), len(sections)}
	return true
}

func (s *sight) catalogs() bool {
	for _, path := range []string{"/.kcp/catalog.yaml", "/catalog.yaml"} {
		data, location, ok := s.ask(s.at(path))
		if !ok {
			continue
		}
		c, problems := ReadCatalog(data)
		if c == nil {
			s.note(s.at(path), TriedUnusable, problems[0].Message)
			continue
		}
		s.note(s.at(path), TriedFound, "")
		s.d.Catalog = &FoundCatalog{location, c}
		return true
	}
	return false
}
