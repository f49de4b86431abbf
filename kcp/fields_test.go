package kcp

import (
	"slices"
	"testing"
)

func TestSimilarUnitFields(t *testing.T) {
	for key, want := range map[string][]string{
		"sise_tokens": {"size_tokens"},
		"audiance":    {"audience"},
		"trigers":     {"triggers"},
		"not_fr":      {"not_for"},
		"x-audience":  nil,
		"colour":      nil,
	} {
		if got := SimilarUnitFields(key); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	for _, field := range unitFields {
		if got := SimilarUnitFields(field + "s"); len(got) > 0 && got[0] != similarUnitField(field+"s") {
			t.Errorf("%ss: %v, and Parse says %s", field, got, similarUnitField(field+"s"))
		}
	}
}
