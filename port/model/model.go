// Package model performs effects by asking language models.
//
// Open it at [New], which takes the [Model]s that a host offers, each with its
// provider and its price; [Port.Do] asks one, and [Port.Tools] tells an engine
// what to reserve: a token for every three bytes of the request, rounded up, and
// the longest answer, at the model's price. What was really used is settled,
// whether the answer is whole or not.
//
// The arguments of an effect are an object:
//
//	{"system": "Answer in one word.", "prompt": "Refund or not?",
//	 "documents": [{"id": "terms", "text": "..."}], "max_output_tokens": 100}
//
// In place of prompt, messages may hold a conversation: a list of {role, text}
// with the roles user and assistant, in turn. A document has id and text, and may
// have title, source and sha256. Whatever is not an instruction belongs into
// documents, where no provider takes it for one. The result has text, stop (end,
// length or refusal), model, input_tokens and output_tokens.
//
// A model's answer is tainted: see [Taint].
package model

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	contract "github.com/writ-dev/writ/model"
	"github.com/writ-dev/writ/policy"
)

// Model is a model that runs may be granted, by its name in the pack.
type Model struct {
	Provider contract.Provider
	ID       string         // the provider's own id of the model
	Price    contract.Price // of what is asked through this name

	System          string // instructions before those of the effect; may be empty
	MaxOutputTokens uint64 // where an effect asks for none; 0 for [DefaultOutputTokens]
}

// DefaultOutputTokens bounds an answer where nothing else does.
const DefaultOutputTokens = 4096

// Taint is where all that a model answers comes from, for the marks of whoever
// uses it.
const Taint = policy.FromModel

// currency is what prices are in.
const currency = "USD"

// Name is what the engine calls this port.
const Name = "model"

// Port asks models. It is safe for concurrent use.
type Port struct {
	// Progress is told of each piece of an answer as it arrives. It is set before
	// the first effect, and must be quick; nil for nobody.
	Progress func(e engine.Effect, text string)
	// Now is the clock by which the time of a question is counted. It is set before
	// the first effect; nil for time.Now.
	Now func() time.Time

	models map[string]Model
}

var _ engine.Port = (*Port)(nil)

// New checks the models and gives the port that asks them. The error names
// everything that is wrong.
func New(models map[string]Model) (*Port, error) {
	p := &Port{models: make(map[string]Model, len(models))}
	var problems []error
	for _, name := range artifact.SortedNames(models) {
		m := models[name]
		if m.MaxOutputTokens == 0 {
			m.MaxOutputTokens = DefaultOutputTokens
		}
		switch {
		case m.Provider == nil:
			problems = append(problems, fmt.Errorf("model %s: it has no provider", name))
		case m.ID == "":
			problems = append(problems, fmt.Errorf("model %s: its provider's id is missing", name))
		}
		p.models[name] = m
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return p, nil
}

// Tools gives how each model is authorized, and what a call reserves.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.models))
	for name, m := range p.models {
		tools[name] = engine.Tool{Port: Name, Kind: policy.KindModel, Shape: m.Shape}
	}
	return tools
}

// Shape tells policy how long the answer may be, and what the call may use. Where
// the node reserves more, that is kept. It asks nobody; its error says what is wrong
// with the arguments.
func (m Model) Shape(call policy.Call) (policy.Call, error) {
	r, err := m.request(call.Args)
	if err != nil {
		return call, err
	}
	need := m.Price.Reserve(r)
	call.Output = r.MaxOutputTokens
	call.Reserve.Tokens = max(call.Reserve.Tokens, need.Tokens())
	if cost := max(call.Reserve.Cost[currency], need.CostMicros); cost > 0 {
		call.Reserve.Cost = maps.Clone(call.Reserve.Cost)
		if call.Reserve.Cost == nil {
			call.Reserve.Cost = policy.Money{}
		}
		call.Reserve.Cost[currency] = cost
	}
	return call, nil
}

// request reads what the arguments of an effect ask for.
func (m Model) request(args artifact.Value) (contract.Request, error) {
	r := artifact.NewReader(artifact.DocumentOf(args, "arguments"))
	o := r.Root().Object()
	q := contract.Request{Model: m.ID, System: m.System, MaxOutputTokens: m.MaxOutputTokens}
	if system := o.May("system").Text(); system != "" {
		if q.System != "" {
			q.System += "\n\n"
		}
		q.System += system
	}
	if f := o.May("max_output_tokens"); f.Present() {
		q.MaxOutputTokens = f.Uint64()
	}
	readMessages(o, &q)
	for _, f := range o.May("documents").List() {
		q.Documents = append(q.Documents, readDocument(f))
	}
	o.RefuseUnknown()
	if err := r.Err(); err != nil {
		return q, err
	}
	return q, q.Validate()
}

func readMessages(o *artifact.Object, q *contract.Request) {
	if o.Has("prompt") == o.Has("messages") {
		o.Know("prompt", "messages")
		o.Field().Report("write one of prompt and messages")
		return
	}
	if prompt := o.May("prompt"); prompt.Present() {
		q.Messages = []contract.Message{{Role: contract.User, Text: prompt.Text()}}
		return
	}
	for _, f := range o.May("messages").List() {
		m := f.Object()
		role := m.Need("role").Enum(string(contract.User), string(contract.Assistant))
		q.Messages = append(q.Messages, contract.Message{Role: contract.Role(role), Text: m.Need("text").Text()})
		m.RefuseUnknown()
	}
}

func readDocument(f artifact.Field) contract.Document {
	o := f.Object()
	d := contract.Document{ID: o.Need("id").Text(), Text: o.Need("text").Text(), Title: o.May("title").Text(), Source: o.May("source").Text()}
	if sum := o.May("sha256"); sum.Present() {
		digest, err := artifact.ParseHexDigest(sum.Text())
		if err != nil {
			sum.Report("sha256 is no digest in hex")
		}
		d.Digest = digest
	}
	o.RefuseUnknown()
	return d
}

// Idempotent reports whether the effect may be performed again under its key: a
// question changes nothing, though it costs again.
func (p *Port) Idempotent(engine.Effect) bool { return true }
