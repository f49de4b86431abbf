package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

// TestAbandonNeedsNoDefinition ends runs that wait in every way, in a process that
// has no definition at all. What comes of it replays under the definition that the
// run had.
func TestAbandonNeedsNoDefinition(t *testing.T) {
	for name, c := range map[string]struct {
		nodes string
		port  Port
	}{
		"event":    {"a: {wait: {event: paid}, set: {/n: 1}, next: d}\nd: {end: 1}", nil},
		"time":     {"a: {wait: {for: 1h}, next: d}\nd: {end: 1}", nil},
		"approval": {"a: {approve: publish, set: {/n: 1}, next: d, routes: {denied: d}}\nd: {end: 1}", nil},
		"unknown": {"a: {tool: count, set: {/n: =result.n}, next: d}\nd: {end: 1}", PortFunc(func(context.Context, Effect) (Outcome, error) {
			return Outcome{}, errors.New("the line went dead")
		})},
		"fork": {"a: {fork: [x, y]}\nx: {wait: {event: paid}, set: {/n: 1}, next: m}\ny: {wait: {event: shipped}, set: {/m: 1}, next: m}\nm: {join: a, next: d}\nd: {end: 1}", nil},
	} {
		d := define(t, graphText("{/n: any?, /m: any?}", c.nodes), packText, Definition{})
		l := newLab(t, map[string]Port{"tool": c.port}, d)
		wants(t, name, l.start(d, "run", `{}`).Status, store.Suspended)
		l.restart()
		r, err := l.e.Abandon(t.Context(), "run", Abandon{By: "bob", Reason: "nobody has it"})
		wants(t, name+" abandoned", fmt.Sprint(r.Status, r.Error, " ", err), "abandonednobody has it <nil>")
		if _, err := l.e.Abandon(t.Context(), "run", Abandon{By: "bob", Reason: "again"}); !isRefused(err, RefusedEnded) {
			t.Errorf("%s again: %v", name, err)
		}
		l.restart(d)
		wants(t, name+": ends", count(l.events("run"), event.TypeAbandoned), 1)
	}
}

// TestSaltOf finds the salt of a run with redactions, and none of another one.
func TestSaltOf(t *testing.T) {
	const graph = "a: {tool: count, args: {password: hunter2-hunter2}, set: {/n: =result.n}, next: d}\nd: {end: 1}"
	for pack, want := range map[string]bool{packText: false, packText + "redact: ['args:/password']\n": true} {
		d := define(t, graphText("{/n: any?}", graph), pack, Definition{})
		l := newLab(t, map[string]Port{"tool": &counter{}}, d)
		l.start(d, "run", `{}`)
		head, err := l.store.Head(t.Context(), "run")
		if err != nil {
			t.Fatal(err)
		}
		checkpoint, err := l.store.Checkpoint(t.Context(), "run", head.Checkpoint.Seq)
		if err != nil {
			t.Fatal(err)
		}
		salt, err := SaltOf(checkpoint)
		if err != nil || salt.IsZero() == want {
			t.Fatalf("salt %s, %v", salt, err)
		}
		if !want {
			continue
		}
		if data, err := readBlob(t.Context(), l.store, salt); err != nil || len(data) != len(event.Salt{}) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
	if _, err := SaltOf([]byte("{")); err == nil {
		t.Error("no checkpoint")
	}
}
