package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/store"
	"github.com/writ-dev/writ/store/sqlite"
)

type approvalsOptions struct {
	*runner
	store    storeFlags
	agent    agentFlag
	sign     signFlag
	person   personFlag
	proposal given
	token    given
	key      given
	answer   given
	reason   given
	wait     waitFlag
}

func newApprovals(r *runner) *cobra.Command {
	o := &approvalsOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "approvals [list]",
		Short: "list what runs ask people, and decide",
		Long: "approvals lists every question that a run of the store waits for. A decision is about the exact bytes that `show` " +
			"prints: their digest is the proposal. Whoever started a run cannot approve it, and a quorum counts distinct tokens or " +
			"keys, never names.",
		Example: `writ approvals
writ approvals show refund-o7
writ approvals approve refund-o7 --as maria --token wt_...
writ approvals deny refund-o7 --as maria --token wt_... --reason "wrong order"`,
		Annotations: exits("the questions were listed", "the store cannot be read", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			if wantsList(words) {
				return o.list(cmd.Context())
			}
			return r.needsSubcommand(cmd, words)
		},
	}
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the list as JSON")
	cmd.AddCommand(o.newShow(), o.newDecide(true), o.newDecide(false), o.newReissue())
	return cmd
}

// approvalLine is the JSON form of one open question.
type approvalLine struct {
	Run      string `json:"run"`
	Node     string `json:"node"`
	Action   string `json:"action"`
	Proposal string `json:"proposal"`
	Have     uint32 `json:"have"`
	Need     uint32 `json:"need"`
	Method   string `json:"method"`
	Since    string `json:"since"`
	Expires  string `json:"expires,omitempty"`
}

func (o *approvalsOptions) list(ctx context.Context) error {
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	lines := []approvalLine{}
	for run, err := range s.List(ctx, store.Query{Status: []store.Status{store.Suspended, store.Running}}) {
		if err != nil {
			return err
		}
		l, err := readRun(ctx, s, run.Exec, 0)
		if err != nil {
			return err
		}
		for _, a := range l.approvals {
			line := approvalLine{
				Run: run.Exec, Node: a.node, Action: a.staged.Action, Proposal: a.staged.Proposal.String(), Have: a.have, Need: a.staged.Need,
				Method: a.staged.Method, Since: timeText(a.atMS),
			}
			if a.staged.ExpiresMS > 0 {
				line.Expires = timeText(a.staged.ExpiresMS)
			}
			lines = append(lines, line)
		}
	}
	list := questions{lines}
	return o.present(o.store.json, list, list.write, true)
}

// questions are what runs ask people.
type questions struct {
	Approvals []approvalLine `json:"approvals"`
}

func (list questions) write(p *page) {
	p.heading("Approvals", text("  "+counted(len(list.Approvals), "open question")))
	t := &table{indent: 2}
	for _, x := range list.Approvals {
		words := fmt.Sprintf("%d of %d by %s, since %s", x.Have, x.Need, x.Method, x.Since)
		if x.Expires != "" {
			words += ", until " + x.Expires
		}
		t.add(cell(bold, x.Run), cell(cyan, x.Action), spans(text(words)))
	}
	p.table(t)
}

// question finds the open question of a run that a command is about.
func (o *approvalsOptions) question(ctx context.Context, s store.Store, exec string) (openApproval, error) {
	l, err := readRun(ctx, s, exec, 0)
	if err != nil {
		return openApproval{}, err
	}
	return o.questionOf(l, exec)
}

func (o *approvalsOptions) questionOf(l *runLog, exec string) (openApproval, error) {
	if len(l.approvals) == 0 {
		return openApproval{}, hintedError{fmt.Errorf("run %s waits for no approval", exec), "What it waits for: writ runs show " + shellWord(exec)}
	}
	if !o.proposal.set {
		if len(l.approvals) > 1 {
			var list []string
			for _, a := range l.approvals {
				list = append(list, a.staged.Proposal.String())
			}
			return openApproval{}, usagef("Name one with --proposal: "+strings.Join(list, ", "), "run %s asks %d questions", exec, len(l.approvals))
		}
		return l.approvals[0], nil
	}
	for _, a := range l.approvals {
		if a.staged.Proposal.String() == o.proposal.text {
			return a, nil
		}
	}
	return openApproval{}, fmt.Errorf("run %s has no open question with the proposal %s", exec, o.proposal.text)
}

func (o *approvalsOptions) declareProposal(cmd *cobra.Command) {
	flagGroup{cmd.Flags(), "Question"}.value(&o.proposal, "proposal", "DIGEST", "sha256:...", "which question, where a run asks several")
}

func (o *approvalsOptions) newShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "print the exact bytes that people decide about",
		Long: "show prints the document that a decision is about and its digest, the proposal. With --raw it prints the stored bytes " +
			"and nothing else, so that `sha256sum` gives the proposal.",
		Example: `writ approvals show refund-o7
writ approvals show refund-o7 --raw | sha256sum`,
		Annotations:       exits("the bytes were printed", "there is no such question, or its bytes are gone", wrongUsage),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(o.runner, 1),
	}
	raw := false
	cmd.RunE = func(cmd *cobra.Command, words []string) error { return o.show(cmd.Context(), words[0], raw) }
	o.declareProposal(cmd)
	o.store.declare(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&raw, "raw", "print the stored bytes and nothing else")
	return cmd
}

func (o *approvalsOptions) show(ctx context.Context, exec string, raw bool) error {
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := readRun(ctx, s, exec, 0)
	if err != nil {
		return err
	}
	a, err := o.questionOf(l, exec)
	if err != nil {
		return err
	}
	data, err := readBlob(ctx, s, a.staged.Proposal)
	if err != nil {
		return fmt.Errorf("the bytes of %s: %w", a.staged.Proposal, err)
	}
	if artifact.Sum(data) != a.staged.Proposal && !a.staged.Shown.Redacted {
		return fmt.Errorf("the stored bytes are not those of the proposal %s: do not decide", a.staged.Proposal)
	}
	if raw {
		o.out.Write(data)
		return nil
	}
	p := o.newPage()
	p.heading("Approval ", name(plain, exec), text(" at "+a.node+": "), in(bold, a.staged.Action))
	if v, err := artifact.ParseValue(data); err == nil {
		writeValue(p, 2, v)
	}
	p.blank()
	t := &table{indent: 2}
	t.add(cell(dim, "proposal"), spans(name(plain, a.staged.Proposal.String())))
	t.add(cell(dim, "bytes"), spans(text(grouped(float64(len(data))))))
	t.add(cell(dim, "needs"), spans(text(fmt.Sprintf("%d of %s so far, by %s or stronger%s", a.have,
		counted(a.staged.Need, "approver"), a.staged.Method, untilWords(a.staged.ExpiresMS)))))
	if shape := o.answerOf(ctx, s, l, exec, a.node); len(shape) > 0 {
		t.add(cell(dim, "answer"), spans(name(plain, shape.String())))
	}
	p.table(t)
	o.print(p)
	return nil
}

// answerOf gives what an approval has to carry, or nil where nothing is asked for or
// the run's agent file is not at hand: what is decided about can be shown without it.
func (o *approvalsOptions) answerOf(ctx context.Context, s *sqlite.Store, l *runLog, exec, node string) graph.Shape {
	a, err := o.agent.of(ctx, o.runner, s, o.store.path(o.runner), exec)
	if err != nil {
		return nil
	}
	g := graphOf(a, l.started.Graph)
	if g == nil {
		return nil
	}
	if n := g.Node(node); n != nil {
		return n.Answer
	}
	return nil
}

func (o *approvalsOptions) newDecide(approve bool) *cobra.Command {
	cmd := &cobra.Command{Args: oneRun, Annotations: toldExits(), ValidArgsFunction: o.store.completeRuns(o.runner, 1)}
	if approve {
		cmd.Use, cmd.Short = "approve RUN", "approve what a run asks, and let it go on"
		cmd.Long = "approve records an approval and, when it is the last one needed, drives the run on until it ends or waits again. " +
			"Policy, budget and arguments are checked again first; what is refused leaves the run waiting and the token unused. " +
			"A decision about a run that another process has is given to that process."
		cmd.Example = `writ approvals approve refund-o7 --as maria --token wt_...
writ approvals approve refund-o7 --key maria.key --answer '{"note": "ok"}'`
	} else {
		cmd.Use, cmd.Short = "deny RUN", "deny what a run asks, and let it go on"
		cmd.Long = "deny records a denial with its reason. One is enough: the run goes on by its route for denials, or fails."
		cmd.Example = `writ approvals deny refund-o7 --as maria --token wt_... --reason "wrong order"`
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error { return o.decide(cmd.Context(), words[0], approve) }
	o.person.declare(cmd, "who decides")
	person := flagGroup{cmd.Flags(), "Person"}
	person.value(&o.token, "token", "TOKEN", "wt_...", "the single-use token of the approval")
	person.value(&o.key, "key", "FILE", "maria.key", "sign the decision with this private key; the agent file names the public one under approvers")
	o.declareProposal(cmd)
	decision := flagGroup{cmd.Flags(), "Decision"}
	if approve {
		decision.value(&o.answer, "answer", "JSON", `'{"note": "ok"}'`, "the answer that the node asks for: JSON or YAML, or @FILE")
	}
	decision.value(&o.reason, "reason", "TEXT", `"wrong order"`, "why, for the record")
	o.wait.declare(cmd)
	o.agent.declare(cmd)
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the new events as lines of JSON, then a report")
	return cmd
}

func (o *approvalsOptions) decide(ctx context.Context, exec string, approve bool) error {
	if o.token.set && o.key.set {
		return usagef("Leave one of them out.", "--token and --key are two ways to be known")
	}
	if err := o.wait.check(); err != nil {
		return err
	}
	answer, err := o.jsonFlag(&o.answer, "answer")
	if err != nil {
		return err
	}
	d := driver{o.runner, &o.store, &o.agent, &o.sign, 0}
	return d.drive(ctx, exec, func(ctx context.Context, rt *local.Runtime, agent *local.Agent) (engine.Report, error) {
		a, err := o.question(ctx, rt.Store, exec)
		if err == nil && approve {
			err = agent.CheckSecrets(local.Options{}) // before anything is approved that cannot be done here
		}
		if err != nil {
			return engine.Report{}, err
		}
		who := o.person.who()
		decision := engine.Decision{
			Proposal: a.staged.Proposal, Approve: approve, Token: o.token.text, Approver: who.name, Method: who.method, Answer: answer,
			Reason: o.reason.text,
		}
		switch {
		case o.token.set:
			decision.Method = event.MethodToken
		case o.key.set:
			if err := o.prove(agent, &decision); err != nil {
				return engine.Report{}, err
			}
		}
		report, err := rt.Engine.Decide(ctx, exec, decision)
		return o.wait.taken(ctx, rt.Engine, report, err)
	})
}

// prove signs a decision with the private key of an approver, and gives the
// approver's name.
func (o *approvalsOptions) prove(agent *local.Agent, d *engine.Decision) error {
	private, err := readPrivate(o.key.text)
	if err != nil {
		return err
	}
	for _, name := range artifact.SortedNames(agent.Approvers) {
		if !agent.Approvers[name].Equal(private.Public()) {
			continue
		}
		answer := d.Answer
		if slices.ContainsFunc(agent.Policy.Redactions(), func(p string) bool { return strings.HasPrefix(p, event.ScopeArgs+":") }) {
			answer = artifact.Value{} // a digest of what is redacted could be guessed
		}
		d.Approver, d.Method = name, event.MethodKey
		d.Signature, err = engine.SignDecision(d.Proposal, d.Approve, answer, private)
		return err
	}
	return fmt.Errorf("%s: the agent file names no approver with this key", o.key.text)
}

func (o *approvalsOptions) newReissue() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reissue RUN",
		Short: "replace the tokens of a question",
		Long: "reissue withdraws the tokens of a question, which were lost or shown to the wrong person, and asks again with fresh ones. " +
			"They are shown once.",
		Example:           "writ approvals reissue refund-o7",
		Annotations:       runExits(),
		Args:              oneRun,
		ValidArgsFunction: o.store.completeRuns(o.runner, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			d := driver{o.runner, &o.store, &o.agent, &o.sign, 0}
			return d.drive(cmd.Context(), words[0], func(ctx context.Context, rt *local.Runtime, _ *local.Agent) (engine.Report, error) {
				a, err := o.question(ctx, rt.Store, words[0])
				if err != nil {
					return engine.Report{}, err
				}
				who := o.person.who()
				return rt.Engine.Reissue(ctx, words[0], engine.Reissue{Proposal: a.staged.Proposal, By: who.name, Method: who.method})
			})
		},
	}
	o.person.declare(cmd, "who asks for fresh tokens")
	o.declareProposal(cmd)
	o.agent.declare(cmd)
	o.sign.declare(cmd)
	o.store.declare(cmd)
	o.store.declareJSON(cmd, "print the new events as lines of JSON, then a report")
	return cmd
}
