package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-dev/writ/graph"
)

// A port that is told that its time is over may still say what became of its
// effect: then the effect timed out, and nobody has to look for it.
func TestPortHasTheLastWordAtItsDeadline(t *testing.T) {
	const nodes = "a: {tool: slow, next: d, timeout: 100ms, routes: {timeout: late}}\nd: {end: 1}\nlate: {end: 2}"
	for _, tt := range []struct {
		name  string
		port  func(ctx context.Context, e Effect) (Outcome, error)
		want  string
		after time.Duration
	}{
		{"it ends and says so", func(ctx context.Context, _ Effect) (Outcome, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			return Outcome{Failed: true, Class: graph.ClassTimeout, Error: "stopped"}, nil
		}, "terminated", 100 * time.Millisecond},
		{"it does not listen", func(_ context.Context, _ Effect) (Outcome, error) {
			time.Sleep(time.Hour)
			return Outcome{}, nil
		}, "suspended", 100*time.Millisecond + lastWordMS*time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := define(t, graphText("{/n: number?}", nodes), packText, Definition{})
				l := newLab(t, map[string]Port{"tool": PortFunc(tt.port)})
				began := time.Now()
				r := l.start(d, "run", `{}`)
				wants(t, "status", string(r.Status), tt.want)
				wants(t, "after", time.Since(began), tt.after)
				time.Sleep(2 * time.Hour) // lets the deaf port come back inside the bubble
			})
		})
	}
}
