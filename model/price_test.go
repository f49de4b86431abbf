package model

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	const most = math.MaxUint64
	for _, c := range []struct {
		price Price
		usage Usage
		want  uint64
	}{
		{Price{}, Usage{most, most}, 0},
		{Price{3_000_000, 15_000_000}, Usage{}, 0},
		{Price{3_000_000, 15_000_000}, Usage{1_000_000, 0}, 3_000_000},
		{Price{3_000_000, 15_000_000}, Usage{1, 0}, 3},
		{Price{3_000_000, 15_000_000}, Usage{1000, 100}, 4500},
		{Price{1, 0}, Usage{1, 0}, 1}, // rounded up
		{Price{1, 1}, Usage{500_000, 500_000}, 1},
		{Price{1, 1}, Usage{500_000, 500_001}, 2}, // rounded up once, for the sum
		{Price{most, 0}, Usage{1_000_000, 0}, most},
		{Price{most, 0}, Usage{999_999, 0}, most - most/1_000_000},
		{Price{most, 0}, Usage{1_000_001, 0}, most},
		{Price{most, most}, Usage{most, most}, most},
		{Price{most, 1}, Usage{1_000_000, 1}, most},
		{Price{most, 0}, Usage{most, 0}, most},
	} {
		if got := c.price.Cost(c.usage); got != c.want {
			t.Errorf("%+v of %+v costs %d, want %d", c.usage, c.price, got, c.want)
		}
	}
}

// FuzzCost compares with arithmetic that has no limits.
func FuzzCost(f *testing.F) {
	f.Add(uint64(3_000_000), uint64(15_000_000), uint64(1234), uint64(567))
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64))
	f.Add(uint64(math.MaxUint64), uint64(1), uint64(1_000_000), uint64(1))
	f.Fuzz(func(t *testing.T, in, out, input, output uint64) {
		n := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
		sum := new(big.Int).Add(new(big.Int).Mul(n(in), n(input)), new(big.Int).Mul(n(out), n(output)))
		want, rest := new(big.Int).DivMod(sum, n(1_000_000), new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, n(1))
		}
		if want.Cmp(n(math.MaxUint64)) > 0 {
			want = n(math.MaxUint64)
		}
		if got := (Price{in, out}).Cost(Usage{input, output}); n(got).Cmp(want) != 0 {
			t.Errorf("%d*%d + %d*%d: %d, want %s", in, input, out, output, got, want)
		}
	})
}

func TestReserve(t *testing.T) {
	r := Request{
		Model: "small", System: "1234", Messages: []Message{{User, "1234567"}, {Assistant, "1"}, {User, "12"}},
		Documents:       []Document{{ID: "a", Title: "bc", Source: "def", Text: "ghij"}},
		MaxOutputTokens: 1000,
	}
	if r.Bytes() != 24 {
		t.Fatalf("%d bytes", r.Bytes())
	}
	prices := Prices{"small": {Input: 1_000_000, Output: 5_000_000}}
	e, err := prices.Reserve(r)
	if err != nil || e.InputTokens != 8 || e.OutputTokens != 1000 || e.CostMicros != 5008 || e.Tokens() != 1008 {
		t.Errorf("%+v, %v", e, err)
	}
	r.System += "5"
	if e, _ = prices.Reserve(r); e.InputTokens != 9 {
		t.Errorf("%d tokens of 25 bytes", e.InputTokens)
	}
	r.MaxOutputTokens = math.MaxUint64
	if e, _ = prices.Reserve(r); e.Tokens() != math.MaxUint64 || e.CostMicros != math.MaxUint64 {
		t.Errorf("%+v", e)
	}
	if EstimateTokens(math.MaxUint64) != math.MaxUint64/3 || EstimateTokens(0) != 0 || EstimateTokens(1) != 1 {
		t.Error("estimates")
	}
}

func TestPricesWith(t *testing.T) {
	base := Prices{"a": {1, 2}, "b": {3, 4}}
	over := base.With(Prices{"b": {}, "c": {5, 6}})
	if over["a"] != (Price{1, 2}) || over["b"] != (Price{}) || over["c"] != (Price{5, 6}) || len(base) != 2 || base["b"] != (Price{3, 4}) {
		t.Errorf("%v of %v", over, base)
	}
	_, err := base.Reserve(Request{Model: strings.Repeat("x", 200)})
	var unpriced *UnpricedError
	if !errors.As(err, &unpriced) || len(err.Error()) > 200 {
		t.Error(err)
	}
	if e, err := over.Reserve(Request{Model: "b", MaxOutputTokens: 9}); err != nil || e.CostMicros != 0 || e.OutputTokens != 9 {
		t.Errorf("%+v, %v", e, err)
	}
}
