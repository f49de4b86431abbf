package federation

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/guard"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
)

// step is one reference of a manifest that was planned.
type step struct {
	ref     *kcp.Ref // nil for the root
	id, url string

	reason  string // why it is not followed, whatever comes before it
	refused error  // why its location must not be read

	location string
	key      string // of the location, in one spelling
	known    bool   // the location was visited when the manifest was planned
}

func (s *step) refID() kcp.String { return kcp.String{Value: s.id, Set: s.ref != nil} }

// mayFollow reports whether the step will be taken unless a limit or another
// step gets in the way.
func (s *step) mayFollow() bool { return s.reason == "" && s.refused == nil && !s.known }

// stepsOf decides on the references of a node, as far as that depends on the
// manifest and the options only.
func (w *walk) stepsOf(node *Node, depth int) []*step {
	m, decisions := node.Loaded.Manifest, node.Plan.Federation
	serves := servesOn(m, w.o.Plan.AsOf)
	steps := make([]*step, len(decisions))
	for i := range decisions {
		d, ref := &decisions[i], &m.Manifests[i]
		s := &step{ref: ref, id: d.ID, url: d.URL}
		steps[i] = s
		switch outdated := serves(ref); {
		case !d.Selected:
			s.reason = d.Reason
		case outdated != "":
			s.reason = outdated
		case d.CredentialNeeded != "":
			s.reason = "needs " + d.CredentialNeeded + " before fetch"
		case depth >= w.o.MaxDepth:
			s.reason = "beyond max depth " + artifact.FormatNumber(float64(w.o.MaxDepth))
		case d.URL == "" && d.LocalMirror == "":
			s.reason = "names no location: url is missing"
		default:
			w.locate(s, node)
		}
	}
	return steps
}

// servesOn gives a function that says why a source is not read on a date, or
// nothing (format section 9.2). The words are those of units.
func servesOn(m *kcp.Manifest, date string) func(*kcp.Ref) string {
	var view *kcp.View
	return func(ref *kcp.Ref) string {
		t := ref.Temporal
		if t == nil {
			return ""
		}
		if view == nil {
			view = m.View(kcp.Moment{AsOf: date})
		}
		switch {
		case view.Serves(ref):
			return ""
		case t.On(date) == kcp.WindowFuture:
			return "not active until " + t.ValidFrom.Value
		case t.On(date) == kcp.WindowPast && t.SupersededBy.Value != "":
			return "expired " + t.ValidUntil.Value + " (superseded by " + t.SupersededBy.Value + ")"
		case t.On(date) == kcp.WindowPast:
			return "expired " + t.ValidUntil.Value
		case t.On(date) == kcp.WindowUnreadable:
			return "temporal cannot be read as a window of dates (fail-closed)"
		}
		return "superseded by " + t.SupersededBy.Value + " (successor active)"
	}
}

// locate finds where a step leads. The mirror of a local manifest comes first:
// the format wants it to be used where it exists.
func (w *walk) locate(s *step, node *Node) {
	source := node.Loaded.Source
	s.location = kcp.ResolveLocation(source, s.url)
	if mirror := s.ref.LocalMirror.Value; mirror != "" && !isRemote(source) {
		location := kcp.ResolveLocation(source, mirror)
		switch _, found := w.area.find(location); found {
		case inside:
			s.location = location
		case outside:
			node.warn("mirror-outside-root", refPlace(s.id), "local_mirror",
				"the mirror "+quoted(mirror)+" is outside the root directory and is not used",
				"put the mirror below the root directory, or name a higher one with --root")
		}
	}
	switch remote := isRemote(s.location); {
	case isRemote(source) && !remote:
		s.refused = errNotRemote
	case remote:
		s.key = canonicalURL(s.location)
	default:
		s.key = w.area.key(s.location)
	}
	s.known = s.refused == nil && w.visited.knows(s.key)
}

// errNotRemote keeps a manifest that came over the network from naming files of
// this machine.
var errNotRemote = errors.New("a remote manifest may refer to http and https locations only")

// loadOptions are those of the caller; what a manifest refers to is read below
// the root of the walk.
func (w *walk) loadOptions(location string) load.Options {
	o := w.o.Load
	if w.area != nil && !isRemote(location) {
		o.Root = w.area.path
	}
	return o
}

// isRemote reports whether a location is a URL for the HTTP reader. As in kcp
// only the lower-case schemes count.
func isRemote(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// canonicalURL writes a URL in one spelling: the host in ASCII and lower case, no
// default port, no fragment, no dot segments. What is no URL stays as it is.
func canonicalURL(location string) string {
	u, err := url.Parse(location)
	if err != nil || !isRemote(location) {
		return location
	}
	port := u.Port()
	if host, err := guard.ParseHost(u.Hostname()); err == nil {
		u.Host = host.URLHost()
	} else {
		u.Host = strings.ToLower(u.Hostname())
	}
	if port != "" && !(port == "443" && u.Scheme == "https") && !(port == "80" && u.Scheme == "http") {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return new(url.URL).ResolveReference(u).String()
}

// finalKey is the one spelling of where a manifest was found.
func finalKey(source string) string {
	if isRemote(source) {
		return canonicalURL(source)
	}
	return realPath(source)
}

// realPath is the absolute path without symbolic links, as far as it exists.
func realPath(location string) string {
	path, err := filepath.Abs(filepath.FromSlash(location))
	if err != nil {
		return location
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// refPlace is how findings name a reference.
func refPlace(id string) string { return "manifest ref '" + id + "'" }

func quoted(s string) string { return string(artifact.AppendString(nil, s)) }
