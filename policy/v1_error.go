package policy

import "github.com/writ-dev/writ/artifact"

// Kinds of version 1 errors that this package raises.
const (
	KindInvalidGraph        = "InvalidGraph"        // a malformed handoff contract
	KindPackLoad            = "PackLoad"            // a pack that cannot be read or bound
	KindAuthorityEscalation = "AuthorityEscalation" // a handoff that asks for too much
	KindApprovalRequired    = "ApprovalRequired"    // a claim without an approval
	KindResumeRejected      = "ResumeRejected"      // a token that does not fit
	KindReplayRejected      = "ReplayRejected"      // a replay request that does not fit
	KindHost                = "Host"                // a tool or its registration failed
)

// V1Error is an error of the version 1 contracts: one of their kinds and a text
// that is part of the contract.
type V1Error struct {
	Kind string
	Text string
}

// Error gives the version 1 display text, such as PackLoad("...").
func (e *V1Error) Error() string { return e.Kind + "(" + artifact.QuoteDebug(e.Text) + ")" }

func packLoad(text string) error { return &V1Error{KindPackLoad, text} }
