package event

import (
	"cmp"
	"crypto/ed25519"
	"fmt"
	"iter"
	"slices"

	"github.com/writ-dev/writ/artifact"
)

// VerifyOptions says what the log is held against.
type VerifyOptions struct {
	// Exec is the execution id that the log must have; "" for whatever the first
	// event says.
	Exec string
	// Stored is the head that came with the log, such as the store's own. It must
	// fit, but it vouches for nothing: whoever rewrites a log rewrites it too.
	Stored *Head
	// Anchors are heads that were kept out of reach of whoever keeps the log.
	Anchors []Head
	// Signed are DSSE envelopes of [SignHead]; the Trusted keys count. An envelope
	// that no trusted key signed is reported and vouches for nothing.
	Signed  [][]byte
	Trusted []ed25519.PublicKey
}

// Report is the outcome of [Verify]. Its facts are separate: a log may be intact
// and still be one that somebody wrote from the start.
type Report struct {
	Exec string
	Head Head // the last event that was read and found good

	// Intact: every event is well formed, stands where it may, names the one
	// before, and contradicts no head. False exactly if Bad is set.
	Intact bool
	// Complete: intact, and the last event is one that a signed or anchored head
	// names.
	Complete bool
	// Unanchored: no signed or anchored head vouches for any of it.
	Unanchored bool
	// Redacted: the log stands for some bytes by salted digests, which only the
	// salts, if they still exist, can check.
	Redacted bool
	// Ended: the last event ends the run. A log that is complete without it was
	// signed while the run went on.
	Ended bool

	Vouched uint64          // the last sequence that a signed or anchored head names
	Signers []string        // ids of the trusted keys behind Vouched
	Heads   []HeadProblem   // signed heads that did not count
	Bad     *BadEvent       // the first bad event
	Types   map[Type]uint64 // how many events of each type
}

// HeadProblem says why a signed head did not count.
type HeadProblem struct {
	Index   int // in VerifyOptions.Signed
	Problem string
}

// What is wrong with an event.
const (
	BadFormat   = "format"   // its bytes are not an event
	BadSequence = "sequence" // another event stands in its place
	BadExec     = "exec"     // it belongs to another run
	BadDigest   = "digest"   // its bytes are not those that its successor or a head names
	BadOrder    = "order"    // it may not follow what is before it
	BadEnd      = "end"      // it follows the end of the run
	BadMissing  = "missing"  // a head names it, and the log ends before
)

// BadEvent is the first bad event of a log.
type BadEvent struct {
	Seq     uint64
	Code    string // one of the Bad constants
	Problem string // in words
}

// Verdict gives the facts in words, such as "intact, unanchored".
func (r Report) Verdict() string {
	if r.Bad != nil {
		return fmt.Sprintf("broken at event %d: %s", r.Bad.Seq, r.Bad.Problem)
	}
	s := "intact"
	switch {
	case r.Complete:
		s += ", complete"
	case r.Unanchored:
		s += ", unanchored"
	default:
		s += fmt.Sprintf(", vouched for up to event %d of %d", r.Vouched, r.Head.Seq)
	}
	if r.Redacted {
		s += ", redacted"
	}
	return s
}

// Verify reads the stored bytes of one log, in order, and reports. A single
// change of one event is blamed on that event, also where only its successor
// tells. Without a head that vouches, the last event is protected by nothing but
// its form. The error is that of the reader, never one about the content.
//
// It works on one event at a time and keeps what [Check] keeps.
func Verify(events iter.Seq2[[]byte, error], o VerifyOptions) (Report, error) {
	v := newVerifier(o)
	next, stop := iter.Pull2(events)
	defer stop()
	for v.report.Bad == nil {
		data, err, ok := next()
		if err != nil {
			return v.report, fmt.Errorf("verify events: %w", err)
		}
		if !ok {
			break
		}
		if err := v.add(data, next); err != nil {
			return v.report, fmt.Errorf("verify events: %w", err)
		}
	}
	v.finish()
	return v.report, nil
}

// Bytes gives the stored bytes of records, in the form that [Verify] reads.
func Bytes(records iter.Seq2[Record, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for r, err := range records {
			if !yield(r.Bytes, err) {
				return
			}
		}
	}
}

type verifier struct {
	options VerifyOptions
	report  Report
	check   Check
	heads   []claim // by sequence
	next    int     // the first of heads that was not reached
}

// claim is a head that the log must agree with.
type claim struct {
	Head
	vouches bool
	signers []string
}

func newVerifier(o VerifyOptions) *verifier {
	v := &verifier{options: o}
	v.report.Types = map[Type]uint64{}
	v.report.Exec = o.Exec
	if o.Stored != nil {
		v.heads = append(v.heads, claim{Head: *o.Stored})
	}
	for _, h := range o.Anchors {
		v.heads = append(v.heads, claim{Head: h, vouches: true})
	}
	for i, data := range o.Signed {
		h, by, err := OpenHead(data, o.Trusted...)
		if err != nil {
			v.report.Heads = append(v.report.Heads, HeadProblem{Index: i, Problem: err.Error()})
			continue
		}
		v.heads = append(v.heads, claim{Head: h, vouches: true, signers: by})
	}
	slices.SortStableFunc(v.heads, func(a, b claim) int { return cmp.Compare(a.Seq, b.Seq) })
	return v
}

func (v *verifier) bad(seq uint64, code, format string, args ...any) {
	if v.report.Bad == nil {
		v.report.Bad = &BadEvent{Seq: seq, Code: code, Problem: fmt.Sprintf(format, args...)}
	}
}

// add takes the next event. The reader is asked for one more only to decide
// which of two events is to blame.
func (v *verifier) add(data []byte, next func() ([]byte, error, bool)) error {
	last := v.report.Head
	want := last.Seq + 1
	if v.report.Ended {
		v.bad(want, BadEnd, "the run ended with event %d", last.Seq)
		return nil
	}
	e, err := Decode(data)
	if err != nil {
		v.bad(want, BadFormat, "%v", err)
		return nil
	}
	digest := artifact.Sum(data)
	switch {
	case e.Seq != want:
		v.bad(want, BadSequence, "event %d stands in its place", e.Seq)
	case v.report.Exec != "" && e.Exec != v.report.Exec && (last.Seq != 1 || v.options.Exec != ""):
		v.bad(want, BadExec, "it belongs to another run")
	case e.Prev != last.Digest:
		return v.blame(last, e, digest, next)
	case last.Seq == 1 && e.Exec != last.Exec: // the link holds, so the first one agreed to it
		v.bad(want, BadExec, "it belongs to another run")
	}
	if v.report.Bad != nil {
		return nil
	}
	if err := v.check.Add(e); err != nil {
		v.bad(want, BadOrder, "%v", err)
		return nil
	}
	v.report.Exec = e.Exec
	v.report.Head = Head{Exec: e.Exec, Seq: e.Seq, Digest: digest}
	v.report.Ended = e.Type.Ends()
	v.report.Types[e.Type]++
	v.report.Redacted = v.report.Redacted || hidden(e.Body)
	v.reach()
	return nil
}

// blame decides whether last was changed or the link of e to it: e is as it was
// if its own successor, or a head, names its digest.
func (v *verifier) blame(last Head, e Event, digest artifact.Digest, next func() ([]byte, error, bool)) error {
	genuine := slices.ContainsFunc(v.heads, func(c claim) bool { return c.Seq == e.Seq && c.Digest == digest })
	if !genuine {
		data, err, ok := next()
		if err != nil {
			return err
		}
		if ok {
			r, err := Read(data)
			genuine = err == nil && r.Prev == digest
		}
	}
	if genuine {
		v.bad(last.Seq, BadDigest, "its bytes are not those that event %d names", e.Seq)
	} else {
		v.bad(e.Seq, BadDigest, "it does not name the bytes of event %d", last.Seq)
	}
	return nil
}

// reach compares the newest event with the heads that name it.
func (v *verifier) reach() {
	at := v.report.Head
	for ; v.next < len(v.heads) && v.heads[v.next].Seq <= at.Seq; v.next++ {
		h := v.heads[v.next]
		switch {
		case h.Exec != at.Exec:
			v.bad(at.Seq, BadExec, "a head names it as an event of another run")
		case h.Digest != at.Digest:
			v.bad(at.Seq, BadDigest, "its bytes are not those that a head names: it, or all up to it, was rewritten")
		case h.vouches:
			if v.report.Vouched != at.Seq {
				v.report.Signers = nil
			}
			v.report.Vouched = at.Seq
			v.report.Signers = append(v.report.Signers, h.signers...)
		}
	}
}

func (v *verifier) finish() {
	r := &v.report
	if r.Bad == nil && v.next < len(v.heads) {
		v.bad(r.Head.Seq+1, BadMissing, "a head names event %d, and the log ends before", v.heads[v.next].Seq)
	}
	r.Intact = r.Bad == nil
	r.Unanchored = r.Vouched == 0
	r.Complete = r.Intact && r.Head.Seq > 0 && r.Vouched == r.Head.Seq
}
