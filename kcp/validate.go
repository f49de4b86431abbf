package kcp

import (
	"strconv"
	"strings"
)

// Rules is a set of validation rules.
type Rules int

// The rule sets.
const (
	// Agent is what the reference agent's own lint reports, in its order and in
	// its words.
	Agent Rules = iota
	// Spec is every rule of the specification.
	Spec
)

// ValidateOptions says what to validate against.
type ValidateOptions struct {
	// Now is today as YYYY-MM-DD in UTC. Empty leaves out what has expired.
	Now   string
	Rules Rules
	// Level keeps the Spec rules about fields of conformance level 1, 2 or 3 and
	// below (specification section 8). Zero keeps all. The Agent set ignores it.
	Level int
	// Exists reports whether a unit's path, relative to the manifest, names a
	// file or a folder. It is asked only about paths that stay below the
	// manifest's folder. Nil leaves out missing files.
	Exists func(path string) bool
}

// Validate gives what a publisher should mend, in a fixed order: the manifest
// itself, each unit in turn, then what links units and other manifests. Findings
// of [Parse] are not repeated. docs/findings.md lists every code.
func Validate(m *Manifest, o ValidateOptions) []Finding {
	c := newChecker(m, o)
	if o.Rules == Spec {
		checkSpec(c)
	} else {
		checkAgent(c)
	}
	return c.located()
}

// maxComparisons bounds the pairs of texts that one validation compares, where a
// rule compares each of one list with each of another. Rules that would exceed
// it report nothing more. Real manifests need some thousands.
const maxComparisons = 5_000_000

// maxReported bounds the findings of one validation. Beyond it the rest is left
// out and one finding says so; an error is never hidden behind warnings.
const maxReported = 100_000

// rule is one thing that a publisher can get wrong. T is what the rule looks
// at: the manifest, a unit, a block.
type rule[T any] struct {
	code     string // stable, unique in its rule set
	severity Severity
	level    int    // conformance level of the fields concerned, from 1
	meaning  string // for docs/findings.md, with Markdown
	mend     string // the usual hint, in the imperative
	check    func(c *checker, subject T)
}

// place is what is being checked: the manifest, one item of a root list, or a
// block of either. The zero value is the manifest.
type place struct {
	list  string // the root list, such as "units"; empty for the manifest
	index int    // position in that list
	noun  string // what Finding.Where calls an item; empty for "manifest"
	id    string
	bare  bool   // Finding.Where shows an empty id as it is
	block string // below the item, such as "payment"
}

// in gives the place of a block below p.
func (p place) in(block string) place {
	p.block = join(p.block, block)
	return p
}

// item gives the place of one item of a list that is below p.
func (p place) item(list string, index int) place {
	return p.in(list + "[" + strconv.Itoa(index) + "]")
}

// path gives the path of a field; an empty field is the place itself.
func (p place) path(field string) string {
	item := ""
	if p.list != "" {
		item = p.list + "[" + strconv.Itoa(p.index) + "]"
	}
	return join(join(item, p.block), field)
}

func (p place) where() string {
	switch {
	case p.noun == "":
		return "manifest"
	case p.id == "" && !p.bare:
		return p.noun + " '(no id)'"
	default:
		return p.noun + " '" + p.id + "'"
	}
}

func join(path, field string) string {
	if path == "" || field == "" {
		return path + field
	}
	return path + "." + field
}

func unitPlace(u *Unit) place {
	return place{list: "units", index: u.Index, noun: "unit", id: u.ID}
}

func refPlace(r *Ref) place {
	return place{list: "manifests", index: r.Index, noun: "manifest ref", id: r.ID}
}

// checker is one validation under way.
type checker struct {
	m        *Manifest
	o        ValidateOptions
	findings []Finding

	unitAt     map[string]int  // place in m.Units by id; of a duplicate id the first
	aliasAt    map[string]int  // the same by alias
	refAt      map[string]int  // place in m.Manifests by id; of a duplicate id the first
	superseded map[string]bool // ids of units that something supersedes; Spec only

	comparisons int  // pairs compared so far, against maxComparisons
	failed      bool // an error is among the findings
	leftOut     bool // findings beyond maxReported

	// The rule that is running, and where.
	code     string
	severity Severity
	mend     string
	at       place
}

func newChecker(m *Manifest, o ValidateOptions) *checker {
	c := &checker{
		m: m, o: o,
		unitAt:  make(map[string]int, len(m.Units)),
		aliasAt: map[string]int{},
		refAt:   make(map[string]int, len(m.Manifests)),
	}
	for i := range m.Units {
		keepFirst(c.unitAt, m.Units[i].ID, i)
		for _, alias := range m.Units[i].Aliases.Items {
			keepFirst(c.aliasAt, alias, i)
		}
	}
	for i := range m.Manifests {
		keepFirst(c.refAt, m.Manifests[i].ID, i)
	}
	return c
}

func keepFirst(at map[string]int, name string, index int) {
	if _, ok := at[name]; !ok {
		at[name] = index
	}
}

// unit gives the first unit with the id, or nil.
func (c *checker) unit(id string) *Unit {
	if i, ok := c.unitAt[id]; ok {
		return &c.m.Units[i]
	}
	return nil
}

// ref gives the first manifest ref with the id, or nil.
func (c *checker) ref(id string) *Ref {
	if i, ok := c.refAt[id]; ok {
		return &c.m.Manifests[i]
	}
	return nil
}

// apply runs the rules over one subject.
func apply[T any](c *checker, at place, rules []rule[T], subject T) {
	for i := range rules {
		r := &rules[i]
		if c.o.Level > 0 && r.level > c.o.Level {
			continue
		}
		c.code, c.severity, c.mend, c.at = r.code, r.severity, r.mend, at
		r.check(c, subject)
	}
}

// add reports the running rule at a field; "" is the place itself.
func (c *checker) add(field, message string) { c.addHint(field, message, c.mend) }

// addHint is add with a hint for this one case.
func (c *checker) addHint(field, message, hint string) {
	first := c.severity == Error && !c.failed
	if len(c.findings) >= maxReported && !first {
		c.leftOut = true
		return
	}
	c.failed = c.failed || first
	c.findings = append(c.findings, Finding{
		Severity: c.severity,
		Code:     c.code,
		Where:    c.at.where(),
		Path:     c.at.path(field),
		Message:  message,
		Hint:     hint,
	})
}

// located gives the findings with their positions.
func (c *checker) located() []Finding {
	for i := range c.findings {
		c.findings[i].Pos = c.m.Position(c.findings[i].Path)
	}
	if c.leftOut {
		c.findings = append(c.findings, Finding{
			Severity: Warning, Code: "findings-left-out", Where: "manifest",
			Message: "there are more than " + strconv.Itoa(maxReported) + " findings; the rest is left out",
			Hint:    "mend these first, then check again",
		})
	}
	return c.findings
}

// afford reports whether n more comparisons are within the limit.
func (c *checker) afford(n int) bool {
	c.comparisons += n
	return c.comparisons <= maxComparisons
}

// oneOf reports a value that is declared and not in the vocabulary.
func (c *checker) oneOf(field string, value String, vocabulary ...string) {
	switch {
	case !value.Set || contains(vocabulary, value.Value):
	case value.Value == "":
		c.add(field, field+" is empty; it must be one of "+strings.Join(vocabulary, ", "))
	default:
		c.add(field, field+" is "+show(value.Value)+", which is not one of "+strings.Join(vocabulary, ", "))
	}
}

// eachOf reports every item that is not in the vocabulary.
func (c *checker) eachOf(field string, list List, vocabulary ...string) {
	for i, item := range list.Items {
		if !contains(vocabulary, item) {
			c.add(element(field, i), field+" contains "+show(item)+", which is not one of "+strings.Join(vocabulary, ", "))
		}
	}
}

func element(field string, index int) string { return field + "[" + strconv.Itoa(index) + "]" }

func contains(list []string, value string) bool {
	for _, item := range list {
		if item == value {
			return true
		}
	}
	return false
}

// show quotes a publisher's value for a message and cuts a long one.
func show(value string) string {
	const longest = 80
	count := 0
	for i := range value {
		if count == longest {
			return "'" + value[:i] + "…'"
		}
		count++
	}
	return "'" + value + "'"
}
