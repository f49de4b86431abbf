// Package search answers queries over the units of a manifest (KCP
// specification section 15).
//
// Call [Find] for one question. A program that asks again keeps the [Index] of
// [NewIndex], which holds the texts in comparable form, and calls [Index.Find].
// [Chains] and [Changes] look at the same units over time: which window
// follows which, and what differs between two moments.
//
// # Two clocks
//
// A date means two things. as_of is about the world: which text was in force on
// that day. known_at is about the publisher: what had been written down by that
// day. With both, one can ask what somebody could have known then, about then
// or about any other day. The rules are those of [kcp.View], which the planner
// follows too:
//
//   - A unit is known from its recorded_at on. known_at is compared as a point in
//     time: a date stands for the end of its day, in UTC without an offset.
//   - A unit without recorded_at, its own or the root's, says nothing of its
//     recording and counts as known since ever, as one without valid_from counts
//     as valid since ever. A recorded_at that is not a date is known never.
//   - The root's temporal block holds defaults, not a fact with a time of its
//     own. A unit inherits each field that it lacks, whatever it says in others.
//   - A unit that is not known does not exist: it is not found, not counted,
//     stands in for nothing as a successor or a summary, and closes no cycle.
//   - A unit whose successor is not known yet stays current, although its block
//     names the successor: the name was added when the successor came.
//   - Its window stays as declared. A manifest holds one version of a unit, and
//     nothing says when valid_until was written. A publisher who corrects a
//     window adds a unit and lets it supersede the old one.
//   - include_all_temporal lifts windows and supersession, never known_at.
//   - Without known_at, recorded_at decides nothing.
//
// The package is pure: it has no clock, so a query carries today's date.
package search
