// Package model is the contract between writ and language models.
//
// A [Provider] answers a [Request] with a stream of [Chunk]s; [Collect] reads the
// stream into an [Answer]. [Prices] says what a request may cost before it is
// sent, and what it did cost after. Providers themselves are packages below this
// one; package modeltest has a scripted one for tests.
//
// What a model is told to do (System, Messages) and what it may draw on
// (Documents) are different fields. Knowledge and results of tools go into
// Documents only, so that a text which poses as an instruction stands where every
// provider marks it as a document.
//
// The package is pure: no clock, no files, no network.
package model

import (
	"context"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
)

// Provider asks a model. It may be used by several goroutines.
type Provider interface {
	// Generate sends the request when the sequence is ranged over, and gives the
	// answer as it arrives. The last chunk has Usage and Stop. The sequence may be
	// ranged over once; leaving the loop ends the request.
	//
	// An error is the last that a sequence gives: an [*Error], or that of ctx. If
	// the provider knows what was used by then, it gives a chunk with Usage before
	// the error. It does not try again: whoever calls records each attempt.
	Generate(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// Request is one question to a model.
type Request struct {
	Model     string     // the provider's own id of the model
	System    string     // instructions for the whole conversation; may be empty
	Messages  []Message  // the conversation, in turns that begin and end with the user's
	Documents []Document // what the model may draw on; never instructions

	MaxOutputTokens uint64 // the longest answer; at least 1
}

// Role is who speaks.
type Role string

// The roles. Instructions are no message: see [Request].
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role Role
	Text string
}

// Document is a text that the model may draw on, and what it is cited by.
type Document struct {
	ID     string          // unique in the request
	Title  string          // may be empty
	Source string          // where it comes from, such as a path; may be empty
	Digest artifact.Digest // of the bytes it was made of; zero when unknown
	Text   string
}

// Chunk is a piece of an answer.
type Chunk struct {
	Text  string
	Usage *Usage // in the last chunk, or before an error; nil elsewhere
	Stop  Stop   // in the last chunk; empty elsewhere
}

// Usage is what a request has used, as the provider counts it.
type Usage struct {
	InputTokens  uint64 // all of them, also those that the provider had cached
	OutputTokens uint64 // all of them, also those of reasoning that is not shown
}

// Tokens gives the sum.
func (u Usage) Tokens() uint64 { return addSaturating(u.InputTokens, u.OutputTokens) }

// Stop says why an answer ended.
type Stop string

// The reasons.
const (
	StopEnd     Stop = "end"     // the answer is complete
	StopLength  Stop = "length"  // MaxOutputTokens, or what the model can hold
	StopRefusal Stop = "refusal" // the model or its provider declined
)

// Limits of a request.
const (
	MaxMessages  = 10_000
	MaxDocuments = 10_000
)

// Validate reports what is wrong with a request, the first problem found. The
// error is an [*Error] with [ReasonInvalid].
func (r Request) Validate() error {
	switch {
	case r.Model == "":
		return invalid("the request names no model")
	case r.MaxOutputTokens == 0:
		return invalid("the request allows no output: MaxOutputTokens is 0")
	case !utf8.ValidString(r.System):
		return invalid("the system text is not UTF-8")
	case len(r.Messages) == 0:
		return invalid("the request has no message")
	case len(r.Messages) > MaxMessages:
		return invalid("the request has %d messages, of at most %d", len(r.Messages), MaxMessages)
	case len(r.Documents) > MaxDocuments:
		return invalid("the request has %d documents, of at most %d", len(r.Documents), MaxDocuments)
	case len(r.Messages)%2 == 0:
		return invalid("the last message is not the user's")
	}
	for i, m := range r.Messages {
		want := User
		if i%2 == 1 {
			want = Assistant
		}
		switch {
		case m.Role != want:
			return invalid("message %d has the role %q, where the %s's turn is", i+1, m.Role, want)
		case m.Text == "":
			return invalid("message %d is empty", i+1)
		case !utf8.ValidString(m.Text):
			return invalid("message %d is not UTF-8", i+1)
		}
	}
	return r.validateDocuments()
}

func (r Request) validateDocuments() error {
	seen := make(map[string]bool, len(r.Documents))
	for i, d := range r.Documents {
		switch {
		case d.ID == "":
			return invalid("document %d has no id", i+1)
		case seen[d.ID]:
			return invalid("document %d has the id of another one", i+1)
		case !utf8.ValidString(d.ID) || !utf8.ValidString(d.Title) || !utf8.ValidString(d.Source) || !utf8.ValidString(d.Text):
			return invalid("document %d is not UTF-8", i+1)
		}
		seen[d.ID] = true
	}
	return nil
}

// Bytes gives the length of all texts of the request.
func (r Request) Bytes() uint64 {
	n := uint64(len(r.System))
	for _, m := range r.Messages {
		n += uint64(len(m.Text))
	}
	for _, d := range r.Documents {
		n += uint64(len(d.ID) + len(d.Title) + len(d.Source) + len(d.Text))
	}
	return n
}

// Reason says why a provider failed, in the words that retry policies use.
type Reason string

// The reasons.
const (
	ReasonRateLimited  Reason = "rate_limited" // too many requests
	ReasonUnavailable  Reason = "unavailable"  // not reached, or overloaded
	ReasonTimeout      Reason = "timeout"      // no answer in time
	ReasonInternal     Reason = "internal"     // the provider failed
	ReasonInvalid      Reason = "invalid"      // the request or the answer is malformed
	ReasonUnauthorized Reason = "unauthorized" // no key, or one that may not do this
)

// Error is a request that a provider could not answer.
type Error struct {
	Reason  Reason
	Message string // fit for a record: without keys and without texts of the request

	// RetryAfterMS is how long the provider asks to wait, in milliseconds; 0 when
	// it says nothing.
	RetryAfterMS uint64
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error {
	return &Error{Reason: ReasonInvalid, Message: fmt.Sprintf(format, args...)}
}
