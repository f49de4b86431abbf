package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-dev/writ/kcp"
)

// The forms of a report.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatSARIF  = "sarif"
	formatGitHub = "github"
)

var reportFormats = []string{formatText, formatJSON, formatSARIF, formatGitHub}

func (o *validateOptions) reportFormat() (string, error) {
	format := formatText
	switch {
	case o.format.set && !slices.Contains(reportFormats, o.format.text):
		return "", badValue("format", o.format.text, "is none of "+strings.Join(reportFormats, ", "), o.format.example)
	case o.json && o.format.set && o.format.text != formatJSON:
		return "", usagef("Leave out one of them.", "--json contradicts --format %s", o.format.text)
	case o.format.set:
		format = o.format.text
	case o.json:
		format = formatJSON
	}
	switch {
	case o.dryRun && !o.fix:
		return "", usagef("Write --fix --dry-run.", "--dry-run has a meaning only with --fix")
	case o.fix && format != formatText:
		return "", usagef("Mend first, then report.", "--fix shows what it changes as text, and cannot be combined with --format %s", format)
	}
	return format, nil
}

func (o *validateOptions) printReport(rep *report, format string) error {
	switch format {
	case formatJSON:
		return o.printDocument(rep)
	case formatSARIF:
		return o.printDocument(rep.sarif(o.Build))
	case formatGitHub:
		o.out.WriteString(rep.annotations())
		return nil
	}
	p := o.newPage()
	rep.write(p)
	o.print(p)
	return nil
}

// placed is a finding as a program shows it in place.
type placed struct {
	kcp.Finding
	severity kcp.Severity
}

// inPlace gives the findings that stand beside a publisher's text: those that
// decide, and what the specification adds. An error that does not decide is
// shown as a warning, so that an error always goes with exit code 1.
func (rep *report) inPlace() []placed {
	var list []placed
	for _, f := range rep.rules {
		list = append(list, placed{f, f.Severity})
	}
	for _, f := range rep.news() {
		severity := f.Severity
		if rep.level == 0 {
			severity = kcp.Warning
		}
		list = append(list, placed{f, severity})
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Column - b.Pos.Column
	})
	return list
}

// annotations gives workflow commands of GitHub Actions, one finding a line. A
// runner shows them at the line of the file, and may cut a long list.
func (rep *report) annotations() string {
	var b strings.Builder
	for _, f := range rep.inPlace() {
		fmt.Fprintf(&b, "::%s file=%s", f.severity, property(filepath.ToSlash(rep.Source)))
		if f.Pos.Line > 0 {
			fmt.Fprintf(&b, ",line=%d,col=%d", f.Pos.Line, rep.characters(f.Pos))
		}
		if f.Code != "" {
			fmt.Fprintf(&b, ",title=%s", property("writ "+f.Code))
		}
		message := f.Message
		if f.Where != "manifest" {
			message = f.Where + ": " + message
		}
		if f.Hint != "" {
			message += "\n" + f.Hint
		}
		b.WriteString("::" + commandData(message) + "\n")
	}
	return b.String()
}

// commandData and property escape text for a workflow command, so that no
// manifest can end one and begin another. Escapes for a terminal come first; the
// line break between message and hint is ours.
func commandData(message string) string {
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(visible(line), "%", "%25")
	}
	return strings.Join(lines, "%0A")
}

func property(text string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(visible(text))
}

// characters gives a column in characters; findings count bytes.
func (rep *report) characters(pos kcp.Position) int {
	if rep.text == nil {
		return pos.Column
	}
	line := lineOf(rep.text, pos.Line)
	return len([]rune(string(line[:min(len(line), pos.Column-1)]))) + 1
}

// lineOf gives one line of a text, from 1. Lines end with LF, CR or CR LF, and
// a byte order mark is not part of the first.
func lineOf(text []byte, number int) []byte {
	text = []byte(strings.TrimPrefix(string(text), "\ufeff"))
	for ; number > 1; number-- {
		i := slices.IndexFunc(text, func(c byte) bool { return c == '\n' || c == '\r' })
		if i < 0 {
			return nil
		}
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		text = text[i+1:]
	}
	if i := slices.IndexFunc(text, func(c byte) bool { return c == '\n' || c == '\r' }); i >= 0 {
		text = text[:i]
	}
	return text
}

// artifactURI gives a file as SARIF names it: relative to the current folder
// where it is below that, else absolute.
func artifactURI(source string) string {
	if isAddress(source) {
		return source
	}
	if filepath.IsAbs(source) {
		if current, err := filepath.Abs("."); err == nil {
			if rel, err := filepath.Rel(current, source); err == nil && filepath.IsLocal(rel) {
				source = rel
			}
		}
	}
	path := filepath.ToSlash(source)
	if filepath.IsAbs(source) {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
	}
	return (&url.URL{Path: path}).String()
}
