package model

import (
	"iter"
	"strings"
)

// Answer is a whole answer.
type Answer struct {
	Text  string
	Usage Usage
	Stop  Stop

	// Counted says that Usage is the provider's own count. It is false where a
	// stream ended before the provider told, and then Usage is zero.
	Counted bool
}

// Collect reads a stream to its end. With an error comes what had arrived before
// it. A stream that ends without telling its usage is an error of its own, with
// [ReasonInvalid]: what was used could not be settled.
func Collect(chunks iter.Seq2[Chunk, error]) (Answer, error) {
	var a Answer
	var text strings.Builder
	var failed error
	for c, err := range chunks {
		if err != nil {
			failed = err
			break
		}
		text.WriteString(c.Text)
		a.Add(c)
	}
	a.Text = text.String()
	if failed == nil {
		failed = a.Check()
	}
	return a, failed
}

// Add takes over what a chunk says besides its text.
func (a *Answer) Add(c Chunk) {
	if c.Usage != nil {
		a.Usage, a.Counted = *c.Usage, true
	}
	if c.Stop != "" {
		a.Stop = c.Stop
	}
}

// Check reports whether a stream that has ended had all that the last chunk must
// say. The error is an [*Error] with [ReasonInvalid].
func (a *Answer) Check() error {
	switch {
	case !a.Counted:
		return invalid("the provider ended its answer without saying what was used")
	case a.Stop == "":
		return invalid("the provider ended its answer without saying why")
	}
	return nil
}
