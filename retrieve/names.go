package retrieve

import (
	"path"
	"path/filepath"
	"strings"
)

// shown gives a text with the names that the agent file uses. Where the files are
// on this machine is nobody's business, and would make two records differ.
func (s *Source) shown(text string) string {
	if isRemote(s.Location) || !filepath.IsAbs(s.Location) {
		return text
	}
	folder, named := filepath.Dir(s.Location), path.Dir(s.Manifest)
	for folder != filepath.Dir(folder) {
		text = replaceFolder(text, folder, named)
		folder, named = filepath.Dir(folder), path.Join(named, "..")
	}
	return text
}

// withoutFlags leaves out advice about flags, which is for whoever reads a manifest
// on a command line: after a semicolon, or in brackets at the end.
func withoutFlags(text string) string {
	for _, mark := range []string{"; ", " ("} {
		if i := strings.LastIndex(text, mark); i >= 0 && strings.Contains(text[i:], "--") {
			text = text[:i]
		}
	}
	return text
}

// replaceFolder replaces a folder where it begins a name, not where it is a part of
// one.
func replaceFolder(text, folder, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, folder)
		if i < 0 {
			return b.String() + text
		}
		before, after := text[:i], text[i+len(folder):]
		b.WriteString(before)
		text = after
		below := strings.HasPrefix(after, "/") || strings.HasPrefix(after, string(filepath.Separator))
		begins := before == "" && b.Len() == 0 || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "'") || strings.HasSuffix(before, `"`)
		switch {
		case !begins || after != "" && !below && !strings.ContainsAny(after[:1], ` :;,'")`):
			b.WriteString(folder)
		case below && by == ".":
			text = after[1:]
		default:
			b.WriteString(by)
		}
	}
}

// shownPath gives a location as the agent file would write it.
func (s *Source) shownPath(location string) string {
	if isRemote(location) {
		return location
	}
	rel, err := filepath.Rel(filepath.Dir(s.Location), filepath.FromSlash(location))
	if err != nil {
		return s.Manifest
	}
	return path.Join(path.Dir(s.Manifest), filepath.ToSlash(rel))
}

func isRemote(location string) bool {
	return strings.HasPrefix(location, "https://") || strings.HasPrefix(location, "http://")
}
