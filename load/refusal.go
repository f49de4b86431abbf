package load

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Code says why a location was refused. It is stable.
type Code string

// The reasons for a refusal.
const (
	NotFound          Code = "not-found"          // there is no such file or directory
	NoManifest        Code = "no-manifest"        // a directory without a manifest
	Remote            Code = "remote"             // an http or https location
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
	problemRemote  = "reading over the network is not part of this version; fetch the file first and name the copy"
	problemOutside = "outside the root directory; name a file below it, or a higher directory with --root"
)

var (
	errTooLarge = errors.New("too large")
	errOutside  = errors.New(problemOutside)
	errRemote   = errors.New(problemRemote)
)

// irregular is what stands where a regular file is expected.
type irregular struct{ what string }

func (e irregular) Error() string { return e.what + ", not a regular file" }

// checkRegular gives an irregular error for everything but a regular file.
func checkRegular(mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return irregular{"a directory"}
	case mode&fs.ModeNamedPipe != 0:
		return irregular{"a named pipe"}
	case mode&fs.ModeSocket != 0:
		return irregular{"a socket"}
	case mode&fs.ModeDevice != 0:
		return irregular{"a device"}
	}
	return irregular{"something special"}
}

// isMissing reports whether err says that a path leads nowhere.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// escapeText is how os.Root says that a path leads out; it exports no value to
// compare with.
const escapeText = "path escapes from parent"

// problemOf gives what is wrong without the path, which depends on where the
// operator stands and would make two machines differ.
func problemOf(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case isMissing(err):
		return "no such file"
	case err.Error() == escapeText:
		return problemOutside
	}
	return err.Error()
}
