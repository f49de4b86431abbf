// Package engine runs graphs: it decides what happens next, makes it durable, and
// only then lets it happen.
//
// # The main path
//
// [Define] puts a graph, its policy and its handlers together. [New] gives an
// [Engine] over a store; [Engine.Start] begins a run and drives it until it waits
// for somebody or is over. What somebody has to say then comes in through
// [Engine.Resume], [Engine.Decide], [Engine.Signal] and [Engine.Cancel], also while
// another process has the run. [Engine.Work] drives what is due; a [Worker] does so
// for several engines that share a store. [Engine.Migrate] and [Engine.Abandon] are
// for runs whose definition has changed or is gone. [Engine.Replay] checks what
// happened.
//
// Underneath is a [Machine], which is pure: [Machine.Step] takes a [Position] and
// an [Input] and gives an [Out]. No clock, no randomness, no goroutine. The
// embedded driver, the simulator of engine/sim and the replay all drive it.
//
// # The life of a run
//
//		Start --> step --> append --> do --> wait --+
//		            ^                               |
//		            +---------- input <-------------+
//
//	 1. step: the machine works out the events that follow from the input, walks on
//	    as far as it needs nothing from outside, and closes with a checkpoint.
//	 2. append: events, checkpoint, intents, timers and blobs are stored in one
//	    transaction, under the fence of the worker's lease. The outcome of one effect
//	    and the intent of the next share it.
//	 3. do: handlers run and ports perform effects. Not before.
//	 4. wait: for an outcome, a timer, a decision. A run that waits for somebody is
//	    nowhere but in the store: no goroutine, no timer of its own.
//
// A crash anywhere leaves a whole number of steps. The next worker restores the
// newest checkpoint, checks that the log names it, and goes on. Handlers are run
// again: they depend on their invocation alone. Of an effect that was under way
// nobody knows whether it happened. Its port is asked ([Asker]) or given the same
// key ([Idempotent]); if it is neither, the run waits for a person.
//
// The status of a run:
//
//	running -----> terminated | failed | cancelled | abandoned
//	 |    ^
//	 v    |
//	suspended
//
// It is suspended while every thread of it waits for the world. Each thread has a
// phase, whose constants say who enters and leaves it (position.go). Every run
// that has started ends in exactly one event: terminated by an end node, failed
// when a node has no route for its failure or a limit is reached, cancelled by
// [Engine.Cancel], abandoned by [Engine.Abandon]. What is under way by then is
// waited for, or found to be unknown, so that the log says what became of it.
//
// # What is decided where
//
// Policy is asked before every effect, approval, event, handoff and again when a
// person has decided; a refusal is an event and a route, not an error. Budgets are
// reserved before and settled after, and failed attempts are charged. The limits
// are the lowest of graph, pack, agent, host, parent and request. Time counts while
// somebody works, not while the run waits for people.
//
// Where values come from follows the data: each part of the state and each argument
// has the taint of what the expression that gave it depends on (see [graph.Flow]),
// of the result of an effect, or, from a handler, of all that the handler sees.
//
// Parallel branches start from the state at their fork, see what they write
// themselves, and write disjoint paths. The outcomes of handlers are recorded in
// an order that does not depend on which was faster, so a fork of handlers always
// leaves the same bytes; those of effects are recorded when they come.
//
// A [Refusal] is a value with a code: the run is as it was, and a token that came
// with it is not used up. Tokens are drawn at random and stored as digests.
//
// # Inputs from elsewhere
//
// A run has one worker at a time, who has its lease. What others have to say goes to
// the run's inbox in the store, as a message, and the worker tells its machine of it
// as if it had been asked: while it drives the run, before it gives the lease up,
// once more after that, and when it takes a run up. The append of what follows takes
// the message out, so a crash leaves both or neither. An event that is early stays
// in the inbox until the run comes to a wait for it, or is over.
//
// # Files
//
//	machine.go walk.go handler.go effect.go approve.go   the machine, by what
//	wait.go call.go fork.go end.go                       a node does
//	taint.go                                             where values come from
//	position.go checkpoint.go restore.go                 where a run stands
//	input.go                                             what goes in, what comes out
//	engine.go session.go loop.go job.go children.go       the embedded driver
//	work.go port.go report.go branch_off.go import_v1.go
//	message.go inbox.go post.go                          inputs from elsewhere
//	replay.go infer.go live.go verify.go                 replay and verification
package engine
