// Package modeltest has a provider that answers from a script, for tests without
// a network.
//
//	p := modeltest.New(modeltest.Reply{Text: "yes"}, modeltest.Reply{Err: modeltest.RateLimited})
//
// Nothing in it waits for time: a [Reply] that is to be late waits for a channel.
package modeltest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/writ-dev/writ/model"
)

// Errors for scripts.
var (
	RateLimited = &model.Error{Reason: model.ReasonRateLimited, Message: "too many requests", RetryAfterMS: 2000}
	Unavailable = &model.Error{Reason: model.ReasonUnavailable, Message: "the provider is overloaded"}
)

// Reply is one answer of the script.
type Reply struct {
	Text   string   // given as one chunk for each word
	Chunks []string // given as they are, in place of Text

	// Usage is what the last chunk tells. Nil stands for what the request would
	// reserve as input, and a token for every three bytes of the answer.
	Usage *model.Usage
	Stop  model.Stop // empty for the end, or the length where Usage has the maximum

	Err     error // given after the chunks, in place of an end
	Told    bool  // with Err: the usage is told before the error
	NoUsage bool  // the answer ends without its usage, as no provider should

	// Started is closed when the request has arrived.
	Started chan struct{}
	// Hold is received from before each chunk and before the end or error: send to
	// let one go, close to let all go. The end of the context is an error then.
	Hold <-chan struct{}
}

// Provider is a scripted [model.Provider].
type Provider struct {
	// Answer makes the reply to a request once the script has run out. Nil makes
	// that an error.
	Answer func(model.Request) Reply

	mu       sync.Mutex
	script   []Reply
	requests []model.Request
}

var _ model.Provider = (*Provider)(nil)

// New gives a provider that answers its requests with the replies, in order.
func New(script ...Reply) *Provider { return &Provider{script: script} }

// Add appends replies to the script.
func (p *Provider) Add(script ...Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = append(p.script, script...)
}

// Requests gives the requests that have arrived, in order.
func (p *Provider) Requests() []model.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Left gives the number of replies that nobody has asked for.
func (p *Provider) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.script)
}

// Generate implements [model.Provider]. A request that is not valid, and one for
// which the script has no reply, is answered with an error.
func (p *Provider) Generate(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		reply, err := p.take(r)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		if reply.Started != nil {
			close(reply.Started)
		}
		reply.play(ctx, r, yield)
	}
}

func (p *Provider) take(r model.Request) (Reply, error) {
	if err := r.Validate(); err != nil {
		return Reply{}, err
	}
	r.Messages, r.Documents = slices.Clone(r.Messages), slices.Clone(r.Documents)
	p.mu.Lock()
	p.requests = append(p.requests, r)
	n, next := len(p.requests), p.Answer
	if len(p.script) > 0 {
		reply := p.script[0]
		p.script = p.script[1:]
		p.mu.Unlock()
		return reply, nil
	}
	p.mu.Unlock()
	if next == nil {
		return Reply{}, fmt.Errorf("modeltest: the script has no reply to request %d", n)
	}
	return next(r), nil
}

// play gives the chunks of a reply.
func (y *Reply) play(ctx context.Context, r model.Request, yield func(model.Chunk, error) bool) {
	written := 0
	for _, text := range y.chunks() {
		if err := y.wait(ctx); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		if !yield(model.Chunk{Text: text}, nil) {
			return
		}
		written += len(text)
	}
	if err := y.wait(ctx); err != nil {
		yield(model.Chunk{}, err)
		return
	}
	usage := y.usage(r, written)
	if y.Err != nil {
		if y.Told && !yield(model.Chunk{Usage: &usage}, nil) {
			return
		}
		yield(model.Chunk{}, y.Err)
		return
	}
	if !y.NoUsage {
		yield(model.Chunk{Usage: &usage, Stop: y.stop(r, usage)}, nil)
	}
}

func (y *Reply) wait(ctx context.Context) error {
	if y.Hold == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-y.Hold:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chunks splits a text after its blanks.
func (y *Reply) chunks() []string {
	if y.Chunks != nil {
		return y.Chunks
	}
	var list []string
	begin := 0
	for i := range len(y.Text) {
		if y.Text[i] == ' ' {
			list, begin = append(list, y.Text[begin:i+1]), i+1
		}
	}
	if begin < len(y.Text) {
		list = append(list, y.Text[begin:])
	}
	return list
}

func (y *Reply) usage(r model.Request, written int) model.Usage {
	if y.Usage != nil {
		return *y.Usage
	}
	return model.Usage{InputTokens: model.EstimateTokens(r.Bytes()), OutputTokens: model.EstimateTokens(uint64(written))}
}

func (y *Reply) stop(r model.Request, u model.Usage) model.Stop {
	switch {
	case y.Stop != "":
		return y.Stop
	case u.OutputTokens >= r.MaxOutputTokens:
		return model.StopLength
	}
	return model.StopEnd
}
