package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/internal/draft"
	"github.com/writ-dev/writ/kcp"
)

type initOptions struct {
	*runner
	llmsTxt, publisher given
	force, dryRun      bool
	allowPrivate       bool
}

func newInit(r *runner) *cobra.Command {
	o := &initOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "draft a knowledge.yaml from a folder or an llms.txt",
		Long: "init looks at the names and first lines of the files in a folder, or reads an llms.txt, and writes a manifest " +
			"to start from. What nobody has said is not claimed: a TODO marks it. Nothing is overwritten without --force, " +
			"and nothing that would not validate is written.",
		Example: `writ init --dry-run
writ init docs --publisher "Tern Software"
writ init --from-llms-txt llms.txt`,
		Annotations: exits("the draft was written or, with --dry-run, printed", "there is nothing to draft from, or it cannot be read or written", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd.Context(), words)
		},
	}
	source := flagGroup{cmd.Flags(), "Draft"}
	source.value(&o.llmsTxt, "from-llms-txt", "FILE|URL", "llms.txt", "make units of the links of an llms.txt, instead of the files")
	source.value(&o.publisher, "publisher", "NAME", `"Tern Software"`, "who publishes the manifest")
	source.boolean(&o.allowPrivate, "allow-private-hosts", "also read from this machine and from private networks")
	output := flagGroup{cmd.Flags(), outputGroup}
	output.boolean(&o.dryRun, "dry-run", "print the draft, and write nothing")
	output.boolean(&o.force, "force", "replace a knowledge.yaml that is there")
	return cmd
}

// draftFile is what init writes.
const draftFile = "knowledge.yaml"

func (o *initOptions) run(ctx context.Context, words []string) error {
	if len(words) > 1 {
		return usagef("", "init takes one folder, not %d: %s", len(words), strings.Join(words, " "))
	}
	dir := "."
	if len(words) == 1 && words[0] != "" {
		dir = words[0]
	}
	target := filepath.Join(dir, draftFile)
	if _, err := os.Lstat(target); err == nil && !o.force && !o.dryRun {
		return o.exists(target)
	}
	d, exists, err := o.draft(ctx, dir)
	if err != nil {
		return err
	}
	text := d.Text()
	if err := validDraft(text, target, o.today(), exists); err != nil {
		return err
	}
	if o.dryRun {
		o.out.WriteString(text)
		return nil
	}
	if err := writeWhole(target, []byte(text), 0o644); err != nil {
		return fmt.Errorf("%s: %w", target, reasonOf(err))
	}
	o.written(target, d)
	return nil
}

// exists refuses to replace a manifest. The reference ends a conversion with
// exit 2 here and a scan with exit 1, and scripts may rely on that.
func (o *initOptions) exists(target string) error {
	if o.llmsTxt.set {
		return usagef("Pass --force to replace it, or --dry-run to look at the draft.", "%s exists already", target)
	}
	return fmt.Errorf("%s exists already; pass --force to replace it, or --dry-run to look at the draft", target)
}

// draft gives the draft and, for a scan, how to look for a unit's file.
func (o *initOptions) draft(ctx context.Context, dir string) (*draft.Draft, func(string) bool, error) {
	if o.llmsTxt.set {
		d, err := o.convert(ctx)
		return d, nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, reasonOf(err))
	}
	defer root.Close()
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	d, err := draft.Scan(root.FS(), draft.ScanOptions{Name: filepath.Base(full), Publisher: o.publisher.text, Today: o.today()})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return d, filesBeside(filepath.Join(dir, draftFile)), nil
}

func (o *initOptions) convert(ctx context.Context) (*draft.Draft, error) {
	location := o.llmsTxt.text
	if location == "" {
		return nil, badValue("from-llms-txt", location, "names no file", o.llmsTxt.example)
	}
	data, source, err := o.readText(ctx, location, o.allowPrivate)
	if err != nil {
		return nil, err
	}
	d, err := draft.FromLLMsTxt(data, draft.LLMsOptions{Location: source, Publisher: o.publisher.text, Today: o.today()})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return d, nil
}

// longestText bounds a text file that a command reads whole.
const longestText = 16 << 20

// readText reads a file, standard input for -, or an address, and gives where
// the text was found in the end.
func (r *runner) readText(ctx context.Context, location string, allowPrivate bool) ([]byte, string, error) {
	if isAddress(location) {
		return newNetwork(allowPrivate).Get(ctx, location)
	}
	source := r.In
	if location != "-" {
		file, err := os.Open(location)
		if err != nil {
			return nil, location, fmt.Errorf("%s: %w", location, reasonOf(err))
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, location, fmt.Errorf("%s: a folder; name the file in it", location)
		}
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, longestText+1))
	if err == nil && len(data) > longestText {
		err = fmt.Errorf("more than %s bytes", grouped(longestText))
	}
	if err != nil {
		return nil, location, fmt.Errorf("%s: %w", location, reasonOf(err))
	}
	return data, location, nil
}

func isAddress(location string) bool {
	return strings.HasPrefix(location, "https://") || strings.HasPrefix(location, "http://")
}

// validDraft refuses a draft that its own rules would not pass.
func validDraft(text, target, today string, exists func(string) bool) error {
	m, _, err := kcp.Parse([]byte(text), target)
	if err != nil {
		return fmt.Errorf("the draft cannot be read, which is an error of writ: %w", err)
	}
	for _, f := range kcp.Validate(m, kcp.ValidateOptions{Now: today, Exists: exists}) {
		if f.Severity == kcp.Error {
			return fmt.Errorf("the draft does not validate, which is an error of writ: %s: %s", f.Where, f.Message)
		}
	}
	return nil
}

// written says what was made and what is left to do.
func (o *initOptions) written(target string, d *draft.Draft) {
	p := o.newPage()
	p.line(0, markGood, space, name(bold, target), text("  "+counted(len(d.Units), "unit")))
	p.line(2, in(dim, "Go through its TODOs, then run: writ validate "+filepath.Dir(target)))
	o.print(p)
}

// writeWhole writes a file so that a reader sees the old bytes or the new ones,
// never a part. A symbolic link keeps its place: the file it leads to is
// replaced. The mode is for a file that is not there yet.
func writeWhole(target string, data []byte, mode fs.FileMode) error {
	if resolved, err := filepath.EvalSymlinks(target); err == nil {
		target = resolved
	}
	if info, err := os.Stat(target); err == nil {
		if !info.Mode().IsRegular() {
			return errors.New("not a regular file")
		}
		mode = info.Mode().Perm()
	}
	file, err := os.CreateTemp(filepath.Dir(target), ".writ-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already after a rename
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}
