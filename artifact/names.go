package artifact

import "slices"

// SortedNames gives the names of m in the order that canonical documents have
// them: by their bytes. It is nil for an empty map.
func SortedNames[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
