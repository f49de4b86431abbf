package policy

import (
	"maps"
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// Money is micros by currency, such as USD: one micro is a millionth of the
// currency's unit. Nothing is ever converted.
type Money map[string]uint64

// Amount is what an effect or a run uses. The zero value is nothing.
type Amount struct {
	Steps      uint64
	Calls      uint64
	Tokens     uint64 // input and output
	Units      uint64 // as the tool counts them
	DurationMS uint64 // milliseconds of effects, added up
	TimeMS     uint64 // milliseconds of the run
	Cost       Money
}

// resource numbers the fields of an Amount, cost aside.
type resource uint8

const (
	steps resource = iota
	calls
	tokens
	units
	duration
	elapsed
	resources
)

// resourceNames are the keys in packs.
var resourceNames = [resources]string{"steps", "calls", "tokens", "units", "duration", "time"}

func (r resource) isTime() bool { return r == duration || r == elapsed }

func (a *Amount) at(r resource) *uint64 {
	switch r {
	case steps:
		return &a.Steps
	case calls:
		return &a.Calls
	case tokens:
		return &a.Tokens
	case units:
		return &a.Units
	case duration:
		return &a.DurationMS
	}
	return &a.TimeMS
}

// add adds b, saturating. Cost is never shared with b afterwards.
func (a *Amount) add(b Amount) {
	for r := range resources {
		*a.at(r) = addSaturating(*a.at(r), *b.at(r))
	}
	for currency, micros := range b.Cost {
		if micros == 0 {
			continue
		}
		if a.Cost == nil {
			a.Cost = Money{}
		}
		a.Cost[currency] = addSaturating(a.Cost[currency], micros)
	}
}

// subtract takes b away again; nothing goes below zero.
func (a *Amount) subtract(b Amount) {
	for r := range resources {
		*a.at(r) -= min(*a.at(r), *b.at(r))
	}
	for currency, micros := range b.Cost {
		if left := a.Cost[currency] - min(a.Cost[currency], micros); left > 0 {
			a.Cost[currency] = left
		} else {
			delete(a.Cost, currency)
		}
	}
}

// clone gives a copy that shares nothing, without currencies of which there is
// nothing.
func (a Amount) clone() Amount {
	a.Cost = maps.Clone(a.Cost)
	maps.DeleteFunc(a.Cost, func(_ string, micros uint64) bool { return micros == 0 })
	return a
}

// value gives the amount as an object without what is zero.
func (a Amount) value() artifact.Value {
	var members []artifact.Member
	for r := range resources {
		if n := *a.at(r); n != 0 {
			members = append(members, artifact.Member{Name: resourceNames[r], Value: artifact.UintValue(n)})
		}
	}
	if a = a.clone(); len(a.Cost) > 0 {
		members = append(members, artifact.Member{Name: "cost_micros", Value: a.Cost.value()})
	}
	return object(members...)
}

func (m Money) value() artifact.Value {
	var members []artifact.Member
	for _, currency := range artifact.SortedNames(m) {
		members = append(members, artifact.Member{Name: currency, Value: artifact.UintValue(m[currency])})
	}
	return object(members...)
}

func readAmount(f artifact.Field) Amount {
	o := f.Object()
	var a Amount
	for r := range resources {
		*a.at(r) = o.May(resourceNames[r]).Uint64()
	}
	if cost := o.May("cost_micros"); cost.Present() {
		a.Cost = readMoney(cost)
	}
	o.RefuseUnknown()
	return a
}

func readMoney(f artifact.Field) Money {
	m := Money{}
	for currency, v := range f.Map() {
		if !IsCurrency(currency) {
			v.Report("currency %.40q: write 2 to 12 upper-case letters and digits, such as USD", currency)
		}
		m[currency] = v.Uint64()
	}
	return m
}

// IsCurrency reports whether s can name a currency: it has 2 to 12 upper-case
// letters and digits.
func IsCurrency(s string) bool {
	if len(s) < 2 || len(s) > 12 {
		return false
	}
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') })
}

// Limits are upper bounds, each of which may be absent. A limit of 0 allows
// nothing.
type Limits struct {
	Steps      artifact.Optional[uint64]
	Calls      artifact.Optional[uint64]
	Tokens     artifact.Optional[uint64]
	Units      artifact.Optional[uint64]
	DurationMS artifact.Optional[uint64]
	TimeMS     artifact.Optional[uint64]
	Cost       Money // nil when absent; a currency that is not listed is bounded by 0
}

func (l *Limits) at(r resource) *artifact.Optional[uint64] {
	switch r {
	case steps:
		return &l.Steps
	case calls:
		return &l.Calls
	case tokens:
		return &l.Tokens
	case units:
		return &l.Units
	case duration:
		return &l.DurationMS
	}
	return &l.TimeMS
}

// IsZero reports whether nothing is bounded.
func (l Limits) IsZero() bool {
	for r := range resources {
		if l.at(r).Set {
			return false
		}
	}
	return l.Cost == nil
}

// value gives the limits as a pack writes them.
func (l Limits) value() artifact.Value {
	var members []artifact.Member
	for r := range resources {
		if n := l.at(r); n.Set {
			members = append(members, artifact.Member{Name: resourceNames[r], Value: r.shown(n.Value)})
		}
	}
	if l.Cost != nil {
		members = append(members, artifact.Member{Name: "cost_micros", Value: l.Cost.value()})
	}
	return object(members...)
}

// shown gives a number as a pack writes it: times with their unit.
func (r resource) shown(n uint64) artifact.Value {
	if r.isTime() {
		return artifact.StringValue(FormatDuration(n))
	}
	return artifact.UintValue(n)
}

// readLimits reads limits of the given resources.
func readLimits(f artifact.Field, allowed ...resource) Limits {
	var l Limits
	if !f.Present() {
		return l
	}
	o := f.Object()
	for _, r := range allowed {
		v := o.May(resourceNames[r])
		if !v.Present() {
			continue
		}
		if r.isTime() {
			*l.at(r) = artifact.Some(ReadDuration(v))
		} else {
			*l.at(r) = artifact.Some(v.Uint64())
		}
	}
	if cost := o.May("cost_micros"); cost.Present() {
		l.Cost = readMoney(cost)
	}
	o.RefuseUnknown()
	return l
}
