package federation

import "github.com/writ-dev/writ/kcp"

// Extension is what writ adds to a node, under the key "writ". It is there only
// when it has something to say.
type Extension struct {
	Findings []Finding `json:"findings"`
	Unmet    []Unmet   `json:"unmet,omitempty"`
}

// Finding is the JSON form of a [kcp.Finding].
type Finding struct {
	Severity kcp.Severity `json:"severity"`
	Code     string       `json:"code"`
	Where    string       `json:"where"`
	Path     string       `json:"path"`
	Line     int          `json:"line"`
	Column   int          `json:"column"`
	Message  string       `json:"message"`
	Hint     string       `json:"hint"`
}

// Unmet is a selected unit that depends on a unit of another manifest, which the
// tree does not have, and is not content without it (format section 9.4).
type Unmet struct {
	Unit      string `json:"unit"`
	Manifest  string `json:"manifest"` // the id of the reference
	Needs     string `json:"needs"`    // the id of the unit over there
	OnFailure string `json:"onFailure"`
	Reason    string `json:"reason"`
}

// Extend gives the extension for findings; there is none without any.
func Extend(findings []kcp.Finding) *Extension {
	if len(findings) == 0 {
		return nil
	}
	e := &Extension{Findings: make([]Finding, len(findings))}
	for i, f := range findings {
		e.Findings[i] = Finding{f.Severity, f.Code, f.Where, f.Path, f.Pos.Line, f.Pos.Column, f.Message, f.Hint}
	}
	return e
}

// warn adds a finding of the walk. Its place in the text is where the reference
// or the unit is declared, if that is known.
func (n *Node) warn(code, where, path, message, hint string) {
	n.Findings = append(n.Findings, kcp.Finding{
		Severity: kcp.Warning, Code: code, Where: where, Path: path, Message: message, Hint: hint,
	})
}

// The on_failure of a dependency that wants to be told. Skip, the default, and
// what is none of the three, want nothing.
const (
	onFailureWarn    = "warn"
	onFailureDegrade = "degrade"
)

// unmet lists the dependencies of selected units that the tree does not meet, and
// warns of each.
func (n *Node) unmet() []Unmet {
	var list []Unmet
	names := n.Loaded.Manifest.Names()
	for i := range n.Plan.Selected {
		u := names.Unit(n.Plan.Selected[i].ID)
		if u == nil || u.Details == nil {
			continue
		}
		for j := range u.Details.ExternalDependsOn {
			d := &u.Details.ExternalDependsOn[j]
			hint := "load it without, and say so"
			switch d.OnFailure.Value {
			case onFailureWarn:
			case onFailureDegrade:
				hint = "mark whatever is made from it as incomplete"
			default:
				continue
			}
			reason := n.lacks(d)
			if reason == "" {
				continue
			}
			list = append(list, Unmet{u.ID, d.Manifest.Value, d.Unit.Value, d.OnFailure.Value, reason})
			n.warn("dependency-unmet", "unit '"+u.ID+"'", "external_depends_on",
				"unit '"+u.ID+"' depends on '"+d.Unit.Value+"' of '"+d.Manifest.Value+"': "+reason, hint)
		}
	}
	return list
}

// lacks says why the tree does not have what a unit depends on, or nothing.
func (n *Node) lacks(d *kcp.ExternalDependency) string {
	for _, child := range n.Children {
		if child.RefID.Value != d.Manifest.Value {
			continue
		}
		if child.Plan == nil {
			return child.Error
		}
		if child.Loaded.Manifest.Names().Unit(d.Unit.Value) == nil {
			return "that manifest declares no such unit"
		}
		return ""
	}
	for _, ref := range n.NotFollowed {
		switch {
		case ref.ID != d.Manifest.Value:
		case ref.Reason == reasonVisited:
			return "" // it is elsewhere in the tree
		default:
			return ref.Reason
		}
	}
	return "no reference has this id"
}
