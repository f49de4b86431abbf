package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/store"
)

func (o *runsOptions) newHead() *cobra.Command {
	signed := false
	cmd := o.sub("head", "print the head of a run's log, to be kept elsewhere",
		"head prints the number of the last event and its digest, as `writ verify --head` takes them: whoever keeps that out of reach "+
			"can tell the log from one that was written anew. With --signed it prints the head that a key signed, which may be older "+
			"than the last event; `writ verify --head FILE --trust-key KEY` checks a log against it.",
		`writ runs head refund-o7
writ runs head refund-o7 --signed > refund-o7.head`,
		func(cmd *cobra.Command, exec string) error { return o.head(cmd.Context(), exec, signed) })
	flagGroup{cmd.Flags(), "Head"}.boolean(&signed, "signed", "the newest head that a key signed, as a DSSE envelope")
	o.store.declareJSON(cmd, "print it as JSON")
	return cmd
}

// headLine is the JSON form of the head of a log.
type headLine struct {
	Run    string          `json:"run"`
	Seq    uint64          `json:"seq"`
	Digest artifact.Digest `json:"digest"`
	Status store.Status    `json:"status"`
	Signed bool            `json:"signed"`
}

func (o *runsOptions) head(ctx context.Context, exec string, signed bool) error {
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	head, err := s.Head(ctx, exec)
	switch {
	case err != nil:
		return runError(ctx, s, exec, err)
	case signed && len(head.Signed) == 0:
		return hintedError{fmt.Errorf("no key signed the head of run %s", exec), "Heads are signed with --sign KEYFILE, or WRIT_SIGN_KEY, of the commands that drive a run."}
	case signed:
		o.out.Write(append(head.Signed, '\n'))
		return nil
	}
	line := headLine{exec, head.Seq, head.Digest, head.Status, len(head.Signed) > 0}
	return o.present(o.store.json, line, func(p *page) { p.line(0, name(plain, headText(head.Head))) }, true)
}

// headText writes a head as --head takes it.
func headText(h event.Head) string { return fmt.Sprintf("%d:%s", h.Seq, h.Digest) }
