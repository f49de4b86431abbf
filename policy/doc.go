// Package policy decides what an agent may do.
//
// [ReadPack] reads a pack: version 2 in YAML or JSON, version 1 as a manifest or
// as native .knolo text. [Compile] makes a [Policy] of it, narrowed to the agent
// that runs and to the host's own policy. [Policy.Admit] judges a run before it
// starts, and [Policy.Authorize] every effect before it happens: a tool, a
// program, a request, a module, a model, knowledge, claims, a handoff, a question
// to a person, an event, a namespace of the state. What is not granted is refused.
//
// A refusal is a [Denial] and no error. It says what decided and which smallest
// change to the pack would permit the call ([Fix]). A permit says what to reserve;
// the [Ledger] of the run holds it until the effect is settled.
//
// A policy is a list of layers (pack, agent, host, handoffs), and a call is
// permitted when all of them permit it. So [Narrow] can only ever take away, and a
// denial names the layer that refused.
//
// [Marks] say where the arguments of a call come from. Conditions see what a model,
// a tool or knowledge had a part in as tainted (see [Marks.Derived]), and flags of
// programs are judged argument by argument. Taint only ever refuses.
//
// The files v1_*.go are the contracts of version 1, exact in what they accept and
// say, also where that is lenient. [Policy.Authorize] treats version 1 packs
// strictly: it reserves before an effect, and Compile refuses constraints that
// version 1 does not apply unless told otherwise.
//
// The package is pure. Conditions and JSON Schema come in as interfaces
// (packages expr and schema), and the time as a number. docs/schema/pack.schema.json
// describes version 2 packs for editors; testdata holds two examples.
package policy
