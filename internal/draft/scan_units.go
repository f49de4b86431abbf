package draft

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	everybody  = []string{"agent", "human"}
	developers = []string{"agent", "developer"}
)

// readme makes the unit that an agent should read first.
func (s *scan) readme() {
	for _, name := range []string{"README.md", "Readme.md", "readme.md"} {
		if !s.isFile(name) {
			continue
		}
		s.add(Unit{
			ID: "front-door", Path: name,
			Intent: "What is " + s.project + ", how to install and use it",
			Scope:  "global", Audience: everybody,
			Triggers: append([]string{"overview", "install", "getting started"}, triggersOf(s.project)...),
			Hints:    "load_strategy: eager",
		})
		return
	}
}

// entryFiles stand for the folder that they are in.
var entryFiles = []string{
	"index.ts", "index.js", "index.mjs", "index.mts", "mod.ts", "mod.js", "mod.rs", "lib.rs", "main.rs",
	"doc.go", "main.go", "main.py", "__init__.py",
}

var sourceExtensions = []string{".ts", ".js", ".mjs", ".mts", ".py", ".rs", ".go", ".java", ".kt", ".rb", ".cs", ".c", ".cpp", ".h"}

// sources makes a unit of each file and each folder of a source folder.
func (s *scan) sources(dir string) {
	for _, e := range s.list(dir) {
		switch {
		case e.dir:
			s.addSource(e, s.entryFile(e.path))
		case slices.Contains(entryFiles, e.name) || isTest(e.name):
		case slices.Contains(sourceExtensions, path.Ext(e.name)):
			s.addSource(e, e.path)
		}
	}
}

// goPackages makes units of the packages at the top of a Go module.
func (s *scan) goPackages() {
	if !s.isFile("go.mod") {
		return
	}
	for _, e := range s.list(".") {
		if e.dir && slices.ContainsFunc(s.list(e.path), func(f entry) bool { return !f.dir && path.Ext(f.name) == ".go" && !isTest(f.name) }) {
			s.addSource(e, s.entryFile(e.path))
		}
	}
}

func (s *scan) addSource(e entry, file string) {
	intent := commentIntent(s.head(file))
	u := Unit{
		ID: e.stem(), Path: file, Intent: intent,
		Scope: "project", Audience: developers, Triggers: triggersOf(e.stem()),
	}
	if intent == "" {
		u.Intent, u.IntentGuessed = "Implementation of "+e.stem(), true
	}
	s.add(u)
}

// entryFile gives the file that stands for a folder, or the folder.
func (s *scan) entryFile(dir string) string {
	candidates := append(slices.Clone(entryFiles), path.Base(dir)+".go", "src/lib.rs", "src/index.ts")
	for _, name := range candidates {
		if file := path.Join(dir, name); s.isFile(file) {
			return file
		}
	}
	return dir
}

func isTest(name string) bool {
	stem := strings.TrimSuffix(name, path.Ext(name))
	return strings.HasSuffix(stem, "_test") || strings.HasPrefix(stem, "test_") ||
		strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec")
}

// notKnowledge are pages at the top of a project that answer no question.
var notKnowledge = []string{"readme", "license", "licence", "code_of_conduct", "pull_request_template", "issue_template"}

// pages makes a unit of each Markdown page in a folder and, down to a depth, in
// the folders below it.
func (s *scan) pages(dir, prefix string, depth int) {
	var below []entry
	for _, e := range s.list(dir) {
		if e.dir {
			below = append(below, e)
			continue
		}
		if !slices.Contains([]string{".md", ".mdx", ".markdown"}, strings.ToLower(path.Ext(e.name))) {
			continue
		}
		if dir == "." && slices.Contains(notKnowledge, strings.ToLower(e.stem())) {
			continue
		}
		s.addPage(e, prefix)
	}
	for _, e := range below {
		if depth > 0 {
			s.pages(e.path, prefix+"-"+e.name, depth-1)
		}
	}
}

func (s *scan) addPage(e entry, prefix string) {
	title, description := pageTitle(s.head(e.path))
	u := Unit{
		ID: strings.TrimPrefix(prefix+"-"+e.stem(), "-"), Path: e.path,
		Intent: title, Scope: "global", Audience: everybody,
		Triggers: append(triggersOf(e.stem()), titleWords(title)...),
	}
	switch {
	case description != "":
		u.Intent = cut(description, longestIntent)
	case title == "":
		u.Intent, u.IntentGuessed = "Documentation: "+e.stem(), true
	}
	s.add(u)
}

func (s *scan) examples(dir string) {
	extensions := []string{".ts", ".js", ".py", ".rs", ".go", ".java", ".md", ".sh"}
	for _, e := range s.list(dir) {
		file := e.path
		switch {
		case e.dir:
			if readme := path.Join(e.path, "README.md"); s.isFile(readme) {
				file = readme
			}
		case !slices.Contains(extensions, path.Ext(e.name)):
			continue
		}
		s.add(Unit{
			ID: "example-" + e.stem(), Path: file, Intent: "Example: " + e.stem(),
			Scope: "project", Audience: developers, Triggers: append([]string{"example"}, triggersOf(e.stem())...),
		})
	}
}

// tests makes one unit that shows how the project is tested.
func (s *scan) tests() {
	for _, dir := range []string{"test", "tests"} {
		entries := s.list(dir)
		if len(entries) == 0 {
			continue
		}
		rank := func(e entry) int {
			switch {
			case e.name == "README.md":
				return 0
			case isTest(e.name):
				return 1
			case !e.dir:
				return 2
			}
			return 3
		}
		best := slices.MinFunc(entries, func(a, b entry) int { return rank(a) - rank(b) })
		s.add(Unit{
			ID: "test-strategy", Path: best.path, Intent: "Test strategy and patterns for " + s.project,
			Scope: "project", Audience: developers, Triggers: []string{"test", "testing", "spec"},
		})
		return
	}
}

// synonyms are what people call things that are named otherwise in code.
var synonyms = map[string][]string{
	"auth": {"authentication", "login"}, "route": {"api", "endpoint", "routes"}, "routes": {"api", "endpoint"},
	"router": {"api", "endpoint", "routes"}, "config": {"configuration", "settings"}, "configuration": {"settings"},
	"util": {"utilities"}, "utils": {"utilities"}, "helpers": {"utilities"}, "database": {"db", "storage"},
	"db": {"database", "storage"}, "middleware": {"interceptor"}, "server": {"http", "listen"}, "client": {"http", "request"},
	"model": {"schema", "types"}, "models": {"schema", "types"}, "types": {"interfaces", "schema"}, "test": {"testing", "spec"},
	"tests": {"testing", "spec"}, "deploy": {"deployment", "ci"}, "docker": {"container", "deployment"},
	"cli": {"commands", "flags"}, "log": {"logging", "debug"}, "logger": {"logging", "log", "debug"},
	"cache": {"caching", "memoize"}, "error": {"errors", "exception"}, "errors": {"error", "exception"},
	"validate": {"validation", "schema"}, "validation": {"validate", "schema"},
}

// triggersOf gives a name, its words, and what people call them.
func triggersOf(name string) []string {
	name = strings.ToLower(strings.TrimLeft(name, "@"))
	list := []string{name}
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_./ ", r) }) {
		list = append(list, word)
		list = append(list, synonyms[word]...)
	}
	return list
}

// Limits of the specification on triggers.
const (
	mostTriggers   = 20
	longestTrigger = 60
)

// keepTriggers leaves out triggers that are empty, too long or there already.
func keepTriggers(list []string) []string {
	var kept []string
	for _, t := range list {
		t = oneLine(t)
		if n := utf8.RuneCountInString(t); n < 2 || n > longestTrigger || slices.Contains(kept, t) {
			continue
		}
		if kept = append(kept, t); len(kept) == mostTriggers {
			break
		}
	}
	return kept
}
