package cli

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
)

// given is the value of a flag as it was typed. It is read only when the whole
// command line is known, so that --help wins over a value that does not parse.
type given struct {
	text    string
	set     bool
	any     bool // takes also what looks like a flag
	metavar string
	example string
}

// String, Set and Type make given a flag value.
func (g *given) String() string { return g.text }

// Type is the word that the help shows for the value.
func (g *given) Type() string { return g.metavar }

// Set keeps the value. One that looks like a flag is refused: it is far more
// often a forgotten value than a role called --json.
func (g *given) Set(text string) error {
	if strings.HasPrefix(text, "--") && !g.any {
		return errLooksLikeFlag
	}
	g.text, g.set = text, true
	return nil
}

var errLooksLikeFlag = errors.New("looks like a flag")

// flagGroup declares flags that stand together in the help.
type flagGroup struct {
	set   *pflag.FlagSet
	title string
}

// groupNote is the annotation of a flag that names its group.
const groupNote = "writ_group"

func (g flagGroup) value(v *given, name, metavar, example, usage string) {
	v.metavar, v.example = metavar, example
	g.set.Var(v, name, usage)
	g.mark(name)
}

func (g flagGroup) boolean(v *bool, name, usage string) {
	g.set.BoolVar(v, name, false, usage)
	g.mark(name)
}

func (g flagGroup) mark(name string) {
	if err := g.set.SetAnnotation(name, groupNote, []string{g.title}); err != nil {
		panic(err) // the flag was declared on the line before
	}
}

// parseGiven reads JSON or YAML that a person typed. What begins like JSON and is
// none may be YAML, such as {topic: tides}.
func parseGiven(text []byte, source string) (*artifact.Document, error) {
	doc, err := artifact.ParseDocument(text, source)
	if err == nil {
		return doc, nil
	}
	doc, yaml := artifact.ParseYAML(text, source)
	if yaml == nil {
		return doc, nil
	}
	if rest, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{")); ok {
		if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '"' && rest[0] != '}' {
			return nil, yaml // whose first name has no quotes was not meant as JSON
		}
	}
	return nil, err
}

// optional gives the text as a field that may be absent.
func (g *given) optional() kcp.String { return kcp.String{Value: g.text, Set: g.set} }

// list splits a list at its commas. A list that was given is never nil.
func (g *given) list() []string {
	if !g.set {
		return nil
	}
	items := []string{}
	for item := range strings.SplitSeq(g.text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// decimalCharacters are what an amount is written with: no hexadecimal, no
// separators, no words.
const decimalCharacters = "0123456789.+-eE"

// amount reads a decimal number.
func (g *given) amount(name string) (kcp.Number, error) {
	if !g.set {
		return kcp.Number{}, nil
	}
	x, err := strconv.ParseFloat(g.text, 64)
	if err != nil || strings.Trim(g.text, decimalCharacters) != "" {
		return kcp.Number{}, badValue(name, g.text, "is not a plain decimal number", g.example)
	}
	return kcp.Number{Value: x, Set: true}, nil
}

// exactInteger is the largest number up to which a float64 holds every integer.
const exactInteger = 1 << 53

// count reads a whole number.
func (g *given) count(name string) (kcp.Number, error) {
	if !g.set {
		return kcp.Number{}, nil
	}
	n, err := strconv.ParseInt(g.text, 10, 64)
	if err != nil || math.Abs(float64(n)) > exactInteger {
		return kcp.Number{}, badValue(name, g.text, "is not a whole number", g.example)
	}
	return kcp.Number{Value: float64(n), Set: true}, nil
}

// date reads a calendar date.
func (g *given) date(name string) (string, error) {
	if !kcp.ValidDate(g.text) {
		return "", badValue(name, g.text, "is not a calendar date (YYYY-MM-DD)", g.example)
	}
	return g.text, nil
}
