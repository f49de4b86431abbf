package agentfile

import (
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
)

// Tool is what a tool node calls. It has one of Answers, Command, Endpoint, Module
// and Claims.
type Tool struct {
	Capability string        // that the pack must grant
	Namespace  string        // that it works in
	Write      bool          // whether it changes what is there
	Arguments  schema.Schema // of its arguments; nil for any
	Reserve    policy.Amount // the most that one call uses

	Answers  []Answer
	Command  *Command
	Endpoint *Endpoint
	Module   *Module
	Claims   *Claims
}

// Kind says as what policy judges the tool.
func (t Tool) Kind() policy.Kind {
	switch {
	case t.Command != nil:
		return policy.KindExec
	case t.Endpoint != nil:
		return policy.KindHTTP
	case t.Module != nil:
		return policy.KindWASM
	case t.Claims != nil:
		return policy.KindClaims
	}
	return policy.KindTool
}

// Answer is one fixed answer of a tool. The first whose When is part of the
// arguments is given.
type Answer struct {
	When    artifact.Value // members that the arguments must have; null for any
	Result  artifact.Value
	Failure *Failure
	Usage   policy.Amount
}

// Failure is a fixed failure.
type Failure struct {
	Class   string
	Message string
}

// Command is a program; see package port/exec.
type Command struct {
	Program    string
	Args       []string
	Dir        string // relative to the file's folder; "" for that folder
	Env        []string
	Set        map[string]string
	Secrets    map[string]string
	ExitCodes  []int
	JSON       bool
	GraceMS    uint64
	Idempotent bool
}

func (l *loader) readTools(f artifact.Field) map[string]Tool {
	tools := map[string]Tool{}
	if !f.Present() {
		return tools
	}
	for name, field := range f.Map() {
		o := field.Object()
		t := Tool{
			Capability: o.May("capability").Text(), Namespace: o.May("namespace").Text(), Write: o.May("write").Bool(),
			Arguments: l.readSchema(o.May("arguments")), Reserve: readAmount(o.May("reserve")),
		}
		l.readWork(name, o, &t)
		o.RefuseUnknown()
		if l.o.Check != nil {
			for _, p := range l.o.Check(t) {
				l.refuse(place{doc: l.doc, prefix: field.Pointer()}, p.Pointer, "tool %s: %s", name, p.Text)
			}
		}
		tools[name] = t
	}
	return tools
}

// readWork reads what does the work of a tool.
func (l *loader) readWork(name string, o *artifact.Object, t *Tool) {
	ways := 0
	if answers := o.May("answers"); answers.Present() {
		ways++
		for _, a := range answers.List() {
			t.Answers = append(t.Answers, readAnswer(a))
		}
	}
	if command := o.May("command"); command.Present() {
		ways++
		t.Command = l.readCommand(command)
	}
	if endpoint := o.May("http"); endpoint.Present() {
		ways++
		t.Endpoint = l.readEndpoint(endpoint)
	}
	if module := o.May("wasm"); module.Present() {
		ways++
		t.Module = l.readModule(module)
	}
	if claims := o.May("claims"); claims.Present() {
		ways++
		x := claims.Object()
		t.Claims = &Claims{File: l.resolve(x.Need("file"))}
		x.RefuseUnknown()
	}
	if ways != 1 {
		o.Field().Report("tool %s: write one of answers, command, http, wasm and claims", name)
	}
}

// Module is a WebAssembly module; see package port/wasm.
type Module struct {
	Bytes       []byte
	Digest      artifact.Digest // of the bytes, which the pack names
	Function    string          // of a library; "" for a WASI command
	MemoryBytes uint64
}

// maxModuleBytes bounds a module, which is kept with the agent of every run.
const maxModuleBytes = 32 << 20

func (l *loader) readModule(f artifact.Field) *Module {
	o := f.Object()
	m := &Module{Function: o.May("function").Text(), MemoryBytes: o.May("memory_bytes").Uint64()}
	file := o.Need("file")
	o.RefuseUnknown()
	name := l.resolve(file)
	if !file.Present() || name == "" {
		return m
	}
	var err error
	if m.Bytes, err = l.file(name, maxModuleBytes); err != nil {
		file.Report("%s", err)
	}
	m.Digest = artifact.Sum(m.Bytes)
	return m
}

// Claims is an embedded claim graph; see package port/claims.
type Claims struct {
	File string // of the journal, which is made when it is first used
}

func readAmount(f artifact.Field) policy.Amount {
	if !f.Present() {
		return policy.Amount{}
	}
	o := f.Object()
	a := policy.Amount{Tokens: o.May("tokens").Uint64(), Units: o.May("units").Uint64()}
	if cost := o.May("cost_micros"); cost.Present() {
		a.Cost = policy.Money{}
		for currency, n := range cost.Map() {
			a.Cost[currency] = n.Uint64()
		}
	}
	o.RefuseUnknown()
	return a
}

func readAnswer(f artifact.Field) Answer {
	o := f.Object()
	a := Answer{When: o.May("when").Value(), Result: o.May("result").Value(), Usage: readAmount(o.May("usage"))}
	if fail := o.May("fail"); fail.Present() {
		if o.Has("result") {
			fail.Report("an answer has a result or fails, not both")
		}
		x := fail.Object()
		a.Failure = &Failure{Class: x.Need("class").Enum(failureClasses...), Message: x.Need("message").Text()}
		x.RefuseUnknown()
	}
	o.RefuseUnknown()
	return a
}

// failureClasses are the classes that retry policies know.
var failureClasses = []string{
	graph.ClassTimeout, graph.ClassUnavailable, graph.ClassRateLimited, graph.ClassConflict, graph.ClassInternal, graph.ClassInvalid,
}

func (l *loader) readCommand(f artifact.Field) *Command {
	o := f.Object()
	c := &Command{
		Program: o.Need("program").Text(), Dir: l.dir, JSON: o.May("json").Bool(), Idempotent: o.May("idempotent").Bool(),
		Set: readTexts(o.May("set")), Secrets: readTexts(o.May("secrets")),
	}
	for _, a := range o.May("args").List() {
		c.Args = append(c.Args, a.Text())
	}
	if dir := o.May("dir"); dir.Present() {
		c.Dir = l.resolve(dir)
	}
	if env := o.May("env"); env.Present() {
		c.Env = env.Set()
	}
	for _, code := range o.May("exit_codes").List() {
		c.ExitCodes = append(c.ExitCodes, int(code.Uint16()))
	}
	if grace := o.May("grace"); grace.Present() {
		ms, ok := policy.ParseDuration(grace.Text())
		if !ok {
			grace.Report("write a length of time such as 2s")
		}
		c.GraceMS = ms
	}
	if secrets := o.May("secrets"); secrets.Present() {
		for _, handle := range secrets.Map() {
			l.checkHandle(handle)
		}
	}
	o.RefuseUnknown()
	return c
}

// checkHandle looks for the secret that a field names.
func (l *loader) checkHandle(f artifact.Field) {
	if _, ok := l.agent.Secrets[f.Text()]; !ok {
		f.Report("no secret has the handle %q%s", f.Text(), artifact.Suggest(f.Text(), keysOf(l.agent.Secrets)))
	}
}

// Endpoint is where requests may go; see package port/http. The pack says which
// hosts and methods.
type Endpoint struct {
	Headers    []string
	Set        map[string]string
	Secrets    map[string]Credential // by header
	Answer     []string
	Statuses   []int
	Redirects  int
	KeyHeader  string
	Idempotent bool
}

// Credential is a header with a secret.
type Credential struct{ Prefix, Handle string }

func (l *loader) readEndpoint(f artifact.Field) *Endpoint {
	o := f.Object()
	e := &Endpoint{
		Set: readTexts(o.May("set")), Secrets: map[string]Credential{}, Redirects: int(o.May("redirects").Uint16()),
		KeyHeader: o.May("key_header").Text(), Idempotent: o.May("idempotent").Bool(),
	}
	if headers := o.May("headers"); headers.Present() {
		e.Headers = headers.Set()
	}
	if answer := o.May("answer"); answer.Present() {
		e.Answer = answer.Set()
	}
	for _, status := range o.May("statuses").List() {
		e.Statuses = append(e.Statuses, int(status.Uint16()))
	}
	if secrets := o.May("secrets"); secrets.Present() {
		for header, field := range secrets.Map() {
			x := field.Object()
			handle := x.Need("handle")
			l.checkHandle(handle)
			e.Secrets[header] = Credential{x.May("prefix").Text(), handle.Text()}
			x.RefuseUnknown()
		}
	}
	o.RefuseUnknown()
	return e
}

func keysOf[T any](m map[string]T) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func readTexts(f artifact.Field) map[string]string {
	texts := map[string]string{}
	if f.Present() {
		for name, field := range f.Map() {
			texts[name] = field.Text()
		}
	}
	return texts
}
