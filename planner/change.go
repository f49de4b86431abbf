package planner

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// changeable lists what the caller can change and the values worth trying. The
// order breaks ties between equally small sets of changes. The environment is
// not here: it decides on federated manifests, not on units.
func (s *search) changeable() []option {
	return []option{
		{name: "role", values: s.roles()},
		{name: "methods", values: s.methods()},
		{name: "credentials", values: s.credentials()},
		{name: "attestation", values: s.providers()},
		{name: "as-of", values: s.dates()},
		{name: "max units", ceiling: unitsCeiling()},
		{name: "strict", values: s.leniency()},
		{name: "budget", ceiling: s.moneyCeiling()},
		{name: "context budget", ceiling: s.tokenCeiling()},
		{name: "grant ceiling", values: s.levels()},
		{name: "proposed spend", values: s.purchases()},
		{name: "proposed action", values: s.actions()},
	}
}

// roles tries the unit's own audience, then every other role the manifest
// knows, then one it does not.
func (s *search) roles() []value {
	current := s.base.Capabilities.Role
	roles := slices.Clone(s.target.Audience.Items)
	for i := range s.manifest.Units {
		for _, role := range s.manifest.Units[i].Audience.Items {
			if !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	other := "other"
	for slices.Contains(roles, other) || other == current {
		other += "-role"
	}
	var values []value
	for _, role := range append(roles, other) {
		if role == current || role == "" {
			continue
		}
		values = append(values, value{
			apply: func(o *Options) { o.Capabilities.Role = role },
			from:  current, to: role, flag: "--role " + quote(role),
		})
	}
	return values
}

// methods adds one method that the manifest names: the target's own first. One
// of another unit can matter, when paying for that unit gets it out of the way.
func (s *search) methods() []value {
	current := s.base.Capabilities.PaymentMethods
	var values []value
	seen := map[string]bool{}
	offer := func(block *kcp.Payment) {
		if block == nil {
			return
		}
		for i := range block.Methods {
			method := block.Methods[i].Type
			if method == "" || seen[method] || slices.Contains(current, method) {
				continue
			}
			seen[method] = true
			list := append(slices.Clone(current), method)
			values = append(values, value{
				apply: func(o *Options) { o.Capabilities.PaymentMethods = list },
				from:  listText(current), to: listText(list), flag: "--methods " + quote(listText(list)),
			})
		}
	}
	offer(s.target.Payment)
	offer(s.manifest.Payment)
	for i := range s.manifest.Units {
		offer(s.manifest.Units[i].Payment)
	}
	return values
}

// credentials adds one: any credential satisfies access, so the one named
// first is offered.
func (s *search) credentials() []value {
	if len(s.base.Capabilities.Credentials) > 0 {
		return nil
	}
	name := "CREDENTIAL"
	if auth := s.authOf(); auth != nil {
		for i := range auth.Methods {
			if kind := auth.Methods[i].Type.Value; kind != "" && kind != "none" {
				name = kind
				break
			}
		}
	}
	return []value{{
		apply: func(o *Options) { o.Capabilities.Credentials = []string{name} },
		to:    name, flag: "--credentials " + quote(name),
	}}
}

func (s *search) authOf() *kcp.Auth {
	if d := s.target.Details; d != nil && d.Auth != nil {
		return d.Auth
	}
	return s.manifest.Auth
}

func (s *search) providers() []value {
	req := s.manifest.Trust.Requirements
	if req == nil {
		return nil
	}
	var values []value
	for _, provider := range req.TrustedProviders.Items {
		if provider == "" || provider == s.base.Capabilities.AttestationProvider.Value {
			continue
		}
		values = append(values, value{
			apply: func(o *Options) { o.Capabilities.AttestationProvider = kcp.String{Value: provider, Set: true} },
			from:  s.base.Capabilities.AttestationProvider.Value, to: provider, flag: "--attest " + quote(provider),
		})
	}
	return values
}

const isoDate = "2006-01-02"

// dates tries the days on which a window opens or closes, and the days beside
// them, nearest to the plan's own date first. Between two such days nothing
// changes.
func (s *search) dates() []value {
	now, err := time.Parse(isoDate, s.base.AsOf)
	if err != nil {
		return nil
	}
	var days []time.Time
	seen := map[string]bool{s.base.AsOf: true}
	for i := range s.manifest.Units {
		t := s.manifest.TemporalOf(&s.manifest.Units[i])
		if t == nil {
			continue
		}
		for _, bound := range []string{t.ValidFrom.Value, t.ValidUntil.Value} {
			if len(bound) < len(isoDate) {
				continue
			}
			day, err := time.Parse(isoDate, bound[:len(isoDate)])
			if err != nil {
				continue
			}
			for offset := -1; offset <= 1; offset++ {
				d := day.AddDate(0, 0, offset)
				if text := d.Format(isoDate); !seen[text] && d.Year() > 0 && d.Year() < 10000 {
					seen[text] = true
					days = append(days, d)
				}
			}
		}
	}
	slices.SortFunc(days, func(a, b time.Time) int {
		if d := int(a.Sub(now).Abs() - b.Sub(now).Abs()); d != 0 {
			return d
		}
		return b.Compare(a) // as near: the later day
	})
	values := make([]value, 0, len(days))
	for _, day := range days {
		text := day.Format(isoDate)
		values = append(values, value{
			apply: func(o *Options) { o.AsOf = text },
			from:  s.base.AsOf, to: text, flag: "--as-of " + text,
		})
	}
	return values
}

func (s *search) leniency() []value {
	if !s.base.Strict {
		return nil
	}
	return []value{{
		apply: func(o *Options) { o.Strict = false },
		from:  "on", to: "off", flag: "without --strict",
	}}
}

// levels raises the agent's ceiling along the scale, then lifts it.
func (s *search) levels() []value {
	current := s.base.GrantCeiling
	if !current.Set {
		return nil
	}
	var values []value
	rank := s.probe.rankOf(current.Value)
	for i, level := range s.probe.scale {
		if i <= rank {
			continue
		}
		values = append(values, value{
			apply: func(o *Options) { o.GrantCeiling = kcp.String{Value: level, Set: true} },
			from:  current.Value, to: level, flag: "--grant-ceiling " + quote(level),
		})
	}
	return append(values, value{
		apply: func(o *Options) { o.GrantCeiling = kcp.String{} },
		from:  current.Value, to: "none", flag: "without --grant-ceiling",
	})
}

// purchases trims the proposal to the unit's limits, one part before two, and
// at last withdraws it.
func (s *search) purchases() []value {
	proposal := s.base.Spend
	if !proposal.proposes() {
		return nil
	}
	var values []value
	steps := s.target.GovernedKind() == "playbook" && s.target.StepsDeclared
	scopes := s.probe.spendScopes(s.target, steps)
	var amounts []kcp.Number
	vendors, currencies := []kcp.String{}, []kcp.String{}
	for _, scope := range scopes {
		if limit := scope.limit; limit.MaxSpend.Set && proposal.Amount.Set && limit.MaxSpend.Value < proposal.Amount.Value {
			amounts = append(amounts, limit.MaxSpend)
		}
		for _, v := range scope.limit.AllowedVendors.Items {
			vendors = append(vendors, kcp.String{Value: v, Set: true})
		}
		currencies = append(currencies, scope.limit.Currency)
	}
	slices.SortFunc(amounts, func(a, b kcp.Number) int { return int(math.Copysign(1, b.Value-a.Value)) })
	for _, trimmed := range trims(*proposal, slices.Compact(amounts), vendors, currencies) {
		values = append(values, value{
			apply: func(o *Options) { o.Spend = &trimmed },
			from:  spendText(proposal), to: spendText(&trimmed), flag: spendFlags(&trimmed),
		})
	}
	return append(values, value{
		apply: func(o *Options) { o.Spend = nil },
		from:  spendText(proposal), to: "none", flag: "without a proposed spend",
	})
}

// trims lists the proposals that differ in the amount, then the vendor, then
// the currency, then in several.
func trims(p SpendProposal, amounts []kcp.Number, vendors, currencies []kcp.String) []SpendProposal {
	all := [][]SpendProposal{nil, nil, nil, nil}
	for _, amount := range append([]kcp.Number{p.Amount}, amounts...) {
		for _, vendor := range append([]kcp.String{p.Vendor}, vendors...) {
			for _, currency := range append([]kcp.String{p.Currency}, currencies...) {
				parts := 0
				for _, changed := range []bool{amount != p.Amount, vendor != p.Vendor, currency != p.Currency} {
					if changed {
						parts++
					}
				}
				trimmed := SpendProposal{amount, vendor, currency}
				if !slices.Contains(all[parts], trimmed) {
					all[parts] = append(all[parts], trimmed)
				}
			}
		}
	}
	return slices.Concat(all[1], all[2], all[3])
}

func spendText(p *SpendProposal) string {
	var parts []string
	if p.Amount.Set {
		parts = append(parts, artifact.FormatNumber(p.Amount.Value))
	}
	if p.Currency.Set {
		parts = append(parts, p.Currency.Value)
	}
	if p.Vendor.Set {
		parts = append(parts, "to "+p.Vendor.Value)
	}
	return strings.Join(parts, " ")
}

func spendFlags(p *SpendProposal) string {
	var flags []string
	if p.Amount.Set {
		flags = append(flags, "--spend-amount "+artifact.FormatNumber(p.Amount.Value))
	}
	if p.Vendor.Set {
		flags = append(flags, "--spend-vendor "+quote(p.Vendor.Value))
	}
	if p.Currency.Set {
		flags = append(flags, "--spend-currency "+quote(p.Currency.Value))
	}
	return strings.Join(flags, " ")
}

// actions withdraws parts of the proposed action: one before two before all.
func (s *search) actions() []value {
	requests := s.base.Action.requests()
	var values []value
	for size := 1; size <= len(requests); size++ {
		for set := range subsets(len(requests), size) {
			reduced := *s.base.Action
			var names, flags []string
			for _, i := range set {
				switch requests[i].dimension {
				case "tools":
					reduced.Tool, flags = kcp.String{}, append(flags, "--action-tool")
				case "paths":
					reduced.Path, flags = kcp.String{}, append(flags, "--action-path")
				default:
					reduced.Capability, flags = kcp.String{}, append(flags, "--action-capability")
				}
				names = append(names, requests[i].token)
			}
			values = append(values, value{
				apply: func(o *Options) { o.Action = &reduced },
				from:  strings.Join(names, ", "), to: "none", flag: "without " + strings.Join(flags, " "),
			})
		}
	}
	return values
}

func listText(list []string) string { return strings.Join(list, ",") }

// quote makes a value safe to paste into a shell. A control character is
// written as an escape, inside single quotes like everything else: double
// quotes would let a hostile manifest run commands.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.,:/@+=", r)
	}
	if s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	if strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) >= 0 {
		escaped := strconv.Quote(s)
		s = escaped[1 : len(escaped)-1]
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
