package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/port/claims"
	"github.com/writ-dev/writ/port/exec"
	"github.com/writ-dev/writ/port/http"
	"github.com/writ-dev/writ/port/model"
	"github.com/writ-dev/writ/port/wasm"
)

// judgedCall is a call as policy judges it: made of the arguments of a node as the
// ports make it, and of what an agent file says about the tool.
type judgedCall struct {
	policy.Call
	// unknown is what only --with can say, since the pack grants nothing of this
	// name: the call is refused whatever it is, and a change cannot be shown.
	unknown string
	anyOf   bool // the pack leaves it open, so it stands for all
}

// exampleArgs are arguments of the kinds that cannot do without.
var exampleArgs = map[policy.Kind]string{
	policy.KindHTTP:   `{"method": "GET", "url": "https://api.example.com/notes"}`,
	policy.KindClaims: `{"action": "read", "query": {}}`,
	policy.KindState:  `{"action": "read"}`,
}

// call makes the call that is to be judged.
func (o *explainOptions) call(p *policy.Policy, kind policy.Kind, target string) (*judgedCall, error) {
	c := &judgedCall{Call: policy.Call{Kind: kind, Name: target, NowMS: o.Now().UnixMilli()}}
	if o.args.set {
		doc, err := artifact.ParseDocument([]byte(o.args.text), "--args")
		if err != nil {
			return nil, err
		}
		c.Args = doc.Value()
	}
	example, needsArgs := exampleArgs[kind]
	switch {
	case needsArgs && !o.args.set:
		return nil, usagef("Write them like --args '"+example+"'", "a call of %s is judged by its arguments, and --args is missing", kind)
	case o.args.set && (kind == policy.KindEvent || kind == policy.KindApproval):
		return nil, usagef("Leave out --args.", "policy judges no arguments of %s", kind)
	case o.args.set && c.Args.Kind() != artifact.KindObject:
		return nil, usagef(`Write them like --args '{"q": "x"}'`, "the arguments are no object")
	}
	with := "{}"
	if o.with.set {
		with = o.with.text
	}
	doc, err := artifact.ParseDocument([]byte(with), "--with")
	if err != nil {
		return nil, err
	}
	r := artifact.NewReader(doc)
	w := r.Root().Object()
	c.Capability, c.Namespace, c.Write = w.May("capability").Identifier(), w.May("namespace").Identifier(), w.May("write").Bool()
	c.Reserve = readReserve(w.May("reserve"))
	shapeErr := c.shape(p, w)
	w.RefuseUnknown()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if shapeErr != nil {
		return nil, fmt.Errorf("%s %s refuses the arguments before any policy is asked: %w", kind, target, shapeErr)
	}
	return c, nil
}

func readReserve(f artifact.Field) policy.Amount {
	if !f.Present() {
		return policy.Amount{}
	}
	o := f.Object()
	a := policy.Amount{Tokens: o.May("tokens").Uint64(), Units: o.May("units").Uint64(), DurationMS: policy.ReadDuration(o.May("duration"))}
	for currency, n := range o.May("cost_micros").Map() {
		if a.Cost == nil {
			a.Cost = policy.Money{}
		}
		a.Cost[currency] = n.Uint64()
	}
	o.RefuseUnknown()
	return a
}

// shape completes the call. What an agent file would say and --with does not is
// what the pack names.
func (c *judgedCall) shape(p *policy.Policy, w *artifact.Object) (err error) {
	g := &policy.Grant{}
	if c.Kind <= policy.KindEvent {
		g = cmp.Or(p.Pack().Grants[c.Kind][c.Name], g)
	}
	granted := p.Granted(c.Kind)
	isGranted := slices.Contains(granted, c.Name) || slices.Contains(granted, "*")
	switch c.Kind {
	case policy.KindExec:
		command := exec.Command{Program: cmp.Or(w.May("program").Text(), g.Program), Args: texts(w.May("args")), Env: texts(w.May("env"))}
		if command.Program == "" {
			command.Program, c.unknown = "/unknown", "program"
		}
		c.Call, err = command.Shape(c.Call)
	case policy.KindHTTP:
		c.Call, err = http.Shape(c.Call)
	case policy.KindClaims:
		c.Call, err = claims.Shape(c.Call)
	case policy.KindWASM:
		m := wasm.Module{Digest: c.digest(w, "module", g.Modules, isGranted), MemoryBytes: cmp.Or(w.May("memory_bytes").Uint64(), g.MemoryBytes, policy.DefaultMemoryBytes)}
		c.Call, err = m.Shape(c.Call)
	case policy.KindModel:
		m := model.Model{ID: c.Name, MaxOutputTokens: cmp.Or(w.May("max_output_tokens").Uint64(), g.MaxOutputTokens, model.DefaultOutputTokens)}
		if c.Output = m.MaxOutputTokens; !c.Args.IsNull() {
			c.Call, err = m.Shape(c.Call)
		}
	case policy.KindRetrieve:
		c.Manifest, c.Namespaces = w.May("manifest").Text(), texts(w.May("namespaces"))
		if c.Manifest == "" && len(g.Manifests) == 1 {
			c.Manifest = g.Manifests[0]
		}
	case policy.KindHandoff:
		c.Graph = c.digest(w, "graph", g.Graphs, isGranted)
	case policy.KindState:
		r := artifact.NewReader(artifact.DocumentOf(c.Args, "arguments"))
		o := r.Root().Object()
		c.Action, c.Args = o.Need("action").Enum("read", "write"), artifact.Value{}
		o.RefuseUnknown()
		err = r.Err()
	}
	return err
}

func texts(f artifact.Field) []string {
	var list []string
	for _, e := range f.List() {
		list = append(list, e.Text())
	}
	return list
}

// digest gives the digest that is told, or else the first that the pack names, or
// else one that stands for any.
func (c *judgedCall) digest(w *artifact.Object, key string, named []artifact.Digest, isGranted bool) artifact.Digest {
	if f := w.May(key); f.Present() {
		d, err := artifact.ParseDigest(f.Text())
		if err != nil && f.Kind() == artifact.KindString {
			f.Report("%v", err)
		}
		return d
	}
	if len(named) > 0 {
		return named[0]
	}
	if c.anyOf = isGranted; !isGranted {
		c.unknown = key
	}
	return artifact.Sum([]byte("any"))
}

// callShown is the JSON form of what was judged.
type callShown struct {
	Kind         string         `json:"kind"`
	Name         string         `json:"name"`
	Action       string         `json:"action,omitzero"`
	URL          string         `json:"url,omitzero"`
	Program      string         `json:"program,omitzero"`
	Args         []string       `json:"args,omitzero"` // of the program
	Env          []string       `json:"env,omitzero"`
	Module       string         `json:"module,omitzero"`
	MemoryBytes  uint64         `json:"memory_bytes,omitzero"`
	OutputTokens uint64         `json:"output_tokens,omitzero"`
	Manifest     string         `json:"manifest,omitzero"`
	Namespaces   []string       `json:"namespaces,omitzero"`
	Graph        string         `json:"graph,omitzero"`
	Capability   string         `json:"capability,omitzero"`
	Namespace    string         `json:"namespace,omitzero"`
	Write        bool           `json:"write,omitzero"`
	Arguments    artifact.Value `json:"arguments,omitzero"`

	any bool // the graph is one of all
}

// shown gives the parts of the call, without what stands for something unknown.
func (c *judgedCall) shown() callShown {
	s := callShown{
		Kind: c.Kind.String(), Name: c.Name, Action: c.Action, URL: c.URL, Program: c.Program, Env: c.Env, MemoryBytes: c.Memory,
		OutputTokens: c.Output, Manifest: c.Manifest, Namespaces: c.Namespaces, Capability: c.Capability, Namespace: c.Namespace,
		Write: c.Write, Arguments: c.Args, any: c.anyOf && c.Kind == policy.KindHandoff,
	}
	for _, a := range c.Argv {
		s.Args = append(s.Args, a.Text)
	}
	if c.unknown == "program" {
		s.Program = ""
	}
	if c.unknown == "" && !c.anyOf {
		if !c.Module.IsZero() {
			s.Module = c.Module.String()
		}
		if !c.Graph.IsZero() {
			s.Graph = c.Graph.String()
		}
	}
	return s
}

// write shows a person what was judged.
func (s callShown) write(p *page) {
	t := &table{indent: 2}
	row := func(label, words string) {
		if words != "" {
			t.add(cell(dim, label), spans(text(words)))
		}
	}
	quoted := make([]string, len(s.Args))
	for i, a := range s.Args {
		quoted[i] = shellWord(a)
	}
	row("runs", strings.Join(append(slices.DeleteFunc([]string{s.Program}, func(w string) bool { return w == "" }), quoted...), " "))
	row("env", strings.Join(s.Env, " "))
	if s.URL != "" {
		row("request", s.Action+" "+s.URL)
	} else {
		row("action", s.Action)
	}
	row("module", s.Module)
	if s.MemoryBytes > 0 {
		row("memory", counted(s.MemoryBytes, "byte"))
	}
	if s.OutputTokens > 0 {
		row("answer", "at most "+counted(s.OutputTokens, "token"))
	}
	row("manifest", s.Manifest)
	row("namespaces", strings.Join(s.Namespaces, " "))
	row("graph", s.Graph)
	if s.any {
		row("graph", "any, since the pack names none")
	}
	row("capability", s.Capability)
	if s.Namespace != "" {
		row("namespace", s.Namespace+map[bool]string{false: ", to read", true: ", to write"}[s.Write])
	}
	if _, more := s.Arguments.Get("stdin"); !s.Arguments.IsNull() && (more || s.Kind != policy.KindExec.String()) {
		row("arguments", s.Arguments.String())
	}
	if len(t.rows) > 0 {
		p.table(t)
		p.blank()
	}
}

// reserved is what a permit reserves, and how long the call may take.
type reserved struct {
	Calls     uint64      `json:"calls,omitzero"`
	Tokens    uint64      `json:"tokens,omitzero"`
	Units     uint64      `json:"units,omitzero"`
	Cost      event.Money `json:"cost_micros,omitempty"`
	Duration  string      `json:"duration,omitzero"`
	TimeLimit string      `json:"timeout,omitzero"`
}

func reservedOf(p policy.Permit) reserved {
	r := reserved{Calls: p.Reserve.Calls, Tokens: p.Reserve.Tokens, Units: p.Reserve.Units, Cost: event.Money(p.Reserve.Cost)}
	if p.Reserve.DurationMS > 0 {
		r.Duration = policy.FormatDuration(p.Reserve.DurationMS)
	}
	if p.TimeoutMS > 0 {
		r.TimeLimit = policy.FormatDuration(p.TimeoutMS)
	}
	return r
}

// isMore reports whether there is more to say than that a call is a call.
func (r reserved) isMore() bool {
	return r.Calls > 1 || r.Tokens > 0 || r.Units > 0 || len(r.Cost) > 0 || r.Duration != "" || r.TimeLimit != ""
}

func (r reserved) words() string {
	var words []string
	for _, x := range []struct {
		n    uint64
		unit string
	}{{r.Calls, "call"}, {r.Tokens, "token"}, {r.Units, "unit"}} {
		if x.n > 0 {
			words = append(words, counted(x.n, x.unit))
		}
	}
	for _, currency := range artifact.SortedNames(r.Cost) {
		words = append(words, micros(r.Cost[currency])+" "+currency)
	}
	if r.Duration != "" {
		words = append(words, r.Duration+" of effects")
	}
	text := "reserves " + strings.Join(words, ", ")
	if r.TimeLimit != "" {
		text += "; ended after " + r.TimeLimit
	}
	return text
}
