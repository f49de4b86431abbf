package cli

import (
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/policy"
)

const (
	largest   = ^uint64(0)
	safeLimit = 1<<53 - 1 // what graphs of version 1 write for no limit
)

func TestCounted(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{counted(0, "step"), "0 steps"}, {counted(1, "step"), "1 step"}, {counted(uint64(1), "step"), "1 step"}, {counted(1234, "unit"), "1,234 units"},
		{counted(uint32(1000000), "token"), "1,000,000 tokens"}, {counted(largest, "token"), "18,446,744,073,709,551,615 tokens"},
		{counted(uint64(9007199254740993), "token"), "9,007,199,254,740,993 tokens"},
		{micros(largest), "18446744073709.551615"}, {micros(0), "0"}, {micros(1_500_000), "1.5"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

// An amount that stands for no limit is told as none, and no amount as less than
// nothing.
func TestAmountsInWords(t *testing.T) {
	some := artifact.Some[uint64]
	for _, c := range []struct{ got, want string }{
		{limitWords(policy.Limits{}), "no limits of its own"},
		{limitWords(policy.Limits{Steps: some(1), Tokens: some(1000)}), "at most 1 step, 1,000 tokens"},
		{limitWords(policy.Limits{Steps: some(3), Tokens: some(largest)}), "at most 3 steps; no limit on tokens"},
		{limitWords(policy.Limits{Tokens: some(safeLimit), Cost: policy.Money{"EUR": 5_000_000, "USD": largest}}), "at most 5 EUR; no limit on tokens, USD"},
		{limitWords(policy.Limits{DurationMS: some(90_000), TimeMS: some(7_200_000)}), "at most 90s of effects, 2h"},
		{leftWords(event.Budget{Steps: some(1), Tokens: some(largest), Cost: event.Money{"USD": largest - 7}}), "  left 1 step"},
		{leftWords(event.Budget{Tokens: some(safeLimit - 300), Units: some(12000)}), "  left 12,000 units"},
		{leftWords(event.Budget{Tokens: some(largest)}), ""},
		{usedWords(2, largest, event.Money{"USD": 5}), "2 steps · 18,446,744,073,709,551,615 tokens · 0.000005 USD"},
		{usedWords(1, 0, nil), "1 step"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// What a run has used stops at the largest number.
func TestUsageDoesNotBeginAgain(t *testing.T) {
	l := &runLog{}
	l.spend(event.Usage{Tokens: largest - 1, Calls: 1, Cost: event.Money{"USD": largest}})
	l.spend(event.Usage{Tokens: 5, Calls: 1, Cost: event.Money{"USD": 1}})
	if l.used.Tokens != largest || l.used.Calls != 2 || l.used.Cost["USD"] != largest {
		t.Errorf("%+v", l.used)
	}
}
