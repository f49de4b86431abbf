package policy_test

import (
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

func TestApprovals(t *testing.T) {
	p := research(t)
	key := func(name string) policy.Principal { return policy.Principal{Name: name, Credential: digest(name)} }
	yes := func(by policy.Principal, method policy.Method, at int64) policy.Decision {
		return policy.Decision{Proposal: digest("shown"), Approve: true, By: by, Method: method, DecidedMS: at}
	}
	no := yes(key("eve"), policy.MethodAsserted, now)
	no.Approve = false
	other := yes(key("bob"), policy.MethodKey, now)
	other.Proposal = digest("shown ")
	for _, c := range []struct {
		name      string
		decisions []policy.Decision
		code      policy.Code
		why       policy.Code // among the further reasons
	}{
		{"nobody", nil, policy.CodeApprovalRequired, ""},
		{"two keys", []policy.Decision{yes(key("ann"), policy.MethodKey, now), yes(key("bob"), policy.MethodToken, now)}, "", ""},
		{"one of two", []policy.Decision{yes(key("ann"), policy.MethodKey, now)}, policy.CodeApprovalRequired, ""},
		{"one key twice", []policy.Decision{yes(key("ann"), policy.MethodKey, now), yes(key("ann"), policy.MethodKey, now)}, policy.CodeApprovalRequired, ""},
		{"one key under two names", []policy.Decision{
			yes(key("ann"), policy.MethodKey, now), yes(policy.Principal{Name: "bob", Credential: digest("ann")}, policy.MethodKey, now),
		}, policy.CodeApprovalRequired, ""},
		{"three names that somebody typed", []policy.Decision{
			yes(policy.Principal{Name: "ann"}, policy.MethodAsserted, now), yes(policy.Principal{Name: "bob"}, policy.MethodAsserted, now),
			yes(policy.Principal{Name: "cy"}, policy.MethodAsserted, now),
		}, policy.CodeApprovalMethod, ""},
		{"only other bytes", []policy.Decision{other}, policy.CodeApprovalStale, ""},
		{"only the starter", []policy.Decision{yes(key("starter"), policy.MethodKey, now)}, policy.CodeApprovalSelf, ""},
		{"a token that nobody has", []policy.Decision{yes(policy.Principal{Name: "ann"}, policy.MethodToken, now), yes(key("bob"), policy.MethodKey, now)}, policy.CodeApprovalRequired, policy.CodeApprovalMethod},
		{"the starter", []policy.Decision{yes(key("starter"), policy.MethodKey, now), yes(key("bob"), policy.MethodKey, now)}, policy.CodeApprovalRequired, policy.CodeApprovalSelf},
		{"the starter with another key", []policy.Decision{
			yes(policy.Principal{Name: "starter", Credential: digest("second")}, policy.MethodKey, now), yes(key("bob"), policy.MethodKey, now),
		}, policy.CodeApprovalRequired, policy.CodeApprovalSelf},
		{"other bytes", []policy.Decision{yes(key("ann"), policy.MethodKey, now), other}, policy.CodeApprovalRequired, policy.CodeApprovalStale},
		{"yesterday", []policy.Decision{yes(key("ann"), policy.MethodKey, now-86_400_000), yes(key("bob"), policy.MethodKey, now)}, policy.CodeApprovalRequired, policy.CodeApprovalStale},
		{"from the future", []policy.Decision{yes(key("ann"), policy.MethodKey, now+1), yes(key("bob"), policy.MethodKey, now)}, policy.CodeApprovalRequired, policy.CodeApprovalStale},
		{"a no counts however weak", []policy.Decision{yes(key("ann"), policy.MethodKey, now), yes(key("bob"), policy.MethodKey, now), no}, policy.CodeApprovalRejected, ""},
	} {
		call := policy.Call{
			Kind: policy.KindTool, Name: "file_ticket", Capability: "tickets", Namespace: "tickets", Write: true, NowMS: now,
			Args: args(t, `{"title":"x","priority":"low"}`), Proposal: digest("shown"), Decisions: c.decisions, Starter: key("starter"),
		}
		permit, d := p.Authorize(call, nil)
		switch {
		case c.code == "":
			if d != nil || !permit.Approved {
				t.Errorf("%s: %v", c.name, d)
			}
		case d == nil || d.Code != c.code || d.Fix.YAML != "":
			t.Errorf("%s: %v, want %s", c.name, d, c.code)
		case c.why != "" && (len(d.Also) == 0 || d.Also[0].Code != c.why):
			t.Errorf("%s: also %v, want %s", c.name, d.Also, c.why)
		case c.code == policy.CodeApprovalRequired && (d.Approval == nil || d.Approval.Quorum != 2 || d.Approval.Method != policy.MethodToken || d.Approval.ExpiresMS != 86_400_000):
			t.Errorf("%s: asks for %+v", c.name, d.Approval)
		}
	}
}

// An approval without the bytes it is about approves nothing.
func TestApprovalNeedsAProposal(t *testing.T) {
	r := policy.Requirement{Quorum: 1}
	d := r.Check(artifact.Digest{}, policy.Principal{Name: "s"}, now, []policy.Decision{{Approve: true, By: policy.Principal{Name: "a"}}})
	if d == nil || d.Code != policy.CodeApprovalStale {
		t.Errorf("%v", d)
	}
}

// Where programs or proxied tools are granted, a typed name approves nothing
// unless the pack says so.
func TestDefaultMethod(t *testing.T) {
	for text, want := range map[string]policy.Method{
		"tools: {a: {approval: {}}}\n":                                                                 policy.MethodAsserted,
		"tools: {a: {approval: {}}, b: {proxied: true}}\n":                                             policy.MethodToken,
		"tools: {a: {approval: {}}}\nexec: {e: {program: /a}}\n":                                       policy.MethodToken,
		"tools: {a: {approval: {minimum_method: key}}}\nexec: {e: {program: /a}}\n":                    policy.MethodKey,
		"tools: {a: {approval: {}}}\nexec: {e: {program: /a}}\napprovals: {minimum_method: os-user}\n": policy.MethodOSUser,
		"tools: {a: {approval: {minimum_method: asserted}}}\napprovals: {minimum_method: key}\n":       policy.MethodKey,
	} {
		p := compile(t, "version: 2\nid: p\n"+text, options())
		_, d := p.Authorize(policy.Call{Kind: policy.KindTool, Name: "a"}, nil)
		if d == nil || d.Approval == nil || d.Approval.Method != want {
			t.Errorf("%s: %v, want %s", text, d, want)
		}
	}
}

func TestMarks(t *testing.T) {
	m := &policy.Marks{}
	m.Set("/a", policy.FromModel)
	m.Set("/a/b", 0)
	m.Set("/c/d", policy.FromTool)
	for pointer, want := range map[string]policy.Taint{
		"": policy.FromModel | policy.FromTool, "/a": policy.FromModel, "/a/x": policy.FromModel, "/a/b": 0, "/a/b/c": 0, "/ab": 0,
		"/c": policy.FromTool, "/c/d/e": policy.FromTool, "/c/x": 0,
	} {
		if got := m.At(pointer); got != want {
			t.Errorf("%q: %s, want %s", pointer, got, want)
		}
	}
	if got := strings.Join(m.Pointers(), " "); got != "/a /c/d" {
		t.Errorf("pointers %s", got)
	}
	r := artifact.NewReader(artifact.DocumentOf(m.Value(), "marks"))
	again := policy.ReadMarks(r.Root())
	if r.Err() != nil || again.Value().String() != m.Value().String() {
		t.Errorf("%v, read back %v", m.Value(), again.Value())
	}
	m.Set("", policy.FromRequest)
	if m.At("/a/b") != policy.FromRequest || m.At("/c/d") != policy.FromRequest {
		t.Error("a mark of the document does not cover all of it")
	}
	if policy.FromRequest.IsDerived() || !(policy.FromRequest | policy.FromKnowledge).IsDerived() {
		t.Error("what a person sends is derived, or knowledge is not")
	}
	if (*policy.Marks)(nil).At("/a") != 0 {
		t.Error("no marks mark something")
	}
}
