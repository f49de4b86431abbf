package planner

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// Amounts and sizes are written as other implementations write them.
func TestNumberFixtures(t *testing.T) {
	dir := os.Getenv("WRIT_FIXTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no shared fixtures at %s (set WRIT_FIXTURES)", dir)
	}
	file, err := os.Open(filepath.Join(dir, "vectors", "differential", "numbers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner, ran := bufio.NewScanner(file), 0
	for scanner.Scan() {
		var r struct {
			Bits   string `json:"bits"`
			Money  string `json:"money"`
			Tokens string `json:"tokens"`
			Locale string `json:"locale"`
		}
		if err := artifact.Decode(scanner.Bytes(), &r, artifact.IgnoreUnknown); err != nil {
			t.Fatal(err)
		}
		bits, err := strconv.ParseUint(r.Bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		x := math.Float64frombits(bits)
		ran++
		if got := artifact.FormatNumber(artifact.RoundMicros(x)); got != r.Money {
			t.Errorf("%v: money %s, want %s", x, got, r.Money)
		}
		if got := tokenText(x); got != r.Tokens {
			t.Errorf("%v: tokens %s, want %s", x, got, r.Tokens)
		}
		if got := grouped(x, 3); got != r.Locale {
			t.Errorf("%v: locale %s, want %s", x, got, r.Locale)
		}
	}
	t.Logf("numbers.jsonl: %d ran", ran)
}
