package cli

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/internal/draft"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
)

// mend mends the manifest and gives it as it is afterwards. Without --dry-run
// the file is written, unless it has changed since it was read.
func (o *validateOptions) mend(loaded *load.Loaded) (*load.Loaded, error) {
	if isAddress(loaded.Source) {
		return nil, fmt.Errorf("%s: only a file can be mended; fetch it first and name the copy", loaded.Source)
	}
	fixed, err := draft.Fix(loaded.Bytes, loaded.Source)
	if err != nil {
		return nil, err
	}
	p := o.newPage()
	mendView{p, loaded, fixed, o.dryRun}.write()
	if len(fixed.Changes) > 0 && !o.dryRun {
		if err := replace(loaded.Source, loaded.Bytes, fixed.Text); err != nil {
			return nil, err
		}
	}
	o.print(p)
	if len(fixed.Changes) == 0 {
		return loaded, nil
	}
	after := *loaded
	after.Bytes = fixed.Text
	after.Manifest, after.Findings, err = kcp.Parse(fixed.Text, loaded.Source)
	return &after, err
}

// replace writes a file whose bytes are still what they were.
func replace(file string, before, after []byte) error {
	now, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, reasonOf(err))
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%s: the file changed while it was mended; run the command again", file)
	}
	if err := writeWhole(file, after, 0o644); err != nil {
		return fmt.Errorf("%s: %w", file, reasonOf(err))
	}
	return nil
}

// mendView writes what was mended for a person: a diff, and why.
type mendView struct {
	*page
	loaded *load.Loaded
	fixed  *draft.Fixed
	dry    bool
}

func (v mendView) write() {
	title := "Mend "
	if v.dry {
		title = "Would mend "
	}
	v.blank()
	v.line(0, in(bold, title), name(plain, v.loaded.Source), in(dim, " · "+counted(len(v.fixed.Changes), "change")))
	if len(v.fixed.Changes) > 0 {
		v.writeDiff()
		v.writeReasons()
	}
	v.writeLeft()
	if len(v.fixed.Changes) > 0 && v.loaded.Manifest.Signing != nil {
		v.blank()
		v.line(0, markWarn, space, text("the manifest is signed; sign it again, for its signature holds for the old bytes only"))
	}
}

// writeDiff writes a unified diff without context, which patch understands.
func (v mendView) writeDiff() {
	v.blank()
	v.whole(bold, "--- "+v.loaded.Source)
	v.whole(bold, "+++ "+v.loaded.Source)
	for _, l := range v.fixed.Lines(v.loaded.Bytes) {
		at := strconv.Itoa(l.Line)
		v.whole(cyan, "@@ -"+at+" +"+at+" @@")
		v.whole(red, "-"+l.Before)
		v.whole(green, "+"+l.After)
	}
}

// whole writes a line that is never wrapped.
func (v mendView) whole(s style, line string) { v.line(0, name(s, strings.TrimRight(line, " "))) }

// writeReasons says why each change is made, and what reads differently.
func (v mendView) writeReasons() {
	v.blank()
	for i := range v.fixed.Changes {
		c := &v.fixed.Changes[i]
		at := fmt.Sprintf("%s:%d:%d", v.loaded.Source, c.Pos.Line, c.Pos.Column)
		if c.Meaning == "" {
			v.hang(2, 4, markGood, space, name(cyan, at), space, text(c.Path+": "+c.Reason), in(dim, "; it reads the same as before"))
			continue
		}
		v.hang(2, 4, markWarn, space, name(cyan, at), space, text(c.Path+": "+c.Reason+"; "), in(yellow, "this reads differently now: "+c.Meaning))
	}
}

func (v mendView) writeLeft() {
	if len(v.fixed.Left) == 0 {
		return
	}
	v.blank()
	v.line(0, in(bold, "Left to you"))
	for _, l := range v.fixed.Left {
		list := spans(markNote, space)
		if l.Pos.Line > 0 {
			list = append(list, name(cyan, fmt.Sprintf("%s:%d:%d", v.loaded.Source, l.Pos.Line, l.Pos.Column)), space)
		}
		v.hang(2, 4, append(list, text(strings.TrimPrefix(l.Path+": "+l.Reason, ": ")))...)
	}
}
