package cli

import (
	"regexp"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/internal/draft"
	"github.com/writ-dev/writ/kcp"
)

// A report in SARIF 2.1.0 (OASIS), which code scanners and editors read. The
// types hold what writ fills in, with the names of the standard.

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	findingsPage = "https://github.com/writ-dev/writ/blob/main/docs/findings.md"
	projectPage  = "https://github.com/writ-dev/writ"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool      `json:"tool"`
	Invocations []sarifInvoked `json:"invocations"`
	ColumnKind  string         `json:"columnKind"`
	Results     []sarifResult  `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Version        string      `json:"version,omitzero"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID                   string        `json:"id"`
	ShortDescription     sarifText     `json:"shortDescription"`
	Help                 sarifMarkdown `json:"help"`
	HelpURI              string        `json:"helpUri"`
	DefaultConfiguration sarifConfig   `json:"defaultConfiguration"`
	Properties           sarifTags     `json:"properties"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifMarkdown struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type sarifConfig struct {
	Level kcp.Severity `json:"level"`
}

type sarifTags struct {
	Tags []string `json:"tags"`
}

type sarifInvoked struct {
	ExecutionSuccessful bool `json:"executionSuccessful"`
}

type sarifResult struct {
	RuleID              string          `json:"ruleId"`
	RuleIndex           int             `json:"ruleIndex"`
	Level               kcp.Severity    `json:"level"`
	Message             sarifText       `json:"message"`
	Locations           []sarifLocation `json:"locations"`
	PartialFingerprints sarifPrint      `json:"partialFingerprints"`
}

// sarifPrint stays the same when lines move, so that a scanner knows a finding
// again.
type sarifPrint struct {
	Finding string `json:"writFinding/v1"`
}

type sarifLocation struct {
	PhysicalLocation sarifPhysical  `json:"physicalLocation"`
	LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           *sarifRegion  `json:"region,omitzero"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

// unreadableCode is the rule of a manifest that cannot be read at all.
const unreadableCode = "manifest-unreadable"

// sarif gives the report as one run, with every rule that writ has.
func (rep *report) sarif(version string) *sarifLog {
	rules, index := sarifRules()
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{"writ", projectPage, version, rules}},
		Invocations: []sarifInvoked{{ExecutionSuccessful: rep.text != nil}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	for _, f := range rep.inPlace() {
		run.Results = append(run.Results, rep.sarifResult(&f, index))
	}
	return &sarifLog{sarifSchema, sarifVersion, []sarifRun{run}}
}

func (rep *report) sarifResult(f *placed, index map[string]int) sarifResult {
	code := f.Code
	if code == "" {
		code = unreadableCode
	}
	message := f.Message
	if f.Hint != "" {
		message += ". To mend it, " + f.Hint + "."
	}
	location := sarifLocation{PhysicalLocation: sarifPhysical{ArtifactLocation: sarifArtifact{artifactURI(rep.Source)}}}
	if f.Pos.Line > 0 {
		location.PhysicalLocation.Region = &sarifRegion{f.Pos.Line, rep.characters(f.Pos)}
	}
	if f.Path != "" {
		location.LogicalLocations = []sarifLogical{{f.Path}}
	}
	return sarifResult{
		RuleID: code, RuleIndex: index[code], Level: f.severity, Message: sarifText{visible(message)},
		Locations:           []sarifLocation{location},
		PartialFingerprints: sarifPrint{artifact.Sum([]byte(code + "\x00" + f.Where + "\x00" + f.Message)).Hex()},
	}
}

// sarifRules gives the rules of all sets, each code once. Where two sets share a
// code the text of the first stands; the level of each result is its own.
func sarifRules() (rules []sarifRule, index map[string]int) {
	index = map[string]int{}
	add := func(tag string, texts []kcp.RuleText) {
		for _, r := range texts {
			if i, known := index[r.Code]; known {
				rules[i].Properties.Tags = append(rules[i].Properties.Tags, tag)
				continue
			}
			index[r.Code] = len(rules)
			rules = append(rules, sarifRule{
				ID: r.Code, ShortDescription: sarifText{plainMeaning(r.Meaning)},
				Help:    sarifMarkdown{"To mend it, " + r.Mend + ".", r.Meaning + "\n\nTo mend it, " + r.Mend + "."},
				HelpURI: findingsPage, DefaultConfiguration: sarifConfig{r.Severity}, Properties: sarifTags{[]string{tag}},
			})
		}
	}
	add("agent", kcp.RuleTexts(kcp.Agent))
	add("specification", kcp.RuleTexts(kcp.Spec))
	add("reading", kcp.ReadingTexts())
	add("composing", kcp.ComposingTexts())
	add("catalog", draft.CatalogTexts())
	add("reading", []kcp.RuleText{{
		Code: unreadableCode, Severity: kcp.Error, Level: 1,
		Meaning: "The manifest cannot be found or read, or is not one YAML mapping.",
		Mend:    "follow the message, which says where reading ended",
	}})
	return rules, index
}

var codeMark = regexp.MustCompile("`([^`]*)`")

// plainMeaning takes the marks of Markdown off the meaning of a rule.
func plainMeaning(meaning string) string {
	return strings.ReplaceAll(codeMark.ReplaceAllString(meaning, "$1"), "**", "")
}
