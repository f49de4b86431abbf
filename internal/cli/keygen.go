package cli

import (
	"crypto/ed25519"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/keys"
)

type keygenOptions struct {
	*runner
	json bool
}

func newKeygen(r *runner) *cobra.Command {
	o := &keygenOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "keygen FILE",
		Short: "make a key that signs manifests, records and decisions",
		Long: "keygen draws an ed25519 key and writes the private half to FILE, readable by you alone. A file that exists " +
			"is never overwritten. The public half is printed: give it to those who should trust you.",
		Example:     "writ keygen publisher.key",
		Annotations: exits("the key was written", "the file exists or cannot be written", wrongUsage),
		RunE:        func(_ *cobra.Command, words []string) error { return o.run(words) },
	}
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
	private, err := keys.CreateFile(words[0])
	if err != nil {
		return err
	}
	public := private.Public().(ed25519.PublicKey)
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
	p.hang(2, 4, in(dim, "Keep the file to yourself. Sign a manifest with: writ sign knowledge.yaml --key "+k.File+", and the record of a run with: writ run agent.yaml --sign "+k.File))
	p.blank()
}

// keyIDLength keeps the id of a key short enough to read aloud; it names a key
// and proves nothing.
const keyIDLength = 16

func keyID(key ed25519.PublicKey) string {
	id := keys.ID(key)
	return id[len("sha256:"):][:keyIDLength]
}
