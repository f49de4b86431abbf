package load

import "errors"

// Code says why a location was refused. It is stable.
type Code string

// The reasons for a refusal.
const (
	NotFound          Code = "not-found"          // there is no such file or directory
	NoManifest        Code = "no-manifest"        // a directory without a manifest
	Remote            Code = "remote"             // an http or https location, and no client to read it
	NotRegular        Code = "not-regular"        // a device, a pipe, a socket
	OutsideRoot       Code = "outside-root"       // not below Options.Root
	TooLarge          Code = "too-large"          // more than Options.MaxBytes
	Unreadable        Code = "unreadable"         // the system refuses to read it
	SignatureInvalid  Code = "signature-invalid"  // a signature that is wrong
	SignatureRequired Code = "signature-required" // not verified, and it must be
	Contradiction     Code = "contradiction"      // options that exclude each other
)

// Refusal is a location that was not loaded.
type Refusal struct {
	Code     Code
	Location string // as given, or the file that was found there
	Problem  string // what is wrong and what to do, in one line
}

func (r *Refusal) Error() string {
	switch r.Code {
	case NotFound:
		return "manifest not found: " + r.Location
	case NoManifest:
		return "no knowledge.yaml found in " + r.Location
	}
	return r.Location + ": " + r.Problem
}

func refuse(code Code, location, problem string) *Refusal {
	return &Refusal{Code: code, Location: location, Problem: problem}
}

const (
	problemRemote  = "reading over the network is off; fetch the file first and name the copy"
	problemOutside = "outside the root directory; name a file below it, or a higher directory with --root"
)

var errOutside = errors.New(problemOutside)
