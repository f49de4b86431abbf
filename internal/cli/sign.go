package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/load"
)

type signOptions struct {
	*runner
	key, keyID given
	declare    bool
	json       bool
}

func newSign(r *runner) *cobra.Command {
	o := &signOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "sign [LOCATION]",
		Short: "sign a manifest",
		Long: "sign writes the signature file that a manifest's signing block names, made with your key over the exact bytes of " +
			"the manifest, and checks it as a reader would. Sign again after every change. With --declare the block is added " +
			"to a manifest that has none.",
		Example: `writ sign knowledge.yaml --key publisher.key --declare
writ sign knowledge.yaml --key publisher.key`,
		Annotations: exits("the manifest is signed", "it cannot be signed", wrongUsage),
		RunE:        func(cmd *cobra.Command, words []string) error { return o.run(cmd.Context(), words) },
	}
	signing := flagGroup{cmd.Flags(), "Signature"}
	signing.value(&o.key, "key", "FILE", "publisher.key", "the private key, as `writ keygen` wrote it")
	signing.value(&o.keyID, "key-id", "ID", "release-2026", "name the key by this id (default: the beginning of its digest)")
	signing.boolean(&o.declare, "declare", "add a signing block to the manifest if it has none")
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the result as JSON")
	return cmd
}

// signed is what sign prints for a program.
type signed struct {
	Manifest  string        `json:"manifest"`
	SHA256    string        `json:"sha256"`
	Signature string        `json:"signature"`
	PublicKey string        `json:"publicKey"`
	Declared  bool          `json:"declared"`
	Check     kcp.Signature `json:"check"`
}

func (o *signOptions) run(ctx context.Context, words []string) error {
	if len(words) > 1 {
		return usagef("Write it like writ sign knowledge.yaml --key publisher.key", "sign takes one manifest, and %d are named", len(words))
	}
	if !o.key.set {
		return usagef("Write it like writ sign knowledge.yaml --key publisher.key", "the key is missing")
	}
	location, err := (&sourceFlags{}).location(firstOf(words))
	if err != nil {
		return err
	}
	private, err := readPrivate(o.key.text)
	if err != nil {
		return err
	}
	manifest, err := load.Manifest(ctx, location, load.Options{NoVerify: true, NoCompose: true})
	if err != nil {
		return err
	}
	result, err := o.sign(manifest, private)
	if err != nil {
		return err
	}
	checked, err := load.Manifest(ctx, location, load.Options{RequireSignature: true, NoCompose: true})
	if err != nil {
		return fmt.Errorf("the signature was written, but a reader would refuse it: %w", err)
	}
	result.SHA256, result.Check = checked.Digest.Hex(), *checked.Signature
	return o.present(o.json, result, result.write, true)
}

func firstOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// sign writes the block, if it is wanted, and the signature file.
func (o *signOptions) sign(manifest *load.Loaded, private ed25519.PrivateKey) (*signed, error) {
	public := private.Public().(ed25519.PublicKey)
	id := o.keyID.text
	if id == "" {
		id = keyID(public)
	}
	result := &signed{Manifest: manifest.Source, PublicKey: keys.Text(public)}
	text, block := manifest.Bytes, manifest.Manifest.Signing
	name := filepath.Base(manifest.Source) + ".sig"
	switch {
	case block == nil && !o.declare:
		return nil, fmt.Errorf("%s: declares no signing block; add one, or let --declare add it", manifest.Source)
	case block == nil:
		text = kcp.DeclareSigning(text, keys.Text(public), id, name)
		result.Declared = true
	default:
		if err := fits(block, public); err != nil {
			return nil, fmt.Errorf("%s: %w", manifest.Source, err)
		}
		name = block.Signature.Value
		if !o.keyID.set && block.KeyID.Value != "" {
			id = block.KeyID.Value
		}
	}
	envelope, err := kcp.Sign(text, private, id)
	if err != nil {
		return nil, err
	}
	if result.Declared {
		if err := load.ReplaceFile(manifest.Source, text, fileMode(manifest.Source)); err != nil {
			return nil, err
		}
	}
	result.Signature = filepath.Join(filepath.Dir(manifest.Source), filepath.FromSlash(name))
	return result, load.ReplaceFile(result.Signature, envelope, 0o644)
}

// fits reports whether a signature by the key, in a file beside the manifest,
// is what the block announces.
func fits(block *kcp.Signing, public ed25519.PublicKey) error {
	if kcp.SafeUnitPath(block.Signature.Value) != "" {
		return errors.New("signing.signature must name a file below the manifest's folder, such as knowledge.yaml.sig")
	}
	declared, err := keys.ParsePublic(block.PublicKey.Value)
	switch {
	case !block.PublicKey.Set:
		return errors.New("signing.public_key is missing; without it nobody can tell who signed")
	case err == nil && !declared.Equal(public):
		return errors.New("signing.public_key is another key than the one given")
	}
	return nil // a location is checked when the result is read
}

// fileMode keeps the mode of a file that is written anew.
func fileMode(path string) os.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

func (s *signed) write(p *page) {
	p.heading("Signed  ", name(plain, s.Manifest))
	t := &table{indent: 2}
	if s.Declared {
		t.add(cell(bold, "declared"), spans(text("a signing block was added to the manifest")))
	}
	t.add(cell(bold, "signature"), spans(name(plain, s.Signature)))
	t.add(cell(bold, "public key"), spans(name(plain, s.PublicKey)))
	t.add(cell(bold, "check"), spans(in(green, "✓ "), text(s.Check.Detail)))
	p.table(t)
	p.blank()
}
