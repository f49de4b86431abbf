package draft

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/writ-dev/writ/kcp"
)

// newestVersion is the version of the specification that drafts follow.
const newestVersion = "0.32"

// Draft is a manifest that is proposed to its publisher. What nobody said is
// left empty, and [Draft.Text] marks it with a TODO.
type Draft struct {
	// Head is the comment at the top, one line each.
	Head []string

	Project        string
	ProjectGuessed bool // taken from the name of a folder or a host
	Version        string
	VersionGuessed bool // nothing says which version this is
	Updated        string
	Publisher      string
	Intent         string

	Units []Unit
	// Notes are comments for the publisher: what was left out, and why. A note may
	// have several lines.
	Notes []string
}

// Unit is one unit of a draft.
type Unit struct {
	ID, Path      string
	Intent        string
	IntentGuessed bool // nothing says what the unit is about
	Scope         string
	Audience      []string
	Triggers      []string
	Hints         string // of one flow mapping, such as "load_strategy: eager"
}

// Text writes the draft as YAML. Every text that comes from somewhere else is
// quoted, so that it can be nothing but text.
func (d *Draft) Text() string {
	w := &writer{}
	for _, line := range d.Head {
		w.comment(line)
	}
	w.line("kcp_version: " + quote(newestVersion))
	w.line("project: " + quote(d.Project) + todo(d.ProjectGuessed, "name the project"))
	w.line("version: " + quote(d.Version) + todo(d.VersionGuessed, "set the version of this manifest"))
	if d.Updated != "" {
		w.line("updated: " + quote(d.Updated))
	}
	if d.Intent != "" {
		w.line("intent: " + quote(d.Intent))
	}
	w.unsaid(d)
	w.line("")
	if len(d.Units) == 0 {
		w.line("units: []")
	} else {
		w.line("units:")
	}
	for i := range d.Units {
		if i > 0 {
			w.line("")
		}
		w.unit(&d.Units[i])
	}
	for _, note := range d.Notes {
		w.line("")
		for line := range strings.SplitSeq(note, "\n") {
			w.comment(line)
		}
	}
	return w.b.String()
}

type writer struct{ b strings.Builder }

func (w *writer) line(text string) { w.b.WriteString(text + "\n") }

// comment writes one comment line. A comment ends at a line break, so none may
// be in it.
func (w *writer) comment(text string) {
	blanks := text[:len(text)-len(strings.TrimLeft(text, " "))]
	w.line(strings.TrimRight("# "+blanks+oneLine(text), " "))
}

// unsaid writes what the publisher alone can say.
func (w *writer) unsaid(d *Draft) {
	w.line("")
	if d.Publisher != "" {
		w.line("trust:")
		w.line("  provenance:")
		w.line("    publisher: " + quote(d.Publisher))
		w.line("")
	} else {
		w.comment("TODO: say who publishes this, under trust.provenance.publisher.")
	}
	w.comment("TODO: state a licence and a language, if you want to claim them.")
	w.comment("TODO: narrow the audience of units that are not for everybody.")
	w.comment("TODO: add temporal.valid_until to units that go stale.")
	w.comment("TODO: sign the manifest once you have a key; an unsigned one cannot be verified.")
}

func (w *writer) unit(u *Unit) {
	w.line("  - id: " + quote(u.ID))
	w.line("    path: " + quote(u.Path))
	w.line("    intent: " + quote(u.Intent) + todo(u.IntentGuessed, "say which question this answers"))
	w.line("    scope: " + u.Scope)
	w.line("    audience: [" + strings.Join(u.Audience, ", ") + "]")
	w.line("    triggers: " + flowList(u.Triggers))
	if u.Hints != "" {
		w.line("    hints: {" + u.Hints + "}")
	}
}

func todo(wanted bool, what string) string {
	if !wanted {
		return ""
	}
	return "  # TODO: " + what
}

// names gives every unit an id of its own: the slug of what it is called, with a
// number behind it where that is taken.
type names map[string]bool

func (n names) take(slug string) string {
	if slug == "" {
		slug = "unit"
	}
	id := slug
	for i := 2; n[id]; i++ {
		id = slug + "-" + strconv.Itoa(i)
	}
	n[id] = true
	return id
}

// longestID keeps ids short enough to be typed.
const longestID = 48

// letters are letters that Unicode does not take apart.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// slug makes an id of text: lower-case ASCII letters and digits, with hyphens
// between them. It is empty for text without any.
func slug(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKD.String(letters.Replace(strings.ToLower(text))) {
		if unicode.Is(unicode.Mn, r) {
			continue // the accent of the letter before it
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
			if b.Len() >= longestID {
				break
			}
			continue
		}
		gap = true
	}
	return b.String()
}

// usablePath reports whether a path may stand in a manifest as it is.
func usablePath(path string) bool {
	return kcp.SafeUnitPath(path) == "" && oneLine(path) == path
}
