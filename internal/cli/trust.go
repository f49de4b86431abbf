package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/keys"
	"github.com/writ-dev/writ/load"
)

type trustOptions struct {
	*runner
	remove given
	json   bool
}

func newTrust(r *runner) *cobra.Command {
	o := &trustOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "trust [PLACE KEY]",
		Short: "pin the key that a publisher signs with",
		Long: "trust keeps a local list of places and the key that must have signed every manifest from there. Without words it " +
			"shows the list; with a place (a host with an optional path, or a folder) and an ed25519 public key (as text or a " +
			"file) it pins the place. A pinned place whose manifest has no signature, or another one, is refused: nobody can " +
			"downgrade it by leaving the signature out.",
		Example: `writ trust docs.example.com/team publisher.pub
writ trust ./handbook 0KW8sQoRxjAAe95RhHmPc3ErWpf4P9MdTB3fraJsUNU=
writ trust
writ trust --remove docs.example.com/team`,
		Annotations: exits("the list was shown or changed", "the list, the key or the place cannot be used", wrongUsage),
		RunE:        func(_ *cobra.Command, words []string) error { return o.run(words) },
	}
	flagGroup{cmd.Flags(), "Signature"}.value(&o.remove, "remove", "PLACE", "docs.example.com/team", "lift the pin of a place")
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the list as JSON")
	return cmd
}

// pins reads the user's list.
func (r *runner) pins() (*load.Pins, error) {
	path, err := load.PinsPath()
	if err != nil {
		return nil, err
	}
	return load.ReadPins(path)
}

func (o *trustOptions) run(words []string) error {
	const form = "Write it like writ trust docs.example.com/team publisher.pub"
	switch {
	case o.remove.set && len(words) > 0:
		return usagef("Write it like writ trust --remove docs.example.com/team", "--remove takes the place, and nothing else is named")
	case len(words) != 0 && len(words) != 2:
		return usagef(form, "trust takes a place and a key, and %d words are given", len(words))
	}
	pins, err := o.pins()
	if err != nil {
		return err
	}
	switch {
	case o.remove.set:
		if !pins.Remove(o.remove.text) {
			return fmt.Errorf("%s is not pinned; `writ trust` shows what is", o.remove.text)
		}
		err = pins.Write()
	case len(words) == 2:
		err = o.add(pins, words[0], words[1])
	}
	if err != nil {
		return err
	}
	list := pinned{pins.All()}
	return o.present(o.json, list, list.write, true)
}

func (o *trustOptions) add(pins *load.Pins, place, word string) error {
	key, err := readPublic(word)
	if err != nil {
		return err
	}
	if err := pins.Add(load.Pin{Scope: place, Key: key, Added: o.today()}); err != nil {
		return err
	}
	return pins.Write()
}

// maxPublicBytes is far more than any file that holds one public key needs.
const maxPublicBytes = 64 << 10

// readPublic takes a public key as text, or from a file.
func readPublic(word string) (string, error) {
	key, err := keys.ParsePublic(word)
	if err == nil {
		return keys.Text(key), nil
	}
	data, readErr := fetch.ReadSmall(context.Background(), fetch.Anywhere{}, word, maxPublicBytes)
	switch {
	case errors.Is(readErr, fs.ErrNotExist):
		return "", fmt.Errorf("%s is neither a public key nor a file: %w", word, err)
	case readErr != nil:
		return "", fmt.Errorf("%s: %w", word, reasonOf(readErr))
	}
	if key, err = keys.ParsePublic(string(data)); err != nil {
		return "", fmt.Errorf("%s: %w", word, err)
	}
	return keys.Text(key), nil
}

// pinned is the list of pins.
type pinned struct {
	Pins []load.Pin `json:"pins"`
}

func (list pinned) write(p *page) {
	p.heading("Pinned publishers")
	if len(list.Pins) == 0 {
		p.line(2, in(dim, "No place is pinned. Pin one with: writ trust docs.example.com/team KEY"))
	}
	t := &table{indent: 2}
	for _, pin := range list.Pins {
		t.add(cell(bold, pin.Scope), spans(name(plain, pin.Key), in(dim, "  since "+pin.Added)))
	}
	p.table(t)
	p.blank()
}
