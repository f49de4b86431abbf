package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"github.com/writ-dev/writ/artifact"
)

// Port performs effects. Do is called after the intent is durable, at most once
// for a key as new. An error means that nobody knows whether the effect happened,
// unless it is a *[NotDoneError]; a failure that the other side reported is an
// [Outcome] with Failed set. When the context ends the port returns soon; it is
// not waited for.
type Port interface {
	Do(ctx context.Context, e Effect) (Outcome, error)
}

// Answer is what a port knows of a key.
type Answer int

// The answers of an [Asker].
const (
	Unknown  Answer = iota // it cannot tell
	Happened               // the outcome is known
	Never                  // it has not seen the key, and whatever was under way will not happen
)

// Asker is a port that can say later what became of an effect.
type Asker interface {
	Ask(ctx context.Context, key string) (Outcome, Answer, error)
}

// Idempotent is a port that may be given a key again: it performs the effect only
// if it has not done so under this key, and gives the same outcome.
// Whether it does may depend on the effect: two commands differ, and so do GET
// and POST.
type Idempotent interface{ Idempotent(Effect) bool }

// NotDoneError is a port's word that an effect did not happen and will not.
type NotDoneError struct {
	Class string // for the retry policy, see package graph
	Text  string
}

func (e *NotDoneError) Error() string { return e.Text }

// PortFunc makes a port of a function.
type PortFunc func(ctx context.Context, e Effect) (Outcome, error)

// Do implements [Port].
func (f PortFunc) Do(ctx context.Context, e Effect) (Outcome, error) { return f(ctx, e) }

// Clock is where the driver gets the time from.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f on a goroutine of its own when d has passed, unless stop is
	// called before.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc implements [Clock].
func (SystemClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// Issued are the tokens of an approval or of an input that a run waits for. Only
// digests of them are stored: whoever is to decide must get them now.
type Issued struct {
	Exec     string
	Proposal artifact.Digest
	Tokens   []string
}

// TokenDigest gives the digest by which a token is known.
func TokenDigest(token string) artifact.Digest { return artifact.Sum([]byte(token)) }

// minter draws tokens for one step.
type minter struct {
	random io.Reader
	exec   string
	issued []Issued
	err    error
}

// Mint implements [Minter].
func (m *minter) Mint(proposal artifact.Digest, n int) []artifact.Digest {
	issued := Issued{Exec: m.exec, Proposal: proposal}
	digests := make([]artifact.Digest, n)
	for i := range n {
		text, err := randomText(m.random)
		if err != nil {
			m.err = err
			return nil
		}
		issued.Tokens = append(issued.Tokens, "wt_"+text)
		digests[i] = TokenDigest("wt_" + text)
	}
	m.issued = append(m.issued, issued)
	return digests
}

func randomText(r io.Reader) (string, error) {
	if r == nil {
		r = rand.Reader
	}
	var b [24]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", fmt.Errorf("draw a random text: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
