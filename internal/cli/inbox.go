package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

// waitFlag says how long a command waits for another process that has the run.
type waitFlag struct{ wait given }

const usualWait = 10 * time.Second

func (f *waitFlag) declare(cmd *cobra.Command) {
	flagGroup{cmd.Flags(), "Run"}.value(&f.wait, "wait", "DURATION", "30s",
		"how long to wait for another process that has the run (default 10s); what it was told stays there for it")
}

func (f *waitFlag) check() error {
	_, err := f.limit()
	return err
}

func (f *waitFlag) limit() (time.Duration, error) {
	if !f.wait.set {
		return usualWait, nil
	}
	ms, ok := policy.ParseDuration(f.wait.text)
	if !ok || ms > uint64(time.Hour.Milliseconds()) {
		return 0, badValue("wait", f.wait.text, "is no duration up to 1h, such as 500ms or 30s", f.wait.example)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// toldExits lists the exit codes of commands that tell a run something.
func toldExits() map[string]string {
	notes := runExits()
	notes[exitNote] += "; or another process has it"
	return notes
}

// taken waits until the process that has the run has taken what was posted to it. An
// event that is early may wait for long, and is not waited for.
func (f *waitFlag) taken(ctx context.Context, e *engine.Engine, r engine.Report, err error) (engine.Report, error) {
	limit, limitErr := f.limit()
	if err != nil || limitErr != nil || limit == 0 || !r.Posted || r.Kept {
		return r, err
	}
	return e.Await(ctx, r, limit)
}

// sayKept tells of an event that waits for the run.
func (o *resumeOptions) sayKept(report engine.Report, key artifact.Value) {
	event := o.event.text
	if !key.IsNull() {
		event += " " + key.String()
	}
	if report.Kept {
		o.say(fmt.Sprintf("run %s does not wait for %s yet; the event is kept until it does", report.Exec, event))
	}
}

// sayPosted tells of an input that another process has not come to yet.
func (r *runner) sayPosted(ctx context.Context, s store.Store, exec string) {
	r.say(fmt.Sprintf("another process has run %s; it was told, and has not come to it yet", exec))
	hint := "If that process has ended, this makes it so: writ resume " + shellWord(exec)
	if head, err := s.Head(ctx, exec); err == nil && head.Owner != "" {
		hint += ", after " + timeText(head.Expires.UnixMilli())
	}
	r.hint(hint)
}

// inboxOf gives how many messages wait for a run.
func inboxOf(ctx context.Context, s *sqlite.Store, exec string) (int, error) {
	list, err := s.Posted(ctx, exec, 0, store.MaxMessages)
	return len(list), err
}
