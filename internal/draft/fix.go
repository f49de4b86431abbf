package draft

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-dev/writ/kcp"
)

// Fixed is a manifest's text with what is mechanical mended.
type Fixed struct {
	Text    []byte   // the whole text, byte order mark and line ends as they were
	Changes []Change // pass by pass in the order of the text
	Left    []Left   // what looks mechanical and is not
}

// Change is one edit.
type Change struct {
	Code          string       // what kind of edit: see the Fix constants
	Path          string       // the field, as in a finding
	Pos           kcp.Position // in the text before this pass; lines never move
	Before, After string       // the piece of text that was replaced, and by what
	Reason        string
	// Meaning says how the manifest reads differently. Most edits change nothing
	// but how other readers see it; then it is empty.
	Meaning string
}

// Left is a slip that a person has to decide on.
type Left struct {
	Path   string
	Pos    kcp.Position
	Reason string
}

// The kinds of edits.
const (
	FixQuote   = "quote"   // text that looks like something else gets quotes
	FixList    = "list"    // one value where a list is expected becomes a list of one
	FixBoolean = "boolean" // a word for true or false becomes true or false
	FixField   = "field"   // a misspelt key becomes the one field it resembles
)

// Fix mends in a manifest's text what has one right form. It replaces single
// words and keys where they stand and touches nothing else: comments, order,
// blanks and line ends stay.
//
// What it promises is checked: both texts are read, and the two manifests differ
// only in fields whose change has a Meaning. An edit that would do more is taken
// back and listed under Left. Nothing that would grant authority or lift a
// requirement of trust is edited at all.
//
// The error is that of [kcp.Parse]: text that cannot be read cannot be mended.
func Fix(data []byte, source string) (*Fixed, error) {
	all := &Fixed{Text: data}
	for range mostPasses {
		fixed, err := fixOnce(all.Text, source)
		if err != nil {
			return nil, err
		}
		all.Text, all.Left = fixed.Text, fixed.Left
		all.Changes = append(all.Changes, fixed.Changes...)
		if len(fixed.Changes) == 0 {
			break
		}
	}
	return all, nil
}

// mostPasses bounds how often the text is read again: a key that has got its
// right name can have a value to mend.
const mostPasses = 4

func fixOnce(data []byte, source string) (*Fixed, error) {
	before, findings, err := kcp.Parse(data, source)
	if err != nil {
		return nil, err
	}
	f := &fixer{before: before, source: source, taken: map[int]bool{}}
	f.text, f.marked = bytes.CutPrefix(data, []byte("\ufeff"))
	outline, err := readOutline(string(f.text))
	if err != nil {
		return &Fixed{Text: data, Left: []Left{{Reason: "the text uses YAML that is not edited here: " + err.Error()}}}, nil
	}
	f.outline = outline
	f.fromFindings(findings)
	f.fromFields()
	return f.finish(data), nil
}

// fixer is one mending under way.
type fixer struct {
	source  string
	text    []byte
	marked  bool // the data began with a byte order mark
	before  *kcp.Manifest
	outline *outline
	edits   []edit
	taken   map[int]bool // by the start of the edit
	left    []Left
}

// edit replaces text[start:end].
type edit struct {
	Change
	start, end int
	target     string // the path that reads differently, if any may
	changes    bool   // reading differently is allowed
}

// propose takes an edit, unless the place is edited already.
func (f *fixer) propose(e edit) {
	if f.taken[e.start] { // two edits that overlap begin at the same scalar
		return
	}
	f.taken[e.start] = true
	e.Before = string(f.text[e.start:e.end])
	e.Pos = f.outline.position(e.start)
	if e.target == "" {
		e.target = e.Path
	}
	f.edits = append(f.edits, e)
}

func (f *fixer) leave(path string, pos kcp.Position, format string, a ...any) {
	f.left = append(f.left, Left{Path: path, Pos: pos, Reason: fmt.Sprintf(format, a...)})
}

// finish applies the edits that keep the promise.
func (f *fixer) finish(data []byte) *Fixed {
	slices.SortFunc(f.edits, func(a, b edit) int { return a.start - b.start })
	kept, found := f.proven(f.edits)
	if len(kept) < len(f.edits) {
		for _, e := range f.edits {
			if _, found := slices.BinarySearchFunc(kept, e.start, func(k edit, start int) int { return k.start - start }); !found {
				f.leave(e.Path, e.Pos, "%s would become %s, and more than this field would read differently", e.Before, e.After)
			}
		}
	}
	fixed := &Fixed{Text: data, Left: f.left}
	slices.SortStableFunc(fixed.Left, func(a, b Left) int { return a.Pos.Line - b.Pos.Line })
	if len(kept) == 0 {
		return fixed
	}
	meanings := found.meanings(kept)
	for i := range kept {
		kept[i].Meaning = meanings[kept[i].target]
		fixed.Changes = append(fixed.Changes, kept[i].Change)
	}
	text := apply(f.text, kept)
	if f.marked {
		text = append([]byte("\ufeff"), text...)
	}
	fixed.Text = text
	return fixed
}

// mostTrials bounds how many edits are tried one by one when all together do
// more than they promise. Each trial reads the manifest again.
const mostTrials = 200

// proven gives the edits that together change nothing but what they say, and
// what reads differently with them.
func (f *fixer) proven(edits []edit) ([]edit, differences) {
	if found, ok := f.keepsPromise(edits); ok {
		return edits, found
	}
	var good []edit
	for i := range edits[:min(len(edits), mostTrials)] {
		if _, ok := f.keepsPromise(edits[i : i+1]); ok {
			good = append(good, edits[i])
		}
	}
	if found, ok := f.keepsPromise(good); ok {
		return good, found
	}
	return nil, nil
}

func (f *fixer) keepsPromise(edits []edit) (differences, bool) {
	if len(edits) == 0 {
		return nil, true
	}
	after, _, err := kcp.Parse(apply(f.text, edits), f.source)
	if err != nil {
		return nil, false
	}
	allowed := map[string]bool{}
	for i := range edits {
		if edits[i].changes {
			allowed[edits[i].target] = true
		}
	}
	found := compare(f.before, after)
	for path := range found {
		if !coveredBy(allowed, path) {
			return nil, false
		}
	}
	return found, true
}

// apply replaces pieces of text. The edits are in order and do not overlap.
func apply(text []byte, edits []edit) []byte {
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		b.Write(text[at:e.start])
		b.WriteString(e.After)
		at = e.end
	}
	b.Write(text[at:])
	return b.Bytes()
}

// LineChange is one line that differs between two texts with as many lines.
type LineChange struct {
	Line          int // from 1
	Before, After string
}

// Lines gives the lines that were edited in the text that Fix was given.
func (f *Fixed) Lines(data []byte) []LineChange {
	if len(f.Changes) == 0 {
		return nil
	}
	before, after := strings.Split(string(data), "\n"), strings.Split(string(f.Text), "\n")
	var changes []LineChange
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			changes = append(changes, LineChange{i + 1, strings.TrimSuffix(before[i], "\r"), strings.TrimSuffix(after[i], "\r")})
		}
	}
	return changes
}
