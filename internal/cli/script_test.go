package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs every command as a process. Each script says first what it
// guards.
func TestScripts(t *testing.T) {
	harbour, err := filepath.Abs(filepath.Join("testdata", "harbour"))
	must(t, err)
	editions, err := filepath.Abs(filepath.Join("testdata", regulation))
	must(t, err)
	fleet, err := filepath.Abs(filepath.Join("testdata", "fleet"))
	must(t, err)
	examples, err := filepath.Abs(agents)
	must(t, err)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HARBOUR", harbour)
			env.Setenv("REGULATION", editions)
			env.Setenv("AGENTS", examples)
			env.Setenv("FLEET", fleet)
			return nil
		},
	})
}
