package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/store"
)

type verifyOptions struct {
	*runner
	store  storeFlags
	anchor given
	trust  given
}

func newVerify(r *runner) *cobra.Command {
	o := &verifyOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "verify RUN|FILE",
		Short: "check that the log of a run is whole and unchanged",
		Long: "verify checks the log of a run of the store, or a file that `writ runs events --json` wrote: that every event is well formed, " +
			"stands where it may and names the one before. A log that is intact may still have been written anew from its start: " +
			"it is complete only if its head is the one of --head, which you kept elsewhere, or one that a key of --trust-key signed. " +
			"A name that is a file is taken for one; FILE may be -, for standard input.",
		Example: `writ verify refund-o7
writ verify refund-o7 --head 40:sha256:f0a5...
writ verify refund-o7.jsonl`,
		Annotations: exits("the log is intact", "the log is not intact, is not the one of --head, or cannot be read", wrongUsage),
		Args:        oneRun,
		RunE:        func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words[0]) },
	}
	trust := flagGroup{cmd.Flags(), "Trust"}
	trust.value(&o.anchor, "head", "SEQ:DIGEST", "40:sha256:f0a5...", "a head of the log that was kept elsewhere")
	trust.value(&o.trust, "trust-key", "KEY", "keys/runs.pub", "the ed25519 public key that signs heads: a file, or the key itself")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the verdict as JSON")
	return cmd
}

// verdict is the JSON form of a verification.
type verdict struct {
	Run        string   `json:"run"`
	Verdict    string   `json:"verdict"`
	Intact     bool     `json:"intact"`
	Complete   bool     `json:"complete"`
	Unanchored bool     `json:"unanchored"`
	Redacted   bool     `json:"redacted"`
	Ended      bool     `json:"ended"`
	Events     uint64   `json:"events"`
	Head       string   `json:"head"`
	Vouched    uint64   `json:"vouched"`
	Signers    []string `json:"signers,omitempty"`
	BadSeq     uint64   `json:"bad_seq,omitzero"`
	BadCode    string   `json:"bad_code,omitempty"`
	Problem    string   `json:"problem,omitempty"`
}

func (o *verifyOptions) run(ctx context.Context, word string) error {
	check := event.VerifyOptions{}
	if err := o.options(&check); err != nil {
		return err
	}
	log, closeLog, err := o.log(ctx, word, &check)
	if err != nil {
		return err
	}
	defer closeLog()
	report, err := event.Verify(log, check)
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	if report.Head.Seq == 0 && report.Bad == nil {
		return fmt.Errorf("%s: there is no event in it", word)
	}
	v := verdict{
		Run: report.Exec, Verdict: report.Verdict(), Intact: report.Intact, Complete: report.Complete, Unanchored: report.Unanchored,
		Redacted: report.Redacted, Ended: report.Ended, Events: report.Head.Seq, Head: report.Head.Digest.String(), Vouched: report.Vouched,
		Signers: report.Signers,
	}
	if report.Bad != nil {
		v.BadSeq, v.BadCode, v.Problem = report.Bad.Seq, report.Bad.Code, report.Bad.Problem
	}
	if o.store.json {
		err = o.printDocument(v)
	} else {
		p := o.newPage()
		v.write(p, word)
		o.print(p)
	}
	if err == nil && !report.Intact {
		return errNegative
	}
	return err
}

// options reads what vouches for the log.
func (o *verifyOptions) options(check *event.VerifyOptions) error {
	if o.anchor.set {
		seq, digest, ok := strings.Cut(o.anchor.text, ":")
		n, err := strconv.ParseUint(seq, 10, 64)
		d, digestErr := artifact.ParseDigest(digest)
		if !ok || err != nil || digestErr != nil || n == 0 {
			return badValue("head", o.anchor.text, "is no head: the number of the last event, a colon and its digest", o.anchor.example)
		}
		check.Anchors = []event.Head{{Seq: n, Digest: d}}
	}
	if o.trust.set {
		text, err := readPublic(o.trust.text)
		if err != nil {
			return err
		}
		key, err := keys.ParsePublic(text)
		if err != nil {
			return err
		}
		check.Trusted = []ed25519.PublicKey{key}
	}
	return nil
}

// log gives the stored bytes of a run, or the lines of a file.
func (o *verifyOptions) log(ctx context.Context, word string, check *event.VerifyOptions) (iter.Seq2[[]byte, error], func(), error) {
	if isFile(word) {
		data, err := o.readArtifact(word)
		if err == nil {
			nameAnchors(check, data)
		}
		return lines(data), func() {}, err
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return nil, nil, err
	}
	head, err := s.Head(ctx, word)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%s is neither a file nor a run of %s", word, o.store.path(o.runner))
	}
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	check.Exec, check.Stored = word, &head.Head
	if len(head.Signed) > 0 {
		check.Signed = [][]byte{head.Signed}
	}
	for i := range check.Anchors {
		check.Anchors[i].Exec = word
	}
	return event.Bytes(s.Events(ctx, word, 1)), func() { s.Close() }, nil
}

// nameAnchors gives the heads that were kept elsewhere the run of the file.
func nameAnchors(check *event.VerifyOptions, data []byte) {
	for line := range lines(data) {
		first, err := event.Read(line)
		for i := range check.Anchors {
			if err == nil {
				check.Anchors[i].Exec = first.Exec
			}
		}
		return
	}
}

func isFile(word string) bool {
	if word == "-" {
		return true
	}
	info, err := os.Stat(word)
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || !info.IsDir())
}

// lines gives the lines of a log that was written to a file; the report that
// --json writes behind the events is not one of them.
func lines(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line := range bytes.Lines(data) {
			line = bytes.TrimRight(line, "\r\n")
			if len(line) == 0 || bytes.HasPrefix(line, []byte(`{"kind":"report"`)) {
				continue
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

func (v verdict) write(p *page, word string) {
	p.heading("Verify ", name(plain, word))
	if !v.Intact {
		p.hang(0, 2, markBad, space, in(bold, "not intact"), text(fmt.Sprintf("  event %d: %s (%s)", v.BadSeq, v.Problem, v.BadCode)))
		p.line(2, text("The "+counted(min(v.Events, v.BadSeq-1), "event")+" before it fit each other."))
		return
	}
	mark := markGood
	if v.Unanchored {
		mark = markWarn
	}
	p.line(0, mark, space, in(bold, v.Verdict), text("  "+counted(v.Events, "event")))
	t := &table{indent: 2}
	t.add(cell(dim, "head"), spans(name(plain, fmt.Sprintf("%d:%s", v.Events, v.Head))))
	if len(v.Signers) > 0 {
		t.add(cell(dim, "signed by"), spans(text(strings.Join(v.Signers, ", "))))
	}
	p.table(t)
	if v.Unanchored {
		p.hang(2, 4, in(dim, "Nothing outside of the log vouches for it. Keep its head elsewhere, and check it with --head."))
	}
	if !v.Ended {
		p.line(2, in(dim, "The run is not over."))
	}
}
