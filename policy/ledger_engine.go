package policy

import (
	"maps"
	"strconv"

	"github.com/writ-dev/writ/artifact"
)

// Clone gives an independent copy, for an engine that works out a step before it
// is stored.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.accounts = make(map[string]*account, len(l.accounts))
	for name, a := range l.accounts {
		c.accounts[name] = &account{a.used.clone(), a.held.clone()}
	}
	c.holds = maps.Clone(l.holds)
	return &c
}

// Add charges in full what has been used already, such as by a node that runs in
// the process. It names the first limit of the run that no longer holds: tokens,
// cost, or another resource as packs spell it; "" when all hold.
func (l *Ledger) Add(used Amount) (over string) {
	a := l.account(runAccount)
	a.used.add(used)
	exceeds := func(r resource) bool {
		bound := l.run.amount[r]
		return bound.by != nil && addSaturating(*a.used.at(r), *a.held.at(r)) > bound.value
	}
	if exceeds(tokens) {
		return resourceNames[tokens]
	}
	for currency, micros := range a.used.Cost {
		if bound := l.run.of(currency); bound.by != nil && addSaturating(micros, a.held.Cost[currency]) > bound.value {
			return "cost"
		}
	}
	for r := range resources {
		if exceeds(r) {
			return resourceNames[r]
		}
	}
	return ""
}

// TimeLeft gives what is left of the run's time.
func (l *Ledger) TimeLeft() artifact.Optional[uint64] {
	bound := l.run.amount[elapsed]
	if bound.by == nil {
		return artifact.Optional[uint64]{}
	}
	a := l.peek(runAccount)
	return artifact.Some(bound.value - min(bound.value, addSaturating(a.used.TimeMS, a.held.TimeMS)))
}

// StepsLeft gives what is left of the run's steps.
func (l *Ledger) StepsLeft() artifact.Optional[uint64] {
	bound := l.run.amount[steps]
	if bound.by == nil {
		return artifact.Optional[uint64]{}
	}
	a := l.peek(runAccount)
	return artifact.Some(bound.value - min(bound.value, addSaturating(a.used.Steps, a.held.Steps)))
}

// AppendValue appends the text of [Ledger.Value], which every step of a run
// writes into its checkpoint, without building the value.
func (l *Ledger) AppendValue(dst []byte) []byte {
	dst = append(dst, `{"version":2,"bounds":[`...)
	for i, b := range l.bounds {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"source":`...)
		dst = append(artifact.AppendString(dst, b.Source), `,"limits":`...)
		dst = append(b.Limits.appendTo(dst), '}')
	}
	dst = append(dst, `],"accounts":{`...)
	for i, name := range artifact.SortedNames(l.accounts) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(artifact.AppendString(dst, name), `:{"used":`...)
		dst = append(l.accounts[name].used.appendTo(dst), `,"held":`...)
		dst = append(l.accounts[name].held.appendTo(dst), '}')
	}
	dst = append(dst, `},"holds":{`...)
	for i, key := range artifact.SortedNames(l.holds) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(artifact.AppendString(dst, key), `:{"account":`...)
		dst = append(artifact.AppendString(dst, l.holds[key].account), `,"amount":`...)
		dst = append(l.holds[key].amount.appendTo(dst), '}')
	}
	dst = append(dst, `},"overrun":`...)
	return append(artifact.AppendString(dst, l.overrun), '}')
}

func (a Amount) appendTo(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for r := range resources {
		if n := *a.at(r); n != 0 {
			dst = strconv.AppendUint(appendName(dst, resourceNames[r], &first), n, 10)
		}
	}
	if len(a.Cost) > 0 {
		dst = a.Cost.appendTo(appendName(dst, "cost_micros", &first))
	}
	return append(dst, '}')
}

func (l Limits) appendTo(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for r := range resources {
		if n := l.at(r); n.Set {
			dst = r.shown(n.Value).AppendCompact(appendName(dst, resourceNames[r], &first))
		}
	}
	if l.Cost != nil {
		dst = l.Cost.appendTo(appendName(dst, "cost_micros", &first))
	}
	return append(dst, '}')
}

func (m Money) appendTo(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for _, currency := range artifact.SortedNames(m) {
		dst = strconv.AppendUint(appendName(dst, currency, &first), m[currency], 10)
	}
	return append(dst, '}')
}

// appendName begins a member.
func appendName(dst []byte, name string, first *bool) []byte {
	if !*first {
		dst = append(dst, ',')
	}
	*first = false
	return append(artifact.AppendString(dst, name), ':')
}
