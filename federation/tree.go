package federation

import (
	"errors"
	"iter"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
)

// Node is one manifest of a tree. It has a plan or an error, never both. Its JSON
// form has the keys, order and text that other implementations of the protocol
// write, so that trees replay across them.
type Node struct {
	RefID       kcp.String        `json:"refId,omitzero"` // of the reference that led here; unset at the root
	Location    string            `json:"location"`       // where it was found, else where it was looked for
	NotFollowed []NotFollowed     `json:"notFollowed"`
	Children    []*Node           `json:"children"`
	Signature   *kcp.Signature    `json:"signature,omitzero"`
	Plan        *planner.LoadPlan `json:"plan,omitzero"`
	Error       string            `json:"error,omitzero"`
	Writ        *Extension        `json:"writ,omitzero"` // what other implementations do not write

	// What a program wants beside the artifact.
	Err      error          `json:"-"` // behind Error: a refusal of load or fetch, a *kcp.SyntaxError
	Loaded   *load.Loaded   `json:"-"` // what the plan was made from
	Trace    *planner.Trace `json:"-"` // of the plan
	Findings []kcp.Finding  `json:"-"` // of parsing and of the walk; those of Writ
}

// NotFollowed is a reference that leads nowhere in the tree, and why.
type NotFollowed struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Reason string `json:"reason"`
}

// All gives each node with its depth, the root first, depth first, in the order
// of declaration.
func (n *Node) All() iter.Seq2[int, *Node] {
	return func(yield func(int, *Node) bool) { n.each(0, yield) }
}

func (n *Node) each(depth int, yield func(int, *Node) bool) bool {
	if n == nil || !yield(depth, n) {
		return n == nil
	}
	for _, child := range n.Children {
		if !child.each(depth+1, yield) {
			return false
		}
	}
	return true
}

// Plans gives the plans of a tree in the order of the walk. Nodes that failed
// have none.
func Plans(tree *Node) []*planner.LoadPlan {
	var plans []*planner.LoadPlan
	for _, n := range tree.All() {
		if n.Plan != nil {
			plans = append(plans, n.Plan)
		}
	}
	return plans
}

// JSON encodes the tree as an artifact: two-space indented, with its envelope.
func (n *Node) JSON(correlationID string) ([]byte, error) {
	return artifact.Wrap(n, artifact.Envelope{SchemaVersion: 1, Kind: "tree", CorrelationID: correlationID})
}

// fail gives the node its error, and where the bytes were found if there were
// any. The location that was asked for is not repeated in the text.
func (n *Node) fail(err error, asked string) {
	n.Err = err
	var (
		syntax  *kcp.SyntaxError
		refused *load.Refusal
		remote  *fetch.Refusal
	)
	switch {
	case errors.As(err, &syntax):
		n.Location = syntax.Source
		n.Error = "parse failed: " + syntax.Problem
		if syntax.Pos.Line > 0 {
			n.Error += " (" + position(syntax.Pos) + ")"
		}
	case errors.As(err, &refused) && (refused.Code == load.SignatureInvalid || refused.Code == load.SignatureRequired):
		n.Location, n.Error = refused.Location, refused.Problem
		n.Signature = signatureOf(refused)
	default:
		if errors.As(err, &remote) {
			asked = remote.Location
			if remote.Code == fetch.Credentials {
				n.Location = asked // which has none
			}
		}
		n.Error = "fetch failed: " + strings.TrimPrefix(err.Error(), asked+": ")
	}
}

// signatureOf reads from a refusal what verification found.
func signatureOf(r *load.Refusal) *kcp.Signature {
	if detail, ok := strings.CutPrefix(r.Problem, "signature invalid: "); ok {
		return &kcp.Signature{Status: kcp.Invalid, Detail: detail}
	}
	found, ok := strings.CutPrefix(r.Problem, "signature required but ")
	if !ok {
		return nil
	}
	status, detail, _ := strings.Cut(found, ": ")
	return &kcp.Signature{Status: kcp.SignatureStatus(status), Detail: detail}
}

// readBytes reports whether an error is about bytes that were read.
func readBytes(err error) bool {
	var syntax *kcp.SyntaxError
	var refused *load.Refusal
	return errors.As(err, &syntax) ||
		errors.As(err, &refused) && (refused.Code == load.SignatureInvalid || refused.Code == load.SignatureRequired)
}

func position(p kcp.Position) string {
	return artifact.FormatNumber(float64(p.Line)) + ":" + artifact.FormatNumber(float64(p.Column))
}
