package ground

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-dev/writ/artifact"
)

type assessVector struct {
	Task    string `json:"task"`
	Answer  string `json:"answer"`
	Options struct {
		Threshold         artifact.Optional[float64] `json:"threshold"`
		Severity          string                     `json:"severity"`
		SelfReport        *Signal                    `json:"selfReport"`
		IncludeSelfReport artifact.Optional[bool]    `json:"includeSelfReport"`
		Aggregate         Aggregate                  `json:"aggregate"`
		AsOf              string                     `json:"asOf"`
	} `json:"options"`
	Evaluator      *Signal                   `json:"evaluator"`
	EvaluatorError artifact.Optional[string] `json:"evaluatorError"`
	Expect         *struct {
		Passed    bool                      `json:"passed"`
		Score     float64                   `json:"score"`
		Threshold float64                   `json:"threshold"`
		Severity  artifact.Optional[string] `json:"severity"`
		Signals   []Signal                  `json:"signals"` // reasoning is not given
		Detail    string                    `json:"detail"`
	} `json:"expect"`
	ExpectError string `json:"expectError"`
}

func (v assessVector) options() AssessOptions {
	o := AssessOptions{
		Threshold: v.Options.Threshold, Severity: v.Options.Severity, SelfReport: v.Options.SelfReport,
		SkipExtraction: !v.Options.IncludeSelfReport.Or(true), Aggregate: v.Options.Aggregate, AsOf: v.Options.AsOf,
	}
	switch {
	case v.EvaluatorError.Set:
		o.Evaluate = func(string, string) (float64, string, error) { return 0, "", errors.New(v.EvaluatorError.Value) }
	case v.Evaluator != nil:
		o.Evaluate = func(string, string) (float64, string, error) { return v.Evaluator.Score, v.Evaluator.Reasoning, nil }
	}
	return o
}

func TestAssessVectors(t *testing.T) {
	folder := filepath.Join(fixtureRoot(t), "vectors", "assess")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		var v assessVector
		decode(t, fixture(t, "vectors", "assess", entry.Name()), &v)
		got, err := Assess(v.Task, v.Answer, v.options())
		if v.ExpectError != "" {
			if err == nil || err.Error() != v.ExpectError {
				t.Errorf("%s: error %v, want %s", entry.Name(), err, v.ExpectError)
			}
			continue
		}
		if err != nil || v.Expect == nil {
			t.Errorf("%s: error %v, expect %v", entry.Name(), err, v.Expect)
			continue
		}
		for i := range got.Signals {
			got.Signals[i].Reasoning = ""
		}
		want := Confidence{
			Gate: "confidence", Threshold: v.Expect.Threshold, Severity: v.Expect.Severity, AsOf: v.Options.AsOf,
			Passed: v.Expect.Passed, Score: v.Expect.Score, Signals: v.Expect.Signals, Detail: v.Expect.Detail,
		}
		gotText, _ := artifact.Encode(got)
		wantText, _ := artifact.Encode(want)
		if diff := cmp.Diff(string(wantText), string(gotText)); diff != "" {
			t.Errorf("%s: %s", entry.Name(), diff)
		}
	}
	if len(entries) < 15 {
		t.Errorf("%d vectors, want at least 15", len(entries))
	}
	t.Logf("vectors/assess: %d records ran, 0 deviations", len(entries))
}

func TestAssessJSON(t *testing.T) {
	o := AssessOptions{Threshold: artifact.Some(0.7), Severity: "critical", AsOf: "2026-07-28"}
	got, err := Assess("t", "x\nConfidence: 41%", o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := artifact.EncodeCompact(got)
	const want = `{"gate":"confidence","threshold":0.7,"severity":"critical","asOf":"2026-07-28","passed":false,"score":0.41,` +
		`"signals":[{"source":"self","score":0.41,"reasoning":"self-reported: \"Confidence: 41%\""}],` +
		`"detail":"confidence 0.41 < threshold 0.7 on critical task — self: self-reported: \"Confidence: 41%\""}`
	if err != nil || string(text) != want {
		t.Errorf("%v\n got %s\nwant %s", err, text, want)
	}
}

func TestAssessBlamesTheFirstOfEqualSignals(t *testing.T) {
	got, err := Assess("t", "a", AssessOptions{
		Threshold: artifact.Some(0.7), SelfReport: &Signal{"self", 0.5, "first"},
		Evaluate: func(string, string) (float64, string, error) { return 0.5, "second", nil },
	})
	if err != nil || got.Detail != "confidence 0.5 < threshold 0.7 — self: first" {
		t.Errorf("%s, %v", got.Detail, err)
	}
}

func TestAssessRefusesItsCaller(t *testing.T) {
	for want, o := range map[string]AssessOptions{
		"invalid threshold undefined — expected 0..1": {},
		"invalid threshold NaN — expected 0..1":       {Threshold: artifact.Some(math.NaN())},
		"invalid threshold -0.1 — expected 0..1":      {Threshold: artifact.Some(-0.1)},
		`invalid aggregate "max": want min or mean`:   {Threshold: artifact.Some(0.5), Aggregate: "max"},
	} {
		if _, err := Assess("t", "confidence: 1", o); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestAssessFailsClosed(t *testing.T) {
	score := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64(), rapid.Just(math.NaN()))
	rapid.Check(t, func(t *rapid.T) {
		threshold := rapid.Float64Range(0, 1).Draw(t, "threshold")
		o := AssessOptions{Threshold: artifact.Some(threshold), SkipExtraction: true,
			Aggregate: rapid.SampledFrom([]Aggregate{"", AggregateMin, AggregateMean}).Draw(t, "aggregate")}
		var scores []float64
		if rapid.Bool().Draw(t, "self") {
			o.SelfReport = &Signal{Source: "self", Score: score.Draw(t, "self score")}
			scores = append(scores, o.SelfReport.Score)
		}
		judged := rapid.Bool().Draw(t, "evaluator")
		failing := rapid.Bool().Draw(t, "fails")
		if judged {
			s := score.Draw(t, "evaluator score")
			o.Evaluate = func(string, string) (float64, string, error) {
				if failing {
					return s, "", errors.New("down")
				}
				return s, "", nil
			}
			scores = append(scores, s)
		}
		got, err := Assess("t", "a", o)
		if err != nil {
			t.Fatal(err)
		}
		sound := len(scores) > 0 && !(judged && failing)
		highest := 0.0
		for _, s := range scores {
			sound = sound && s >= 0 && s <= 1
			highest = max(highest, s)
		}
		if !sound && (got.Passed || got.Score != 0) {
			t.Fatalf("passed %v, score %v without sound signals", got.Passed, got.Score)
		}
		if got.Passed && highest < threshold {
			t.Fatalf("passed although every signal is below %v", threshold)
		}
	})
}

func TestParseScore(t *testing.T) {
	const unreadable = "evaluator returned an unparseable verdict"
	for reply, want := range map[string]Signal{
		`{"score":0.5,"reasoning":"r"}`:   {Score: 0.5, Reasoning: "r"},
		"```json\n{\"score\":2}\n```":     {Score: 2},
		`{"score":"0.9","reasoning":"r"}`: {Reasoning: unreadable},
		`{"reasoning":"r"}`:               {Reasoning: unreadable},
		`{"score":1e999}`:                 {Reasoning: unreadable},
		`The score is {"score":1}`:        {Reasoning: unreadable},
		`{"score":0,"score":1}`:           {Reasoning: unreadable},
	} {
		score, reasoning := ParseScore(reply)
		if score != want.Score || reasoning != want.Reasoning {
			t.Errorf("ParseScore(%q) = %v, %q", reply, score, reasoning)
		}
	}
}

func TestExtractSelfReport(t *testing.T) {
	for answer, want := range map[string]float64{
		"Confidence: 0.82": 0.82, "confidence: 150%": 1, "confidence: 1.5": 0.015, "overconfidence:\n.7": 0.7,
		"confidence: 0.9, no, confidence: 0.4": 0.4, "CONFIDENCE\u00a0\ufeff1e-1": 1,
	} {
		if got, ok := ExtractSelfReport(answer); !ok || got.Score != want {
			t.Errorf("ExtractSelfReport(%q) = %v, %v; want %v", answer, got.Score, ok, want)
		}
	}
	for _, answer := range []string{"", "confidence=0.9", "confidence is 0.9", "confidence: -0.5", "confidence\u0085 0.5"} {
		if got, ok := ExtractSelfReport(answer); ok {
			t.Errorf("ExtractSelfReport(%q) = %+v", answer, got)
		}
	}
}

func TestSelfReportFixtures(t *testing.T) {
	lines := bytes.Split(bytes.TrimSpace(fixture(t, "vectors", "differential", "self-report.jsonl")), []byte("\n"))
	for i, line := range lines {
		var record struct {
			Answer string  `json:"answer"`
			Signal *Signal `json:"signal"`
		}
		decode(t, line, &record)
		got, ok := ExtractSelfReport(record.Answer)
		if ok != (record.Signal != nil) || ok && got != *record.Signal {
			t.Errorf("line %d: ExtractSelfReport(%q) = %+v, %v; want %+v", i+1, record.Answer, got, ok, record.Signal)
		}
	}
	t.Logf("self-report.jsonl: %d records ran, 0 deviations", len(lines))
}
