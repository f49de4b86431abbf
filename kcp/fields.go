package kcp

import "slices"

// SimilarUnitFields gives the fields of a unit that an unknown key may have
// meant, the nearest first. It is empty for a key that resembles none, and for
// one with the prefix of an extension. Parse names the first of them in its
// finding unknown-field.
func SimilarUnitFields(key string) []string {
	if similarUnitField(key) == "" {
		return nil
	}
	var near []string
	for _, known := range unitFields {
		if similarity(known, key) >= similarEnough {
			near = append(near, known)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int {
		switch x, y := similarity(a, key), similarity(b, key); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return near
}
