package cli

import (
	"fmt"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/policy"
)

// boundless is the least number that stands for no limit in graphs and packs: they
// write the largest that fits, and of it something may be used.
const boundless = 1 << 52

// counted gives a number with its noun in the right form. The number is exact.
func counted[N ~int | ~uint32 | ~uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(fmt.Sprint(n)) + " " + noun + "s"
}

// thousands sets the thousands of a whole number apart.
func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// micros gives an amount of money that is counted in millionths.
func micros(n uint64) string {
	text := fmt.Sprintf("%d.%06d", n/1_000_000, n%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// limitWords gives limits in words. One that stands for none is told, since without
// it a pack may permit nothing.
func limitWords(l policy.Limits) string {
	var most, free []string
	add := func(n uint64, what, words string) {
		if n >= boundless {
			free = append(free, what)
		} else {
			most = append(most, words)
		}
	}
	for _, x := range []struct {
		limit artifact.Optional[uint64]
		unit  string
	}{{l.Steps, "step"}, {l.Calls, "call"}, {l.Tokens, "token"}, {l.Units, "unit"}} {
		if x.limit.Set {
			add(x.limit.Value, x.unit+"s", counted(x.limit.Value, x.unit))
		}
	}
	if l.DurationMS.Set {
		most = append(most, policy.FormatDuration(l.DurationMS.Value)+" of effects")
	}
	if l.TimeMS.Set {
		most = append(most, policy.FormatDuration(l.TimeMS.Value))
	}
	for _, currency := range artifact.SortedNames(l.Cost) {
		add(l.Cost[currency], currency, micros(l.Cost[currency])+" "+currency)
	}
	var words []string
	if most != nil {
		words = append(words, "at most "+strings.Join(most, ", "))
	}
	if free != nil {
		words = append(words, "no limit on "+strings.Join(free, ", "))
	}
	if words == nil {
		return "no limits of its own"
	}
	return strings.Join(words, "; ")
}

// leftWords gives what is left of a budget, as far as it has a limit.
func leftWords(b event.Budget) string {
	var words []string
	for _, x := range []struct {
		left artifact.Optional[uint64]
		unit string
	}{{b.Steps, "step"}, {b.Calls, "call"}, {b.Tokens, "token"}, {b.Units, "unit"}} {
		if x.left.Set && x.left.Value < boundless {
			words = append(words, counted(x.left.Value, x.unit))
		}
	}
	for _, currency := range artifact.SortedNames(b.Cost) {
		if b.Cost[currency] < boundless {
			words = append(words, micros(b.Cost[currency])+" "+currency)
		}
	}
	if words == nil {
		return ""
	}
	return "  left " + strings.Join(words, ", ")
}

// usedWords gives what a run has used.
func usedWords(steps, tokens uint64, cost event.Money) string {
	words := []string{counted(steps, "step")}
	if tokens > 0 {
		words = append(words, counted(tokens, "token"))
	}
	for _, currency := range artifact.SortedNames(cost) {
		if cost[currency] > 0 {
			words = append(words, micros(cost[currency])+" "+currency)
		}
	}
	return strings.Join(words, " · ")
}

// plus adds usage, which stops at the largest number and does not begin again.
func plus(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return ^uint64(0)
}
