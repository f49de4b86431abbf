//go:build !linux

package exec

// hostProgram is for a test that only Linux can pass.
func hostProgram(string) {}
