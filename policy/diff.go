package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Effect says what a change does to the authority of a pack.
type Effect string

// The effects.
const (
	Wider    Effect = "wider"    // permits more
	Narrower Effect = "narrower" // permits less
	Other    Effect = "other"    // permits something else, or only says it differently
)

// Change is one difference between two packs.
type Change struct {
	Path   string // where, such as tools.search.limits.calls
	Words  string // what, such as "raised from 10 to 20"
	Effect Effect
}

// String gives the change in one line.
func (c Change) String() string { return c.Path + ": " + c.Words + " (" + string(c.Effect) + ")" }

// DiffPacks says in words what changes from one pack to another, in the order in
// which packs are written. Version 1 packs are compared by what they grant. Packs
// without a difference in authority give none, whatever their form.
func DiffPacks(before, after *Pack) []Change {
	d := &differ{}
	d.text("id", before.ID, after.ID, Other, Other)
	d.text("description", before.Description, after.Description, Other, Other)
	d.moment("not_before", before.NotBeforeMS, after.NotBeforeMS, Narrower)
	d.moment("expires", before.ExpiresMS, after.ExpiresMS, Wider)
	d.agents(before.Agents, after.Agents)
	d.texts("capabilities", before.Capabilities, after.Capabilities)
	d.authority("", &before.Authority, &after.Authority, true)
	d.bound("condition_cost", given(before.ConditionCost), given(after.ConditionCost), plainNumber)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) say(path string, e Effect, format string, args ...any) {
	d.changes = append(d.changes, Change{strings.TrimPrefix(path, "."), fmt.Sprintf(format, args...), e})
}

// text compares a text whose presence has an effect.
func (d *differ) text(path, before, after string, added, removed Effect) {
	switch {
	case before == after:
	case before == "":
		d.say(path, added, "%q is added", after)
	case after == "":
		d.say(path, removed, "%q is removed", before)
	default:
		d.say(path, Other, "changed from %q to %q", before, after)
	}
}

// moment compares times; later is the effect of a later one. For expires no time
// is the latest, for not_before the earliest.
func (d *differ) moment(path string, before, after int64, later Effect) {
	if before == after {
		return
	}
	shown := func(t int64) string {
		if t == 0 {
			return "none"
		}
		return formatTime(t)
	}
	isLater := after > before
	if later == Wider && (before == 0 || after == 0) {
		isLater = after == 0
	}
	effect := later
	if !isLater {
		effect = opposite(later)
	}
	d.say(path, effect, "changed from %s to %s", shown(before), shown(after))
}

func plainNumber(n uint64) string { return strconv.FormatUint(n, 10) }

func opposite(e Effect) Effect {
	switch e {
	case Wider:
		return Narrower
	case Narrower:
		return Wider
	}
	return Other
}

// bound compares upper bounds; an absent one bounds nothing.
func (d *differ) bound(path string, before, after artifact.Optional[uint64], show func(uint64) string) {
	switch {
	case before == after:
	case !before.Set:
		d.say(path, Narrower, "limited to %s", show(after.Value))
	case !after.Set:
		d.say(path, Wider, "no longer limited to %s", show(before.Value))
	case after.Value > before.Value:
		d.say(path, Wider, "raised from %s to %s", show(before.Value), show(after.Value))
	default:
		d.say(path, Narrower, "lowered from %s to %s", show(before.Value), show(after.Value))
	}
}

// names compares sets of names.
func (d *differ) names(path string, before, after []string, added Effect) {
	for _, n := range after {
		if !slices.Contains(before, n) {
			d.say(path, added, "%s is added", n)
		}
	}
	for _, n := range before {
		if !slices.Contains(after, n) {
			d.say(path, opposite(added), "%s is removed", n)
		}
	}
}

func (d *differ) texts(path string, before, after map[string]string) {
	for _, name := range union(before, after) {
		was, had := before[name]
		is, has := after[name]
		switch at := path + "." + name; {
		case !had:
			d.say(at, Wider, "is granted, bound to %s", is)
		case !has:
			d.say(at, Narrower, "is no longer granted")
		case was != is:
			d.say(at, Other, "bound to %s instead of %s", is, was)
		}
	}
}

func union[V any](a, b map[string]V) []string {
	names := append(artifact.SortedNames(a), artifact.SortedNames(b)...)
	slices.Sort(names)
	return slices.Compact(names)
}

func (d *differ) agents(before, after map[string]Agent) {
	for _, id := range union(before, after) {
		a, had := before[id]
		b, has := after[id]
		path := "agents." + id
		switch {
		case !had:
			d.say(path, Wider, "may run")
		case !has:
			d.say(path, Narrower, "may no longer run")
		default:
			d.digests(path+".definition", a.Definitions, b.Definitions)
			d.graphs(path+".graphs", a.Graphs, b.Graphs)
			d.names(path+".capabilities", a.Capabilities, b.Capabilities, Wider)
			d.accesses(path+".namespaces", a.Namespaces, b.Namespaces)
			d.limits(path+".limits", a.Limits, b.Limits, false)
		}
	}
}

// graphs compares lists of which an absent one allows any.
func (d *differ) graphs(path string, before, after []artifact.Digest) {
	switch {
	case before == nil && after != nil:
		d.say(path, Narrower, "only %d named graphs may run", len(after))
	case before != nil && after == nil:
		d.say(path, Wider, "any graph may run")
	default:
		d.names(path, digestTexts(before), digestTexts(after), Wider)
	}
}

// digests compares sets of digests of which an absent one allows any.
func (d *differ) digests(path string, before, after []artifact.Digest) {
	was, is := digestTexts(before), digestTexts(after)
	switch {
	case len(was) == 0 && len(is) > 0:
		d.say(path, Narrower, "only %s", joinWords(is))
	case len(was) > 0 && len(is) == 0:
		d.say(path, Wider, "any, no longer only %s", joinWords(was))
	case len(was) == 1 && len(is) == 1 && was[0] != is[0]:
		d.say(path, Other, "changed from %s to %s", was[0], is[0])
	default:
		d.names(path, was, is, Wider)
	}
}

func (d *differ) accesses(path string, before, after map[string]Access) {
	for _, name := range union(before, after) {
		switch a, b := before[name], after[name]; {
		case b > a:
			d.say(path+"."+name, Wider, "changed from %s to %s", a, b)
		case b < a:
			d.say(path+"."+name, Narrower, "changed from %s to %s", a, b)
		}
	}
}

// limits compares limits. needsCurrency says that without any currency nothing
// may be spent, as in a pack; elsewhere no currencies means no limit.
func (d *differ) limits(path string, before, after Limits, needsCurrency bool) {
	for r := range resources {
		d.bound(path+"."+resourceNames[r], *before.at(r), *after.at(r), func(n uint64) string { return r.shown(n).Text() })
	}
	path += ".cost_micros"
	if !needsCurrency && (before.Cost == nil) != (after.Cost == nil) {
		if after.Cost == nil {
			d.say(path, Wider, "spending is no longer limited")
		} else {
			d.say(path, Narrower, "spending is limited to %s", after.Cost.value())
		}
		return
	}
	for _, currency := range union(before.Cost, after.Cost) {
		was, is := artifact.Some(before.Cost[currency]), artifact.Some(after.Cost[currency])
		d.bound(path+"."+currency, was, is, plainNumber)
	}
}

// authority compares everything but the header of a pack. Outside a pack a
// missing section changes nothing, so one that appears narrows.
func (d *differ) authority(path string, before, after *Authority, isPack bool) {
	if isPack || !d.appears(path+".namespaces", before.Namespaces == nil, after.Namespaces == nil) {
		d.accesses(path+".namespaces", before.Namespaces, after.Namespaces)
	}
	d.limits(path+".limits", before.Limits, after.Limits, isPack)
	for k := range namedKinds {
		section := path + "." + k.Section()
		if isPack || !d.appears(section, before.Grants[k] == nil, after.Grants[k] == nil) {
			d.grants(k, section, before.Grants[k], after.Grants[k])
		}
	}
	switch a, b := before.Approvals, after.Approvals; {
	case a == nil && b != nil && isPack:
		d.say(path+".approvals", Wider, "people may be asked")
	case a != nil && b == nil && isPack:
		d.say(path+".approvals", Other, "people may no longer be asked, and what held for approvals no longer does")
	case a == nil && b != nil:
		d.say(path+".approvals", Narrower, "approvals are limited")
	case a != nil && b == nil:
		d.say(path+".approvals", Wider, "approvals are no longer limited")
	case a != nil:
		d.approval(path+".approvals", a, b)
	}
	d.names(path+".redact", before.Redact, after.Redact, Narrower)
	if isPack || !d.appears(path+".blobs", before.Blobs == nil, after.Blobs == nil) {
		d.blobs(path+".blobs", before.Blobs, after.Blobs)
	}
}

// appears reports a section that is there before or after only, where a missing
// one changes nothing.
func (d *differ) appears(path string, missingBefore, missingAfter bool) bool {
	switch {
	case missingBefore == missingAfter:
		return false
	case missingBefore:
		d.say(path, Narrower, "is limited")
	default:
		d.say(path, Wider, "is no longer limited")
	}
	return true
}

func (d *differ) grants(k Kind, path string, before, after map[string]*Grant) {
	for _, name := range union(before, after) {
		a, b := before[name], after[name]
		switch at := path + "." + name; {
		case a == nil:
			d.say(at, Wider, "is granted%s", b.describe(k))
		case b == nil:
			d.say(at, Narrower, "is no longer granted")
		default:
			d.grant(k, at, a, b)
		}
	}
}

func (d *differ) blobs(path string, before, after map[string]uint64) {
	shown := func(millis uint64) string {
		if millis == Forever {
			return "forever"
		}
		return FormatDuration(millis)
	}
	for _, class := range union(before, after) {
		was, had := before[class]
		is, has := after[class]
		switch at := path + "." + class; {
		case !had:
			d.say(at, Wider, "bytes are kept for %s", shown(is))
		case !has:
			d.say(at, Narrower, "bytes are no longer kept")
		case is > was:
			d.say(at, Wider, "bytes are kept for %s, no longer %s", shown(is), shown(was))
		case is < was:
			d.say(at, Narrower, "bytes are kept for %s, no longer %s", shown(is), shown(was))
		}
	}
}

// describe says what is most worth knowing about a new grant.
func (g *Grant) describe(k Kind) string {
	switch {
	case k == KindExec:
		return ": " + g.Program
	case k == KindHTTP:
		return ": " + strings.Join(g.Methods, ", ") + " of " + strings.Join(g.Hosts, ", ")
	case g.Approval != nil:
		return ", with approval"
	case g.Arguments.IsNull() && len(g.When) == 0 && (k == KindTool || k == KindWASM):
		return ", with any arguments"
	}
	return ""
}
