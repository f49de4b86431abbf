package policy

import "github.com/writ-dev/writ/artifact"

// ClaimProposalV1 proposes a change to a claim graph.
type ClaimProposalV1 struct {
	Operation     artifact.Value // canonical
	Justification string
}

// Canonical gives the proposal's canonical bytes.
func (p ClaimProposalV1) Canonical() []byte {
	return object(
		artifact.Member{Name: "operation", Value: p.Operation},
		artifact.Member{Name: "justification", Value: artifact.StringValue(p.Justification)},
	).AppendCompact(nil)
}

// ParseClaimProposal reads a proposal. Unlike the other contracts this one
// ignores unknown members.
func ParseClaimProposal(data []byte, source string) (ClaimProposalV1, error) {
	doc, err := artifact.ParseVersion1(data, source)
	if err != nil {
		return ClaimProposalV1{}, err
	}
	r := artifact.NewFirstReader(doc)
	o := r.Root().Object()
	p := ClaimProposalV1{Operation: o.Need("operation").Value(), Justification: o.Need("justification").Text()}
	return p, r.Err()
}

// ClaimApprovalV1 is who approved a claim: a policy decision or a person. Type is
// policy, human or rejected; anything else approves nothing.
type ClaimApprovalV1 struct {
	Type       string
	DecisionID string // of a policy decision
	Reviewer   string // of a person
}

// Check reports whether a claim may be committed. The error is a *[V1Error].
func (a ClaimApprovalV1) Check() error {
	if a.Type == "policy" && a.DecisionID != "" || a.Type == "human" && a.Reviewer != "" {
		return nil
	}
	return &V1Error{KindApprovalRequired, "ClaimGraph mutation requires explicit policy or human approval"}
}
