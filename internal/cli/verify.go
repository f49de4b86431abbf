package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/local"
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
		Long: "verify checks the log of a run of the store and those of the runs that it called, or a file that `writ runs events --json` " +
			"wrote: that every event is well formed, stands where it may and names the one before, and that the documents in the store are " +
			"those that the log names. A log that is intact may still have " +
			"been written anew from its start: it is complete only if its head is the one of --head, which you kept elsewhere, or one " +
			"that the key of --trust-key signed. With --trust-key a log that is not complete is refused. " +
			"A name that is a file is taken for one; FILE may be -, for standard input.",
		Example: `writ verify refund-o7
writ verify refund-o7 --trust-key runs.pub
writ verify refund-o7 --head 40:sha256:f0a5...
writ verify refund-o7.jsonl --head refund-o7.head --trust-key runs.pub`,
		Annotations: exits("the log is intact, and with --trust-key complete",
			"the log or what is stored beside it was changed, is not the one of --head, is not vouched for by --trust-key, or cannot be read", wrongUsage),
		Args:              oneRun,
		ValidArgsFunction: o.completeLog,
		RunE:              func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words[0]) },
	}
	trust := flagGroup{cmd.Flags(), "Trust"}
	trust.value(&o.anchor, "head", "HEAD", "40:sha256:f0a5...", "a head of the log that was kept elsewhere: SEQ:DIGEST, or a file with a signed one")
	trust.value(&o.trust, "trust-key", "KEY", "runs.pub", "the ed25519 public key that must have signed the head: a file, or the key itself")
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the verdict as JSON")
	return cmd
}

// completeLog completes runs, and files beside them.
func (o *verifyOptions) completeLog(cmd *cobra.Command, words []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	runs, _ := o.store.completeRuns(o.runner, 1)(cmd, words, typed)
	return runs, cobra.ShellCompDirectiveDefault
}

// verdict is the JSON form of a verification.
type verdict struct {
	Run        string    `json:"run"`
	Verdict    string    `json:"verdict"`
	Intact     bool      `json:"intact"`
	Complete   bool      `json:"complete"`
	Unanchored bool      `json:"unanchored"`
	Redacted   bool      `json:"redacted"`
	Ended      bool      `json:"ended"`
	Events     uint64    `json:"events"`
	Head       string    `json:"head"`
	Vouched    uint64    `json:"vouched"`
	Signers    []string  `json:"signers,omitempty"`
	BadSeq     uint64    `json:"bad_seq,omitzero"`
	BadCode    string    `json:"bad_code,omitempty"`
	Problem    string    `json:"problem,omitempty"`
	Signature  string    `json:"signature_problem,omitempty"` // why a signed head did not count
	Contents   int       `json:"contents"`                    // documents that are kept, and are what the log says
	Gone       int       `json:"gone"`                        // documents that are not kept
	Signed     int       `json:"signed_decisions"`
	Damaged    []damage  `json:"damaged,omitempty"`
	Caller     string    `json:"caller,omitempty"`
	Called     []verdict `json:"called,omitempty"`

	demanded bool // a key was named, so nothing less than complete will do
	signed   bool // the store has a signed head
	file     bool // there is no store, so no signed head but that of --head
}

// damage is something beside the log that is not what the log says.
type damage struct {
	Seq  uint64 `json:"seq"`
	What string `json:"what"`
}

// verdictOfRun adds to the verdict on a log what was found beside it.
func verdictOfRun(found engine.Verified) verdict {
	v := verdictOf(found.Report)
	v.Caller, v.Problem = found.Caller, cmp.Or(v.Problem, found.Problem)
	v.Contents, v.Gone, v.Signed = found.Contents, found.Gone, found.Signed
	for _, d := range found.Damaged {
		v.Damaged = append(v.Damaged, damage(d))
	}
	return v
}

func verdictOf(report event.Report) verdict {
	v := verdict{
		Run: report.Exec, Verdict: report.Verdict(), Intact: report.Intact, Complete: report.Complete, Unanchored: report.Unanchored,
		Redacted: report.Redacted, Ended: report.Ended, Events: report.Head.Seq, Head: report.Head.Digest.String(), Vouched: report.Vouched,
		Signers: report.Signers,
	}
	if report.Bad != nil {
		v.BadSeq, v.BadCode, v.Problem = report.Bad.Seq, report.Bad.Code, report.Bad.Problem
	}
	if len(report.Heads) > 0 {
		v.Signature = report.Heads[0].Problem
	}
	return v
}

// good reports whether the log is what was asked for, and those of the runs that it
// called are what it says.
func (v verdict) good() bool {
	return v.sound() && !slices.ContainsFunc(v.Called, func(c verdict) bool { return !c.sound() }) && (v.Complete || !v.demanded)
}

// sound reports whether nothing was changed, in the log or beside it.
func (v verdict) sound() bool { return v.Intact && v.Problem == "" && v.Damaged == nil }

// trust is what vouches for a log.
type trust struct {
	anchors []event.Head
	keys    []ed25519.PublicKey
	signers []string // of the anchor, where it is a signed head
}

func (o *verifyOptions) run(ctx context.Context, word string) error {
	t, err := o.trusted()
	if err != nil {
		return err
	}
	verify := o.verifyRun
	if isFile(word) {
		verify = o.verifyFile
	}
	v, err := verify(ctx, word, t)
	if err != nil {
		return err
	}
	if v.Events == 0 && v.Intact {
		return fmt.Errorf("%s: there is no event in it", word)
	}
	v.demanded = o.trust.set
	if v.Complete && len(v.Signers) == 0 {
		v.Signers = t.signers
	}
	return o.present(o.store.json, v, func(p *page) { v.write(p, word) }, v.good())
}

// trusted reads what vouches for the log.
func (o *verifyOptions) trusted() (trust, error) {
	var t trust
	if o.trust.set {
		text, err := readPublic(o.trust.text)
		if err != nil {
			return t, err
		}
		key, err := keys.ParsePublic(text)
		if err != nil {
			return t, err
		}
		t.keys = []ed25519.PublicKey{key}
	}
	if !o.anchor.set {
		return t, nil
	}
	if h, ok := parseHead(o.anchor.text); ok {
		t.anchors = []event.Head{h}
		return t, nil
	}
	if !isFile(o.anchor.text) {
		return t, badValue("head", o.anchor.text, "is neither a head (the number of the last event, a colon and its digest) nor a file with a signed one", o.anchor.example)
	}
	if !o.trust.set {
		return t, usagef("Add --trust-key KEY.", "a signed head needs the key that signed it")
	}
	data, err := o.readArtifact(o.anchor.text)
	if err != nil {
		return t, err
	}
	h, by, err := event.OpenHead(data, t.keys...)
	if err != nil {
		return t, inFile(o.anchor.text, err)
	}
	t.anchors, t.signers = []event.Head{h}, by
	return t, nil
}

func parseHead(text string) (event.Head, bool) {
	seq, digest, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	d, digestErr := artifact.ParseDigest(digest)
	return event.Head{Seq: n, Digest: d}, ok && err == nil && digestErr == nil && n > 0
}

// named gives the anchors for a run, where they do not say which run they are of.
func (t trust) named(exec string) []event.Head {
	anchors := slices.Clone(t.anchors)
	for i := range anchors {
		anchors[i].Exec = cmp.Or(anchors[i].Exec, exec)
	}
	return anchors
}

// verifyRun verifies a run of the store and the runs that it called.
func (o *verifyOptions) verifyRun(ctx context.Context, exec string, t trust) (verdict, error) {
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return verdict{}, err
	}
	defer s.Close()
	head, err := s.Head(ctx, exec)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return verdict{}, hintedError{fmt.Errorf("%s is neither a file nor a run of %s%s", exec, o.store.path(o.runner), likeRun(ctx, s, exec)), "The runs of a store: writ runs"}
	case err == nil && !head.Deleted.IsZero():
		return verdict{}, deletedError(ctx, s, exec)
	case err != nil:
		return verdict{}, err
	}
	e, err := local.NewEngine(s, nil, local.Options{Now: o.Now})
	if err != nil {
		return verdict{}, err
	}
	all, err := e.Verify(ctx, exec, t.named(exec), t.keys...)
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", exec, err)
	}
	v := verdictOfRun(all[0])
	v.signed = len(head.Signed) > 0
	for _, called := range all[1:] {
		v.Called = append(v.Called, verdictOfRun(called))
	}
	return v, nil
}

// verifyFile verifies the lines of a file.
func (o *verifyOptions) verifyFile(_ context.Context, file string, t trust) (verdict, error) {
	data, err := o.readArtifact(file)
	if err != nil {
		return verdict{}, err
	}
	exec := ""
	for line := range lines(data) {
		if first, err := event.Read(line); err == nil {
			exec = first.Exec
		}
		break
	}
	report, err := event.Verify(lines(data), event.VerifyOptions{Anchors: t.named(exec)})
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", file, err)
	}
	v := verdictOf(report)
	v.file = true
	return v, nil
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
	v.writeLog(p)
	for _, c := range v.Called {
		mark, words := markGood, c.Verdict
		if !c.sound() {
			mark, words = markBad, cmp.Or(c.Problem, c.Verdict)
		}
		p.hang(2, 4, mark, space, text("called "), name(bold, c.Run), text("  "+words+"  "+counted(int(c.Events), "event")))
		c.writeDamage(p)
	}
}

// contents says which documents were looked at.
func (v verdict) contents() string {
	var words []string
	if v.Contents > 0 {
		words = append(words, counted(v.Contents, "document")+" as the log says")
	}
	if v.Gone > 0 {
		words = append(words, strconv.Itoa(v.Gone)+" not kept")
	}
	if v.Signed > 0 {
		words = append(words, counted(v.Signed, "signed decision"))
	}
	return strings.Join(words, ", ")
}

func (v verdict) writeDamage(p *page) {
	for _, d := range v.Damaged {
		p.hang(2, 4, markBad, space, in(bold, "damaged"), text(fmt.Sprintf("  event %d: %s", d.Seq, d.What)))
	}
}

func (v verdict) writeLog(p *page) {
	if !v.Intact {
		p.hang(0, 2, markBad, space, in(bold, "not intact"), text(fmt.Sprintf("  event %d: %s (%s)", v.BadSeq, v.Problem, v.BadCode)))
		p.line(2, text("The "+counted(min(v.Events, v.BadSeq-1), "event")+" before it fit each other."))
		return
	}
	mark := markGood
	switch {
	case !v.sound(), v.demanded && !v.Complete:
		mark = markBad
	case v.Unanchored:
		mark = markWarn
	}
	p.line(0, mark, space, in(bold, v.Verdict), text("  "+counted(v.Events, "event")))
	v.writeDamage(p)
	if v.Problem != "" {
		p.hang(2, 4, markBad, space, text(v.Problem))
	}
	t := &table{indent: 2}
	t.add(cell(dim, "head"), spans(name(plain, fmt.Sprintf("%d:%s", v.Events, v.Head))))
	if len(v.Signers) > 0 {
		t.add(cell(dim, "signed by"), spans(text(strings.Join(v.Signers, ", "))))
	}
	if words := v.contents(); words != "" {
		t.add(cell(dim, "contents"), spans(text(words)))
	}
	p.table(t)
	switch {
	case v.demanded && v.Unanchored && v.file:
		p.hang(2, 4, text("A file has no signed head with it. Name one with --head FILE; `writ runs head RUN --signed` prints it."))
	case v.demanded && v.Unanchored:
		p.hang(2, 4, text("The key of --trust-key signed no head of it"+problemWords(v.Signature)+"."))
	case v.demanded && !v.Complete:
		p.hang(2, 4, text(fmt.Sprintf("The key of --trust-key signed its head at event %d; what follows may be anybody's.", v.Vouched)))
	case v.Unanchored && v.signed:
		p.hang(2, 4, in(dim, "A key signed its head: check that with --trust-key KEY."))
	case v.Unanchored:
		p.hang(2, 4, in(dim, "Nothing outside of the log vouches for it. Keep its head elsewhere, and check it with --head."))
	}
	if !v.Ended {
		p.line(2, in(dim, "The run is not over."))
	}
}

func problemWords(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}
