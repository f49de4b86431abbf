package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// Classes of failures that a retry policy may name.
const (
	ClassTimeout     = "timeout"      // no answer in time
	ClassUnavailable = "unavailable"  // the other side cannot answer now
	ClassRateLimited = "rate_limited" // too many calls
	ClassConflict    = "conflict"     // someone else was faster
	ClassInternal    = "internal"     // the other side failed
	ClassInvalid     = "invalid"      // an answer that does not fit its contract
)

// ClassCancelled is the class of what was ended because its run was. No policy
// retries it.
const ClassCancelled = "cancelled"

// retryClasses in the order of the documentation.
var retryClasses = []string{ClassTimeout, ClassUnavailable, ClassRateLimited, ClassConflict, ClassInternal, ClassInvalid}

// Defaults of a retry policy that gives only its attempts.
const (
	defaultBackoffMillis    = 1_000
	defaultFactor           = 2
	defaultMaxBackoffMillis = 60_000
	defaultJitterPercent    = 20
)

func defaultRetryOn() []string { return []string{ClassRateLimited, ClassTimeout, ClassUnavailable} }

// Retry says how often and when a failed attempt is repeated. The zero value, as
// of every version 1 node, repeats nothing.
type Retry struct {
	Attempts         uint32   // in all, the first included; 0 is the same as 1
	BackoffMillis    uint64   // before the second attempt
	Factor           uint32   // by which each delay grows, at least 1
	MaxBackoffMillis uint64   // the longest delay
	JitterPercent    uint32   // 0 to 100: how much of a delay may be taken off
	On               []string // the classes of failures that are retried, sorted
}

// Covers reports whether a failure of that class is retried after the given
// attempt, which counts from 1.
func (r Retry) Covers(class string, attempt uint32) bool {
	return attempt < r.Attempts && slices.Contains(r.On, class)
}

// Delay gives the wait in milliseconds after a failed attempt, which counts from
// 1. It grows by the factor up to the longest delay, and the jitter takes off a
// part that depends on the arguments alone: the same execution, node, visit and
// attempt always wait the same.
func (r Retry) Delay(execution, node string, visit uint64, attempt uint32) uint64 {
	delay := float64(r.BackoffMillis) * math.Pow(float64(max(r.Factor, 1)), float64(max(attempt, 1)-1))
	longest := float64(r.MaxBackoffMillis)
	if !(delay < longest) {
		delay = longest
	}
	whole := uint64(delay)
	spread := whole / 100 * uint64(min(r.JitterPercent, 100))
	spread += whole % 100 * uint64(min(r.JitterPercent, 100)) / 100
	if spread == 0 {
		return whole
	}
	seed := strconv.AppendQuote(nil, execution)
	seed = strconv.AppendQuote(seed, node)
	seed = binary.BigEndian.AppendUint64(seed, visit)
	seed = binary.BigEndian.AppendUint32(seed, attempt)
	sum := sha256.Sum256(seed)
	return whole - binary.BigEndian.Uint64(sum[:8])%(spread+1)
}
