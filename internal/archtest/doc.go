// Package archtest holds the layer picture of ARCHITECTURE.md as data and
// tests the tree against it. It has no code of its own: start at
// picture_test.go, which says what may import what.
//
// The checks read the sources in this process. A test that runs `go list`
// instead would be answered from the test cache after a change that it should
// have seen.
package archtest
