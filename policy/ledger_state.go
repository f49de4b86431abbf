package policy

import "github.com/writ-dev/writ/artifact"

// Value gives the ledger for a checkpoint: canonical, with everything that
// [Policy.RestoreLedger] needs but the policy.
func (l *Ledger) Value() artifact.Value {
	var accounts, holds fields
	for _, name := range artifact.SortedNames(l.accounts) {
		a := l.accounts[name]
		accounts.put(name, object(artifact.Member{Name: "used", Value: a.used.value()}, artifact.Member{Name: "held", Value: a.held.value()}))
	}
	for _, key := range artifact.SortedNames(l.holds) {
		h := l.holds[key]
		holds.put(key, object(
			artifact.Member{Name: "account", Value: artifact.StringValue(h.account)},
			artifact.Member{Name: "amount", Value: h.amount.value()},
		))
	}
	bounds := make([]artifact.Value, len(l.bounds))
	for i, b := range l.bounds {
		bounds[i] = object(
			artifact.Member{Name: "source", Value: artifact.StringValue(b.Source)},
			artifact.Member{Name: "limits", Value: b.Limits.value()},
		)
	}
	return object(
		artifact.Member{Name: "version", Value: artifact.UintValue(2)},
		artifact.Member{Name: "bounds", Value: artifact.ArrayValue(bounds...)},
		artifact.Member{Name: "accounts", Value: accounts.object()},
		artifact.Member{Name: "holds", Value: holds.object()},
		artifact.Member{Name: "overrun", Value: artifact.StringValue(l.overrun)},
	)
}

// RestoreLedger reads what [Ledger.Value] gave. Reservations are still held.
// What is held is counted again from them, so that a checkpoint cannot say two
// things.
func (p *Policy) RestoreLedger(f artifact.Field) *Ledger {
	o := f.Object()
	if version := o.Need("version"); version.Present() && version.Uint16() != 2 {
		version.Report("version of the ledger is not 2")
	}
	var bounds []Bound
	for _, b := range o.Need("bounds").List() {
		bo := b.Object()
		bounds = append(bounds, Bound{bo.Need("source").Text(), readLimits(bo.Need("limits"), runResources...)})
		bo.RefuseUnknown()
	}
	l := p.Ledger(bounds...)
	for name, a := range o.Need("accounts").Map() {
		ao := a.Object()
		l.account(name).used = readAmount(ao.Need("used"))
		ao.Know("held")
		ao.RefuseUnknown()
	}
	for key, h := range o.Need("holds").Map() {
		ho := h.Object()
		held := hold{ho.Need("account").Text(), readAmount(ho.Need("amount"))}
		ho.RefuseUnknown()
		l.holds[key] = held
		l.account(runAccount).held.add(held.amount)
		if held.account != "" {
			l.account(held.account).held.add(held.amount)
		}
	}
	l.overrun = o.Need("overrun").Text()
	o.RefuseUnknown()
	return l
}
