// Package graph is the plan of a run: which nodes there are, what each reads and
// writes, where it goes on, and what bounds it.
//
// Begin with [Compile]: it reads a definition, says everything that is wrong with
// it, and gives the [Compiled] graph that an engine drives. [Reduce] is the only
// way from one state to the next. In Go, [NewBuilder] makes a graph of typed
// handlers. [Text], [Mermaid] and [SVG] draw a graph. [Inspect] answers the
// version 1 WASM protocol.
//
// The package is pure: no clock, no files, no goroutines. Conditions come from an
// [expr.Compiler] that the caller supplies.
//
// # Version 1
//
// Version 1 documents are JSON and are exchanged with other implementations:
// decoding, checks, error texts, canonical bytes and hashes follow the runtime
// contract to the byte. See [DefinitionV1], [Schema], [Snapshot], [Patch],
// [Outcome] and [CheckpointV1].
//
// # Version 2
//
// A version 2 graph is JSON or YAML:
//
//	version: 2
//	id: refund
//	state:                              # paths and types; ? may be absent
//	  /order: object
//	  /verdict: string?
//	  /answer: object?
//	entry: classify
//	limits: {max_steps: 40, max_tokens: 20000, max_cost_micros: 50000, timeout: 10m}
//	nodes:
//	  classify:
//	    model: fast
//	    reads: [/order]
//	    args: {prompt: "='Refund or not? ' + state.order.text"}
//	    reserve: {tokens: 4000, cost_micros: 9000}
//	    set: {/verdict: =result.text}
//	    cases:
//	      - when: result.text == "refund" && state.order.cents > 5000
//	        to: ask
//	    next: done
//	    routes: {failed: sorry}
//	    retry: 3
//	    timeout: 30s
//	  ask:
//	    approve: pay_refund
//	    reads: [/order]
//	    show: {order: =state.order.id, cents: =state.order.cents}
//	    answer: {/note: string?}
//	    quorum: 2
//	    set: {/answer: =result}
//	    next: done
//	    routes: {denied: sorry, timeout: sorry}
//	    timeout: 2d
//	  done: {end: =state.verdict, reads: [/verdict]}
//	  sorry: {fail: no refund}
//
// The document has version, id, description, state_schema, state, entry, limits
// and nodes. limits needs max_steps and timeout; max_tokens and max_cost_micros
// are 0, none, unless given. A node does what its one key of these says:
//
//	handler: NAME     a function of the host; declares writes instead of set
//	tool: ID          a tool call with args
//	model: NAME       a model call with args
//	retrieve: NAME    a knowledge plan with args
//	approve: ACTION   a person's decision on what show says; answer, quorum
//	wait: {...}       event (and key), or for a length of time, or until a time
//	call: GRAPH       another graph with args as its state; digest, authority, returns
//	fork: [A, B]      parallel branches, by their first nodes
//	join: FORK        where they meet
//	set: {...}        only changes the state, then decides
//	end: VALUE        ends the run with a result
//	fail: MESSAGE     ends the run as failed
//
// reads are the paths that a node sees, set the paths that it writes with their
// values. A text that begins with = is an expression over state (what the node
// reads), visit (counting from 1) and, after the work, result; every other value
// is itself. cases are tried in order, then next is taken; a case's route is
// called by its name, or by the node that it leads to. routes says where other
// outcomes lead: failed, timeout, denied, exhausted, and those that a handler
// names. Without a route for it, such an outcome fails the run. A branch that
// fails is the failed outcome of its join.
//
// retry is a number of attempts, or {attempts, backoff, factor, max_backoff,
// jitter_percent, on}. timeout bounds an attempt or a wait, deadline a visit with
// all its attempts. max_visits bounds the visits of a run to a node: every cycle
// must have a node with it.
//
// An unknown key, a path that the state does not have, an expression that reads
// what the node does not, a cycle without a bound and branches that write the same
// path are errors. The hash is the digest of the canonical bytes, see
// [Definition.Encode]: the same form, sorted, without white space and defaults.
package graph
