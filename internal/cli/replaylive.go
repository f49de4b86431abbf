package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/local"
	"github.com/writ-dev/writ/policy"
)

// liveFlags are about replays that perform effects again.
type liveFlags struct {
	file, trust       given
	authorize         bool
	key, expires, out given
}

func (f *liveFlags) declare(cmd *cobra.Command) {
	live := flagGroup{cmd.Flags(), "Live replay"}
	live.value(&f.file, "live", "FILE", "refund-o7.live", "perform the effects of the run again, by this authorization")
	live.value(&f.trust, "trust-key", "KEY", "maria.pub", "with --live: the public key that may authorize, a file or the key itself (default: the approvers of the agent file)")
	live.boolean(&f.authorize, "authorize", "write an authorization for one live replay of the run, and replay nothing")
	live.value(&f.key, "key", "FILE", "maria.key", "with --authorize: the private key that signs it")
	live.value(&f.expires, "expires", "DURATION", "1h", "with --authorize: how long it holds, at most 30d")
	live.value(&f.out, "out", "FILE", "refund-o7.live", "with --authorize: the file to write; one that exists is not overwritten")
}

// check refuses flags that do not go together.
func (f *liveFlags) check(verify bool) error {
	switch {
	case f.file.set && f.authorize:
		return usagef("First --authorize, then --live with the file.", "--live uses an authorization, and --authorize writes one")
	case verify && (f.file.set || f.authorize):
		return usagef("", "--verify-only runs nothing, and --live performs effects")
	case f.trust.set && !f.file.set:
		return usagef("", "--trust-key is about --live")
	case !f.authorize && (f.key.set || f.expires.set || f.out.set):
		return usagef("", "--key, --expires and --out are about --authorize")
	case f.authorize && !(f.key.set && f.expires.set && f.out.set):
		return usagef("Write it like writ replay RUN --authorize --key maria.key --expires 1h --out refund-o7.live",
			"--authorize needs --key, --expires and --out")
	}
	return nil
}

// longestLive bounds how long an authorization holds.
const longestLive = 30 * 24 * time.Hour

// authorization is what authorize prints.
type authorization struct {
	File       string `json:"file"`
	Run        string `json:"run"`
	Caller     string `json:"caller"`
	Definition string `json:"definition"`
	Expires    string `json:"expires"`
	PublicKey  string `json:"publicKey"`
}

// authorize writes an authorization for one live replay of a run.
func (o *replayOptions) authorize(ctx context.Context, exec string) error {
	ms, ok := policy.ParseDuration(o.live.expires.text)
	lasts := time.Duration(ms) * time.Millisecond
	if !ok || lasts <= 0 || lasts > longestLive {
		return badValue("expires", o.live.expires.text, "is no duration up to 30d, such as 15m or 1h", o.live.expires.example)
	}
	private, err := readPrivate(o.live.key.text)
	if err != nil {
		return err
	}
	s, err := o.store.open(ctx, o.runner)
	if err != nil {
		return err
	}
	defer s.Close()
	first, err := eventAt(ctx, s, exec, 1)
	if err != nil {
		return err
	}
	expires := o.Now().Add(lasts)
	a, err := engine.AuthorizeLive(first, o.person.who().name, expires.UnixMilli(), o.Random)
	if err != nil {
		return err
	}
	envelope, err := a.Sign(private)
	if err != nil {
		return err
	}
	if err := writeFresh(o.live.out.text, append(envelope, '\n'), 0o600); err != nil {
		return err
	}
	written := authorization{
		o.live.out.text, exec, a.Caller, a.Definition.String(), timeText(a.ExpiresMS), keys.Text(private.Public().(ed25519.PublicKey)),
	}
	return o.present(o.json, written, written.write, true)
}

// writeFresh writes a file that does not exist.
func writeFresh(path string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("%s: %w", path, reasonOf(err))
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (a authorization) write(p *page) {
	p.heading("Authorization ", name(plain, a.File))
	t := &table{indent: 2}
	t.add(cell(dim, "run"), spans(name(bold, a.Run)))
	t.add(cell(dim, "caller"), spans(text(a.Caller)))
	t.add(cell(dim, "until"), spans(text(a.Expires)))
	t.add(cell(dim, "signed by"), spans(name(plain, a.PublicKey)))
	p.table(t)
	p.hang(2, 4, in(dim, "It lets the caller perform every effect of the run again, once. Where the agent file has no approver with this key, --trust-key names it:"))
	p.hang(4, 6, name(cyan, "writ replay "+shellWord(a.Run)+" --live "+shellWord(a.File)))
}

// goLive reads the authorization and gives the replay what it needs to perform
// effects. The engine refuses one that does not hold, and uses up one that does.
func (o *replayOptions) goLive(replay *engine.ReplayOptions, agent *local.Agent, before []*local.Agent) error {
	if len(before) > 0 {
		return errors.New("the run was migrated from another agent, whose tools are not those of this one: it cannot be replayed live")
	}
	trusted, err := o.live.trusted(agent)
	if err != nil {
		return err
	}
	data, err := o.readArtifact(o.live.file.text)
	if err != nil {
		return err
	}
	a, _, err := engine.OpenLive(data, trusted...)
	if errors.Is(err, keys.ErrUnverified) {
		return &engine.Refusal{Code: liveUntrusted, Message: "no key that may authorize signed " + o.live.file.text}
	}
	if err != nil {
		return inFile(o.live.file.text, err)
	}
	replay.Mode, replay.Authorization, replay.Caller = engine.LiveEffects, &a, o.person.who().name
	replay.NowMS, replay.Spend = o.Now().UnixMilli(), local.Spend(o.store.path(o.runner))
	return nil
}

// liveUntrusted is the code of an authorization that nobody signed who may.
const liveUntrusted = "authorization_untrusted"

// trusted gives the keys that may authorize.
func (f *liveFlags) trusted(agent *local.Agent) ([]ed25519.PublicKey, error) {
	if f.trust.set {
		text, err := readPublic(f.trust.text)
		if err != nil {
			return nil, err
		}
		key, err := keys.ParsePublic(text)
		return []ed25519.PublicKey{key}, err
	}
	var list []ed25519.PublicKey
	for _, key := range agent.Approvers {
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, hintedError{errors.New("the agent file names no approvers, so no key may authorize a live replay"), "Say whose authorization counts: --trust-key KEY"}
	}
	slices.SortFunc(list, func(a, b ed25519.PublicKey) int { return slices.Compare(a, b) })
	return list, nil
}
