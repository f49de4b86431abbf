package kcp

import "github.com/writ-dev/writ/match"

// What both rule sets ask about the action scope of a skill or a playbook.

func mutating(s *ActionScope) bool {
	return s != nil && (len(s.Paths.Items) > 0 || s.Spend != nil)
}

// hasScope reports whether a unit declares a scope that can be read. Something
// other than a mapping is no scope.
func hasScope(u *Unit) bool {
	return u.ActionScope != nil && !(u.ActionScope.Malformed && scopeEmpty(u.ActionScope))
}

// scopeEmpty reports whether a scope allows nothing. Spend alone allows nothing.
func scopeEmpty(s *ActionScope) bool {
	return s == nil || len(s.Tools.Items) == 0 && len(s.Paths.Items) == 0 && len(s.Capabilities.Items) == 0
}

// declaredDeny gives the deny of a skill or a playbook, or nil.
func declaredDeny(u *Unit) *Deny {
	if u.ActionScope == nil || u.Kind.Value != "skill" && u.Kind.Value != "playbook" {
		return nil
	}
	return u.ActionScope.Deny
}

func denyEmpty(d *Deny) bool {
	return len(d.Tools.Items) == 0 && len(d.Paths.Items) == 0 && len(d.Capabilities.Items) == 0
}

// dimension is one of the three lists that a scope allows and denies.
type dimension struct {
	name        string
	allow, deny List
}

// dimensions gives the lists of a scope in the order in which they are judged.
// The scope may be nil, and so may its deny.
func dimensions(s *ActionScope) [3]dimension {
	if s == nil {
		s = &ActionScope{}
	}
	deny := s.Deny
	if deny == nil {
		deny = &Deny{}
	}
	return [3]dimension{
		{"tools", s.Tools, deny.Tools},
		{"paths", s.Paths, deny.Paths},
		{"capabilities", s.Capabilities, deny.Capabilities},
	}
}

// eachDenyConflict calls do for each deny of a skill or a playbook that its own
// allow list repeats exactly. A narrower pattern within a wider one is the use
// that deny is meant for.
func eachDenyConflict(u *Unit, do func(dimension string, index int, token string)) {
	if declaredDeny(u) == nil {
		return
	}
	for _, d := range dimensions(u.ActionScope) {
		allowed := make(map[string]bool, len(d.allow.Items))
		for _, token := range d.allow.Items {
			allowed[token] = true
		}
		for i, token := range d.deny.Items {
			if allowed[token] {
				do(d.name, i, token)
			}
		}
	}
}

// eachNullifiedStep calls do for each step of a playbook and each dimension on
// which the effective deny, the playbook's and the unit's, covers all that the
// step's unit allows.
func eachNullifiedStep(c *checker, u *Unit, do func(s *Step, dimension string)) {
	if u.Kind.Value != "playbook" {
		return
	}
	own := dimensions(u.ActionScope)
	for i := range u.Steps {
		s := &u.Steps[i]
		target := c.unit(s.Uses.Value)
		if s.Uses.Value == "" || target == nil || target.ActionScope == nil {
			continue
		}
		for d, used := range dimensions(target.ActionScope) {
			if len(used.allow.Items) > 0 && c.allDenied(used, own[d].deny.Items) {
				do(s, used.name)
			}
		}
	}
}

// allDenied reports whether each allowed token is denied by the dimension itself
// or by more. It reports false when the comparisons run out.
func (c *checker) allDenied(d dimension, more []string) bool {
	denied := func(token, by string) bool {
		return by == token || d.name == "paths" && match.Glob(by, token)
	}
	for _, token := range d.allow.Items {
		if !c.afford(len(d.deny.Items) + len(more)) {
			return false
		}
		found := false
		for _, list := range [2][]string{d.deny.Items, more} {
			for _, by := range list {
				found = found || denied(token, by)
			}
		}
		if !found {
			return false
		}
	}
	return true
}
