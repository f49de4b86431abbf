package local

import (
	"github.com/writ-dev/writ/agentfile"
	"github.com/writ-dev/writ/artifact"
)

// check lists what is wrong with a tool, as the port that does its work knows. What
// is missing the reader has said.
func (a *Agent) check(t agentfile.Tool) []artifact.Problem {
	switch {
	case t.Command != nil && t.Command.Program != "":
		return below("/command", a.command(t.Command).Check())
	case t.Endpoint != nil:
		return below("/http", endpoint(t.Endpoint).Check())
	case t.Module != nil:
		return below("/wasm", module(t.Module).Check())
	}
	return nil
}

// below moves problems below a pointer.
func below(pointer string, list []artifact.Problem) []artifact.Problem {
	for i := range list {
		list[i].Pointer = pointer + list[i].Pointer
	}
	return list
}
