package local

import (
	"fmt"
	"strings"

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

// CheckSecrets looks for every secret that a tool of the graph needs. The error is an
// *[artifact.DocumentError] that names those which are not set, or empty, and no
// values.
func (a *Agent) CheckSecrets(o Options) error {
	missing := &artifact.DocumentError{Source: a.Source}
	for _, s := range a.NeededSecrets() {
		state := "is not set"
		value, ok := o.lookupEnv()(s.Variable)
		if value != "" {
			continue
		}
		if ok {
			state = "is empty"
		}
		missing.Problems = append(missing.Problems, artifact.Problem{Pointer: artifact.PointerTo("/secrets", s.Handle), Line: s.Line, Column: s.Column,
			Text: fmt.Sprintf("secret %s: %s %s, and it is needed by %s; export it", s.Handle, s.Variable, state, strings.Join(s.Tools, ", "))})
	}
	if missing.Problems == nil {
		return nil
	}
	return missing
}
