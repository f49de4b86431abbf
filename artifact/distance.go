package artifact

// longestGuess bounds the names that are compared: nobody mistypes longer ones,
// and the work grows with the square.
const longestGuess = 64

// Distance counts the insertions, deletions, replacements and swaps of neighbours
// between two names, in bytes. Names longer than 64 bytes are near to none: their
// distance is 64.
func Distance(a, b string) int {
	if len(a) > longestGuess || len(b) > longestGuess {
		return longestGuess
	}
	var rows [3][longestGuess + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
