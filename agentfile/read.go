package agentfile

import (
	"crypto/ed25519"
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/schema"
)

func (l *loader) read(r *artifact.Reader) {
	o, a := r.Root().Object(), l.agent
	if v := o.Need("version"); v.Present() && v.Kind() == artifact.KindNumber && v.Uint64() != 1 {
		v.Report("version %d is not known; this is writ's version 1", v.Uint64())
	}
	a.ID = o.Need("id").Identifier()
	a.Description = o.May("description").Text()
	id := artifact.Member{Name: "id", Value: artifact.StringValue(a.ID)}
	version := artifact.Member{Name: "version", Value: artifact.UintValue(2)}
	state := l.readState(o.May("state"))
	agent := o.May("agent").Text()
	if p, ok := l.readPart(o.Need("graph"), version, id); ok {
		a.Graph, a.Schema = l.compileGraph("", p, state)
	}
	if f := o.May("graphs"); f.Present() {
		for name, field := range f.Map() {
			if p, ok := l.readPart(field, version, artifact.Member{Name: "id", Value: artifact.StringValue(name)}); ok {
				g, s := l.compileGraph(name, p, nil)
				a.Graphs[name] = Child{g, s}
			}
		}
	}
	if p, ok := l.readPart(o.Need("pack"), version, id); ok {
		l.compilePack(p, agent)
	}
	a.Input = l.readSchema(o.May("input"))
	a.Initial = readObject(o.May("initial"))
	a.Secrets = l.readSecrets(o.May("secrets"))
	a.Approvers = l.readApprovers(o.May("approvers"))
	a.Tools = l.readTools(o.May("tools"))
	a.Models = l.readModels(o.May("models"))
	a.Knowledge = l.readKnowledge(o.May("knowledge"))
	for _, name := range keysOf(a.Models) {
		if _, ok := a.Tools[name]; ok {
			o.May("models").Report("%s is the name of a tool, too; give the model another one", name)
		}
	}
	for _, name := range keysOf(a.Knowledge) {
		_, tool := a.Tools[name]
		if _, model := a.Models[name]; tool || model {
			o.May("knowledge").Report("%s is the name of a tool or a model, too; give the knowledge another one", name)
		}
	}
	o.RefuseUnknown()
}

func readObject(f artifact.Field) artifact.Value {
	if !f.Present() {
		return artifact.ObjectValue()
	}
	f.Object()
	return f.Value()
}

func (l *loader) readState(f artifact.Field) *graph.Schema {
	if !f.Present() {
		return nil
	}
	l.stated = true
	p, ok := l.readPart(f, artifact.Member{Name: "version", Value: artifact.UintValue(1)})
	if !ok {
		return nil
	}
	s, err := graph.DecodeSchema(p.data, p.source)
	if err != nil {
		l.problems = append(l.problems, p.at.error(err))
	}
	return s
}

// readSchema compiles a JSON Schema that stands in the file.
func (l *loader) readSchema(f artifact.Field) schema.Schema {
	if !f.Present() || l.o.Schemas == nil {
		return nil
	}
	s, err := l.o.Schemas.Compile(f.Value())
	if err == nil {
		return s
	}
	bad, ok := err.(*schema.Error)
	if !ok {
		f.Report("%s", err)
		return nil
	}
	at := place{doc: l.doc, prefix: f.Pointer()}
	list := &artifact.DocumentError{Source: l.doc.Source()}
	for _, x := range bad.Problems {
		list.Problems = append(list.Problems, at.problem(x.Pointer, x.Message))
	}
	l.problems = append(l.problems, list)
	return nil
}

func (l *loader) readSecrets(f artifact.Field) map[string]string {
	secrets := map[string]string{}
	if !f.Present() {
		return secrets
	}
	for handle, field := range f.Map() {
		o := field.Object()
		secrets[handle] = o.Need("env").Text()
		o.RefuseUnknown()
	}
	return secrets
}

// readApprovers reads the public keys of people whose signatures count. One key has
// one name, which the record shows, and names that look alike are one person's.
func (l *loader) readApprovers(f artifact.Field) map[string]ed25519.PublicKey {
	approvers := map[string]ed25519.PublicKey{}
	if !f.Present() {
		return approvers
	}
	named, keyed := map[string]string{}, map[string]string{}
	for name, field := range f.Members() {
		if first, ok := named[sameName(name)]; ok {
			field.ReportName("approver %q is %q but for case and blanks, %s; write one name for one person", name, first, l.lineOf(f, first))
		} else {
			named[sameName(name)] = name
		}
		key, err := keys.ParsePublic(field.Text())
		if err != nil {
			field.Report("approver %s: %s", name, err)
			continue
		}
		if first, ok := keyed[string(key)]; ok {
			field.Report("approver %s has the key of %s, %s; write one name for one key", name, first, l.lineOf(f, first))
			continue
		}
		keyed[string(key)], approvers[name] = name, key
	}
	return approvers
}

// sameName gives what names have in common that differ in case or in the blanks
// around them only.
func sameName(name string) string { return strings.ToLower(strings.ToUpper(strings.TrimSpace(name))) }

// lineOf says where a member of a field stands.
func (l *loader) lineOf(f artifact.Field, name string) string {
	line, column := l.doc.NamePosition(artifact.PointerTo(f.Pointer(), name))
	return fmt.Sprintf("%s:%d:%d", l.doc.Source(), line, column)
}

// Model is what a model node asks.
type Model struct {
	Model           string // the provider's own id; "" is the name
	System          string // instructions for every request
	Input, Output   uint64 // price in micro-USD per million tokens
	Priced          bool
	MaxOutputTokens uint64
	Answers         []Reply
}

// Reply is one fixed answer of a model. The first whose Contains is part of the
// prompt is given.
type Reply struct {
	Contains string
	Text     string
}

func (l *loader) readModels(f artifact.Field) map[string]Model {
	models := map[string]Model{}
	if !f.Present() {
		return models
	}
	for name, field := range f.Map() {
		o := field.Object()
		m := Model{Model: o.May("model").Text(), System: o.May("system").Text(), MaxOutputTokens: 1024}
		if m.Model == "" {
			m.Model = name
		}
		if limit := o.May("max_output_tokens"); limit.Present() {
			if m.MaxOutputTokens = limit.Uint64(); m.MaxOutputTokens == 0 && limit.Kind() == artifact.KindNumber {
				limit.Report("max_output_tokens is 0, so that no model could answer; write at least 1")
			}
		}
		if price := o.May("price"); price.Present() {
			p := price.Object()
			m.Input, m.Output, m.Priced = p.Need("input").Uint64(), p.Need("output").Uint64(), true
			p.RefuseUnknown()
		}
		for _, a := range o.Need("answers").List() {
			x := a.Object()
			m.Answers = append(m.Answers, Reply{x.May("contains").Text(), x.Need("text").Text()})
			x.RefuseUnknown()
		}
		o.RefuseUnknown()
		models[name] = m
	}
	return models
}
