package policy

import "testing"

// TestAppendValueIsValue holds the fast text of a ledger against the value.
func TestAppendValueIsValue(t *testing.T) {
	p, err := ReadPack([]byte("version: 2\nid: p\nlimits: {steps: 9, time: 90s, cost_micros: {USD: 5, EUR: 7}}\ntools: {a: {limits: {calls: 3}}, b: {}}\n"), "pack")
	if err != nil {
		t.Fatal(err)
	}
	policy, _, err := Compile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := policy.Ledger(Bound{Source: `graph "x"`, Limits: policy.Limits()}, Bound{Source: "parent"})
	check := func() {
		t.Helper()
		if got, want := string(l.AppendValue(nil)), l.Value().String(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if got, want := string(l.Clone().AppendValue(nil)), l.Value().String(); got != want {
			t.Errorf("clone: got %s\nwant %s", got, want)
		}
	}
	check()
	permit, denial := policy.Authorize(Call{Kind: KindTool, Name: "a", Reserve: Amount{Tokens: 4, Cost: Money{"EUR": 2}}}, l)
	if denial != nil {
		t.Fatal(denial)
	}
	l.Reserve("k1", permit)
	check()
	if over := l.Add(Amount{Steps: 2, TimeMS: 7}); over != "" {
		t.Error(over)
	}
	check()
	l.Settle("k1", Amount{Tokens: 9, Cost: Money{"EUR": 99}})
	check()
	if steps, time := l.StepsLeft(), l.TimeLeft(); steps.Value != 7 || time.Value != 89_993 {
		t.Error(steps, time)
	}
	if over := l.Add(Amount{Steps: 8}); over == "" {
		t.Error("ten steps of nine")
	}
}
