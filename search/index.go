package search

import (
	"strings"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// An Index holds the texts of a manifest in the form in which terms are looked
// for: in lower case, each distinct one once, with a fingerprint that rules most
// texts out unread. It is derived from the manifest alone, whose units must not
// be changed afterwards, and is safe for concurrent use.
type Index struct {
	manifest *kcp.Manifest
	view     *kcp.View
	prints   []fingerprint   // one for each unit
	entries  []entry         // one for each unit
	windows  []*kcp.Temporal // one for each unit, with the root's defaults
	shared   []haystack      // distinct triggers, aliases and phrases of not_for
	lists    []int32         // places in shared, unit by unit
}

// fingerprint holds what rules a unit out, or lets it pass, without a look at
// it. A unit is large, and reading a hundred thousand of them is slow.
type fingerprint struct {
	intent, place uint64 // the pairs of bytes in the texts that it has alone
	sensitivity   int8   // see sensitivityOf
	deprecated    bool
	closed        bool // not_for cannot be read
}

// entry is where a unit's texts are.
type entry struct {
	intent, id, path string
	triggers         int32 // where its lists begin: triggers, aliases, not_for
	aliases, notFor  int32
	end              int32
}

// haystack is a text in lower case, with its pairs of bytes.
type haystack struct {
	text  string
	pairs uint64
}

// NewIndex reads every unit of m once.
func NewIndex(m *kcp.Manifest) *Index {
	ix := &Index{
		manifest: m,
		view:     m.View(kcp.Moment{}),
		prints:   make([]fingerprint, len(m.Units)),
		entries:  make([]entry, len(m.Units)),
		windows:  make([]*kcp.Temporal, len(m.Units)),
	}
	places := make(map[string]int32, len(m.Units))
	for i := range m.Units {
		u, e := &m.Units[i], &ix.entries[i]
		e.intent, e.id, e.path = match.Lower(u.Intent), match.Lower(u.ID), match.Lower(u.Path)
		ix.windows[i] = ix.view.TemporalOf(u)
		ix.prints[i] = fingerprint{
			intent: pairsOf(e.intent), place: pairsOf(e.id) | pairsOf(e.path),
			sensitivity: sensitivityOf(u), deprecated: u.Deprecated.Restricts(),
			closed: u.NotFor.Malformed,
		}
		e.triggers = int32(len(ix.lists))
		ix.add(places, u.Triggers.Items)
		e.aliases = int32(len(ix.lists))
		ix.add(places, u.Aliases.Items)
		e.notFor = int32(len(ix.lists))
		ix.add(places, u.NotFor.Items)
		e.end = int32(len(ix.lists))
	}
	return ix
}

// add appends the places of texts to lists.
func (ix *Index) add(places map[string]int32, texts []string) {
	for _, text := range texts {
		at, ok := places[text]
		if !ok {
			lower := match.Lower(text)
			at = int32(len(ix.shared))
			ix.shared = append(ix.shared, haystack{lower, pairsOf(lower)})
			places[text] = at
		}
		ix.lists = append(ix.lists, at)
	}
}

// pairsOf is the set of the neighbouring bytes in s, in 64 buckets. A text that
// lacks a pair of a term cannot contain it.
func pairsOf(s string) uint64 {
	var set uint64
	for i := 1; i < len(s); i++ {
		set |= 1 << ((s[i-1]*37 + s[i]*11) & 63)
	}
	return set
}

// found has a bit for each term that was found.
type found = uint64

// in gives the terms that a text contains.
func (p *prepared) in(text string, pairs uint64) found {
	var hits found
	for i := range p.terms {
		if t := &p.terms[i]; t.pairs&^pairs == 0 && strings.Contains(text, t.text) {
			hits |= 1 << i
		}
	}
	return hits
}

// inShared gives the terms that each of the shared texts contains, nil when
// there are no terms.
func (ix *Index) inShared(p *prepared) []found {
	if len(p.terms) == 0 {
		return nil
	}
	hits := make([]found, len(ix.shared))
	for i := range ix.shared {
		hits[i] = p.in(ix.shared[i].text, ix.shared[i].pairs)
	}
	return hits
}

// evidence says which terms were found where in one unit.
type evidence struct{ trigger, intent, id, path, alias found }

// evidence looks for the terms in the unit at i. Most units have none.
func (ix *Index) evidence(p *prepared, shared []found, i int) evidence {
	var ev evidence
	e, print := &ix.entries[i], &ix.prints[i]
	for _, at := range ix.lists[e.triggers:e.aliases] {
		ev.trigger |= shared[at]
	}
	for _, at := range ix.lists[e.aliases:e.notFor] {
		ev.alias |= shared[at]
	}
	for k := range p.terms {
		t := &p.terms[k]
		if t.pairs&^print.intent == 0 && strings.Contains(e.intent, t.text) {
			ev.intent |= 1 << k
		}
		if t.pairs&^print.place == 0 {
			if strings.Contains(e.id, t.text) {
				ev.id |= 1 << k
			}
			if strings.Contains(e.path, t.text) {
				ev.path |= 1 << k
			}
		}
	}
	return ev
}
