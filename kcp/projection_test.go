package kcp

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
)

// projection writes a Manifest in the shape of the reference's parsed model, so
// that the two can be compared. It is the only place that knows that shape.
//
// The reference drops a malformed block; this model keeps it, marked. The
// findings tell the two apart.
type projection struct {
	malformed map[string]bool // paths with a finding
}

type object = map[string]any

func project(m *Manifest, findings []Finding) object {
	p := projection{malformed: map[string]bool{}}
	for _, f := range findings {
		p.malformed[f.Path] = true
	}
	o := object{"project": m.Project, "version": m.Version, "source": m.Source}
	put(o, "kcp_version", m.KCPVersion)
	if l := m.AuthorityLevelScale; l.Declared {
		o["authority_level_scale"] = items(l)
	}
	units := []any{}
	for i := range m.Units {
		units = append(units, p.unit(&m.Units[i]))
	}
	o["units"] = units
	refs := []any{}
	for _, r := range m.Manifests {
		refs = append(refs, p.ref(r))
	}
	o["manifests"] = refs
	p.payment(o, m.Payment, "payment")
	p.rates(o, m.RateLimits)
	if r := m.Trust.Requirements; r != nil && !r.Malformed {
		inner := object{"trusted_providers": items(r.TrustedProviders)}
		boolean(inner, "require_attestation", r.RequireAttestation)
		put(inner, "attestation_url", r.AttestationURL)
		o["trust"] = object{"agent_requirements": inner}
	}
	if s := m.Signing; s != nil {
		inner := object{}
		put(inner, "scheme", s.Scheme)
		put(inner, "scope", s.Scope)
		put(inner, "public_key", s.PublicKey)
		put(inner, "signature", s.Signature)
		put(inner, "key_id", s.KeyID)
		o["signing"] = inner
	}
	if s := m.Serving; s != nil {
		inner := object{}
		list(inner, "manifest", s.Manifest)
		list(inner, "mcp", s.MCP)
		o["serving"] = inner
	}
	return o
}

func (p projection) unit(u *Unit) object {
	path := "units[" + strconv.Itoa(u.Index) + "]"
	o := object{"id": u.ID, "path": u.Path, "intent": u.Intent,
		"audience": items(u.Audience), "triggers": items(u.Triggers), "not_for": items(u.NotFor)}
	put(o, "scope", u.Scope)
	put(o, "auth_scope", u.AuthScope)
	put(o, "access", u.Access)
	put(o, "kind", u.Kind)
	put(o, "authority_level", u.AuthorityLevel)
	boolean(o, "deprecated", u.Deprecated)
	boolean(o, "load_eligible", u.LoadEligible)
	number(o, "size_tokens", u.SizeTokens)
	number(o, "bytes", u.Bytes)
	if u.StepsDeclared {
		steps := []any{}
		for _, s := range u.Steps {
			steps = append(steps, projectStep(s))
		}
		o["steps"] = steps
	}
	if s := u.ActionScope; s != nil && !p.malformed[path+".action_scope"] {
		o["action_scope"] = p.scope(s)
	}
	p.payment(o, u.Payment, path+".payment")
	p.rates(o, u.RateLimits)
	if t := u.Temporal; t != nil && !p.malformed[path+".temporal"] {
		inner := object{}
		put(inner, "valid_from", t.ValidFrom)
		put(inner, "valid_until", t.ValidUntil)
		put(inner, "superseded_by", t.SupersededBy)
		o["temporal"] = inner
	}
	return o
}

func projectStep(s Step) object {
	o := object{"id": s.ID, "depends_on": items(s.DependsOn)}
	put(o, "uses", s.Uses)
	put(o, "action", s.Action)
	put(o, "authority_level", s.AuthorityLevel)
	put(o, "success_condition", s.SuccessCondition)
	put(o, "on_failure", s.OnFailure)
	put(o, "timeout", s.Timeout)
	list(o, "escalation", s.Escalation)
	return o
}

func (p projection) scope(s *ActionScope) object {
	o := object{"tools": items(s.Tools), "paths": items(s.Paths), "capabilities": items(s.Capabilities)}
	if s.Spend != nil {
		inner := object{"allowed_vendors": items(s.Spend.AllowedVendors)}
		number(inner, "max_spend", s.Spend.MaxSpend)
		put(inner, "currency", s.Spend.Currency)
		o["spend"] = inner
	}
	if s.Deny != nil {
		o["deny"] = object{"tools": items(s.Deny.Tools), "paths": items(s.Deny.Paths),
			"capabilities": items(s.Deny.Capabilities)}
	}
	return o
}

func (p projection) payment(o object, x *Payment, path string) {
	if x == nil || p.malformed[path] {
		return
	}
	inner := object{}
	put(inner, "default_tier", x.DefaultTier)
	put(inner, "billing_contact", x.BillingContact)
	if x.MethodsDeclared {
		methods := []any{}
		for i, m := range x.Methods {
			method := object{"type": m.Type}
			put(method, "currency", m.Currency)
			put(method, "price_per_request", m.PricePerRequest)
			put(method, "wallet", m.Wallet)
			put(method, "provider", m.Provider)
			put(method, "plans_url", m.PlansURL)
			put(method, "upgrade_url", m.UpgradeURL)
			list(method, "networks", m.Networks)
			boolean(method, "free_tier", m.FreeTier)
			number(method, "free_requests_per_day", m.FreeRequestsPerDay)
			if p.malformed[path+".methods["+strconv.Itoa(i)+"].free_requests_per_day"] {
				method["free_requests_per_day"] = nil // the reference keeps NaN
			}
			methods = append(methods, method)
		}
		inner["methods"] = methods
	}
	o["payment"] = inner
}

func (p projection) rates(o object, r *RateLimits) {
	if r == nil {
		return
	}
	inner := object{}
	for name, tier := range map[string]*RateTier{"default": r.Default, "authenticated": r.Authenticated, "premium": r.Premium} {
		if tier == nil {
			continue
		}
		t := object{}
		for name, c := range map[string]Count{
			"requests_per_minute": tier.PerMinute, "requests_per_hour": tier.PerHour, "requests_per_day": tier.PerDay,
		} {
			if c.Unlimited {
				t[name] = "unlimited"
			} else if c.Set {
				t[name] = c.Value
			}
		}
		inner[name] = t
	}
	put(inner, "backoff", r.Backoff)
	o["rate_limits"] = inner
}

func (p projection) ref(r Ref) object {
	o := object{"id": r.ID, "url": r.URL}
	put(o, "label", r.Label)
	put(o, "relationship", r.Relationship)
	put(o, "local_mirror", r.LocalMirror)
	list(o, "context", r.Context)
	if a := r.AgentIdentity; a != nil && !a.Malformed {
		inner := object{}
		boolean(inner, "required", a.Required)
		put(inner, "credential_hint", a.CredentialHint)
		put(inner, "issuer_hint", a.IssuerHint)
		put(inner, "docs_url", a.DocsURL)
		o["agent_identity"] = inner
	}
	return o
}

func put(o object, key string, s String) {
	if s.Set {
		o[key] = s.Value
	}
}

func number(o object, key string, n Number) {
	if n.Set && !math.IsInf(n.Value, 0) {
		o[key] = n.Value
	}
}

// boolean writes a malformed value as the reference's truthiness mostly has it.
func boolean(o object, key string, b Bool) {
	if b.Declared || b.Malformed {
		o[key] = b.Value || b.Malformed
	}
}

func list(o object, key string, l List) {
	if l.Declared {
		o[key] = items(l)
	}
}

func items(l List) []any {
	out := []any{}
	for _, s := range l.Items {
		out = append(out, s)
	}
	return out
}

// sameJSON reports whether a value and JSON text mean the same.
func sameJSON(t *testing.T, got any, want json.RawMessage) bool {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(text, &a) != nil || json.Unmarshal(want, &b) != nil {
		t.Fatalf("bad JSON in %s", want)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
