package agentfile

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
	"github.com/writ-dev/writ/schema"
)

// Agent is an agent file and all that it names, read and checked. It is immutable.
type Agent struct {
	ID          string
	Description string
	Source      string          // name of the file
	Digest      artifact.Digest // of the file's bytes
	Files       map[string][]byte

	Graph   *graph.Compiled
	Schema  *graph.Schema
	Policy  *policy.Policy
	Input   schema.Schema // nil for any
	Initial artifact.Value
	Graphs  map[string]Child // that call nodes run, by name

	Tools     map[string]Tool
	Models    map[string]Model
	Knowledge map[string]Knowledge
	Secrets   map[string]string // variable of the environment, by the secret's handle
	Approvers map[string]ed25519.PublicKey

	Warnings []Warning

	doc *artifact.Document // of the file
}

// Child is a graph that call nodes run.
type Child struct {
	Graph  *graph.Compiled
	Schema *graph.Schema
}

// Warning is something that a reader of the file should know.
type Warning struct {
	Source       string
	Line, Column int
	Text         string
}

// Options are what reading needs beside the files.
type Options struct {
	Conditions expr.Compiler
	Schemas    schema.Compiler
	// NowMS is the time, in milliseconds since 1970, at which the agent is to run. 0
	// reads an agent that was admitted before, such as to look at its runs or to end
	// them: neither the pack's dates nor its grants are held against it again.
	NowMS int64
	Host  *policy.Pack // bounds every pack of the installation; nil for none
	// Exists reports whether a name that the file gives is there, for files that
	// are not read, such as manifests. Nil believes all names.
	Exists func(name string) bool
	// Check says what is wrong with a tool, as whoever does its work on this machine
	// knows: pointers are below the tool, such as /command/program. Nil believes all.
	Check func(t Tool) []artifact.Problem
}

// Open gives the content of a file by its name, with forward slashes. It is to read
// no more than limit bytes, and nothing that never ends, such as a device.
type Open func(name string, limit int) ([]byte, error)

// Read reads an agent file and the files that it names. The error names every
// problem that was found, each with its place.
func Read(source string, open Open, o Options) (*Agent, error) {
	l := &loader{
		open: open, o: o, dir: path.Dir(source),
		agent: &Agent{Source: source, Files: map[string][]byte{}, Graphs: map[string]Child{}},
	}
	data, err := l.file(source, artifact.MaxDocumentBytes)
	if err != nil {
		return nil, err
	}
	l.agent.Digest = artifact.Sum(data)
	if l.doc, err = artifact.ParseDocument(data, source); err != nil {
		return nil, err
	}
	l.agent.doc = l.doc
	r := artifact.NewReader(l.doc)
	l.read(r)
	if err := l.refusal(r.Err()); err != nil {
		return nil, err
	}
	if o.NowMS != 0 {
		if err := l.checkGrants(); err != nil {
			return nil, err
		}
	}
	return l.agent, nil
}

// refusal joins all problems: those of the agent file in the order of its text, then
// those of the files that it names.
func (l *loader) refusal(first error) error {
	own := &artifact.DocumentError{Source: l.agent.Source}
	errs := []error{nil}
	for _, err := range append([]error{first}, l.problems...) {
		var document *artifact.DocumentError
		if errors.As(err, &document) && document.Source == own.Source {
			own.Problems = append(own.Problems, document.Problems...)
		} else {
			errs = append(errs, err)
		}
	}
	if own.Problems != nil {
		slices.SortStableFunc(own.Problems, func(a, b artifact.Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
		errs[0] = own
	}
	return errors.Join(errs...)
}

// loader reads one agent.
type loader struct {
	open     Open
	o        Options
	dir      string
	doc      *artifact.Document
	agent    *Agent
	problems []error // of the files that the file names
	stated   bool    // whether there is a state schema, good or bad

	graphs []placedGraph // in the order of reading, the agent's own first
}

// placedGraph is a graph and where it stands.
type placedGraph struct {
	name     string // "" for the agent's own
	compiled *graph.Compiled
	at       place
}

// place says where the text of a part is: in a file of its own, or in a document
// below a pointer.
type place struct {
	doc    *artifact.Document
	prefix string
	whole  bool // a file of its own
}

func (p place) problem(pointer, text string) artifact.Problem {
	line, column := p.doc.Position(p.prefix + pointer)
	if strings.HasPrefix(text, "unknown member") {
		line, column = p.doc.NamePosition(p.prefix + pointer)
	}
	return artifact.Problem{Pointer: p.prefix + pointer, Line: max(1, line), Column: max(1, column), Text: text}
}

// error gives the problems of a part the place where it stands. Those of a file of
// its own have theirs.
func (p place) error(err error) error {
	var document *artifact.DocumentError
	switch {
	case !errors.As(err, &document):
		return &artifact.DocumentError{Source: p.doc.Source(), Problems: []artifact.Problem{p.problem("", err.Error())}}
	case p.whole && document.Problems[0].Line > 0:
		return document
	}
	moved := &artifact.DocumentError{Source: p.doc.Source()}
	for _, x := range document.Problems {
		moved.Problems = append(moved.Problems, p.problem(x.Pointer, x.Text))
	}
	return moved
}

func (l *loader) file(name string, limit int) ([]byte, error) {
	if data, ok := l.agent.Files[name]; ok {
		return data, nil
	}
	data, err := l.open(name, limit)
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	l.agent.Files[name] = data
	return data, nil
}

// part is a document that the file names or holds.
type part struct {
	data   []byte
	source string
	at     place
}

// readPart gives the text of a part. Absent fields of an inline part are filled in.
func (l *loader) readPart(f artifact.Field, defaults ...artifact.Member) (part, bool) {
	switch f.Kind() {
	case artifact.KindString:
		name := l.resolve(f)
		if name == "" {
			return part{}, false
		}
		data, err := l.file(name, artifact.MaxDocumentBytes)
		if err != nil {
			f.Report("%s", err)
			return part{}, false
		}
		return part{data, name, place{doc: document(data, name), whole: true}}, true
	case artifact.KindObject:
		v := f.Value()
		for _, m := range defaults {
			if _, ok := v.Get(m.Name); !ok {
				v = v.With(m.Name, m.Value)
			}
		}
		return part{v.AppendCompact(nil), l.agent.Source, place{doc: l.doc, prefix: f.Pointer()}}, true
	case artifact.KindNull:
		if !f.Present() {
			return part{}, false // whoever needs it has said so
		}
	}
	f.Report("write the name of a file, or the document itself")
	return part{}, false
}

// document parses a file for the places of its parts. A native pack is none, and
// for what cannot be read whoever reads it says what is wrong.
func document(data []byte, name string) *artifact.Document {
	if doc, err := artifact.ParseDocument(data, name); err == nil {
		return doc
	}
	if doc, err := artifact.ParseVersion1(data, name); err == nil {
		return doc
	}
	return artifact.DocumentOf(artifact.Value{}, name)
}

// resolve gives the name of a file beside the agent file.
func (l *loader) resolve(f artifact.Field) string {
	name := f.Text()
	switch {
	case name == "":
		f.Report("write the name of a file")
		return ""
	case strings.Contains(name, "\\"):
		f.Report("write paths with forward slashes")
		return ""
	case path.IsAbs(name):
		return path.Clean(name)
	}
	return path.Join(l.dir, name)
}
