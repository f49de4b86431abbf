package kcp

import (
	"strings"

	"github.com/writ-dev/writ/match"
)

// charterOf is an agent charter (RFC-0031, a draft) and its unit.
type charterOf struct {
	unit    *Unit
	charter *Charter
}

var specCharterRules = []rule[charterOf]{
	{
		"charter-on-other-kind", Error, 3,
		"`charter` stands on a unit that is not plain knowledge.",
		"move the charter to a unit of kind knowledge",
		func(c *checker, s charterOf) {
			if k := s.unit.Kind.Or("knowledge"); k != "knowledge" {
				c.add("", "a charter stands on a unit of kind knowledge, and this one is "+show(k))
			}
		},
	},
	{
		"charter-scope-missing", Error, 3,
		"A charter has no `scope`.",
		"write scope: {read: [], propose: [], never: [sign contracts]}",
		func(c *checker, s charterOf) {
			if !s.charter.ScopeDeclared {
				c.add("scope", "the charter does not say what the agent may do")
			}
		},
	},
	{
		"charter-authority-missing", Error, 3,
		"A charter has no `authority`.",
		"name the office that answers for the agent: authority: Head of Compliance",
		func(c *checker, s charterOf) { c.required("authority", s.charter.Authority.Value, "the charter") },
	},
	{
		"charter-never-missing", Error, 3,
		"`scope.never` of a charter is missing or empty.",
		"list what the agent must never do: never: [sign contracts]",
		func(c *checker, s charterOf) {
			if s.charter.ScopeDeclared && len(s.charter.Never.Items) == 0 {
				c.add("scope.never", "the charter does not say what the agent must never do")
			}
		},
	},
	{
		"charter-rule-id-duplicate", Error, 3,
		"Two rules of a charter have one `id`.",
		"give each rule an id of its own",
		func(c *checker, s charterOf) {
			seen := map[string]bool{}
			for i := range s.charter.Rules {
				r := &s.charter.Rules[i]
				if r.ID.Value != "" && seen[r.ID.Value] {
					c.add(element("rules", r.Index)+".id", "another rule before this one has the id "+show(r.ID.Value)+" too")
				}
				seen[r.ID.Value] = true
			}
		},
	},
	{
		"charter-propose-and-never", Error, 3,
		"One entry stands in both `propose` and `never`.",
		"remove the entry from one of the two lists",
		func(c *checker, s charterOf) {
			never := make(map[string]bool, len(s.charter.Never.Items))
			for _, entry := range s.charter.Never.Items {
				never[entry] = true
			}
			for i, entry := range s.charter.Propose.Items {
				if never[entry] {
					c.add(element("scope.propose", i), show(entry)+" may be proposed and must never be done")
				}
			}
		},
	},
	{
		"charter-escalation-unaddressed", Warning, 3,
		"A rule escalates, and nothing says to whom.",
		"name the role that decides: authority_required: compliance-officer",
		func(c *checker, s charterOf) {
			if s.charter.AuthorityRequired.Value != "" {
				return
			}
			for i := range s.charter.Rules {
				r := &s.charter.Rules[i]
				if r.AuthorityRequired.Value == "" && strings.Contains(match.Lower(r.Decision.Value), "escalat") {
					c.add(element("rules", r.Index)+".authority_required", "the rule escalates, but nothing says to whom")
				}
			}
		},
	},
	{
		"charter-propose-executes", Warning, 3,
		"An entry of `propose` opens with a verb that executes.",
		"word it as a proposal, such as: draft the payment order",
		func(c *checker, s charterOf) {
			for i, entry := range s.charter.Propose.Items {
				verb, _, _ := strings.Cut(strings.TrimSpace(match.Lower(entry)), " ")
				if contains([]string{"execute", "write", "delete", "pay", "grant"}, verb) {
					c.add(element("scope.propose", i), show(entry)+" sounds like an act and not like a proposal")
				}
			}
		},
	},
	{
		"charter-persona-quoted", Warning, 3,
		"`persona` stands word for word in the unit's `intent` or in a rule. It is a label and must not influence anything.",
		"leave the persona's name out of the intent and the rules",
		func(c *checker, s charterOf) {
			persona := s.charter.Persona.Value
			if persona == "" {
				return
			}
			quoted := strings.Contains(s.unit.Intent, persona)
			for i := range s.charter.Rules {
				quoted = quoted || strings.Contains(s.charter.Rules[i].Text.Value, persona)
			}
			if quoted {
				c.add("persona", "the persona "+show(persona)+" is repeated in the intent or in a rule")
			}
		},
	},
}
