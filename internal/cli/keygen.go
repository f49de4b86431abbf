package cli

import (
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/keys"
)

type keygenOptions struct {
	*runner
	public given
	json   bool
}

func newKeygen(r *runner) *cobra.Command {
	o := &keygenOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "keygen FILE",
		Short: "make a key that signs manifests, records and decisions",
		Long: "keygen draws an ed25519 key and writes the private half to FILE, readable by you alone. A file that exists " +
			"is never overwritten. The public half is printed: give it to those who should trust you.",
		Example: `writ keygen publisher.key
writ keygen runs.key --public runs.pub`,
		Annotations: exits("the key was written", "the file exists or cannot be written", wrongUsage),
		RunE:        func(_ *cobra.Command, words []string) error { return o.run(words) },
	}
	flagGroup{cmd.Flags(), "Key"}.value(&o.public, "public", "FILE", "publisher.pub", "write the public half to this file, too")
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the public key as JSON")
	return cmd
}

// publicKey is what keygen prints for a program.
type publicKey struct {
	File      string `json:"file"`
	PublicKey string `json:"publicKey"`
	KeyID     string `json:"keyId"`
}

func (o *keygenOptions) run(words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ keygen publisher.key", "keygen writes one file, and %d are named", len(words))
	}
	if _, err := os.Lstat(o.public.text); o.public.set && err == nil {
		return fmt.Errorf("%s: %w", o.public.text, fs.ErrExist)
	}
	private, err := keys.CreateFile(words[0], o.Random)
	if err != nil {
		return err
	}
	public := private.Public().(ed25519.PublicKey)
	if o.public.set {
		if err := writeFresh(o.public.text, []byte(keys.Text(public)+"\n"), 0o644); err != nil {
			return fmt.Errorf("the key is written to %s, and its public half is not: %w", words[0], err)
		}
	}
	k := publicKey{words[0], keys.Text(public), keyID(public)}
	return o.present(o.json, k, k.write, true)
}

func (k publicKey) write(p *page) {
	p.heading("Key written  ", name(plain, k.File))
	t := &table{indent: 2}
	t.add(cell(bold, "public key"), spans(name(plain, k.PublicKey)))
	t.add(cell(bold, "key id"), spans(name(plain, k.KeyID)))
	p.table(t)
	p.blank()
	p.hang(2, 4, in(dim, "Keep the file to yourself. It signs manifests, the records of runs and decisions:"))
	p.line(4, name(cyan, "writ sign knowledge.yaml --key "+shellWord(k.File)))
	p.line(4, name(cyan, "writ run agent.yaml --sign "+shellWord(k.File)))
	p.blank()
}

// keyIDLength keeps the id of a key short enough to read aloud; it names a key
// and proves nothing.
const keyIDLength = 16

func keyID(key ed25519.PublicKey) string {
	id := keys.ID(key)
	return id[len("sha256:"):][:keyIDLength]
}
