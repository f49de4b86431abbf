package policy

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// Limits of packs.
const (
	maxConditions     = 16   // of one grant
	maxArgumentRules  = 128  // of one exec grant
	maxExact          = 128  // of one exec grant
	maxHandoffNesting = 8    // authority within authority
	maxGrants         = 4096 // in one section
)

// ReadPack reads a pack in any of its forms: version 2 in YAML or JSON, version 1
// as a JSON manifest or as native .knolo text. Source names the text in errors.
// Errors are *[artifact.DocumentError] to [errors.As], with every problem and its
// position; those of version 1 are a *[V1Error] too, with the text of the contract.
func ReadPack(data []byte, source string) (*Pack, error) {
	text := strings.TrimLeft(string(data), " \t\r\n")
	switch {
	case strings.HasPrefix(text, "{"):
		if v, ok := jsonVersion(data, source); ok && v == "1" {
			return readManifestPack(data, source)
		}
		return readVersion2(data, source)
	case statedVersion(text) == "1":
		return readNativePack(data, source)
	}
	return readVersion2(data, source)
}

// jsonVersion looks for the member version.
func jsonVersion(data []byte, source string) (string, bool) {
	doc, err := artifact.ParseVersion1(data, source)
	if err != nil {
		return "", false
	}
	v, ok := doc.Value().Get("version")
	return v.Text(), ok
}

// statedVersion finds the version that a text states at its left edge.
func statedVersion(text string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimRight(key, " \t") == "version" {
			value, _, _ = strings.Cut(value, "#")
			return strings.TrimLeft(strings.TrimSpace(value), "+0")
		}
	}
	return ""
}

func readManifestPack(data []byte, source string) (*Pack, error) {
	m, err := parseManifest(data, source)
	if err != nil {
		return nil, placeManifest(err)
	}
	p := packOf(m.DeclarationV1)
	p.Description, p.manifest = m.Description, artifact.Some(m)
	p.Agents = map[string]Agent{}
	for id, a := range m.Agents {
		p.Agents[id] = agentOf(a)
	}
	p.doc, err = artifact.ParseVersion1(data, source)
	return p, err
}

func readNativePack(data []byte, source string) (*Pack, error) {
	n, at, err := parseNative(data)
	if err != nil {
		return nil, at.of(err, source)
	}
	p := packOf(n.DeclarationV1)
	p.native = artifact.Some(n)
	p.doc = artifact.DocumentOf(artifact.Value{}, source)
	return p, nil
}

// packOf says in the words of version 2 what a declaration grants.
func packOf(d DeclarationV1) *Pack {
	p := &Pack{Version: 1, ID: d.ID}
	p.Capabilities = d.CapabilityBindings
	p.Namespaces = map[string]Access{}
	for _, n := range d.Namespaces {
		p.Namespaces[n] = AccessWrite
	}
	p.Limits = Limits{
		Calls: artifact.Some(d.Budget.MaxCalls), Units: artifact.Some(d.Budget.MaxUnits), DurationMS: artifact.Some(d.Budget.MaxDurationMS),
	}
	p.Grants[KindTool] = map[string]*Grant{}
	for _, tool := range d.Tools {
		g := &Grant{}
		g.Arguments, _ = d.constraint(tool)
		p.Grants[KindTool][tool] = g
	}
	return p
}

func agentOf(a AgentV1) Agent {
	agent := Agent{Capabilities: a.Capabilities, Namespaces: map[string]Access{}}
	for _, n := range a.Namespaces {
		agent.Namespaces[n] = AccessWrite
	}
	return agent
}

func readVersion2(data []byte, source string) (*Pack, error) {
	doc, err := artifact.ParseDocument(data, source)
	if err != nil {
		return nil, err
	}
	return readDocument(doc)
}

// packFrom reads a version 2 pack that has no text of its own.
func packFrom(v artifact.Value, source string) (*Pack, error) {
	return readDocument(artifact.DocumentOf(v, source))
}

func readDocument(doc *artifact.Document) (*Pack, error) {
	r := artifact.NewReader(doc)
	o := r.Root().Object()
	p := &Pack{Version: 2, doc: doc}
	if version := o.Need("version"); version.Present() && version.Uint16() != 2 && version.Kind() == artifact.KindNumber {
		version.Report("version is not 2; version 1 is a .knolo.json manifest or native .knolo text")
	}
	p.ID = o.Need("id").Identifier()
	p.Description = o.May("description").Text()
	p.NotBeforeMS, p.ExpiresMS = readTime(o.May("not_before")), readTime(o.May("expires"))
	if p.ExpiresMS != 0 && p.NotBeforeMS >= p.ExpiresMS {
		o.May("expires").Report("expires is not after not_before")
	}
	if agents := o.May("agents"); agents.Present() {
		p.Agents = map[string]Agent{}
		for id, f := range agents.Map() {
			checkName(f, id)
			p.Agents[id] = readAgent(f)
		}
	}
	if f := o.May("capabilities"); f.Present() {
		p.Capabilities = map[string]string{}
		for name, binding := range f.Map() {
			checkName(binding, name)
			p.Capabilities[name] = binding.Text()
		}
	}
	readSections(o, &p.Authority, 0)
	if f := o.May("condition_cost"); f.Present() {
		if p.ConditionCost = f.Uint64(); p.ConditionCost == 0 && f.Kind() == artifact.KindNumber {
			f.Report("condition_cost is 0, so that no condition could hold; write at least 1")
		}
	}
	o.RefuseUnknown()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

func readAgent(f artifact.Field) Agent {
	o := f.Object()
	a := Agent{Definitions: readDigests(o.May("definition")), Capabilities: []string{}, Namespaces: map[string]Access{}}
	if graphs := o.May("graphs"); graphs.Present() {
		a.Graphs = []artifact.Digest{}
		for _, g := range graphs.List() {
			a.Graphs = append(a.Graphs, readDigest(g))
		}
	}
	if c := o.May("capabilities"); c.Present() {
		a.Capabilities = readNames(c, anIdentifier)
	}
	if n := o.May("namespaces"); n.Present() {
		a.Namespaces = readNamespaces(n)
	}
	a.Limits = readLimits(o.May("limits"), runResources...)
	o.RefuseUnknown()
	return a
}

// ReadAuthority reads an authority that narrows another one: every section but
// the header of a pack, capabilities as a list.
func ReadAuthority(f artifact.Field) *Authority { return readAuthority(f, 1) }

func readAuthority(f artifact.Field, depth int) *Authority {
	o := f.Object()
	a := &Authority{}
	if c := o.May("capabilities"); c.Present() {
		a.Capabilities = map[string]string{}
		for _, name := range readNames(c, anIdentifier) {
			a.Capabilities[name] = name
		}
	}
	readSections(o, a, depth)
	o.RefuseUnknown()
	return a
}

var (
	runResources     = []resource{steps, calls, tokens, units, duration, elapsed}
	grantResources   = []resource{calls, tokens, units, duration}
	perCallResources = []resource{tokens, units}
)

// readSections reads every section but capabilities.
func readSections(o *artifact.Object, a *Authority, depth int) {
	if f := o.May("namespaces"); f.Present() {
		a.Namespaces = readNamespaces(f)
	}
	a.Limits = readLimits(o.May("limits"), runResources...)
	for k := range namedKinds {
		if f := o.May(k.Section()); f.Present() {
			a.Grants[k] = readGrants(k, f, depth)
		}
	}
	if f := o.May("approvals"); f.Present() {
		a.Approvals = readApproval(f)
	}
	if f := o.May("redact"); f.Present() {
		a.Redact = readNames(f, redactionPointer)
	}
	if f := o.May("blobs"); f.Present() {
		a.Blobs = readBlobs(f)
	}
}

func readNamespaces(f artifact.Field) map[string]Access {
	m := map[string]Access{}
	for name, access := range f.Map() {
		checkName(access, name)
		m[name] = AccessRead
		if access.Enum("read", "write") == "write" {
			m[name] = AccessWrite
		}
	}
	return m
}

func readApproval(f artifact.Field) *ApprovalRule {
	o := f.Object()
	r := &ApprovalRule{Quorum: 1}
	if m := o.May("minimum_method"); m.Present() {
		method, _ := ParseMethod(m.Enum(methodNames...))
		r.Method = artifact.Some(method)
	}
	if q := o.May("quorum"); q.Present() {
		r.Quorum = ReadQuorum(q)
	}
	r.ExpiresMS = ReadDuration(o.May("expires"))
	o.RefuseUnknown()
	return r
}

func readBlobs(f artifact.Field) map[string]uint64 {
	m := map[string]uint64{}
	for class, retention := range f.Map() {
		checkName(retention, class)
		if retention.Kind() == artifact.KindString && retention.Text() == "forever" {
			m[class] = Forever
			continue
		}
		if m[class] = ReadDuration(retention); m[class] == 0 && retention.Kind() == artifact.KindString {
			retention.Report("retention of %s is no time; write a duration or forever, or remove the class", class)
		}
	}
	return m
}

func readDigest(f artifact.Field) artifact.Digest {
	if !f.Present() {
		return artifact.Digest{}
	}
	text := f.Text()
	if f.Kind() != artifact.KindString {
		return artifact.Digest{}
	}
	d, err := artifact.ParseDigest(text)
	if err == nil && d.IsZero() {
		err = errors.New("digest is all zeros; write that of a real document")
	}
	if err != nil {
		f.Report("%v", err)
	}
	return d
}

// readDigests reads one digest or a list of them, sorted; nil when absent.
func readDigests(f artifact.Field) []artifact.Digest {
	if !f.Present() {
		return nil
	}
	fields := []artifact.Field{f}
	if f.Kind() == artifact.KindArray {
		if fields = f.List(); len(fields) == 0 {
			f.Report("the list is empty; write at least one digest")
		}
	}
	list := make([]artifact.Digest, 0, len(fields))
	for _, e := range fields {
		d := readDigest(e)
		if slices.Contains(list, d) && !d.IsZero() {
			e.Report("%s appears twice; keep one", d)
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b artifact.Digest) int { return bytes.Compare(a[:], b[:]) })
	return list
}

// redactionPointer says what is wrong with a typed pointer.
func redactionPointer(s string) string {
	space, pointer, ok := strings.Cut(s, ":")
	switch {
	case !ok || space != "args" && space != "result" && space != "state":
		return "write args:, result: or state: before the pointer, such as args:/password"
	case pointer != "" && pointer[0] != '/':
		return "a pointer begins with /, such as args:/password"
	case strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(pointer), "~"):
		return "in a pointer ~ stands for itself as ~0, and / as ~1"
	}
	return ""
}
