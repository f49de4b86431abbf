package draft

import (
	"encoding/xml"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// project is what a build file says a project is called.
type project struct{ name, version string }

// buildBytes bounds a build file.
const buildBytes = 1 << 20

// projectOf asks the build files in the order of the contract. The first that
// gives a name wins.
func projectOf(fsys fs.FS) project {
	for _, f := range []struct {
		name string
		read func(text string) project
	}{
		{"package.json", fromPackageJSON},
		{"Cargo.toml", func(text string) project { return fromTOML(text, "package") }},
		{"pyproject.toml", func(text string) project { return fromTOML(text, "project") }},
		{"pom.xml", fromPOM},
		{"go.mod", fromGoMod},
	} {
		p := f.read(headOf(fsys, f.name, buildBytes))
		if p.name = oneLine(p.name); p.name != "" {
			p.version = oneLine(p.version)
			return p
		}
	}
	return project{}
}

func fromPackageJSON(text string) project {
	v, err := artifact.ParseValue([]byte(text))
	if err != nil || v.Kind() != artifact.KindObject {
		return project{}
	}
	field := func(name string) string {
		f, _ := v.Get(name)
		return f.Text()
	}
	return project{field("name"), field("version")}
}

var tomlString = regexp.MustCompile(`^(name|version)\s*=\s*(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$`)

// fromTOML reads name and version of one table; those of other tables are about
// something else.
func fromTOML(text, table string) project {
	var p project
	here := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			here = line == "["+table+"]"
			continue
		}
		m := tomlString.FindStringSubmatch(line)
		if !here || m == nil {
			continue
		}
		if m[1] == "name" {
			p.name = m[2] + m[3]
		} else {
			p.version = m[2] + m[3]
		}
	}
	return p
}

func fromPOM(text string) project {
	var pom struct {
		ArtifactID string `xml:"artifactId"`
		Version    string `xml:"version"`
		Parent     struct {
			Version string `xml:"version"`
		} `xml:"parent"`
	}
	if text == "" || xml.Unmarshal([]byte(text), &pom) != nil {
		return project{}
	}
	if pom.Version == "" {
		pom.Version = pom.Parent.Version
	}
	if strings.Contains(pom.Version, "${") {
		pom.Version = ""
	}
	return project{strings.TrimSpace(pom.ArtifactID), strings.TrimSpace(pom.Version)}
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// fromGoMod takes the last element of the module path that is no major version.
// A go.mod says nothing of the module's own version.
func fromGoMod(text string) project {
	for line := range strings.Lines(text) {
		module, ok := strings.CutPrefix(strings.TrimSpace(line), "module ")
		if !ok {
			continue
		}
		module, _, _ = strings.Cut(module, "//")
		module = strings.Trim(strings.TrimSpace(module), "\"`")
		if majorVersion.MatchString(path.Base(module)) {
			module = path.Dir(module)
		}
		return project{name: path.Base(module)}
	}
	return project{}
}
