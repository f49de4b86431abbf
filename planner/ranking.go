package planner

import (
	"iter"
	"slices"

	"github.com/writ-dev/writ/match"
)

// ranking orders candidates by score, best first; equal scores go by id in
// root collation, equal ids stay in manifest order. Candidates of one score are
// put in order only when their turn comes, since a plan rarely looks past the
// best few.
type ranking struct {
	byScore [][]*candidate // scores are small: a few points for each term
	size    int
}

func (r *ranking) add(c *candidate) {
	for len(r.byScore) <= int(c.score) {
		r.byScore = append(r.byScore, nil)
	}
	r.byScore[c.score] = append(r.byScore[c.score], c)
	r.size++
}

// best yields the candidates in order.
func (r *ranking) best() iter.Seq[*candidate] {
	return func(yield func(*candidate) bool) {
		for _, equals := range slices.Backward(r.byScore) {
			slices.SortStableFunc(equals, func(a, b *candidate) int { return match.CompareIDs(a.unit.ID, b.unit.ID) })
			for _, c := range equals {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// all yields the candidates in no order that matters.
func (r *ranking) all() iter.Seq[*candidate] {
	return func(yield func(*candidate) bool) {
		for _, equals := range r.byScore {
			for _, c := range equals {
				if !yield(c) {
					return
				}
			}
		}
	}
}
