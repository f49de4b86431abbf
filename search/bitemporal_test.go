package search_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/writ-dev/writ/kcp"
	"github.com/writ-dev/writ/planner"
	"github.com/writ-dev/writ/search"
)

// A cell is one question of the truth table with its right answer.
type cell struct {
	moment kcp.Moment
	want   string
}

// cells reads a table: the first row has the values of known_at, the first
// column those of as_of.
func cells(t *testing.T, table string) []cell {
	t.Helper()
	var all []cell
	var known []string
	for line := range strings.Lines(table) {
		row := strings.Fields(line)
		if len(row) == 0 {
			continue
		}
		if known == nil {
			known = row[1:]
			continue
		}
		if len(row) != len(known)+1 {
			t.Fatalf("row %q has %d cells, and the table %d columns", line, len(row)-1, len(known))
		}
		for i, want := range row[1:] {
			at := kcp.Moment{AsOf: row[0], KnownAt: known[i]}
			if at.KnownAt == "any" {
				at.KnownAt = ""
			}
			all = append(all, cell{at, want})
		}
	}
	return all
}

// complete adds what the cases leave out.
func complete(m *kcp.Manifest) {
	for i := range m.Units {
		u := &m.Units[i]
		u.Path, u.Intent = u.ID+".md", "alpha"
		if !u.Audience.Declared {
			u.Audience = kcp.List{Items: []string{"agent", "human"}, Declared: true}
		}
	}
}

func idList(ids []string) string {
	if len(ids) == 0 {
		return "-"
	}
	return strings.Join(ids, ",")
}

// TestTruthTable asks every question of search, of the planner and of StatusOf.
func TestTruthTable(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "bitemporal.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, table := archive.Files[i], archive.Files[i+1]
		name := strings.TrimSuffix(in.Name, ".yaml")
		if table.Name != name+".table" {
			t.Fatalf("%s is not followed by its table", in.Name)
		}
		m, _, err := kcp.Parse(append([]byte("project: p\n"), in.Data...), in.Name)
		if err != nil {
			t.Fatal(err)
		}
		complete(m)
		t.Run(name, func(t *testing.T) {
			for _, c := range cells(t, string(table.Data)) {
				count++
				for who, got := range map[string]string{
					"search": bySearch(t, m, c.moment), "plan": byPlan(m, c.moment), "status": byStatus(m, c.moment),
				} {
					if got != c.want {
						t.Errorf("as of %s, known at %q: %s gives %s, want %s", c.moment.AsOf, c.moment.KnownAt, who, got, c.want)
					}
				}
			}
		})
	}
	if count < 250 {
		t.Errorf("only %d cells", count)
	}
	t.Logf("%d cells", count)
}

func bySearch(t *testing.T, m *kcp.Manifest, at kcp.Moment) string {
	t.Helper()
	q := search.Query{Terms: []string{"alpha"}, Audience: "agent", KnownAt: at.KnownAt, Today: "2026-07-06", Limit: 100}
	q.AsOf = kcp.String{Value: at.AsOf, Set: true}
	r, err := search.Find(m, q)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.Unit.ID)
	}
	return idList(ids)
}

func byPlan(m *kcp.Manifest, at kcp.Moment) string {
	plan, _ := planner.Plan(m, "alpha", planner.Options{AsOf: at.AsOf, KnownAt: at.KnownAt, MaxUnits: kcp.Number{Value: math.NaN(), Set: true}})
	var ids []string
	for i := range m.Units {
		if slices.ContainsFunc(plan.Selected, func(s planner.Selected) bool { return s.ID == m.Units[i].ID }) {
			ids = append(ids, m.Units[i].ID)
		}
	}
	return idList(ids)
}

func byStatus(m *kcp.Manifest, at kcp.Moment) string {
	v := m.View(at)
	var ids []string
	for i := range m.Units {
		u := &m.Units[i]
		if search.StatusOf(v, u, "agent") == search.Current && u.StandsIn("agent") {
			ids = append(ids, u.ID)
		}
	}
	return idList(ids)
}
