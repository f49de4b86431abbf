package fetch

import (
	"fmt"
)

// Code says why a location was not read. Codes are stable.
type Code string

// The codes of a location that was never asked for.
const (
	BadURL      Code = "url"         // not a URL that can be fetched
	BadScheme   Code = "scheme"      // neither https nor http
	Credentials Code = "credentials" // a user name or a password in the URL
	BadHost     Code = "host"        // no host, or one that readers read differently
	BadPort     Code = "port"        // the port of another protocol
	Outside     Code = "outside"     // leaves the folder or root that bounds it
	Private     Code = "private"     // loopback, a private network, metadata, reserved
	Cleartext   Code = "cleartext"   // http to a public host
	NoNetwork   Code = "no-network"  // no client was given
)

// The codes of an exchange that failed.
const (
	Unresolved       Code = "unresolved"         // the name has no address
	Unreachable      Code = "unreachable"        // nobody answers there
	Certificate      Code = "certificate"        // expired, of another host, of an unknown authority
	TLS              Code = "tls"                // the server speaks no TLS that we accept
	Timeout          Code = "timeout"            // the deadline of the exchange has passed
	Cancelled        Code = "cancelled"          // the caller gave up
	Protocol         Code = "protocol"           // the answer is not HTTP
	Status           Code = "status"             // an answer other than success
	BadRedirect      Code = "redirect"           // a redirect to nowhere
	TooManyRedirects Code = "too-many-redirects" // more than MaxRedirects
	BadEncoding      Code = "encoding"           // compressed in a way that cannot be undone
	Incomplete       Code = "incomplete"         // fewer bytes than were announced
	TooLarge         Code = "too-large"          // more bytes than the ceiling; files too
	HTML             Code = "html"               // a page where text was wanted
	ContentType      Code = "content-type"       // a picture or the like where text was wanted
)

// The codes of a file that was not read.
const (
	NotFound   Code = "not-found"
	NotRegular Code = "not-regular" // a directory, a device, a pipe
	Unreadable Code = "unreadable"  // the system refuses to read it
)

// The codes of content that is not what its manifest says.
const (
	BadHash      Code = "hash"          // a content_hash that cannot be checked
	HashMismatch Code = "hash-mismatch" // other bytes than the content_hash covers
)

// Refusal is a location that was not read. It is a value to branch on and to
// keep in a tree, and an error with a text for people.
type Refusal struct {
	Code     Code
	Location string // as it was asked for, without credentials
	Hop      int    // redirects that were followed; 0 is the location itself
	At       string // the URL at that hop; empty at hop 0
	Problem  string // what is wrong; where the reference agent has words, these
	Advice   string // what to do about it; may be empty
	Status   int    // of HTTP, with the code Status; else 0

	cause error
}

// Error gives one line: location, hop, problem and advice.
func (r *Refusal) Error() string {
	text := r.Location + ": "
	if r.Hop > 0 {
		text += fmt.Sprintf("after %s, at %s: ", redirects(r.Hop), r.At)
	}
	text += r.Problem
	if r.Advice != "" {
		text += "; " + r.Advice
	}
	return text
}

// Unwrap gives what failed below, such as [context.Canceled]; it may be nil.
func (r *Refusal) Unwrap() error { return r.cause }

func redirects(n int) string {
	if n == 1 {
		return "1 redirect"
	}
	return fmt.Sprintf("%d redirects", n)
}

// refuse makes a refusal; the exchange or the reader adds where it happened.
func refuse(code Code, problem, advice string) *Refusal {
	return &Refusal{Code: code, Problem: problem, Advice: advice}
}
