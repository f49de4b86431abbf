package engine

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// TestSignedDecision decides with keys: a signature counts for exactly the decision
// that it is about, and stays in the record for anybody to check.
func TestSignedDecision(t *testing.T) {
	pack := replace(packText, "approvals: {minimum_method: token}", "approvals: {minimum_method: key}")
	d := define(t, graphText("{/a: any?}", "a: {approve: publish, answer: {/note: string}, set: {/a: =result.note}, next: d}\nd: {end: =state.a, reads: [/a]}"), pack, Definition{})
	l := newLab(t, nil, d)
	r := l.start(d, "run", `{}`)
	_, private, err := ed25519.GenerateKey(bytes.NewReader(make([]byte, 64)))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, "tokens that would do nothing", len(r.Issued), 0)
	p, answer := r.Proposals[0].Digest, value(`{"note":"fine"}`)
	other := p
	other[0] ^= 1
	sign := func(proposal artifact.Digest, approve bool, answer artifact.Value) []byte {
		t.Helper()
		data, err := SignDecision(proposal, approve, answer, private)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	good := Decision{Proposal: p, Approve: true, Approver: "maria", Answer: answer, Signature: sign(p, true, answer)}
	for name, c := range map[string]struct {
		code   string
		change func(*Decision)
	}{
		"another proposal":   {RefusedSignature, func(d *Decision) { d.Signature = sign(other, true, answer) }},
		"a no for a yes":     {RefusedSignature, func(d *Decision) { d.Signature = sign(p, false, answer) }},
		"another answer":     {RefusedSignature, func(d *Decision) { d.Signature = sign(p, true, value(`{"note":"no"}`)) }},
		"a changed one":      {RefusedSignature, func(d *Decision) { d.Signature = bytes.Replace(d.Signature, []byte(`"sig`), []byte(`"gis`), 1) }},
		"no signature":       {RefusedToken, func(d *Decision) { d.Signature, d.Method = nil, event.MethodKey }},
		"a token, not a key": {RefusedToken, func(d *Decision) { d.Signature, d.Token = nil, "wt_any" }},
	} {
		bad := good
		c.change(&bad)
		if _, err := l.e.Decide(t.Context(), "run", bad); !isRefused(err, c.code) {
			t.Errorf("%s: want %s, got %v", name, c.code, err)
		}
	}
	if r, err = l.e.Decide(t.Context(), "run", good); err != nil || r.Status != store.Terminated {
		t.Fatal(r.Status, err)
	}
	for _, e := range l.events("run") {
		b, ok := e.Body.(*event.ApprovalDecided)
		if !ok {
			continue
		}
		if b.Signature == nil || b.Credential != keyDigest(private.Public().(ed25519.PublicKey)) {
			t.Fatalf("recorded %+v", b)
		}
		data, err := readBlob(t.Context(), l.store, b.Signature.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSignature(b, data); err != nil {
			t.Error(err)
		}
		forged := *b
		forged.Decision = event.DecisionDeny
		if checkSignature(&forged, data) == nil {
			t.Error("a signed yes stands for a no")
		}
	}
}
