package model

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
)

// Price is what a model costs, in micro-USD per million tokens: a model at 3 USD
// per million input tokens has Input 3_000_000. The zero Price is that of a model
// which costs nothing, such as one that runs here.
type Price struct {
	Input  uint64
	Output uint64
}

// Prices gives the price of each model by its id. Prices change and differ by
// contract, so a table is made to be overridden: see [Prices.With].
type Prices map[string]Price

// perTokens is the number of tokens that a Price is for.
const perTokens = 1_000_000

// bytesPerToken is how many bytes of text are reserved as one token. Most texts
// have more, so that the reservation is seldom too small.
const bytesPerToken = 3

// UnpricedError is a model without a price: what it costs cannot be reserved.
type UnpricedError struct{ Model string }

func (e *UnpricedError) Error() string {
	return fmt.Sprintf("model %.80q has no price; give it one, or 0 if it costs nothing", e.Model)
}

// With gives the prices with those of over in place of its own.
func (p Prices) With(over Prices) Prices {
	merged := make(Prices, len(p)+len(over))
	maps.Copy(merged, p)
	maps.Copy(merged, over)
	return merged
}

// Of gives the price of a model. The error is an [*UnpricedError].
func (p Prices) Of(model string) (Price, error) {
	price, ok := p[model]
	if !ok {
		return Price{}, &UnpricedError{Model: model}
	}
	return price, nil
}

// Estimate is what a request is expected to use at most.
type Estimate struct {
	Usage
	CostMicros uint64 // micro-USD
}

// Reserve gives what to reserve for a request: see [Price.Reserve]. The error is
// an [*UnpricedError].
func (p Prices) Reserve(r Request) (Estimate, error) {
	price, err := p.Of(r.Model)
	if err != nil {
		return Estimate{}, err
	}
	return price.Reserve(r), nil
}

// Reserve gives what to reserve for a request before it is sent: a token for
// every three bytes of input, rounded up, and the longest answer that the request
// allows. A provider that counts more is charged in full when it is settled.
func (p Price) Reserve(r Request) Estimate {
	u := Usage{InputTokens: EstimateTokens(r.Bytes()), OutputTokens: r.MaxOutputTokens}
	return Estimate{Usage: u, CostMicros: p.Cost(u)}
}

// EstimateTokens gives how many tokens to reserve for a text of so many bytes.
func EstimateTokens(bytes uint64) uint64 {
	tokens := bytes / bytesPerToken
	if bytes%bytesPerToken != 0 {
		tokens++
	}
	return tokens
}

// Cost gives what a usage costs in micro-USD, rounded up once. A cost beyond what
// fits is the largest number, which no budget covers.
func (p Price) Cost(u Usage) uint64 {
	inHigh, inLow := bits.Mul64(u.InputTokens, p.Input)
	outHigh, outLow := bits.Mul64(u.OutputTokens, p.Output)
	low, carry := bits.Add64(inLow, outLow, 0)
	high, overflow := bits.Add64(inHigh, outHigh, carry)
	if overflow != 0 || high >= perTokens {
		return math.MaxUint64
	}
	cost, rest := bits.Div64(high, low, perTokens)
	if rest > 0 {
		return addSaturating(cost, 1)
	}
	return cost
}

func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}
