package graph

import (
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/policy"
)

// Limits of a version 2 graph.
const (
	MaxNodes    = 50_000
	maxCases    = 256   // of one node
	maxBranches = 256   // of one fork
	maxPath     = 1_024 // bytes of one path of the state
)

// Decode reads a version 2 graph, JSON or YAML, without checking it as a whole:
// see [Compile]. Errors are *[artifact.DocumentError] and list every problem.
func Decode(data []byte, source string) (*Definition, error) {
	doc, err := artifact.ParseDocument(data, source)
	if err != nil {
		return nil, err
	}
	r := artifact.NewReader(doc)
	d := readDefinition(r.Root())
	if err := r.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

func readDefinition(f artifact.Field) *Definition {
	o := f.Object()
	if v := o.Need("version"); v.Present() && v.Uint16() != 2 {
		v.Report("version: want 2; version 1 graphs are JSON and have their own form")
	}
	d := &Definition{
		ID:          o.Need("id").Identifier(),
		Description: o.May("description").Text(),
		StateSchema: o.May("state_schema").Identifier(),
		State:       readShape(o.May("state")),
		Entry:       o.Need("entry").Identifier(),
		Limits:      readLimits(o.Need("limits")),
	}
	nodes := o.Need("nodes")
	if nodes.Len() > MaxNodes {
		nodes.Report("graph has %d nodes; at most %d are read", nodes.Len(), MaxNodes)
		return d
	}
	for id, n := range nodes.Map() {
		if err := artifact.CheckIdentifier(id); err != nil {
			n.Report("%v: a node id has 1 to %d of the characters A-Z a-z 0-9 - _ . /", err, artifact.MaxIdentifier)
		}
		d.Nodes = append(d.Nodes, readNode(id, n))
	}
	o.RefuseUnknown()
	return d
}

func readLimits(f artifact.Field) Limits {
	o := f.Object()
	defer o.RefuseUnknown()
	l := Limits{
		MaxSteps:      o.Need("max_steps").Uint64(),
		MaxTokens:     o.May("max_tokens").Uint64(),
		MaxCostMicros: o.May("max_cost_micros").Uint64(),
		TimeoutMillis: readDuration(o.Need("timeout")),
	}
	if steps := o.May("max_steps"); steps.Kind() == artifact.KindNumber && l.MaxSteps == 0 {
		steps.Report("max_steps: 0 steps run nothing")
	}
	return l
}

// Keys of the wire form by kind. Every node may have the common ones.
var (
	everyNode = strings.Fields("description max_visits")
	kindKeys  = strings.Fields("handler tool model retrieve approve wait call fork join end fail")
	nodeKeys  = map[Kind][]string{
		KindHandler:  strings.Fields("handler reads args reserve writes next routes retry timeout deadline"),
		KindTool:     strings.Fields("tool reads args reserve set cases next routes retry timeout deadline"),
		KindModel:    strings.Fields("model reads args reserve set cases next routes retry timeout deadline"),
		KindRetrieve: strings.Fields("retrieve reads args reserve set cases next routes retry timeout deadline"),
		KindApprove:  strings.Fields("approve reads show answer quorum set cases next routes timeout"),
		KindWait:     strings.Fields("wait reads set cases next routes timeout"),
		KindCall:     strings.Fields("call digest reads args authority returns set cases next routes timeout"),
		KindFork:     strings.Fields("fork routes"),
		KindJoin:     strings.Fields("join reads set cases next routes"),
		KindSet:      strings.Fields("set reads cases next routes"),
		KindEnd:      strings.Fields("end fail reads"),
	}
	// outcomes are the names that routes may have. A handler names its own too.
	outcomes = map[Kind][]string{
		KindHandler:  {RouteFailed, RouteTimeout, RouteExhausted},
		KindTool:     {RouteFailed, RouteTimeout, RouteDenied, RouteExhausted},
		KindModel:    {RouteFailed, RouteTimeout, RouteDenied, RouteExhausted},
		KindRetrieve: {RouteFailed, RouteTimeout, RouteDenied, RouteExhausted},
		KindApprove:  {RouteDenied, RouteTimeout, RouteExhausted},
		KindWait:     {RouteTimeout, RouteExhausted},
		KindCall:     {RouteFailed, RouteTimeout, RouteDenied, RouteExhausted},
		KindFork:     {RouteExhausted},
		KindJoin:     {RouteFailed, RouteExhausted},
		KindSet:      {RouteExhausted},
	}
)

func readNode(id string, f artifact.Field) NodeDefinition {
	o := f.Object()
	n := NodeDefinition{ID: id, Kind: nodeKind(o), Quorum: 0}
	if n.Kind == "" {
		return n
	}
	known := checkKeys(o, n.Kind)
	n.Description = o.May("description").Text()
	n.MaxVisits = o.May("max_visits").Uint32()
	n.Reads = o.May("reads").Set()
	n.Args = o.May("args").Value()
	n.Reserve = readReserve(o.May("reserve"))
	n.readWork(o)
	n.readWrites(o)
	n.Cases = readCases(o.May("cases"))
	n.Next = o.May("next").Identifier()
	n.Routes = readRoutes(o.May("routes"), n.Kind)
	n.Retry = readRetry(o.May("retry"))
	n.TimeoutMillis = readDuration(o.May("timeout"))
	n.DeadlineMillis = readDuration(o.May("deadline"))
	if v := o.May("max_visits"); v.Kind() == artifact.KindNumber && n.MaxVisits == 0 {
		v.Report("max_visits: must be at least 1")
	}
	if !known {
		n.Kind = "" // what is missing may be what is misspelt
	}
	return n
}

// nodeKind finds the one key that says what the node does.
func nodeKind(o *artifact.Object) Kind {
	var found []string
	for _, key := range kindKeys {
		if o.Has(key) {
			found = append(found, key)
		}
	}
	switch {
	case len(found) > 1:
		o.Field().Report("node has both %s and %s; split it into two nodes", found[0], found[1])
		return ""
	case len(found) == 1 && found[0] == "fail":
		return KindEnd
	case len(found) == 1:
		return Kind(found[0])
	case o.Has("set"):
		return KindSet
	}
	if o.Field().Present() {
		hint := ""
		for name := range o.Field().Members() {
			if hint == "" {
				hint = artifact.Suggest(name, kindKeys)
			}
		}
		o.Field().Report("node does nothing: give it one of %s or set%s", strings.Join(kindKeys, ", "), hint)
	}
	return ""
}

// checkKeys reports keys that the kind does not have.
func checkKeys(o *artifact.Object, kind Kind) bool {
	known := slices.Concat(everyNode, nodeKeys[kind])
	unknown := o.Field().Len()
	for name, f := range o.Field().Members() {
		if slices.Contains(known, name) {
			unknown--
			o.Know(name)
		} else if appliesElsewhere(name) {
			o.Know(name)
			f.ReportName("%s does not apply to %s nodes", name, kind)
		}
	}
	o.Know(known...)
	o.RefuseUnknown()
	return unknown == 0
}

func appliesElsewhere(name string) bool {
	for _, keys := range nodeKeys {
		if slices.Contains(keys, name) {
			return true
		}
	}
	return false
}

// readWork reads what is particular to the kind.
func (n *NodeDefinition) readWork(o *artifact.Object) {
	switch n.Kind {
	case KindHandler, KindTool, KindModel, KindRetrieve, KindJoin:
		n.Name = o.Need(string(n.Kind)).Identifier()
	case KindApprove:
		n.Name = o.Need("approve").Identifier()
		n.Args = o.May("show").Value()
		n.Answer = readShape(o.May("answer"))
		n.Quorum = 1
		if q := o.May("quorum"); q.Present() {
			n.Quorum = uint32(policy.ReadQuorum(q))
		}
	case KindWait:
		n.readWait(o.Need("wait"))
	case KindCall:
		n.Name = o.Need("call").Identifier()
		n.readCall(o)
	case KindFork:
		seen := map[string]bool{}
		if f := o.Need("fork"); f.Len() > maxBranches {
			f.Report("fork has %d branches; at most %d are read", f.Len(), maxBranches)
			return
		}
		for _, b := range o.Need("fork").List() {
			start := b.Identifier()
			if seen[start] {
				b.Report("branch %q appears twice", start)
			}
			seen[start] = true
			n.Branches = append(n.Branches, start)
		}
		if f := o.Need("fork"); f.Kind() == artifact.KindArray && len(n.Branches) < 2 {
			f.Report("fork needs at least two branches")
		}
	case KindEnd:
		n.Failure = o.Has("fail")
		n.Args = o.May("end").Value()
		if n.Failure {
			n.Args = o.Need("fail").Value()
			if n.Args.Kind() != artifact.KindString {
				o.Need("fail").Report("fail needs a message: text, or an expression that begins with =")
			}
		}
	}
}

func (n *NodeDefinition) readWait(f artifact.Field) {
	o := f.Object()
	n.Name = o.May("event").Identifier()
	n.Key = o.May("key").Value()
	n.ForMillis = readDuration(o.May("for"))
	n.Until = o.May("until").Value()
	o.RefuseUnknown()
	ways := 0
	for _, name := range []string{"event", "for", "until"} {
		if o.May(name).Present() {
			ways++
		}
	}
	if f.Kind() == artifact.KindObject && ways != 1 {
		f.Report("wait needs exactly one of event, for, until")
	}
	if key := o.May("key"); key.Present() && !o.May("event").Present() {
		key.Report("key tells events apart; it needs event")
	}
}

func (n *NodeDefinition) readCall(o *artifact.Object) {
	if d := o.May("digest"); d.Present() {
		digest, err := artifact.ParseDigest(d.Text())
		if err != nil {
			d.Report("%v", err)
		}
		n.Digest = digest
	}
	n.Returns = readShape(o.May("returns"))
	f := o.May("authority")
	if !f.Present() {
		return
	}
	a := f.Object()
	set := func(name string) (v artifact.Optional[[]string]) {
		if f := a.May(name); f.Present() {
			v = artifact.Some(f.IdentifierSet())
		}
		return v
	}
	number := func(name string) (v artifact.Optional[uint64]) {
		if f := a.May(name); f.Present() {
			v = artifact.Some(f.Uint64())
		}
		return v
	}
	n.Authority = Authority{
		Capabilities:  set("capabilities"),
		Namespaces:    set("namespaces"),
		MaxSteps:      number("max_steps"),
		MaxTokens:     number("max_tokens"),
		MaxCostMicros: number("max_cost_micros"),
	}
	a.RefuseUnknown()
}

func (n *NodeDefinition) readWrites(o *artifact.Object) {
	if n.Kind == KindHandler {
		n.Writes = o.May("writes").Set()
		return
	}
	n.Writes = []string{}
	if n.Kind == KindFork || n.Kind == KindEnd {
		return
	}
	f := o.May("set")
	if !f.Present() {
		return
	}
	for path, v := range f.Map() {
		n.Set = append(n.Set, Assignment{Path: path, Value: v.Value()})
		n.Writes = append(n.Writes, path)
	}
}

func readCases(f artifact.Field) []Case {
	var cases []Case
	if f.Len() > maxCases {
		f.Report("node has %d cases; at most %d are read", f.Len(), maxCases)
		return nil
	}
	for _, c := range f.List() {
		o := c.Object()
		entry := Case{Name: o.May("name").Text(), When: o.Need("when").Text(), To: o.Need("to").Identifier()}
		if strings.HasPrefix(entry.When, "=") {
			o.Need("when").Report("when is always an expression; write it without =")
		}
		o.RefuseUnknown()
		cases = append(cases, entry)
	}
	return cases
}

func readRoutes(f artifact.Field, kind Kind) []Edge {
	var routes []Edge
	for name, to := range f.Map() {
		switch {
		case name == "next" || name == RouteContinue:
			to.ReportName("write the ordinary successor as next beside routes")
		case kind != KindHandler && !slices.Contains(outcomes[kind], name):
			to.ReportName("%s nodes have no outcome %q; they have %s%s",
				kind, name, strings.Join(outcomes[kind], ", "), artifact.Suggest(name, outcomes[kind]))
		}
		routes = append(routes, Edge{Route: name, To: to.Identifier()})
	}
	return routes
}

func readReserve(f artifact.Field) Usage {
	o := f.Object()
	defer o.RefuseUnknown()
	return Usage{Tokens: o.May("tokens").Uint64(), CostMicros: o.May("cost_micros").Uint64()}
}

// readRetry reads a whole policy, or a number of attempts.
func readRetry(f artifact.Field) Retry {
	if !f.Present() {
		return Retry{}
	}
	r := Retry{
		BackoffMillis:    defaultBackoffMillis,
		Factor:           defaultFactor,
		MaxBackoffMillis: defaultMaxBackoffMillis,
		JitterPercent:    defaultJitterPercent,
		On:               defaultRetryOn(),
	}
	attempts := f
	if f.Kind() == artifact.KindObject {
		o := f.Object()
		attempts = o.Need("attempts")
		r.BackoffMillis = durationOr(o.May("backoff"), r.BackoffMillis)
		r.MaxBackoffMillis = durationOr(o.May("max_backoff"), max(r.MaxBackoffMillis, r.BackoffMillis))
		r.Factor = boundedOr(o.May("factor"), r.Factor, 1, 100)
		r.JitterPercent = boundedOr(o.May("jitter_percent"), r.JitterPercent, 0, 100)
		if on := o.May("on"); on.Present() {
			for _, class := range on.List() {
				class.Enum(retryClasses...)
			}
			r.On = on.Set()
		}
		o.RefuseUnknown()
	}
	r.Attempts = boundedOr(attempts, 1, 1, 1_000)
	return r
}

func boundedOr(f artifact.Field, fallback, least, most uint32) uint32 {
	if !f.Present() {
		return fallback
	}
	n := f.Uint32()
	if f.Kind() == artifact.KindNumber && (n < least || n > most) {
		f.Report("must be from %d to %d", least, most)
	}
	return n
}

func durationOr(f artifact.Field, fallback uint64) uint64 {
	if !f.Present() {
		return fallback
	}
	return readDuration(f)
}

// shapeTypes are the types of the wire form.
var shapeTypes = map[string]Type{
	"any": "", "null": TypeNull, "bool": TypeBool, "number": TypeNumber,
	"string": TypeString, "array": TypeArray, "object": TypeObject,
}

func readShape(f artifact.Field) Shape {
	if !f.Present() {
		return nil
	}
	shape := Shape{}
	for path, t := range f.Map() {
		name, optional := strings.CutSuffix(t.Text(), "?")
		kind, ok := shapeTypes[name]
		if !ok && t.Kind() == artifact.KindString {
			choices := []string{"any", "null", "bool", "number", "string", "array", "object"}
			t.Report("%q is not a type; write one of %s, with ? behind it if the path may be absent%s",
				name, strings.Join(choices, ", "), artifact.Suggest(name, choices))
		}
		if !readable(path) || len(path) > maxPath {
			t.ReportName("%.80q is not a JSON pointer of at most %d bytes; it begins with /", path, maxPath)
		}
		shape = append(shape, ShapePath{Path: path, Type: kind, Optional: optional})
	}
	return shape
}
