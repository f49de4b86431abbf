package planner

import (
	"strconv"
	"strings"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/match"
)

// What a term of the task is worth in each place (counted once a term).
const (
	intentWeight  = 3
	triggerWeight = 4
	idWeight      = 2
)

// relevance is how well a unit answers the task.
type relevance struct {
	score, intentHits, triggerHits, pathHits int32
}

// wording keeps the sentences about hits, which most units share.
type wording struct{ cache [3][]string }

var hitPlaces = [3]string{"intent matches ", "triggers match ", "id/path matches "}

// reasons says where the terms were found.
func (w *wording) reasons(r relevance) []string {
	list := make([]string, 0, len(hitPlaces)+1)
	for place, n := range [3]int32{r.intentHits, r.triggerHits, r.pathHits} {
		if n == 0 {
			continue
		}
		for len(w.cache[place]) <= int(n) {
			w.cache[place] = append(w.cache[place], hitPlaces[place]+strconv.Itoa(len(w.cache[place]))+" term(s)")
		}
		list = append(list, w.cache[place][n])
	}
	return list
}

// term is one word of the task with the letters it is made of.
type term struct {
	text    string
	letters uint64
}

func newTerms(words []string) []term {
	terms := make([]term, len(words))
	for i, w := range words {
		terms[i] = term{w, letters(w)}
	}
	return terms
}

// letters is the set of the letters of s, in 64 buckets, whatever their case.
// When a text lacks a bucket that a word needs, the word cannot be in it: most
// comparisons end here. Other alphabets share one bucket.
func letters(s string) uint64 {
	var set uint64
	for i := 0; i < len(s); i++ {
		set |= bucket[s[i]]
	}
	return set
}

// otherAlphabets is the bucket of everything that is not ASCII. Lower-casing
// may turn it into ASCII (the Kelvin sign becomes k), so it stands for all.
const otherAlphabets = ^uint64(0)

var bucket = func() (table [256]uint64) {
	for c := range table {
		switch {
		case c >= 0x80:
			table[c] = otherAlphabets
		case 'A' <= c && c <= 'Z':
			table[c] = 1 << ((c + 'a' - 'A') & 63)
		default:
			table[c] = 1 << (c & 63)
		}
	}
	return table
}()

// score counts the terms found in the unit's intent, triggers, id and path.
func (p *pass) score(u *kcp.Unit) relevance {
	var r relevance
	if len(p.terms) == 0 {
		return r
	}
	r.intentHits = p.hits(u.Intent, "")
	r.triggerHits = p.triggerHits(u.Triggers.Items)
	r.pathHits = p.hits(u.ID, u.Path)
	r.score = intentWeight*r.intentHits + triggerWeight*r.triggerHits + idWeight*r.pathHits
	return r
}

// hits counts the terms contained in a text, or in two with a blank between
// them.
func (p *pass) hits(a, b string) int32 {
	set := letters(a) | letters(b)
	n, lowered := int32(0), ""
	for i := range p.terms {
		t := &p.terms[i]
		if t.letters&^set != 0 {
			continue
		}
		if lowered == "" {
			lowered = p.lower(a, b)
		}
		if strings.Contains(lowered, t.text) {
			n++
		}
	}
	return n
}

// triggerHits counts the terms that contain a trigger or are contained in one.
func (p *pass) triggerHits(triggers []string) int32 {
	clear(p.hit)
	n := int32(0)
	for _, trigger := range triggers {
		set, lowered := letters(trigger), ""
		for i := range p.terms {
			t := &p.terms[i]
			if p.hit[i] || t.letters&^set != 0 && set&^t.letters != 0 && set != otherAlphabets {
				continue
			}
			if lowered == "" {
				lowered = p.lower(trigger, "")
			}
			if strings.Contains(lowered, t.text) || strings.Contains(t.text, lowered) {
				p.hit[i] = true
				n++
			}
		}
	}
	return n
}

// containsAny reports whether a text contains one of the terms.
func (p *pass) containsAny(text string) bool { return p.hits(text, "") > 0 }

// lower gives a text in lower case, or two with a blank between them. The
// result is good until the next call.
func (p *pass) lower(a, b string) string {
	p.buf = match.AppendLower(p.buf[:0], a)
	if b != "" {
		p.buf = append(p.buf, ' ')
		p.buf = match.AppendLower(p.buf, b)
	}
	return asString(p.buf)
}
