package archtest

import "strings"

// module is the import path of the root package.
const module = "github.com/writ-dev/writ"

// A side says which of the two libraries a package belongs to. They meet in
// the packages marked both, and know nothing of each other below.
type side int

const (
	shared side = iota // leaves that either side may import
	knowledge
	runtime
	both
)

func (s side) String() string {
	return [...]string{"shared", "knowledge", "runtime", "both"}[s]
}

// A row is one line of the picture. A package imports packages of lower rows
// only, never of its own.
type row struct {
	level    int
	side     side
	packages string // separated by blanks; "." is the root package, "x/*" any direct child of x
}

// picture is read from the top: a package may import what stands below it.
var picture = []row{
	{9, both, "cmd/writ bench internal/archtest"},
	{8, both, "internal/cli bench/manifests"},
	{7, both, "server mcpserver local"},
	{6, both, ". agentfile"},
	{5, both, "ask playbook"},
	{4, knowledge, "memory"},
	{4, both, "retrieve"}, // with ask and playbook the first that know both sides
	{3, knowledge, "federation internal/draft"},
	{3, runtime, "engine engine/sim store/* port/*"},
	{2, knowledge, "load planner search ground"},
	{2, runtime, "graph store"},
	{1, shared, "model/*"},
	{1, knowledge, "kcp fetch"},
	{1, runtime, "policy event expr/cel schema/jsonschema"},
	{0, shared, "guard keys match model expr schema internal/console"},
	{-1, shared, "artifact"},
}

// sideways lists the imports within one row that the picture allows, each with
// its reason.
var sideways = []struct{ from, to, because string }{
	{"engine/sim", "engine", "the simulator drives the machine"},
	{"engine/sim", "store/memory", "a simulated run needs a store that can be thrown away"},
	{"engine/sim", "store/storetest", "the faults of the simulator are those of the suite"},
	{"port/*", "engine", "a port answers the machine's effects"},
}

// pure lists the packages that touch nothing outside their arguments. They
// also build for the browser and for WASI (see PURE in the Makefile).
var pure = words("artifact match expr schema kcp planner search ground policy graph event")

func words(s string) []string { return strings.Fields(s) }

// place finds the row of a package, given by its folder.
func place(dir string) (row, bool) {
	for _, r := range picture {
		for _, p := range words(r.packages) {
			if covers(p, dir) {
				return r, true
			}
		}
	}
	return row{}, false
}

// covers reports whether a name of the picture stands for the folder.
func covers(name, dir string) bool {
	parent, ok := strings.CutSuffix(name, "/*")
	if !ok {
		return name == dir
	}
	child, ok := strings.CutPrefix(dir, parent+"/")
	return ok && !strings.Contains(child, "/")
}

func allowedSideways(from, to string) bool {
	for _, s := range sideways {
		if covers(s.from, from) && covers(s.to, to) {
			return true
		}
	}
	return false
}
