package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/kcp"
)

// Explanation says what happened to one unit, and what would change it.
type Explanation struct {
	Unit         string   `json:"unit"`
	Outcome      string   `json:"outcome"` // selected or skipped
	LoadEligible bool     `json:"loadEligible"`
	Score        int      `json:"score,omitzero"`
	Reasons      []string `json:"reasons"`
	Gate         string   `json:"gate,omitzero"`   // the first gate that closed, "" when none did
	Reason       string   `json:"reason,omitzero"` // what that gate said
	// Changes is the smallest set of changes to the caller's options after
	// which the unit is selected and may be loaded: as few options as can be,
	// the earliest in the order of Options, each with its least value. It is
	// empty when nothing needs to change or nothing the caller can change
	// would help; Remedy then says who can.
	Changes []Change `json:"changes"`
	// Alternatives are other sets of as many options.
	Alternatives [][]Change `json:"alternatives,omitempty"`
	Remedy       string     `json:"remedy,omitzero"`
}

// Change is one option to set to another value.
type Change struct {
	Option string `json:"option"`
	From   string `json:"from"`
	To     string `json:"to"`
	// Flag is the change as it is typed on the command line.
	Flag string `json:"flag"`
}

// UnknownUnitError says that a manifest has no unit of that name.
type UnknownUnitError struct{ Unit string }

func (e *UnknownUnitError) Error() string {
	return fmt.Sprintf("the manifest declares no unit '%s'", e.Unit)
}

// maxAlternatives is how many equally small sets of changes are reported
// beside the first.
const maxAlternatives = 3

// Why explains what the cascade did to one unit, named by id or alias, and
// finds the smallest set of changes to the caller's options that opens it. It
// plans again for every set it considers, so what it reports was tried.
//
// Ceilings are only ever raised and credentials, methods and attestation only
// added: a change that would take from another unit is not called an opening.
func Why(m *kcp.Manifest, task string, o Options, unit string) (*Explanation, error) {
	target, ok := m.Lookup(unit)
	if !ok {
		return nil, &UnknownUnitError{unit}
	}
	task, o = valid(task), o.withDefaults()
	p := newPass(m, task, o)
	p.decideAll()
	p.admitAll()
	c := p.candidateOf(target)
	e := p.explain(c)
	if e.Gate == "" {
		return e, nil
	}
	s := newSearch(m, task, o, target)
	switch {
	case !p.view.Known(target):
		e.Remedy = "it was not known then: ask with a later known-at, or without one"
		return e, nil
	case s.blocked():
		e.Remedy = remedyOf(e.Gate)
		return e, nil
	}
	found := s.smallest()
	switch {
	case len(found) > 0:
		e.Changes = found[0]
		e.Alternatives = found[1:]
	case s.exhausted():
		e.Remedy = "no small change of the options was found within the search limit"
	default:
		e.Remedy = remedyOf(e.Gate)
	}
	return e, nil
}

func (p *pass) candidateOf(u *kcp.Unit) *candidate {
	i := slices.IndexFunc(p.candidates, func(c candidate) bool { return c.unit == u })
	return &p.candidates[i]
}

// explain writes down what happened to a unit.
func (p *pass) explain(c *candidate) *Explanation {
	e := &Explanation{Unit: c.unit.ID, Outcome: OutcomeSkipped, Reasons: []string{}, Changes: []Change{}}
	if c.evaluation != nil {
		e.Score, e.Reasons, e.LoadEligible = int(c.score), p.reasons(c), c.eligible
	}
	if c.stopped == passed {
		e.Outcome = OutcomeSelected
	} else {
		e.LoadEligible = false
	}
	e.Gate, e.Reason = p.closing(c)
	return e
}

// closing names the first gate that stopped the unit or closed its loading, and
// gives its reason in words for a person; it is empty when none did.
func (p *pass) closing(c *candidate) (gate, reason string) {
	g := p.closingGate(c)
	switch {
	case g == passed:
		return "", ""
	case g == c.stopped:
		reason = p.stopReason(g, c)
	case g == gateProcedure:
		reason = c.procedure
	default:
		reason = strings.TrimSuffix(cascade[g].explain(p, c), ineligible)
	}
	return cascade[g].name, reason
}

// stopReason is why a gate stopped the unit, in words for a person.
func (p *pass) stopReason(gate int, c *candidate) string {
	if gate == gateMaxUnits {
		return p.place(c, "exceeds")
	}
	return c.reason
}

// closingGate is the first gate that stopped the unit or made it ineligible.
func (p *pass) closingGate(c *candidate) int {
	if c.evaluation == nil || c.eligible {
		return c.stopped
	}
	switch {
	case c.procedure != "":
		return gateProcedure
	case c.unattested:
		return gateAttestation
	case c.payment.refusal != "":
		return gatePayment
	}
	return gateAccess
}

// remedyOf says who can open a gate that no option of the caller opens.
func remedyOf(gate string) string {
	switch gate {
	case "relevance":
		return "ask for another task, or the publisher adds triggers that name it"
	case "not_for":
		return "ask for another task, or the publisher changes not_for"
	case "skill_eligibility":
		return "only the publisher can grant this procedure or mend its declaration"
	case "deprecated", "supersession":
		return "the publisher has retired this unit; load its successor"
	}
	return "only the publisher can change this: see `writ validate`"
}

// maxWalks bounds the search: so many times may a unit be walked through the
// cascade. It is a few seconds of work, and more than any real manifest needs.
const maxWalks = 5_000_000

// maxRaises is how many steps one ceiling is raised.
const maxRaises = 10_000

// search looks for the smallest set of changes that opens one unit.
type search struct {
	manifest *kcp.Manifest
	task     string
	base     Options
	target   *kcp.Unit
	options  []option
	probe    *pass       // reused for walks of the target alone
	ahead    []*kcp.Unit // those whose turn comes before the target's, in order
	walks    int
}

// option is one thing the caller can change, with the values worth trying,
// best first. A ceiling has no list of values: it is raised step by step.
type option struct {
	name    string
	values  []value
	ceiling *ceiling
}

// value is one setting of an option.
type value struct {
	apply    func(*Options)
	from, to string
	flag     string
}

func newSearch(m *kcp.Manifest, task string, o Options, target *kcp.Unit) *search {
	s := &search{manifest: m, task: task, base: o, target: target, probe: newPass(m, task, o)}
	s.rankAhead()
	for _, option := range s.changeable() {
		if len(option.values) > 0 || option.ceiling != nil {
			s.options = append(s.options, option)
		}
	}
	return s
}

func (s *search) exhausted() bool { return s.walks > maxWalks }

// rankAhead finds the units that are admitted before the target when they are
// admitted at all. No other unit can take its place, its money or its tokens.
func (s *search) rankAhead() {
	mine := s.probe.score(s.target).score
	var r ranking
	for i := range s.manifest.Units {
		c := &candidate{unit: &s.manifest.Units[i]}
		relevant := s.probe.score(c.unit)
		if relevant.score < mine || relevant.score == 0 {
			continue
		}
		c.evaluation = &evaluation{relevance: relevant}
		r.add(c)
	}
	for c := range r.best() {
		if c.unit == s.target {
			return
		}
		s.ahead = append(s.ahead, c.unit)
	}
}

// blocked reports whether a gate that reads none of the options is closed.
func (s *search) blocked() bool {
	p, c := s.probe, &candidate{unit: s.target, stopped: passed}
	for _, g := range []int{gateNotFor, gateDeprecated, gateRelevance} {
		if cascade[g].decide(p, c) != "" {
			return true
		}
	}
	kind := s.target.GovernedKind()
	return malformedProcedure(s.target, kind) != "" || p.locatorProblem(s.target) != "" ||
		kind != "" && (!s.target.LoadEligible.Grants() || kind != s.target.Kind.Value)
}

// smallest tries every set of one option, then of two, and so on, in the order
// of the options, and gives the sets of the first size that opens the unit.
func (s *search) smallest() [][]Change {
	for size := 1; size <= len(s.options); size++ {
		var found [][]Change
		for set := range subsets(len(s.options), size) {
			if changes := s.open(set); changes != nil {
				found = append(found, changes)
			}
			if len(found) > maxAlternatives || s.exhausted() {
				break
			}
		}
		if len(found) > 0 || s.exhausted() {
			return found
		}
	}
	return nil
}

// subsets yields the index sets of a size in lexicographic order.
func subsets(n, size int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		set := make([]int, size)
		for i := range set {
			set[i] = i
		}
		for yield(set) {
			i := size - 1
			for i >= 0 && set[i] == n-size+i {
				i--
			}
			if i < 0 {
				return
			}
			set[i]++
			for j := i + 1; j < size; j++ {
				set[j] = set[j-1] + 1
			}
		}
	}
}

// open finds the first combination of values of exactly these options that
// opens the unit, nil when there is none.
func (s *search) open(set []int) []Change {
	var chosen, ceilings []int
	for _, i := range set {
		if s.options[i].ceiling != nil {
			ceilings = append(ceilings, i)
		} else {
			chosen = append(chosen, i)
		}
	}
	picks := make([]int, len(chosen))
	for {
		o := s.base
		values := make(map[int]value, len(set))
		for k, i := range chosen {
			v := s.options[i].values[picks[k]]
			v.apply(&o)
			values[i] = v
		}
		if s.mayOpen(o) && s.raise(o, ceilings, values) {
			return s.changes(set, values)
		}
		if s.exhausted() || !s.advance(chosen, picks) {
			return nil
		}
	}
}

// advance moves to the next combination, the last option fastest.
func (s *search) advance(chosen, picks []int) bool {
	for k := len(picks) - 1; k >= 0; k-- {
		if picks[k]++; picks[k] < len(s.options[chosen[k]].values) {
			return true
		}
		picks[k] = 0
	}
	return false
}

func (s *search) changes(set []int, values map[int]value) []Change {
	changes := make([]Change, 0, len(set))
	for _, i := range set {
		v := values[i]
		changes = append(changes, Change{Option: s.options[i].name, From: v.from, To: v.to, Flag: v.flag})
	}
	return changes
}

// mayOpen walks the unit alone through the gates that look at no other unit's
// selection. It is cheap, and what fails here fails in any plan.
func (s *search) mayOpen(o Options) bool {
	s.walks++
	p := s.probe
	p.retarget(o)
	c := &candidate{unit: s.target, stopped: passed}
	for g := 0; g < firstGreedy; g++ {
		if cascade[g].decide(p, c) != "" {
			return false
		}
	}
	return c.eligible
}

// retarget points a pass at other options, keeping what depends only on the
// manifest and the task.
func (p *pass) retarget(o Options) {
	p.options = o
	p.view = p.view.At(o.moment())
	p.requests = o.Action.requests()
	p.trust = attestation(p.manifest, o.Capabilities)
}

// plan plans as far as the target's turn and gives its candidate.
func (s *search) plan(o Options) (*pass, *candidate) {
	p := *s.probe
	p.slab = nil // its memory belongs to the candidates of the probe
	p.retarget(o)
	p.selected, p.refused, p.ledger = nil, nil, ledger{}
	for _, u := range s.ahead {
		s.walks++
		if c := p.walk(u); c.stopped == gateMaxUnits {
			break // the cap is reached, for the target too
		}
	}
	s.walks++
	return &p, p.walk(s.target)
}

// walk takes one unit through the whole cascade, when its turn has come.
func (p *pass) walk(u *kcp.Unit) *candidate {
	c := &candidate{unit: u, stopped: passed}
	for g := 0; g < len(cascade) && c.stopped == passed; g++ {
		if reason := cascade[g].decide(p, c); reason != "" {
			c.stopped, c.reason = g, reason
		}
	}
	switch c.stopped {
	case passed:
		p.selected = append(p.selected, c)
	case gateMoney, gateContext:
		p.refused = append(p.refused, c)
	}
	return c
}

// raise lifts the ceilings of the set, in their order, each to the least value
// that opens the unit while those after it are out of the way.
func (s *search) raise(o Options, ceilings []int, values map[int]value) bool {
	lifted := o
	for _, i := range ceilings {
		s.options[i].ceiling.lift(&lifted)
	}
	if _, c := s.plan(lifted); !opened(c) {
		return false
	}
	for k, i := range ceilings {
		found := false
		for try := range s.options[i].ceiling.steps(s, o) {
			trial := try.options
			for _, later := range ceilings[k+1:] {
				s.options[later].ceiling.lift(&trial)
			}
			if _, c := s.plan(trial); opened(c) {
				o, values[i], found = try.options, try.value, true
				break
			}
			if s.exhausted() {
				return false
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func opened(c *candidate) bool { return c.stopped == passed && c.eligible }
