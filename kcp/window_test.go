package kcp

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2024-03-01":                      "2024-03-01T23:59:59.999999999Z",
		"2024-02-29":                      "2024-02-29T23:59:59.999999999Z",
		"2024-03-01T12:00":                "2024-03-01T12:00:00Z",
		"2024-03-01 12:00":                "2024-03-01T12:00:00Z",
		"2024-03-01T12:00Z":               "2024-03-01T12:00:00Z",
		"2024-03-01T12:00:30.5z":          "2024-03-01T12:00:30.5Z",
		"2024-03-01T12:00:30 Z":           "2024-03-01T12:00:30Z",
		"2024-03-01T12:00:30.25 +01":      "2024-03-01T11:00:30.25Z",
		"2024-03-01T12:00+05:30":          "2024-03-01T06:30:00Z",
		"2024-03-01T23:30:00-0500":        "2024-03-02T04:30:00Z",
		"2024-03-01T24:00":                "2024-03-02T00:00:00Z",
		"2016-12-31T23:59:60Z":            "2017-01-01T00:00:00Z",
		"2024-03-01T12:00:00.0123456789Z": "2024-03-01T12:00:00.012345678Z",
		"2023-02-29":                      "",
		"2024-03-01Tmorning":              "",
		"2024-03-01T12":                   "",
		"":                                "",
	} {
		got, ok := instant(text)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("instant(%q) = %v, %v; want %q", text, got, ok, want)
		}
	}
}

// Every valid date is a point in time, and comparing days as text is the same as
// comparing the points.
func TestRecordedTimesCompare(t *testing.T) {
	zones := []string{"", "Z", "z", " Z", "+02:00", "-0530", "+14", "-12:00"}
	times := []string{"", "T00:00", " 23:59", "T12:30:45", "T12:30:45.125"}
	date := func(t *rapid.T, label string) string {
		s := rapid.SampledFrom([]string{"2024-02-29", "2024-03-01", "2024-12-31", "2025-01-01"}).Draw(t, label)
		if clock := rapid.SampledFrom(times).Draw(t, label+" time"); clock != "" {
			s += clock + rapid.SampledFrom(zones).Draw(t, label+" zone")
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		recorded, known := date(t, "recorded"), date(t, "known")
		a, aOK := instant(recorded)
		b, bOK := instant(known)
		if !aOK || !bOK {
			t.Fatalf("%q %v, %q %v", recorded, aOK, known, bOK)
		}
		m := &Manifest{Units: []Unit{{ID: "u", Temporal: &Temporal{RecordedAt: String{Value: recorded, Set: true}}}}}
		if got := m.View(Moment{KnownAt: known}).Known(&m.Units[0]); got != !a.After(b) {
			t.Fatalf("recorded %q, known at %q: %v", recorded, known, got)
		}
	})
}

func TestServes(t *testing.T) {
	text := func(s string) String { return String{Value: s, Set: s != ""} }
	window := func(from, until, by string) *Temporal {
		return &Temporal{ValidFrom: text(from), ValidUntil: text(until), SupersededBy: text(by)}
	}
	m := &Manifest{Manifests: []Ref{
		{ID: "old", Temporal: window("2018-05-25", "2023-09-01", "new")},
		{ID: "new", Temporal: window("2023-09-01", "", "")},
		{ID: "always"},
		{ID: "broken", Temporal: &Temporal{Malformed: true}},
		{ID: "orphan", Temporal: window("", "", "nowhere")},
		{ID: "self", Temporal: window("", "", "self")},
	}}
	for _, c := range []struct{ date, want string }{
		{"2018-05-24", "always orphan"},
		{"2020-01-01", "old always orphan"},
		{"2023-08-31", "old always orphan"},
		{"2023-09-01", "new always orphan"}, // both windows are open
		{"2026-07-06", "new always orphan"},
	} {
		got := ""
		v := m.View(Moment{AsOf: c.date})
		for i := range m.Manifests {
			if ref := &m.Manifests[i]; v.Serves(ref) {
				got += " " + ref.ID
			}
		}
		if got != " "+c.want {
			t.Errorf("%s: serves%s, want %s", c.date, got, c.want)
		}
	}
}
