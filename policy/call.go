package policy

import (
	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// Call is one effect that a run asks for. Kind and Name are always needed; of the
// rest what the kind has.
type Call struct {
	Kind Kind
	// Name is what the pack grants: the tool's id, the name of an exec, http, wasm
	// or retrieve grant, the model's id, the claim graph's id, the destination
	// graph's id, the event's name, the state namespace. For cortex it is query or
	// context, for approval what is asked for.
	Name   string
	Action string // claims: read, propose, commit; http: the method; state: read, write

	Namespace  string // that the effect works in; empty for none
	Write      bool   // whether it changes what is in the namespace
	Capability string // that the tool's definition needs; empty for none

	Args     artifact.Value // an object, or null for none
	Contract schema.Schema  // the port's own schema for Args; nil for none
	Taint    *Marks         // of Args; nil when nothing is marked

	Program    string          // exec
	Argv       []ProgramInput  // exec: without the program
	Env        []string        // exec: names of variables
	URL        string          // http
	Module     artifact.Digest // wasm
	Memory     uint64          // wasm: bytes
	Output     uint64          // model: the most tokens of the answer
	Manifest   string          // retrieve: location, as the pack names it; empty for what the host has bound
	Namespaces []string        // retrieve
	Graph      artifact.Digest // handoff

	Reserve Amount // the most that the call will use, as its port declares it
	// Beside is how many other branches of the run have reserved nothing and may do
	// so yet. Where the run's durations are limited, an effect gets what is left
	// divided by one more than that.
	Beside uint64

	NowMS     int64           // Unix milliseconds
	Proposal  artifact.Digest // of the exact bytes that approvers were shown
	Decisions []Decision      // about this call
	Starter   Principal       // of the run; may not decide
}

// ProgramInput is one argument of a program.
type ProgramInput struct {
	Text  string
	Taint Taint // where it comes from
}

// Permit allows one call. Whoever performs it must keep to these bounds.
type Permit struct {
	Kind Kind
	Name string
	Rule string // what decided, such as "pack examples.research: tools.search"

	Account string // of the [Ledger]; empty for none
	Reserve Amount // to be reserved before the effect

	TimeoutMS       uint64 // 0 for none
	OutputBytes     uint64 // exec, http, retrieve: of output that is kept
	MemoryBytes     uint64 // wasm
	MaxOutputTokens uint64 // model; 0 for none

	// Keeps holds the access classes whose bytes may be kept, as in
	// [Policy.Retention]. It is shared: nobody may change it.
	Keeps map[string]uint64

	Approved bool        // whether people have decided
	Approval Requirement // approval: how people are to decide
}
