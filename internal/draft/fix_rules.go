package draft

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/writ-dev/writ/kcp"
)

// fromFindings proposes an edit for each finding of the reader that has one
// right answer.
func (f *fixer) fromFindings(findings []kcp.Finding) {
	for i := range findings {
		finding := &findings[i]
		s, ok := f.outline.slots[finding.Path]
		if !ok {
			continue
		}
		switch finding.Code {
		case "number-as-text":
			f.quoteNumber(finding.Path, s.value)
		case "list-of-one":
			f.wrap(finding, s.value, false)
		case "not-a-list":
			f.wrapGranting(finding, s.value)
		case "not-a-boolean":
			f.boolean(finding, s.value)
		case "unknown-field":
			f.rename(finding, s.key)
		}
	}
}

// decimal is a number as people write a version or a price.
var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

// wholeNumber reads the same with quotes and without.
var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})$`)

// quoteNumber quotes a number where text is expected, as it was written: 1.10
// was meant as 1.10, although without quotes it reads as 1.1.
func (f *fixer) quoteNumber(path string, n *yaml.Node) {
	start, end, ok := f.outline.piece(n)
	if !ok || !isPlain(n) {
		return
	}
	if !decimal.MatchString(n.Value) {
		f.leave(path, f.outline.position(start), "%s reads as a number; write in quotes the text that you mean", n.Value)
		return
	}
	f.propose(edit{
		Change: Change{Code: FixQuote, Path: path, After: quote(n.Value), Reason: "without quotes it is a number"},
		start:  start, end: end, changes: true, target: listOf(path),
	})
}

// listOf gives the list that an entry is in; the model holds lists of texts as
// one value. A path that does not end in an index stays.
func listOf(path string) string {
	if i := strings.LastIndexByte(path, '['); i > 0 && strings.HasSuffix(path, "]") {
		return path[:i]
	}
	return path
}

// wrap makes a list of one value.
func (f *fixer) wrap(finding *kcp.Finding, n *yaml.Node, changes bool) {
	start, end, ok := f.outline.piece(n)
	if !ok {
		return
	}
	if strings.ContainsAny(n.Value, ",;|/") || n.Value == "" {
		f.leave(finding.Path, finding.Pos, "%s may be several values; write each of them as an entry of a list", quote(n.Value))
		return
	}
	item := f.outline.text[start:end]
	if isPlain(n) && (strings.ContainsAny(item, "[]{}") || ambiguous(item) || wholeNumber.MatchString(item)) {
		item = quote(n.Value)
	}
	f.propose(edit{
		Change: Change{Code: FixList, Path: finding.Path, After: "[" + item + "]", Reason: "a list is expected here"},
		start:  start, end: end, changes: changes,
	})
}

// describing are lists that say something about a unit and grant nothing. One
// value there is ignored until it is a list.
var describingLists = []string{"triggers", "aliases", "depends_on"}

func (f *fixer) wrapGranting(finding *kcp.Finding, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		return
	}
	if !slices.Contains(describingLists, lastKey(finding.Path)) {
		f.leave(finding.Path, finding.Pos, "as a list it would grant something; write the list yourself if it should")
		return
	}
	f.wrap(finding, n, true)
}

// truths are the words that YAML 1.1 took for booleans, in lower case.
var truths = map[string]bool{"yes": true, "on": true, "true": true, "no": false, "off": false, "false": false}

// The booleans of which one value opens something. A tool does not write that
// value for the publisher.
var (
	opensWhenTrue  = []string{"load_eligible"}
	opensWhenFalse = []string{"require_attestation", "required", "propagate_to_governed"}
)

func (f *fixer) boolean(finding *kcp.Finding, n *yaml.Node) {
	start, end, ok := f.outline.piece(n)
	if !ok {
		return
	}
	value, known := truths[strings.ToLower(strings.TrimSpace(n.Value))]
	key := lastKey(finding.Path)
	word := "false"
	if value {
		word = "true"
	}
	switch {
	case !known:
		f.leave(finding.Path, finding.Pos, "%s is neither true nor false; write the one that you mean", quote(n.Value))
	case value && slices.Contains(opensWhenTrue, key), !value && slices.Contains(opensWhenFalse, key):
		f.leave(finding.Path, finding.Pos, "%s would open what is closed now; write it yourself if it should be open", word)
	default:
		f.propose(edit{
			Change: Change{Code: FixBoolean, Path: finding.Path, After: word, Reason: "only true and false are booleans"},
			start:  start, end: end, changes: true,
		})
	}
}

// grantingFields are fields that a slip of the pen must not switch on.
var grantingFields = []string{"load_eligible", "action_scope", "steps", "authority_level", "authority", "delegation", "auth"}

// rename gives a misspelt key of a unit its right name.
func (f *fixer) rename(finding *kcp.Finding, key *yaml.Node) {
	if key == nil {
		return
	}
	near := kcp.SimilarUnitFields(key.Value)
	start, end, ok := f.outline.piece(key)
	if !ok || len(near) == 0 {
		return
	}
	target := strings.TrimSuffix(finding.Path, key.Value) + near[0]
	_, taken := f.outline.slots[target]
	switch {
	case len(near) > 1:
		f.leave(finding.Path, finding.Pos, "%s may be %s", key.Value, strings.Join(near, " or "))
	case taken:
		f.leave(finding.Path, finding.Pos, "%s looks like %s, which the unit has already; remove one of them", key.Value, near[0])
	case slices.Contains(grantingFields, near[0]):
		f.leave(finding.Path, finding.Pos, "%s looks like %s, which grants something; rename it yourself if it should", key.Value, near[0])
	default:
		f.propose(edit{
			Change: Change{Code: FixField, Path: finding.Path, After: near[0], Reason: "the field is called " + near[0]},
			start:  start, end: end, changes: true, target: target,
		})
	}
}

// dateFields hold dates; textFields hold text, one or a list.
var (
	dateFields = []string{"updated", "validated", "valid_from", "valid_until", "recorded_at", "last_verified", "generated"}
	textFields = []string{
		"kcp_version", "version", "project", "version_pin", "id", "path", "intent", "label", "language", "superseded_by",
		"supersedes", "triggers", "audience", "not_for", "aliases", "depends_on", "summary_unit", "chunk_of",
	}
)

// fromFields quotes plain text that the rules of YAML 1.1 take for something
// else: dates, yes and no, numbers in base sixty. To this reader it is the same
// with quotes and without.
func (f *fixer) fromFields() {
	for _, path := range f.outline.order {
		n := f.outline.slots[path].value
		if n.Kind != yaml.ScalarNode || !isPlain(n) {
			continue
		}
		key, reason := lastKey(path), ""
		switch {
		case slices.Contains(dateFields, key) && kcp.ValidDate(n.Value):
			reason = "some readers make a date of it, and change it"
		case slices.Contains(textFields, key) && wholeNumber.MatchString(n.Value):
			reason = "without quotes it is a number"
		case slices.Contains(textFields, key) && ambiguous(n.Value):
			reason = "some readers take it for something else than text"
		default:
			continue
		}
		if start, end, ok := f.outline.piece(n); ok {
			f.propose(edit{
				Change: Change{Code: FixQuote, Path: path, After: quote(n.Value), Reason: reason},
				start:  start, end: end,
			})
		}
	}
}

// notText matches what YAML 1.1 takes for a boolean, a date or a number, and
// YAML 1.2 for text.
var notText = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$` +
	`|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$` +
	`|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$` +
	`|^[-+]?0b[01_]+$|^[-+]?0x[0-9a-fA-F_]+$|^[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?$`)

func ambiguous(text string) bool { return notText.MatchString(text) }
