package cli

import (
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

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
		b.WriteString("::" + commandData(message))
		if f.Hint != "" {
			b.WriteString("%0A" + commandData(f.Hint)) // a line break
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// commandData and property escape text for a workflow command, so that no
// manifest can end one and begin another.
func commandData(message string) string { return strings.ReplaceAll(visible(message), "%", "%25") }

func property(text string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(visible(text))
}

// characters gives a column in characters; findings count bytes.
func (rep *report) characters(pos kcp.Position) int {
	if rep.text == nil || pos.Line < 1 {
		return pos.Column
	}
	if rep.lines == nil {
		rep.lines = lineStarts(rep.text)
	}
	if pos.Line > len(rep.lines) {
		return pos.Column
	}
	line := rep.text[rep.lines[pos.Line-1]:]
	return utf8.RuneCount(line[:min(len(line), max(pos.Column-1, 0))]) + 1
}

// lineStarts gives the offset of each line. Lines end with LF, CR or CR LF, and
// a byte order mark is not part of the first.
func lineStarts(text []byte) []int {
	starts := []int{len(text) - len(bytes.TrimPrefix(text, []byte("\ufeff")))}
	for i, c := range text {
		if c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return starts
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
