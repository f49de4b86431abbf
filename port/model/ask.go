package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	contract "github.com/writ-dev/writ/model"
	"github.com/writ-dev/writ/policy"
)

// maxAnswer bounds the text of an answer, in bytes.
const maxAnswer = 16 << 20

// Do asks a model. A provider's failure is a failed outcome with the provider's
// reason as class; so is the end of ctx or of the time that the permit gives. A
// question changes nothing, so there is no unknown outcome, and Do gives no error.
//
// What an unfinished answer has used is what the provider told. If it told
// nothing, that is an estimate: nothing where the provider refused the request,
// else the input, and a token for every three bytes that had arrived.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	m, ok := p.models[e.Name]
	if !ok {
		return engine.Failed(graph.ClassInvalid, "there is no model "+e.Name), nil
	}
	if e.Permit.Kind != policy.KindModel || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, "model "+e.Name+" has no permit"), nil
	}
	r, err := m.request(e.Args)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	if most := e.Permit.MaxOutputTokens; most != 0 {
		r.MaxOutputTokens = min(r.MaxOutputTokens, most)
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	now := p.Now
	if now == nil {
		now = time.Now
	}
	begin := now()
	q := question{Model: m, request: r}
	if err = ctx.Err(); err == nil {
		err = q.ask(ctx, func(text string) {
			if p.Progress != nil {
				p.Progress(e, text)
			}
		})
	}
	o := q.outcome(ctx, err)
	o.Usage.Calls, o.Usage.DurationMS = 1, uint64(max(0, now().Sub(begin).Milliseconds()))
	return o, nil
}

// question is one request on its way.
type question struct {
	Model
	request contract.Request
	sent    bool
	text    strings.Builder
	answer  contract.Answer
}

// ask reads the stream of an answer.
func (q *question) ask(ctx context.Context, progress func(string)) error {
	q.sent = true
	for c, err := range q.Provider.Generate(ctx, q.request) {
		if err != nil {
			return err
		}
		q.text.WriteString(c.Text)
		q.answer.Add(c)
		if q.text.Len() > maxAnswer {
			return &contract.Error{Reason: contract.ReasonInvalid, Message: fmt.Sprintf("the answer is longer than %d bytes", maxAnswer)}
		}
		if c.Text != "" {
			progress(c.Text)
		}
	}
	return q.answer.Check()
}

// outcome says how a question ended, and what it has used.
func (q *question) outcome(ctx context.Context, err error) engine.Outcome {
	if err != nil {
		o := failure(ctx, err)
		o.Usage = q.amount(q.used(err))
		return o
	}
	u := q.answer.Usage
	o := engine.Outcome{Usage: q.amount(u), Result: artifact.ObjectValue(
		artifact.Member{Name: "text", Value: artifact.StringValue(strings.ToValidUTF8(q.text.String(), "\ufffd"))},
		artifact.Member{Name: "stop", Value: artifact.StringValue(string(q.answer.Stop))},
		artifact.Member{Name: "model", Value: artifact.StringValue(q.ID)},
		artifact.Member{Name: "input_tokens", Value: artifact.UintValue(u.InputTokens)},
		artifact.Member{Name: "output_tokens", Value: artifact.UintValue(u.OutputTokens)},
	)}
	return o
}

// used gives what an unfinished answer has used.
func (q *question) used(err error) contract.Usage {
	if q.answer.Counted {
		return q.answer.Usage
	}
	if !q.sent || q.text.Len() == 0 && isRefusal(err) {
		return contract.Usage{}
	}
	return contract.Usage{InputTokens: contract.EstimateTokens(q.request.Bytes()), OutputTokens: contract.EstimateTokens(uint64(q.text.Len()))}
}

// isRefusal reports whether a provider says that it did not work on a request.
func isRefusal(err error) bool {
	var known *contract.Error
	if !errors.As(err, &known) {
		return false
	}
	switch known.Reason {
	case contract.ReasonRateLimited, contract.ReasonUnavailable, contract.ReasonInvalid, contract.ReasonUnauthorized:
		return true
	}
	return false
}

func (q *question) amount(u contract.Usage) policy.Amount {
	a := policy.Amount{Tokens: u.Tokens()}
	if cost := q.Price.Cost(u); cost > 0 {
		a.Cost = policy.Money{currency: cost}
	}
	return a
}

// failure gives the outcome of an error.
func failure(ctx context.Context, err error) engine.Outcome {
	var known *contract.Error
	switch {
	case errors.As(err, &known):
		text := known.Message
		if known.RetryAfterMS > 0 {
			text += fmt.Sprintf(", retry after %d s", (known.RetryAfterMS-1)/1000+1)
		}
		o := engine.Failed(string(known.Reason), text)
		switch known.Reason {
		case contract.ReasonRateLimited, contract.ReasonUnavailable, contract.ReasonTimeout:
			o.Retryable = true
		}
		return o
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return engine.Failed(graph.ClassTimeout, "no whole answer before the deadline")
	case ctx.Err() != nil:
		return engine.Failed(graph.ClassCancelled, "the question was ended with the run")
	}
	return engine.Failed(graph.ClassInternal, err.Error())
}
