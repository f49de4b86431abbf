// Package planner decides which units of a manifest an agent may load for a
// task, in what order, which are skipped and exactly why.
//
// Start with [Plan]. It takes a manifest, a task and the caller's options and
// gives a [LoadPlan] together with the [Trace] of every decision; both come
// from one pass over one cascade of fourteen gates (see cascade in gate.go).
// [Recheck] plans again and says whether a saved plan still holds, [Diff]
// compares two plans, [Why] names the gate that stopped a unit and the smallest
// change of the caller's options that opens it.
//
// The package is pure: no clock, no files, no network, no model, no map order.
// The same manifest, task and options give the same bytes. A malformed field
// never aborts a plan and never opens a gate: it closes the gate it belongs to,
// for that unit.
package planner
