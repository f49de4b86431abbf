package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// hide makes a plan of a call by taking away parts of what is known of it.
func hide(t *rapid.T, call policy.Call) policy.Planned {
	c := policy.Planned{Call: call}
	c.Taint, c.Decisions, c.Proposal = nil, nil, artifact.Digest{}
	if maybe(t, "hide args") {
		c.Args, c.Unknown = artifact.Value{}, []string{""}
	} else {
		for _, m := range call.Args.Members() {
			if maybe(t, "hide "+m.Name) {
				c.Args = c.Args.With(m.Name, artifact.StringValue("=hidden"))
				c.Unknown = append(c.Unknown, "/"+m.Name)
			}
		}
	}
	if (call.Kind == policy.KindHTTP || call.Kind == policy.KindClaims) && maybe(t, "hide action") {
		c.Action, c.UnknownAction = "", true
	}
	if call.Kind == policy.KindHTTP && maybe(t, "hide url") {
		c.URL, c.UnknownURL = "", true
	}
	if call.Kind != policy.KindExec {
		return c
	}
	c.Argv = slices.Clone(call.Argv)
	if c.OpenArgv = maybe(t, "hide tail"); c.OpenArgv {
		c.Argv = c.Argv[:rapid.IntRange(0, len(c.Argv)).Draw(t, "length")]
	}
	for i := range c.Argv {
		c.Argv[i].Taint = 0
		c.UnknownArgv = append(c.UnknownArgv, maybe(t, "hide argument"))
		if c.UnknownArgv[i] {
			c.Argv[i].Text = "=hidden"
		}
	}
	return c
}

// ofRun are the reasons that a run brings.
var ofRun = []policy.Code{
	policy.CodeApprovalRequired, policy.CodeApprovalStale, policy.CodeApprovalMethod, policy.CodeApprovalSelf, policy.CodeApprovalRejected,
	policy.CodePackExpired, policy.CodePackNotYetValid, policy.CodeTaintedArgument,
}

// lasting leaves out what a run brings, and where reasons are found.
func lasting(d *policy.Denial) []string {
	var list []string
	for _, r := range d.Reasons() {
		if !slices.Contains(ofRun, r.Code) {
			list = append(list, r.Message+" "+r.Rule)
		}
	}
	return list
}

// Nothing is foreseen that a call of the plan would not meet.
func TestForeseeIsNeverTooStrict(t *testing.T) {
	permitted, foreseen := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text, agent := drawPack(t)
		if maybe(t, "generous") {
			text, agent = drawGenerousPack(t), ""
		}
		p := compileDrawn(t, text, agent)
		call := drawCall(t)
		if call.Kind == policy.KindState {
			return
		}
		planned := hide(t, call)
		d := p.Foresee(planned)
		if d != nil {
			foreseen++
		}
		if _, real := p.Authorize(call, p.Ledger()); len(lasting(real)) > 0 {
			return
		}
		if permitted++; d != nil {
			t.Fatalf("permitted %+v\nand not foreseen so: %v %v\nof %+v\n%s", call, d, d.Also, planned, text)
		}
	})
	if t.Logf("%d calls permitted, %d plans refused", permitted, foreseen); permitted == 0 || foreseen == 0 {
		t.Error("one side was never seen")
	}
}

// All that is wrong with a call that is known in full is foreseen.
func TestForeseeKnowsAllOfAKnownCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, agent := drawPack(t)
		p := compileDrawn(t, text, agent)
		call := drawCall(t)
		if call.Kind == policy.KindState || strings.Contains(text, "tainted") {
			return
		}
		call.Taint = nil
		_, d := p.Authorize(call, p.Ledger())
		if got, want := lasting(p.Foresee(policy.Planned{Call: call})), lasting(d); !slices.Equal(got, want) {
			t.Fatalf("foreseen %q\nand refused  %q\n%+v\n%s", got, want, call, text)
		}
	})
}

// The change that a plan asks for is enough for it.
func TestForeseenFixIsEnough(t *testing.T) {
	fixed, without := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text, agent := drawPack(t)
		p := compileDrawn(t, text, agent)
		call := drawCall(t)
		if call.Kind == policy.KindState {
			return
		}
		planned := hide(t, call)
		d := p.Foresee(planned)
		switch {
		case d == nil:
			return
		case d.Fix.Words == "" || strings.Contains(d.Fix.Words+d.Fix.YAML, "hidden") || strings.Contains(d.Fix.YAML, "invalid"):
			t.Fatalf("%v: fix %+v", d, d.Fix)
		case d.Fix.YAML == "":
			without++
			return
		}
		after, err := d.Fix.Apply(p.Pack())
		if err != nil {
			t.Fatal(err)
		}
		if again := compileDrawn(t, artifactText(after), agent).Foresee(planned); again != nil {
			t.Fatalf("%v\nalso %v\nfix: %s\n%s\nstill: %v\n%+v\n%s", d, d.Also, d.Fix.Words, d.Fix.YAML, again, planned, text)
		}
		fixed++
	})
	if t.Logf("%d fixed, %d without a fix", fixed, without); fixed == 0 || without == 0 {
		t.Error("one side was never seen")
	}
}

func artifactText(p *policy.Pack) string { return p.Value().String() }

// plans are calls of which parts are known, under one pack.
const plans = `version: 2
id: p
capabilities: {}
tools:
  pay:
    arguments:
      type: object
      required: [to]
      additionalProperties: false
      properties:
        to: {enum: [a, b]}
        cents: {type: integer, maximum: 100}
        note: {type: object, required: [text]}
        tags: {maxItems: 1}
        list: {uniqueItems: true}
      if: {properties: {to: {const: b}}}
      then: {properties: {cents: {maximum: 5}}}
    when: ["args.cents < 50", "!('/to' in tainted)"]
  echo: {when: ["size(tainted) > 0"]}
exec:
  show: {program: /bin/show, args: [-n, {match: "[0-9]+"}, {match: "[a-z]+", repeat: true}], env: [HOME]}
http:
  api: {hosts: [a.test], methods: [GET], when: ["action == 'GET'"]}
  two: {hosts: [a.test], methods: [GET, POST], when: ["action == 'POST'"]}
  port: {hosts: ["a.test:443", b.test], methods: [GET]}
  ports: {hosts: ["a.test:443"], methods: [GET]}
  cleartext: {hosts: ["a.test:443"], methods: [GET], schemes: [http, https]}
  nowhere: {hosts: [], methods: [GET]}
claims:
  facts: {actions: [read]}
  nothing: {actions: []}
`

func TestForesee(t *testing.T) {
	p := compile(t, plans, options())
	pay := func(arguments string, unknown ...string) policy.Planned {
		return policy.Planned{Call: policy.Call{Kind: policy.KindTool, Name: "pay", Args: args(t, arguments)}, Unknown: unknown}
	}
	show := func(open bool, argv ...string) policy.Planned {
		c := policy.Planned{Call: policy.Call{Kind: policy.KindExec, Name: "show", Program: "/bin/show", Argv: inputs(argv...)}, OpenArgv: open}
		for _, a := range argv {
			c.UnknownArgv = append(c.UnknownArgv, a == "?")
		}
		return c
	}
	request := func(name, method, url string) policy.Planned {
		return policy.Planned{Call: policy.Call{Kind: policy.KindHTTP, Name: name, Action: method, URL: url}, UnknownAction: method == "", UnknownURL: url == ""}
	}
	claim := func(name, action string, unknown bool) policy.Planned {
		return policy.Planned{Call: policy.Call{Kind: policy.KindClaims, Name: name, Action: action}, UnknownAction: unknown}
	}
	const unsaid = "write rules for the arguments of exec.show, not all of which the graph says"
	for _, c := range []struct {
		name    string
		planned policy.Planned
		want    string // the reasons
		fix     string // words, then the change
	}{
		{"all unknown", pay(`null`, ""), "", ""},
		{"one unknown that decides", pay(`{"to":"a","cents":"="}`, "/cents"), "", ""},
		{"a condition over what is known", pay(`{"to":"=","cents":60}`, "/to"), `condition "args.cents < 50" is false`, `drop the condition "args.cents < 50" of tools.pay`},
		{"a value that never fits", pay(`{"to":"=","cents":101}`, "/to"), `/cents must be at most 100|condition "args.cents < 50" is false`, "in the schema of tools.pay move /properties/cents/maximum to 101"},
		{"under a condition of the schema", pay(`{"to":"=","cents":10}`, "/to"), "", ""},
		{"the same when it is known", pay(`{"to":"b","cents":10}`), "/cents must be at most 5", "in the schema of tools.pay move /then/properties/cents/maximum to 10"},
		{"a name that is missing", pay(`{"cents":"="}`, "/cents"), `must have the member "to"`, "in the schema of tools.pay drop to from /required"},
		{"a name that is too much", pay(`{"to":"a","cents":"=","too":"="}`, "/cents", "/too"), `/too is not a known member; did you mean "to"?`, "in the schema of tools.pay add the member too beside /additionalProperties"},
		{"a member that is missing deeper", pay(`{"to":"a","cents":"=","note":{"x":"="}}`, "/cents", "/note/x"), `/note must have the member "text"`, "in the schema of tools.pay drop text from /properties/note/required"},
		{"a list that is too long", pay(`{"to":"a","cents":"=","tags":["=","="]}`, "/cents", "/tags/0", "/tags/1"), "/tags must have at most 1 items", "in the schema of tools.pay move /properties/tags/maxItems to 2"},
		{"a list of unknown values", pay(`{"to":"a","cents":"=","list":["=","="]}`, "/cents", "/list/0", "/list/1"), "", ""},
		{"what a run taints", policy.Planned{Call: policy.Call{Kind: policy.KindTool, Name: "echo"}}, "", ""},

		{"arguments that are known", show(false, "-n", "1", "a"), "", ""},
		{"an unknown argument", show(false, "-n", "?", "a", "?"), "", ""},
		{"an unknown text for a fixed one", show(false, "?", "1"), "", ""},
		{"an unknown end", show(true, "-n"), "", ""},
		{"a first one that never fits", show(true, "-x"), "argument 1 is not the text that the pack names", unsaid},
		{"one among unknown ones", show(false, "-n", "?", "a", "B", "?"), "argument 4 does not match [a-z]+", unsaid},
		{"too few", show(false, "?"), "1 of 3 arguments are there", unsaid},

		{"method and address unknown", request("api", "", ""), "", ""},
		{"a condition over an unknown method", request("two", "", ""), "", ""},
		{"an address at one of the hosts", request("port", "GET", ""), "", ""},
		{"a host that is never asked for", request("ports", "GET", ""), "the grant names nothing that http ports may do", "say what http ports may do"},
		{"the same over http", request("cleartext", "GET", ""), "", ""},
		{"no host", request("nowhere", "", ""), "the grant names nothing that http nowhere may do", "say what http nowhere may do"},
		{"no action to take", claim("nothing", "", true), "the grant names nothing that claims nothing may do", "say what claims nothing may do"},
		{"method unknown", request("api", "", "https://b.test/"), "host b.test is not granted; did you mean \"a.test\"?", "add b.test to hosts of http.api"},
		{"address unknown", request("api", "POST", ""), `method POST is not granted|condition "action == 'GET'" is false`, "add POST to methods of http.api"},
		{"nothing granted, all known", request("other", "GET", "https://b.test/"), "http other is not granted", "grant http other\n    hosts: [b.test]\n    methods: [GET]\n"},
		{"nothing granted, address unknown", request("other", "GET", ""), "http other is not granted", "grant http other and write its hosts, which the graph does not say"},
		{"nothing granted, all unknown", request("other", "", ""), "http other is not granted", "grant http other and write its hosts and methods, which the graph does not say"},
		{"nothing granted, and malformed", request("other", "get", "https://b.test/"), "http other is not granted|the method is not in upper case", "no change to the pack helps: the call is malformed; grant http other"},

		{"action unknown", claim("facts", "", true), "", ""},
		{"action not granted", claim("facts", "commit", false), "claims of facts may not be used to commit", "add commit to actions of claims.facts"},
		{"no action", claim("facts", "", false), "claims are read, proposed or committed, and the call says neither", "no change to the pack helps: the call is malformed"},
		{"claims not granted", claim("other", "commit", false), "claims other is not granted", "grant claims other\n    actions: [commit]\n"},
		{"claims not granted, action unknown", claim("other", "", true), "claims other is not granted", "grant claims other and write its actions, which the graph does not say"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := p.Foresee(c.planned)
			var got []string
			for _, r := range d.Reasons() {
				got = append(got, r.Message)
			}
			if strings.Join(got, "|") != c.want {
				t.Fatalf("got  %s\nwant %s", strings.Join(got, "|"), c.want)
			}
			if d == nil {
				return
			}
			words, yaml, _ := strings.Cut(c.fix, "\n")
			if !strings.HasPrefix(d.Fix.Words, words) || !strings.HasSuffix(d.Fix.YAML, yaml) || (d.Fix.YAML == "") != (strings.Contains(words, "which the graph") || strings.Contains(words, "malformed") || strings.HasPrefix(words, "say what")) {
				t.Errorf("fix %s\n%s\nwant %s\n%s", d.Fix.Words, d.Fix.YAML, words, yaml)
			}
		})
	}
}

// TestForeseeBounds: what the graph and its callers allow counts too, and is no
// matter of the pack.
func TestForeseeBounds(t *testing.T) {
	p := compile(t, "version: 2\nid: p\nlimits: {tokens: 100}\nmodels: {m: {max_output_tokens: 50}}\n", options())
	c := policy.Planned{Call: policy.Call{Kind: policy.KindModel, Name: "m", Output: 40, Reserve: policy.Amount{Tokens: 40}}}
	if d := p.Foresee(c); d != nil {
		t.Fatal(d)
	}
	d := p.Foresee(c, policy.Bound{Source: "graph g", Limits: policy.Limits{Tokens: artifact.Some[uint64](30)}})
	if d == nil || d.Rule != "graph g: tokens" || d.Fix.YAML != "" {
		t.Errorf("%v", d)
	}
	c.Output, c.Reserve.Tokens = 60, 200
	d = p.Foresee(c)
	if d == nil || len(d.Reasons()) != 2 || d.Fix.YAML != "limits:\n  tokens: 200\nmodels:\n  m:\n    max_output_tokens: 60\n" && d.Fix.YAML != "models:\n  m:\n    max_output_tokens: 60\nlimits:\n  tokens: 200\n" {
		t.Errorf("%v %v", d.Reasons(), d.Fix)
	}
}

// TestForeseeApproval: whether people may be asked at all.
func TestForeseeApproval(t *testing.T) {
	c := policy.Planned{Call: policy.Call{Kind: policy.KindApproval, Name: "send it"}}
	if d := compile(t, "version: 2\nid: p\napprovals: {}\n", options()).Foresee(c); d != nil {
		t.Error(d)
	}
	if d := compile(t, "version: 2\nid: p\n", options()).Foresee(c); d == nil || d.Fix.YAML != "approvals: {}\n" {
		t.Errorf("%v", d)
	}
}
