package policy

import (
	"cmp"
	"fmt"

	"github.com/writ-dev/writ/artifact"
)

// Bound is a limit on a run that does not come from the pack: of the graph, of
// the parent run, of the request. Currencies that it does not list it does not
// bound.
type Bound struct {
	Source string // as denials show it, such as "graph examples.counter"
	Limits Limits
}

// Ledger is what one run may use, has used and holds for effects that are under
// way. Each resource and each currency is counted by itself, for the whole run
// and for each grant. The limits are the lowest of the pack, the agent, the host
// and the bounds that it was made with.
//
// An amount is reserved before an effect and settled after it: what was really
// used then takes the place of the reservation. As long as no effect uses more
// than it reserved, no limit is ever exceeded; one that does is charged in full,
// and from then on nothing more is reserved.
//
// The time of effects is a resource too: their durations, added up. An effect that
// does not declare how much of it it needs reserves a share: see [Call.Beside].
//
// A ledger belongs to one run and is not safe for concurrent use.
type Ledger struct {
	policy   *Policy
	bounds   []Bound
	run      ceilings
	accounts map[string]*account
	holds    map[string]hold
	overrun  string // key of the effect that used too much
}

// account is what one grant, or the run as a whole, has used and holds.
type account struct{ used, held Amount }

// hold is one reservation.
type hold struct {
	account string
	amount  Amount
}

// runAccount is the account of the run as a whole. No grant has this name, since
// theirs have a section before a point.
const runAccount = "run"

// Ledger gives an empty ledger for one run under the policy.
func (p *Policy) Ledger(more ...Bound) *Ledger {
	l := &Ledger{policy: p, bounds: more, run: p.run.clone(), accounts: map[string]*account{}, holds: map[string]hold{}}
	for i := range more {
		l.run.lower(bounds{Limits: more[i].Limits, by: &bounder{name: more[i].Source}})
	}
	return l
}

func (l *Ledger) account(name string) *account {
	a := l.accounts[name]
	if a == nil {
		a = &account{}
		l.accounts[name] = a
	}
	return a
}

// limits gives the bounds of an account.
func (l *Ledger) limits(name string) *ceilings {
	if name == runAccount {
		return &l.run
	}
	if r := l.policy.accountRule(name); r != nil {
		return &r.limits
	}
	return &noCeilings
}

var noCeilings ceilings

// accountRule finds the rule whose account has that name.
func (p *Policy) accountRule(account string) *rule {
	for k := range namedKinds {
		section := k.Section()
		if account == section {
			return p.wild[k]
		}
		if len(account) > len(section) && account[len(section)] == '.' && account[:len(section)] == section {
			return p.rules[k][account[len(section)+1:]]
		}
	}
	return nil
}

// shortage is a need that does not fit.
type shortage struct {
	by       *bounder // who set the lowest bound
	of       *ceilings
	resource resource
	currency string // of money; else empty
	limit    uint64
	have     uint64 // used and held
	need     uint64
}

// admits reports whether an amount fits. It is the way of almost every call, so
// it makes nothing.
func (c *ceilings) admits(a *account, need *Amount) bool {
	for r := range resources {
		if n, bound := *need.at(r), &c.amount[r]; n > 0 && bound.by != nil && !bound.admits(*a.used.at(r), *a.held.at(r), n) {
			return false
		}
	}
	if c.cost == nil && c.rest == nil {
		return true
	}
	for currency, n := range need.Cost {
		if bound := c.of(currency); n > 0 && bound.by != nil && !bound.admits(a.used.Cost[currency], a.held.Cost[currency], n) {
			return false
		}
	}
	return true
}

func (c ceiling) admits(used, held, need uint64) bool {
	have := addSaturating(used, held)
	return have <= c.value && need <= c.value-have
}

// shortages finds every need that does not fit.
func (c *ceilings) shortages(a *account, need *Amount) []shortage {
	var list []shortage
	for r := range resources {
		n, bound := *need.at(r), c.amount[r]
		if used, held := *a.used.at(r), *a.held.at(r); n > 0 && bound.by != nil && !bound.admits(used, held, n) {
			list = append(list, shortage{bound.by, c, r, "", bound.value, addSaturating(used, held), n})
		}
	}
	for _, currency := range artifact.SortedNames(need.Cost) {
		n, bound := need.Cost[currency], c.of(currency)
		if used, held := a.used.Cost[currency], a.held.Cost[currency]; n > 0 && bound.by != nil && !bound.admits(used, held, n) {
			list = append(list, shortage{bound.by, c, 0, currency, bound.value, addSaturating(used, held), n})
		}
	}
	return list
}

func (s shortage) message() string {
	if s.currency != "" {
		return fmt.Sprintf("needs %d micros of %s, and of %d %d are used or reserved", s.need, s.currency, s.limit, s.have)
	}
	show := func(n uint64) string { return s.resource.shown(n).Text() }
	return fmt.Sprintf("needs %s %s, and of %s %s are used or reserved", show(s.need), resourceNames[s.resource], show(s.limit), show(s.have))
}

func (s shortage) rule() string {
	name := resourceNames[s.resource]
	if s.currency != "" {
		name = "cost_micros." + s.currency
	}
	if s.by.layer == nil {
		return s.by.name + ": " + name
	}
	return s.by.layer.name + ": " + joinPath(s.by.path) + "." + name
}

func joinPath(path []string) string {
	text := ""
	for i, p := range path {
		if i > 0 {
			text += "."
		}
		text += p
	}
	return text
}

// amount judges what the call may use, and works out what to reserve.
func (j *judge) amount(c *Call) {
	j.need = c.Reserve
	run, total, own := &j.policy.run, &noAccount, &noAccount
	if l := j.ledger; l != nil {
		run, total = &l.run, l.peek(runAccount)
		if l.overrun != "" {
			j.deny(CodeOverrun, "the ledger", "effect %s used more than it had reserved, so nothing more is reserved", l.overrun)
			j.fix.say("no change to the pack is enough: start a new run")
		}
		if j.rule != nil {
			own = l.peek(j.rule.account)
		}
	}
	limits := &noCeilings
	if j.rule != nil {
		limits, j.timeoutMS = &j.rule.limits, j.rule.timeoutMS
		j.perCall(j.rule)
	}
	if c.Kind < namedKinds {
		j.need.Calls = max(1, j.need.Calls)
	}
	if c.Kind < KindEvent { // waiting for an event is no work
		j.deadline(run.left(duration, total), limits.left(duration, own), c.Beside)
	}
	j.fits(run, total)
	j.fits(limits, own)
}

// unlimited is what is left where nothing limits.
const unlimited = ^uint64(0)

// left gives how much of a resource is left.
func (c *ceilings) left(r resource, a *account) uint64 {
	if c.amount[r].by == nil {
		return unlimited
	}
	have := addSaturating(*a.used.at(r), *a.held.at(r))
	return c.amount[r].value - min(c.amount[r].value, have)
}

// deadline sets how long the effect may take. Where durations are limited, that is
// reserved: what the call declares, or else its timeout, as far as that is within
// its share of what the run and the grant have left. The share leaves as much for
// each branch beside this one that has reserved nothing yet, so that the first of
// them does not take it all. Where nothing is left, a usual time is asked for and
// refused.
func (j *judge) deadline(run, grant, beside uint64) {
	left := min(run, grant)
	switch declared := j.need.DurationMS; {
	case left == unlimited:
	case declared > 0:
		if j.timeoutMS == 0 || j.timeoutMS > declared {
			j.timeoutMS = declared
		}
	case left == 0:
		j.need.DurationMS = cmp.Or(j.timeoutMS, usualTimeout)
		if more := max(run, grant); more > 0 { // one of the two has some
			j.need.DurationMS = min(j.need.DurationMS, more)
		}
	default:
		share := max(1, left/addSaturating(beside, 1))
		if j.timeoutMS == 0 || j.timeoutMS > share {
			j.timeoutMS = share
		}
		j.need.DurationMS = j.timeoutMS
	}
}

// usualTimeout is what an effect without a timeout asks for, in milliseconds,
// where no time is left.
const usualTimeout = DefaultExecTimeout

func (j *judge) fits(c *ceilings, a *account) {
	if c.admits(a, &j.need) {
		return
	}
	for _, s := range c.shortages(a, &j.need) {
		j.deny(CodeBudgetExhausted, s.rule(), "%s", s.message())
		j.fix.lift(s)
	}
}

// peek gives an account without making one.
func (l *Ledger) peek(name string) *account {
	if a := l.accounts[name]; a != nil {
		return a
	}
	return &noAccount
}

var noAccount account

// perCall holds the declared amount against what one call may use, and reserves
// the most where the call declares nothing.
func (j *judge) perCall(r *rule) {
	for res := range resources {
		bound := r.perCall.amount[res]
		if bound.by == nil {
			continue
		}
		need := j.need.at(res)
		if *need > bound.value {
			s := shortage{bound.by, &r.perCall, res, "", bound.value, 0, *need}
			j.deny(CodeCallTooLarge, s.rule(), "declares %d %s, of at most %d for one call", *need, resourceNames[res], bound.value)
			j.fix.lift(s)
		}
		if *need == 0 {
			*need = bound.value
		}
	}
	if r.perCall.cost == nil && r.perCall.rest == nil {
		return
	}
	j.perCallCost(r)
}

func (j *judge) perCallCost(r *rule) {
	cost := j.need.Cost
	if len(cost) == 0 {
		cost = Money{}
		for currency, bound := range r.perCall.cost {
			if bound.value > 0 {
				cost[currency] = bound.value
			}
		}
		j.need.Cost = cost
		return
	}
	for currency := range cost {
		if bound := r.perCall.of(currency); bound.by != nil && cost[currency] > bound.value {
			j.tooCostly(r)
			return
		}
	}
}

func (j *judge) tooCostly(r *rule) {
	for _, currency := range artifact.SortedNames(j.need.Cost) {
		n, bound := j.need.Cost[currency], r.perCall.of(currency)
		if bound.by != nil && n > bound.value {
			s := shortage{bound.by, &r.perCall, 0, currency, bound.value, 0, n}
			j.deny(CodeCallTooLarge, s.rule(), "declares %d micros of %s, of at most %d for one call", n, currency, bound.value)
			j.fix.lift(s)
		}
	}
}

// Reserve holds the permit's amount for an effect. The key is the effect's
// idempotency key; reserving under a key that already holds something changes
// nothing. The amount is judged again, since other effects may have reserved
// since the permit was given.
func (l *Ledger) Reserve(key string, p Permit) *Denial {
	if _, ok := l.holds[key]; ok {
		return nil
	}
	if d := l.refuse(p.Account, p.Reserve); d != nil {
		d.Kind, d.Name = p.Kind, p.Name
		return d
	}
	h := hold{p.Account, p.Reserve.clone()}
	l.holds[key] = h
	l.account(runAccount).held.add(h.amount)
	if h.account != "" {
		l.account(h.account).held.add(h.amount)
	}
	return nil
}

// refuse gives a denial where an amount does not fit.
func (l *Ledger) refuse(name string, need Amount) *Denial {
	account, limits := l.peek(name), l.limits(name)
	if l.overrun == "" && l.run.admits(l.peek(runAccount), &need) && (name == "" || limits.admits(account, &need)) {
		return nil
	}
	list := l.run.shortages(l.peek(runAccount), &need)
	if name != "" {
		list = append(list, limits.shortages(account, &need)...)
	}
	var fix fixer
	for _, s := range list {
		fix.lift(s)
	}
	d := &Denial{Code: CodeOverrun, Rule: "the ledger", Message: "effect " + l.overrun + " used more than it had reserved, so nothing more is reserved"}
	if l.overrun == "" {
		d = &Denial{Code: CodeBudgetExhausted, Message: list[0].message(), Rule: list[0].rule()}
	} else {
		fix.say("no change to the pack is enough: start a new run")
	}
	d.Fix = fix.build(l.policy.pack)
	return d
}

// Settle charges what an effect has really used and gives back the rest of its
// reservation. A failed attempt is settled too: what it used counts. It reports
// whether the effect kept to its reservation wherever there is a limit; one that
// did not is charged in full. A key that holds nothing is ignored, so that an
// outcome which is recorded twice is charged once.
func (l *Ledger) Settle(key string, used Amount) (kept bool) {
	h, ok := l.holds[key]
	if !ok {
		return true
	}
	l.release(key, h)
	if h.account != "" { // of a grant: an effect counts as a call, whatever its port says
		used.Calls = max(used.Calls, h.amount.Calls)
	}
	l.account(runAccount).used.add(used)
	kept = l.run.keeps(used, h.amount)
	if h.account != "" {
		l.account(h.account).used.add(used)
		kept = l.limits(h.account).keeps(used, h.amount) && kept
	}
	if !kept && l.overrun == "" && l.exceeded(h.account) {
		l.overrun = key
	}
	return kept
}

// keeps reports whether no bounded resource was used beyond the reservation.
func (c *ceilings) keeps(used, reserved Amount) bool {
	for r := range resources {
		if c.amount[r].by != nil && *used.at(r) > *reserved.at(r) {
			return false
		}
	}
	for currency, micros := range used.Cost {
		if c.of(currency).by != nil && micros > reserved.Cost[currency] {
			return false
		}
	}
	return true
}

// SettleUnknown charges the whole reservation, for an effect whose use nobody
// knows.
func (l *Ledger) SettleUnknown(key string) {
	if h, ok := l.holds[key]; ok {
		l.Settle(key, h.amount)
	}
}

// Release gives back the reservation of an effect that did not happen.
func (l *Ledger) Release(key string) {
	if h, ok := l.holds[key]; ok {
		l.release(key, h)
	}
}

func (l *Ledger) release(key string, h hold) {
	delete(l.holds, key)
	l.account(runAccount).held.subtract(h.amount)
	if h.account != "" {
		l.account(h.account).held.subtract(h.amount)
	}
}

// exceeded reports whether a limit is exceeded now.
func (l *Ledger) exceeded(name string) bool {
	over := func(c *ceilings, a *account) bool {
		for r := range resources {
			if c.amount[r].by != nil && addSaturating(*a.used.at(r), *a.held.at(r)) > c.amount[r].value {
				return true
			}
		}
		for currency := range a.used.Cost {
			if bound := c.of(currency); bound.by != nil && addSaturating(a.used.Cost[currency], a.held.Cost[currency]) > bound.value {
				return true
			}
		}
		return false
	}
	return over(&l.run, l.account(runAccount)) || name != "" && over(l.limits(name), l.account(name))
}

// Charge counts what needs no reservation, such as a step or elapsed time. Where
// it does not fit nothing is counted and there is a denial.
func (l *Ledger) Charge(used Amount) *Denial {
	if d := l.refuse("", used); d != nil {
		return d
	}
	l.account(runAccount).used.add(used)
	return nil
}

// Used gives what the run has used so far, reservations not counted.
func (l *Ledger) Used() Amount { return l.peek(runAccount).used.clone() }

// Held gives what is reserved for effects under way.
func (l *Ledger) Held() Amount { return l.peek(runAccount).held.clone() }

// Left gives what is left of every limit of the run.
func (l *Ledger) Left() Limits {
	a := l.peek(runAccount)
	var left Limits
	for r := range resources {
		if bound := l.run.amount[r]; bound.by != nil {
			have := addSaturating(*a.used.at(r), *a.held.at(r))
			*left.at(r) = artifact.Some(bound.value - min(bound.value, have))
		}
	}
	for currency, bound := range l.run.cost {
		if left.Cost == nil {
			left.Cost = Money{}
		}
		have := addSaturating(a.used.Cost[currency], a.held.Cost[currency])
		left.Cost[currency] = bound.value - min(bound.value, have)
	}
	return left
}
