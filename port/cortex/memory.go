package cortex

import (
	"cmp"
	"context"
	"slices"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/match"
	"github.com/writ-dev/writ/policy"
)

// Document is what a [Memory] holds.
type Document struct {
	ID      string
	Locator string
	Text    string
}

// Memory is a [Retriever] and a [Cortex] over documents in memory. It finds those
// with most of the words of a query, ties in the order of their ids, and gives the
// same answer to the same query. As a Cortex it takes {"text", "limit"}: query
// answers with the evidence, context with the texts alone.
//
// It is safe for concurrent use as long as nobody changes it.
type Memory struct{ documents []Document }

var (
	_ Cortex    = (*Memory)(nil)
	_ Retriever = (*Memory)(nil)
)

// NewMemory gives a memory of documents.
func NewMemory(documents ...Document) *Memory {
	list := slices.Clone(documents)
	slices.SortStableFunc(list, func(a, b Document) int { return cmp.Compare(a.ID, b.ID) })
	return &Memory{list}
}

// Retrieve implements [Retriever]. The content of a piece is the text of its
// document, and its hash the digest of that text.
func (m *Memory) Retrieve(_ context.Context, q policy.RetrievalQueryV1) (policy.RetrievalResultV1, error) {
	words := match.Terms(q.Text)
	slices.Sort(words)
	words = slices.Compact(words)
	result := policy.RetrievalResultV1{Version: 1}
	for _, d := range m.documents {
		found := 0
		has := match.Terms(d.Text)
		for _, w := range words {
			if slices.Contains(has, w) {
				found++
			}
		}
		if found == 0 {
			continue
		}
		result.Evidence = append(result.Evidence, policy.EvidenceV1{
			Content: artifact.StringValue(d.Text), ScoreMicros: uint32(found * maxScore / len(words)),
			SourceID: d.ID, Locator: d.Locator, ContentHash: artifact.Sum([]byte(d.Text)).Hex(),
		})
	}
	slices.SortStableFunc(result.Evidence, func(a, b policy.EvidenceV1) int { return cmp.Compare(b.ScoreMicros, a.ScoreMicros) })
	result.Evidence = result.Evidence[:min(len(result.Evidence), int(q.Limit))]
	return result, nil
}

// Query implements [Cortex].
func (m *Memory) Query(ctx context.Context, request artifact.Value) (artifact.Value, error) {
	result, err := m.find(ctx, request)
	if err != nil {
		return artifact.Value{}, err
	}
	v, err := artifact.ParseValue(result.Canonical())
	return v.Without("version"), err
}

// Context implements [Cortex].
func (m *Memory) Context(ctx context.Context, request artifact.Value) (artifact.Value, error) {
	result, err := m.find(ctx, request)
	if err != nil {
		return artifact.Value{}, err
	}
	texts := make([]artifact.Value, len(result.Evidence))
	for i, e := range result.Evidence {
		texts[i] = e.Content
	}
	return artifact.ObjectValue(artifact.Member{Name: "texts", Value: artifact.ArrayValue(texts...)}), nil
}

func (m *Memory) find(ctx context.Context, request artifact.Value) (policy.RetrievalResultV1, error) {
	q, err := readQuery(request)
	if err != nil {
		return policy.RetrievalResultV1{}, &Error{Class: "invalid", Message: err.Error()}
	}
	return m.Retrieve(ctx, q)
}
