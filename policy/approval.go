package policy

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/match"
)

// Requirement is what an approval needs. The zero value needs none.
type Requirement struct {
	Quorum    uint64 // distinct keys or tokens
	Method    Method // the weakest that counts
	ExpiresMS uint64 // milliseconds after a decision at which it is void; 0 for never
	Rule      string // who asks for it
}

func (r Requirement) value() artifact.Value {
	var f fields
	f.number("quorum", r.Quorum)
	f.text("minimum_method", r.Method.String())
	f.duration("expires", r.ExpiresMS)
	return f.object()
}

// MaxQuorum is the largest quorum of packs and graphs. A token is drawn, stored
// and listed in the log for each approver, and a run waits for all of them.
const MaxQuorum = 32

// ReadQuorum reads a number of approvers from 1 to [MaxQuorum].
func ReadQuorum(f artifact.Field) uint64 {
	n := f.Uint64()
	switch _, whole := f.Value().Uint(); {
	case !whole: // is reported
	case n == 0:
		f.Report("quorum is 0; write at least 1, or remove what asks for approval")
	case n > MaxQuorum:
		f.Report("quorum is %d; write at most %d: each approver gets a token of the log, and is waited for", n, MaxQuorum)
	}
	return min(n, MaxQuorum)
}

// Principal is a person or program that starts or decides.
type Principal struct {
	Name       string          // as told; never what a quorum counts
	Credential artifact.Digest // of the key or token; zero for none
}

// Decision is one person's answer to one proposal.
type Decision struct {
	Proposal  artifact.Digest // of the exact bytes that were shown
	Approve   bool
	By        Principal
	Method    Method
	DecidedMS int64 // Unix milliseconds
}

// Check counts decisions about a proposal. It gives nil when enough distinct
// approvers said yes and nobody said no. Distinct is who has a distinct key or
// token; all who have none count as one.
func (r Requirement) Check(proposal artifact.Digest, starter Principal, nowMS int64, decisions []Decision) *Denial {
	if r.Quorum == 0 {
		return nil
	}
	approvers := map[artifact.Digest]bool{}
	ignored := map[Code]int{}
	for _, d := range decisions {
		code := r.ignore(d, proposal, starter, nowMS)
		switch {
		case code != "":
			ignored[code]++
		case !d.Approve:
			return &Denial{Code: CodeApprovalRejected, Message: "the proposal was rejected", Rule: r.Rule}
		default:
			approvers[d.By.Credential] = true
		}
	}
	if have := uint64(len(approvers)); have < r.Quorum {
		return r.missing(have, ignored)
	}
	return nil
}

// ignore says why a decision does not count, or gives "". A no counts however
// weak it is, as long as it is about these bytes.
func (r Requirement) ignore(d Decision, proposal artifact.Digest, starter Principal, nowMS int64) Code {
	switch {
	case proposal.IsZero() || d.Proposal != proposal:
		return CodeApprovalStale
	case !d.Approve:
		return ""
	case r.ExpiresMS != 0 && (nowMS < d.DecidedMS || uint64(nowMS-d.DecidedMS) >= r.ExpiresMS):
		return CodeApprovalStale
	case d.Method < r.Method:
		return CodeApprovalMethod
	case d.Method >= MethodToken && d.By.Credential.IsZero():
		return CodeApprovalMethod
	case SamePrincipal(d.By, starter):
		return CodeApprovalSelf
	}
	return ""
}

// SamePrincipal is careful: one key or one name is one person, and so are two of
// whom nothing is known. Names that differ only in case, in blanks around them or
// in how Unicode composes them are one name.
func SamePrincipal(a, b Principal) bool {
	one, other := personName(a.Name), personName(b.Name)
	if a.Credential == b.Credential && (!a.Credential.IsZero() || one == other) {
		return true
	}
	return one != "" && one == other
}

func personName(s string) string {
	return norm.NFKC.String(match.Lower(strings.TrimSpace(s)))
}

func (r Requirement) missing(have uint64, ignored map[Code]int) *Denial {
	d := &Denial{Code: CodeApprovalRequired, Rule: r.Rule, Approval: &r}
	d.Message = fmt.Sprintf("needs %s by %s or stronger, has %d", count(r.Quorum, "approval"), r.Method, have)
	for _, why := range []struct {
		code Code
		text string
	}{
		{CodeApprovalStale, "of other bytes or too old"}, {CodeApprovalMethod, "by a method that is too weak"},
		{CodeApprovalSelf, "by whoever started the run"},
	} {
		if n := ignored[why.code]; n > 0 {
			d.Also = append(d.Also, Reason{why.code, fmt.Sprintf("%s not counted: %s", count(uint64(n), "decision"), why.text), r.Rule})
		}
	}
	if have == 0 && len(d.Also) == 1 {
		// People did decide, and one thing is wrong with all they said.
		d.Code, d.Message = d.Also[0].Code, d.Message+": "+d.Also[0].Message
		d.Also = nil
	}
	return d
}

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
