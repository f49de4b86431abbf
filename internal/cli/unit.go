package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/load"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/search"
)

type unitOptions struct {
	*runner
	source        sourceFlags
	asOf, knownAt given
	json          bool
}

func newUnit(r *runner) *cobra.Command {
	o := &unitOptions{runner: r}
	cmd := &cobra.Command{
		Use:   "unit UNIT",
		Short: "show everything that a manifest says of a unit",
		Long: "unit prints each field of one unit, named by its id or an alias, with what it inherits from the root of the " +
			"manifest, its place in the file, how it stands on a date, and which units name it. It decides nothing: " +
			"`writ why` says whether the unit may be loaded for a task.",
		Example: `writ unit edition-2026
writ unit edition-2026 --as-of 2030-01-01 --json`,
		Annotations: exits("the unit was shown", "there is no such unit, or the manifest cannot be read or verified", wrongUsage),
		RunE: func(cmd *cobra.Command, words []string) error {
			return o.run(cmd, words)
		},
		ValidArgsFunction: (&whyOptions{runner: r}).completeUnit,
	}
	when := flagGroup{cmd.Flags(), "When"}
	when.value(&o.asOf, "as-of", "DATE", "2026-07-06", "how it stands on this date, YYYY-MM-DD (default today, in UTC)")
	when.value(&o.knownAt, "known-at", "DATE", "2025-06-30", "with what had been recorded by this date")
	o.source.declare(cmd)
	o.source.declareTrust(cmd)
	flagGroup{cmd.Flags(), outputGroup}.boolean(&o.json, "json", "print the unit as JSON")
	return cmd
}

func (o *unitOptions) run(cmd *cobra.Command, words []string) error {
	if len(words) != 1 {
		return usagef("Write it like writ unit deploy-guide", "unit shows one unit, and %d are named", len(words))
	}
	at, err := o.moment(&o.asOf, &o.knownAt)
	if err != nil {
		return err
	}
	loaded, err := o.source.open(cmd.Context(), o.runner, "")
	if err != nil {
		return err
	}
	u, ok := loaded.Manifest.Lookup(words[0])
	if !ok {
		return unknownUnit(loaded.Manifest, words[0], &planner.UnknownUnitError{Unit: words[0]})
	}
	sheet := newUnitSheet(loaded, u, words[0], at)
	if o.json {
		return o.printDocument(sheet)
	}
	p := o.newPage()
	unitView{p, loaded.Manifest, sheet}.write()
	o.print(p)
	return nil
}

// moment reads the two dates of a command; as-of is today when it is not given.
func (r *runner) moment(asOf, knownAt *given) (at kcp.Moment, err error) {
	at.AsOf = r.today()
	if asOf.set {
		if at.AsOf, err = asOf.date("as-of"); err != nil {
			return at, err
		}
	}
	if knownAt.set {
		at.KnownAt, err = knownAt.date("known-at")
	}
	return at, err
}

// unitSheet is the JSON form of a unit.
type unitSheet struct {
	Manifest  sheetManifest  `json:"manifest"`
	Name      string         `json:"name"` // as it was asked for
	ViaAlias  bool           `json:"via_alias"`
	Position  sheetPosition  `json:"position"`
	Declared  int            `json:"declared"` // how many units have this id
	Unit      artifact.Value `json:"unit"`
	Inherited []string       `json:"inherited"`
	Malformed []string       `json:"malformed"`
	Status    sheetStatus    `json:"status"`
	NamedBy   []sheetLink    `json:"named_by"`

	fields []unitField
	unit   *kcp.Unit
}

type sheetManifest struct {
	Project string `json:"project"`
	Version string `json:"version"`
	Source  string `json:"source"`
}

type sheetPosition struct {
	Index  int `json:"index"` // among the items of units, from 0
	Line   int `json:"line,omitzero"`
	Column int `json:"column,omitzero"`
}

type sheetStatus struct {
	AsOf         string        `json:"as_of"`
	KnownAt      string        `json:"known_at,omitzero"`
	Status       search.Status `json:"status"`
	SupersededBy string        `json:"superseded_by,omitzero"` // what it gives way to on that date
}

// sheetLink is another unit, or a relationship, that names this one.
type sheetLink struct {
	Unit string `json:"unit"`
	As   string `json:"as"`
}

func newUnitSheet(loaded *load.Loaded, u *kcp.Unit, name string, at kcp.Moment) *unitSheet {
	m := loaded.Manifest
	pos := m.Position(fmt.Sprintf("units[%d]", u.Index))
	fields, malformed := unitFields(m, u)
	view := m.View(at)
	s := &unitSheet{
		Manifest: sheetManifest{m.Project, m.Version, loaded.Source},
		Name:     name, ViaAlias: u.ID != name,
		Position:  sheetPosition{u.Index, pos.Line, pos.Column},
		Declared:  m.Names().Times(u.ID),
		Inherited: []string{}, Malformed: malformed,
		Status:  sheetStatus{AsOf: at.AsOf, KnownAt: at.KnownAt, Status: search.StatusOf(view, u, "")},
		NamedBy: linksTo(m, u), fields: fields, unit: u,
	}
	if by := view.Supersession(u, ""); by.Acts && s.Status.Status == search.Superseded {
		s.Status.SupersededBy = by.By
	}
	members := make([]artifact.Member, len(fields))
	for i, f := range fields {
		members[i] = artifact.Member{Name: f.name, Value: f.value}
		s.Inherited = append(s.Inherited, f.inherited...)
	}
	s.Unit = artifact.ObjectValue(members...)
	return s
}

// linksTo lists what names a unit, in the order of the manifest.
func linksTo(m *kcp.Manifest, u *kcp.Unit) []sheetLink {
	links := []sheetLink{}
	for i := range m.Units {
		other := &m.Units[i]
		if other == u {
			continue
		}
		add := func(names bool, as string) {
			if names {
				links = append(links, sheetLink{other.ID, as})
			}
		}
		t := m.TemporalOf(other)
		add(t != nil && t.SupersededBy.Value != "" && m.Names().Resolve(t.SupersededBy.Value) == u, "superseded_by")
		add(other.Supersedes.Value == u.ID && u.ID != "", "supersedes")
		add(slices.Contains(other.DependsOn.Items, u.ID), "depends_on")
		if h := other.Hints; h != nil {
			add(h.SummaryUnit.Value == u.ID && u.ID != "", "hints.summary_unit")
			add(h.SummaryOf.Value == u.ID && u.ID != "", "hints.summary_of")
			add(h.ChunkOf.Value == u.ID && u.ID != "", "hints.chunk_of")
		}
		add(slices.ContainsFunc(other.Steps, func(s kcp.Step) bool { return s.Uses.Value == u.ID && u.ID != "" }), "steps.uses")
	}
	for i := range m.Relationships {
		if r := &m.Relationships[i]; r.To.Value == u.ID && u.ID != "" {
			links = append(links, sheetLink{r.From.Value, "relationship " + r.Type.Value})
		}
	}
	return links
}

// unitView writes a unit for a person.
type unitView struct {
	*page
	manifest *kcp.Manifest
	*unitSheet
}

// unitSections say which fields stand together. Fields that no section names
// stand in the last one.
var unitSections = []struct{ title, fields string }{
	{"What it is", "kind scope audience triggers aliases not_for not_for_strict format content_type language license indexing update_frequency content_structure"},
	{"When", "temporal validated freshness_policy deprecated supersedes discovery"},
	{"Who may load it", "access auth_scope sensitivity requires_capabilities auth visibility authority authority_level payment rate_limits delegation compliance"},
	{"Size", "size_tokens bytes hints content_hash"},
	{"Procedure", "load_eligible action_scope steps charter"},
	{"Needs", "depends_on external_depends_on"},
	{"More", ""},
}

func (v unitView) write() {
	v.blank()
	status := v.statusSpans()
	v.hang(0, 2, append(spans(status[0], space, name(bold, v.unit.ID)), status[1:]...)...)
	v.blank()
	t := &table{indent: 2}
	t.add(cell(dim, "intent"), spans(text(strings.TrimSpace(v.unit.Intent))))
	t.add(cell(dim, "path"), cell(cyan, v.unit.Path))
	place := v.Manifest.Source
	if v.Position.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", place, v.Position.Line, v.Position.Column)
	}
	t.add(cell(dim, "declared"), spans(name(cyan, place), in(dim, fmt.Sprintf(" · unit %d of %d", v.place(), len(v.manifest.Units)))))
	t.add(cell(dim, "manifest"), spans(name(plain, v.Manifest.Project), text(" "+v.Manifest.Version)))
	v.table(t)
	if v.ViaAlias {
		v.hang(2, 4, markNote, text(" "), name(plain, v.Name), text(" is an alias of it"))
	}
	if v.Declared > 1 {
		v.hang(2, 4, markBad, text(fmt.Sprintf(" %d units have this id, so none of them can be loaded; this is the first", v.Declared)))
	}
	for _, field := range v.Malformed {
		v.hang(2, 4, markWarn, space, name(plain, field), text(" cannot be read; what depends on it stays closed"))
	}
	v.writeSections()
	v.writeLinks()
}

// place is where the unit stands among those that could be read, from 1.
func (v unitView) place() int {
	return 1 + slices.IndexFunc(v.manifest.Units, func(u kcp.Unit) bool { return u.Index == v.unit.Index })
}

// statusSpans gives the mark of a status and what to say of it.
func (v unitView) statusSpans() []span {
	s := v.Status
	when := "  on " + s.AsOf
	if s.KnownAt != "" {
		when += ", as known at " + s.KnownAt
	}
	words := string(s.Status)
	switch s.Status {
	case search.Superseded:
		words = "superseded by " + s.SupersededBy
	case search.Future:
		words = "not valid yet"
	case search.Unrecorded:
		words = "not recorded yet"
	case search.Unreadable:
		words = "never valid: its window is not one of dates"
	}
	mark := statusMark(s.Status)
	return spans(mark, text(" is "), in(mark.style, words), in(dim, when))
}

// statusMark is the sign of a status in every output about time.
func statusMark(s search.Status) span {
	switch s {
	case search.Current:
		return markOpen
	case search.Superseded:
		return span{text: "◐", style: yellow}
	case search.Future:
		return span{text: "○", style: cyan}
	case search.Unreadable:
		return markBad
	}
	return markNote
}

func (v unitView) writeSections() {
	shown := map[string]bool{"id": true, "intent": true, "path": true}
	for _, section := range unitSections {
		names := strings.Fields(section.fields)
		t := &table{indent: 2}
		for i := range v.fields {
			f := &v.fields[i]
			if shown[f.name] || len(names) > 0 && !slices.Contains(names, f.name) {
				continue
			}
			shown[f.name] = true
			v.addRows(t, f.name, f.value, f.inherited)
		}
		if len(t.rows) > 0 {
			v.heading(section.title)
			v.table(t)
		}
	}
}

// addRows adds one row for each scalar or list of scalars in a value.
func (v unitView) addRows(t *table, at string, value artifact.Value, inherited []string) {
	switch {
	case value.Kind() == artifact.KindObject && len(value.Members()) > 0:
		for _, m := range value.Members() {
			v.addRows(t, at+"."+m.Name, m.Value, inherited)
		}
		return
	case value.Kind() == artifact.KindArray && slices.ContainsFunc(value.Elements(), isObject):
		for i, item := range value.Elements() {
			v.addRows(t, fmt.Sprintf("%s[%d]", at, i), item, inherited)
		}
		return
	}
	list := spans(text(valueText(value)))
	for _, from := range inherited {
		if at == from || strings.HasPrefix(at, from+".") || strings.HasPrefix(at, from+"[") {
			list = append(list, in(dim, " · from the root"))
			break
		}
	}
	t.add(cell(dim, at), list)
}

func isObject(v artifact.Value) bool { return v.Kind() == artifact.KindObject }

// valueText writes a scalar or a list of scalars for a person.
func valueText(v artifact.Value) string {
	switch v.Kind() {
	case artifact.KindString:
		return v.Text()
	case artifact.KindArray:
		var items []string
		for _, item := range v.Elements() {
			items = append(items, valueText(item))
		}
		if len(items) == 0 {
			return "none"
		}
		return strings.Join(items, ", ")
	case artifact.KindObject:
		return "nothing"
	case artifact.KindNumber:
		if x, ok := v.Float(); ok {
			return grouped(x)
		}
	}
	return string(v.AppendCompact(nil))
}

func (v unitView) writeLinks() {
	if len(v.NamedBy) == 0 {
		return
	}
	v.heading("Named by")
	t := &table{indent: 2}
	for _, link := range v.NamedBy[:min(len(v.NamedBy), mostListed)] {
		t.add(cell(plain, link.Unit), spans(text(link.As)))
	}
	v.table(t)
	if more := len(v.NamedBy) - mostListed; more > 0 {
		v.line(2, in(dim, "and "+grouped(float64(more))+" more; --json lists every one"))
	}
}
