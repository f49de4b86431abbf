// Package kcp reads the manifests of the Knowledge Context Protocol: the
// knowledge.yaml with which a publisher declares units of knowledge.
//
// Start with [Parse]. It turns the bytes of one manifest into a [Manifest] and
// a list of [Finding] values; it fails only when the bytes are not one YAML
// mapping. [Validate] says what a publisher should mend. [Verify] checks an
// ed25519 signature over the exact bytes.
//
// The model is complete: every field of specification version 0.32 is here in
// typed form, so nothing else in writ looks at YAML. A malformed field is kept
// as malformed, never dropped, so that a gate which depends on it can close.
//
// The package is pure. It opens no file and has no clock; whatever it needs
// from outside (bytes, a date, whether a path exists, key material) is passed
// in.
package kcp
