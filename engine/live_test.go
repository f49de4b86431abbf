package engine

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/policy"
)

// TestLiveReplayNeedsNoResult: what a port gives is held against the digest of the
// recorded result, whether or not its bytes are kept. How long a call takes is not.
func TestLiveReplayNeedsNoResult(t *testing.T) {
	d := define(t, graphText("{/n: number?}", "a: {tool: count, set: {/n: =result.n}, next: d}\nd: {end: =state.n, reads: [/n]}"), packText, Definition{})
	took := func(ms uint64, result string) Port {
		return PortFunc(func(context.Context, Effect) (Outcome, error) {
			return Outcome{Result: value(result), Usage: policy.Amount{Calls: 1, DurationMS: ms}}, nil
		})
	}
	l := newLab(t, map[string]Port{"tool": took(7, `{"n":1}`)}, d)
	l.start(d, "run", `{}`)
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public := private.Public().(ed25519.PublicKey)
	for _, c := range []struct {
		result, diverges string
	}{{`{"n":1}`, ""}, {`{"n":2}`, "/body/result/digest"}} {
		l.ports = map[string]Port{"tool": took(90, c.result)}
		l.restart(d)
		a, err := AuthorizeLive(l.events("run")[0], "ann", 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := a.Sign(private)
		if err != nil {
			t.Fatal(err)
		}
		opened, by, err := OpenLive(signed, public)
		if err != nil || opened != a || len(by) != 1 {
			t.Fatalf("opened %+v, %q, %v", opened, by, err)
		}
		v, err := l.e.Replay(t.Context(), "run", ReplayOptions{
			Mode: LiveEffects, Authorization: &opened, Caller: "ann", NowMS: 5, Spend: func(artifact.Digest) (bool, error) { return true, nil },
		})
		if err != nil || v.Calls != 1 || len(v.Unverifiable) != 0 {
			t.Fatalf("%s: %v, %d calls, %v", c.result, err, v.Calls, v.Unverifiable)
		}
		at := ""
		if v.Divergence != nil {
			at = v.Divergence.Pointer
		}
		wants(t, c.result, at, c.diverges)
	}
	other := ed25519.NewKeyFromSeed(append(make([]byte, ed25519.SeedSize-1), 1))
	signed, err := LiveAuthorization{Exec: "run", Caller: "ann", Nonce: "x"}.Sign(other)
	if err != nil {
		t.Fatal(err)
	}
	if a, _, err := OpenLive(signed, public); !errors.Is(err, keys.ErrUnverified) || a != (LiveAuthorization{}) {
		t.Errorf("signed by somebody else: %+v, %v", a, err)
	}
}
