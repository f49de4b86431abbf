package policy_test

import (
	"maps"
	"slices"
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
	if got := m.Value().String(); got != `{"/a":"model","/a/b":"none","/c/d":"tool"}` {
		t.Errorf("marks %s", got)
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
	if none := (*policy.Marks)(nil); none.At("/a") != 0 || !none.IsEmpty() || none.Derived(artifact.Value{}) != nil || !none.Clone().IsEmpty() {
		t.Error("no marks mark something")
	}
}

func TestMarksAdd(t *testing.T) {
	m := &policy.Marks{}
	m.Set("/a", policy.FromModel)
	m.Set("/a/b", 0)
	m.Set("/c", policy.FromTool)
	m.Add("/c", 0)
	m.Add("/d", 0)
	before := m.Clone()
	m.Add("/a", policy.FromRequest)
	m.Add("/c/d", policy.FromKnowledge)
	if got := m.Value().String(); got != `{"/a":"model+request","/a/b":"request","/c":"tool","/c/d":"tool+knowledge"}` {
		t.Errorf("marks %s", got)
	}
	if got := before.Value().String(); got != `{"/a":"model","/a/b":"none","/c":"tool"}` {
		t.Errorf("the clone changed to %s", got)
	}
}

// TestMarksGraft takes a part out and puts it back in, over what stands there.
func TestMarksGraft(t *testing.T) {
	m := &policy.Marks{}
	m.Set("/a", policy.FromModel)
	m.Set("/a/b", 0)
	m.Set("/ab", policy.FromTool)
	m.Set("/c/d", policy.FromTool)
	pointers := []string{"/a/b", "/c"}
	part := m.Part(pointers)
	if got := part.Value().String(); got != `{"/a/b":"none","/c/d":"tool"}` {
		t.Errorf("part %s", got)
	}
	other := &policy.Marks{}
	other.Set("/a", policy.FromModel)
	other.Set("/a/b/x", policy.FromRequest)
	other.Set("/ab", policy.FromTool)
	other.Set("/c", policy.FromKnowledge)
	if got, want := other.Graft(pointers, part).Value().String(), m.Value().String(); got != want {
		t.Errorf("grafted %s, want %s", got, want)
	}
	none := (*policy.Marks)(nil)
	if got := none.Graft(pointers, none.Part(pointers)); !got.IsEmpty() {
		t.Errorf("grafted %s onto nothing", got.Value())
	}
}

// TestDerived holds the list that conditions see against what is marked.
func TestDerived(t *testing.T) {
	args, err := artifact.ParseValue([]byte(`{"a":{"b":1,"c":[1,{"d/e":2}]},"f":"x","g":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		marks map[string]policy.Taint
		want  string
	}{
		{map[string]policy.Taint{"/f": policy.FromRequest}, ""},
		{map[string]policy.Taint{"/f": policy.FromModel}, "|/f"},
		{map[string]policy.Taint{"/a/b": policy.FromTool, "/g": policy.FromRequest}, "|/a|/a/b"},
		{map[string]policy.Taint{"/a/c": policy.FromTool}, "|/a|/a/c|/a/c/0|/a/c/1|/a/c/1/d~1e"},
		{map[string]policy.Taint{"": policy.FromKnowledge}, "|/a|/a/b|/a/c|/a/c/0|/a/c/1|/a/c/1/d~1e|/f|/g"},
		{map[string]policy.Taint{"": policy.FromKnowledge, "/a": 0, "/f": policy.FromRequest}, "|/g"},
		{map[string]policy.Taint{"": policy.FromKnowledge, "/a": 0, "/a/c/1": policy.FromModel}, "|/a|/a/c|/a/c/1|/a/c/1/d~1e|/f|/g"},
		{map[string]policy.Taint{"/gone/x": policy.FromModel}, "|/gone|/gone/x"},
	} {
		m := &policy.Marks{}
		for _, pointer := range slices.Sorted(maps.Keys(c.marks)) {
			m.Set(pointer, c.marks[pointer])
		}
		got := m.Derived(args)
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", m.Value(), got, c.want)
		}
		for _, pointer := range []string{"", "/a", "/a/b", "/a/c", "/a/c/0", "/a/c/1", "/a/c/1/d~1e", "/f", "/g"} {
			if slices.Contains(got, pointer) != m.At(pointer).IsDerived() {
				t.Errorf("%s: %s at %q, list %q", m.Value(), m.At(pointer), pointer, got)
			}
		}
	}
}
