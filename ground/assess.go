package ground

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/writ-dev/writ/artifact"
)

// Aggregate says how signals combine.
type Aggregate string

// The ways to combine signals. The zero value is AggregateMin.
const (
	AggregateMin  Aggregate = "min"  // the lowest signal, the careful choice
	AggregateMean Aggregate = "mean" // the arithmetic mean
)

// Signal is one estimate that an answer is right.
type Signal struct {
	Source    string  `json:"source"` // self or evaluator
	Score     float64 `json:"score"`  // 0..1; kept as reported when out of range
	Reasoning string  `json:"reasoning"`
}

// AssessOptions configures [Assess]. Only Threshold and AsOf are required.
type AssessOptions struct {
	Threshold      artifact.Optional[float64] // least confidence that passes, 0..1
	Severity       string                     // of the task; only recorded and told
	SelfReport     *Signal                    // wins over what the answer's text says
	SkipExtraction bool                       // do not look for a self-report in the answer's text
	// Evaluate asks a judge other than the author; nil for none. Its error fails
	// the gate.
	Evaluate  func(task, answer string) (score float64, reasoning string, err error)
	Aggregate Aggregate
	AsOf      string // calendar day of the assessment, YYYY-MM-DD in UTC
}

// Confidence is the verdict of the confidence gate. Its JSON has the members and
// order of the reference agent's.
type Confidence struct {
	Gate      string                    `json:"gate"` // always "confidence"
	Threshold float64                   `json:"threshold"`
	Severity  artifact.Optional[string] `json:"severity,omitzero"`
	AsOf      string                    `json:"asOf"`
	Passed    bool                      `json:"passed"`
	Score     float64                   `json:"score"` // six decimals; 0 when the gate could not judge
	Signals   []Signal                  `json:"signals"`
	Detail    string                    `json:"detail"`
}

// Assess is the confidence gate (planner contract section 17). It combines the
// author's self-report with an evaluator's score and passes when the result
// reaches the threshold. It fails closed: without a signal, with one out of 0..1,
// or when the evaluator fails. A threshold that is unset or out of 0..1, and an
// unknown Aggregate, are errors of the caller.
func Assess(task, answer string, o AssessOptions) (Confidence, error) {
	if threshold := o.Threshold.Value; !o.Threshold.Set || !inRange(threshold) {
		text := "undefined"
		if o.Threshold.Set {
			text = artifact.FormatNumber(threshold)
		}
		return Confidence{}, fmt.Errorf("invalid threshold %s — expected 0..1", text)
	}
	if o.Aggregate == "" {
		o.Aggregate = AggregateMin
	}
	if o.Aggregate != AggregateMin && o.Aggregate != AggregateMean {
		return Confidence{}, fmt.Errorf("invalid aggregate %q: want min or mean", o.Aggregate)
	}
	c := Confidence{Gate: "confidence", Threshold: o.Threshold.Value, AsOf: o.AsOf}
	if o.Severity != "" {
		c.Severity = artifact.Some(o.Severity)
	}
	var problem string
	if c.Signals, problem = gather(task, answer, o); problem != "" {
		c.Detail = problem + " — fail-closed"
		return c, nil
	}
	return c.judge(o.Aggregate), nil
}

// gather collects the signals, or says why the gate cannot judge.
func gather(task, answer string, o AssessOptions) (signals []Signal, problem string) {
	self, ok := Signal{}, o.SelfReport != nil
	if ok {
		self = *o.SelfReport
	} else if !o.SkipExtraction {
		self, ok = ExtractSelfReport(answer)
	}
	if ok {
		signals = append(signals, self)
		if !inRange(self.Score) {
			return signals, fmt.Sprintf("self-report score %s out of range", artifact.FormatNumber(self.Score))
		}
	}
	if o.Evaluate != nil {
		score, reasoning, err := o.Evaluate(task, answer)
		if err != nil {
			return signals, fmt.Sprintf("evaluator failed: %v", err)
		}
		signals = append(signals, Signal{Source: "evaluator", Score: score, Reasoning: reasoning})
		if !inRange(score) {
			return signals, fmt.Sprintf("evaluator score %s out of range", artifact.FormatNumber(score))
		}
	}
	if len(signals) == 0 {
		return nil, "no confidence signal obtainable (no self-report in answer, no evaluator)"
	}
	return signals, ""
}

// judge compares the combined signals with the threshold. The comparison uses
// the exact value, the report six decimals.
func (c Confidence) judge(aggregate Aggregate) Confidence {
	lowest, sum := c.Signals[0], 0.0
	for _, s := range c.Signals {
		sum += s.Score
		if s.Score < lowest.Score {
			lowest = s
		}
	}
	value := lowest.Score
	if aggregate == AggregateMean {
		value = sum / float64(len(c.Signals))
	}
	c.Passed = value >= c.Threshold
	c.Score = artifact.RoundMicros(value)
	score, threshold := artifact.FormatNumber(c.Score), artifact.FormatNumber(c.Threshold)
	if c.Passed {
		plural := "s"
		if len(c.Signals) == 1 {
			plural = ""
		}
		c.Detail = fmt.Sprintf("confidence %s >= threshold %s (%s of %d signal%s)", score, threshold, aggregate, len(c.Signals), plural)
		return c
	}
	severity := ""
	if c.Severity.Set {
		severity = " on " + c.Severity.Value + " task"
	}
	c.Detail = fmt.Sprintf("confidence %s < threshold %s%s — %s: %s", score, threshold, severity, lowest.Source, lowest.Reasoning)
	return c
}

func inRange(x float64) bool { return x >= 0 && x <= 1 } // false for NaN

// selfReport is the reference's pattern with ECMAScript's white space spelled
// out. It is compiled on first use.
var selfReport = sync.OnceValue(func() *regexp.Regexp {
	const space = `\t\n\v\f\r\x{2028}\x{2029}\x{feff}\p{Zs}`
	return regexp.MustCompile(`(?i)confidence[:` + space + `]+([0-9]*\.?[0-9]+)[` + space + `]*(%)?`)
})

// ExtractSelfReport finds what an answer says about its own confidence, such as
// "Confidence: 0.8" or "confidence 80%". The last mention wins; a percentage or a
// number above 1 is divided by 100; the result is clamped to 0..1. It is false
// when the answer says nothing.
func ExtractSelfReport(answer string) (Signal, bool) {
	matches := selfReport().FindAllStringSubmatchIndex(answer, -1)
	if matches == nil {
		return Signal{}, false
	}
	last := matches[len(matches)-1]
	score, _ := strconv.ParseFloat(answer[last[2]:last[3]], 64) // too large reads as infinite
	if percent := last[4] >= 0; percent || score > 1 {
		score /= 100
	}
	return Signal{
		Source:    "self",
		Score:     min(score, 1),
		Reasoning: `self-reported: "` + lineAt(answer, last[0]) + `"`,
	}, true
}

// lineAt gives the trimmed line of s that contains the byte at offset.
func lineAt(s string, offset int) string {
	start := strings.LastIndexByte(s[:offset], '\n') + 1
	line, _, _ := strings.Cut(s[start:], "\n")
	return trimSpace(line)
}
