package policy

import "maps"

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
