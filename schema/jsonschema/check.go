package jsonschema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/schema"
)

// compiled implements [schema.Schema].
type compiled struct{ root *node }

// Validate implements [schema.Schema].
func (c compiled) Validate(v artifact.Value) []schema.Violation {
	var k check
	k.node(c.root, v, place{}, 0)
	if k.gaveUp != nil {
		return []schema.Violation{*k.gaveUp}
	}
	return k.violations
}

// place is where a value stands. The text is made only when it is needed.
type place struct {
	above *place
	name  string
	index int // of an array element, when name is empty and above is not nil
	named bool
}

func (p *place) pointer() string {
	var tokens []string
	for ; p.above != nil; p = p.above {
		if p.named {
			tokens = append(tokens, p.name)
		} else {
			tokens = append(tokens, strconv.Itoa(p.index))
		}
	}
	text := ""
	for _, token := range slices.Backward(tokens) {
		text = artifact.PointerTo(text, token)
	}
	return text
}

// check is one validation.
type check struct {
	work       int
	silent     bool // only the verdict counts
	violations []schema.Violation
	// gaveUp is set where a limit was reached. It decides alone, since below a
	// keyword such as not a mere false would turn into a pass.
	gaveUp *schema.Violation
}

// giveUp ends the validation as a violation.
func (k *check) giveUp(n *node, at *place, keyword, message string) bool {
	if k.gaveUp == nil {
		k.gaveUp = &schema.Violation{Pointer: at.pointer(), Rule: n.rule(keyword), Message: message}
	}
	return false
}

func (n *node) rule(keyword string) string {
	if keyword == "" {
		return n.pointer
	}
	return n.pointer + "/" + keyword
}

// fail notes a violation and gives false.
func (k *check) fail(n *node, at *place, keyword, format string, args ...any) bool {
	if k.silent || len(k.violations) >= maxViolations {
		return false
	}
	k.violations = append(k.violations, schema.Violation{
		Pointer: at.pointer(), Rule: n.rule(keyword), Message: fmt.Sprintf(format, args...),
	})
	return false
}

// node reports whether v is valid under n.
func (k *check) node(n *node, v artifact.Value, at place, depth int) bool {
	k.work++
	switch {
	case k.gaveUp != nil:
		return false
	case depth > maxDepth:
		return k.giveUp(n, &at, "", "is nested too deep to check")
	case k.work > maxWork:
		return k.giveUp(n, &at, "", "takes too much work to check; make it smaller")
	case n.never:
		return k.fail(n, &at, "", "is not allowed")
	}
	ok := true
	if n.ref != nil {
		ok = k.node(n.ref, v, at, depth+1)
	}
	if n.types != 0 && !n.types.hold(v) {
		ok = k.fail(n, &at, "type", "must be %s", n.types)
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, v.Equal) {
		ok = k.fail(n, &at, "enum", "must be %s", oneOf(n.enum))
	}
	if n.fixed != nil && !v.Equal(*n.fixed) {
		ok = k.fail(n, &at, "const", "must be %.80s", *n.fixed)
	}
	switch {
	case n.numbers != nil && v.Kind() == artifact.KindNumber:
		ok = k.number(n, v, &at) && ok
	case n.text != nil && v.Kind() == artifact.KindString:
		ok = k.text(n, v.Text(), &at) && ok
	case n.array != nil && v.Kind() == artifact.KindArray:
		ok = k.array(n, v, &at, depth) && ok
	case n.object != nil && v.Kind() == artifact.KindObject:
		ok = k.object(n, v, &at, depth) && ok
	}
	if n.logic != nil {
		ok = k.logic(n, v, at, depth) && ok
	}
	return ok
}

// holds gives the verdict alone.
func (k *check) holds(n *node, v artifact.Value, at place, depth int) bool {
	was := k.silent
	k.silent = true
	ok := k.node(n, v, at, depth+1)
	k.silent = was
	return ok
}

func (t types) hold(v artifact.Value) bool {
	switch v.Kind() {
	case artifact.KindNull:
		return t&typeNull != 0
	case artifact.KindBool:
		return t&typeBoolean != 0
	case artifact.KindString:
		return t&typeString != 0
	case artifact.KindArray:
		return t&typeArray != 0
	case artifact.KindObject:
		return t&typeObject != 0
	}
	return t&typeNumber != 0 || t&typeInteger != 0 && parseDecimal(v.Text()).isInteger()
}

// String names the types, such as "a string or null".
func (t types) String() string {
	var names []string
	for i, name := range typeNames {
		switch {
		case t&(1<<i) == 0:
		case name == "null":
			names = append(names, name)
		case strings.ContainsRune("aio", rune(name[0])):
			names = append(names, "an "+name)
		default:
			names = append(names, "a "+name)
		}
	}
	return strings.Join(names, " or ")
}

func oneOf(values []artifact.Value) string {
	const shown = 8
	texts := make([]string, 0, shown)
	for i, v := range values {
		if i == shown {
			texts = append(texts, "...")
			break
		}
		texts = append(texts, fmt.Sprintf("%.40s", v))
	}
	return "one of " + strings.Join(texts, ", ")
}

func (k *check) number(n *node, v artifact.Value, at *place) bool {
	d, b, ok := parseDecimal(v.Text()), n.numbers, true
	if b.minimum != nil && d.compare(*b.minimum) < 0 {
		ok = k.fail(n, at, "minimum", "must be at least %s", b.shown["minimum"])
	}
	if b.maximum != nil && d.compare(*b.maximum) > 0 {
		ok = k.fail(n, at, "maximum", "must be at most %s", b.shown["maximum"])
	}
	if b.exclusiveMinimum != nil && d.compare(*b.exclusiveMinimum) <= 0 {
		ok = k.fail(n, at, "exclusiveMinimum", "must be above %s", b.shown["exclusiveMinimum"])
	}
	if b.exclusiveMaximum != nil && d.compare(*b.exclusiveMaximum) >= 0 {
		ok = k.fail(n, at, "exclusiveMaximum", "must be below %s", b.shown["exclusiveMaximum"])
	}
	if b.multipleOf != nil {
		switch is, known := d.isMultiple(*b.multipleOf); {
		case !known:
			ok = k.giveUp(n, at, "multipleOf", "is too far from "+b.shown["multipleOf"]+" to be tested")
		case !is:
			ok = k.fail(n, at, "multipleOf", "must be a multiple of %s", b.shown["multipleOf"])
		}
	}
	return ok
}

func (k *check) text(n *node, s string, at *place) bool {
	ok := true
	if length := n.text.length; length != anyCount {
		count := utf8.RuneCountInString(s)
		ok = k.span(n, at, length, count, "minLength", "maxLength", "characters")
	}
	if p := n.text.pattern; p != nil && !p.MatchString(s) {
		ok = k.fail(n, at, "pattern", "must match %s", p)
	}
	return ok
}

func (k *check) span(n *node, at *place, s span, count int, low, high, what string) bool {
	ok := true
	if count < s.min {
		ok = k.fail(n, at, low, "must have at least %d %s", s.min, what)
	}
	if s.max >= 0 && count > s.max {
		ok = k.fail(n, at, high, "must have at most %d %s", s.max, what)
	}
	return ok
}

func (k *check) array(n *node, v artifact.Value, at *place, depth int) bool {
	a, elements := n.array, v.Elements()
	ok := k.span(n, at, a.count, len(elements), "minItems", "maxItems", "items")
	if a.unique {
		if i, j, twice := repeated(elements); twice {
			ok = k.fail(n, at, "uniqueItems", "must not repeat items: %d and %d are equal", i, j)
		}
	}
	for i, e := range elements {
		below := place{above: at, index: i}
		switch {
		case i < len(a.prefix):
			ok = k.node(a.prefix[i], e, below, depth+1) && ok
		case a.items != nil:
			ok = k.node(a.items, e, below, depth+1) && ok
		}
	}
	if a.contains == nil {
		return ok
	}
	found := 0
	for i, e := range elements {
		if k.holds(a.contains, e, place{above: at, index: i}, depth) {
			found++
		}
	}
	want := a.matches
	if want.min < 0 {
		want.min = 1
	}
	if found < want.min {
		ok = k.fail(n, at, "contains", "must have at least %d items of the kind it must contain", want.min)
	}
	if want.max >= 0 && found > want.max {
		ok = k.fail(n, at, "maxContains", "must have at most %d items of the kind it must contain", want.max)
	}
	return ok
}

func (k *check) object(n *node, v artifact.Value, at *place, depth int) bool {
	o := n.object
	ok := k.span(n, at, o.count, v.Len(), "minProperties", "maxProperties", "members")
	for _, name := range o.required {
		if _, there := v.Get(name); !there {
			ok = k.fail(n, at, "required", "must have the member %q", name)
		}
	}
	for _, m := range v.Members() {
		ok = k.member(n, m, at, depth) && ok
	}
	for _, d := range o.dependentRequired {
		if _, there := v.Get(d.name); !there {
			continue
		}
		for _, name := range d.needs {
			if _, there := v.Get(name); !there {
				ok = k.fail(n, at, "dependentRequired", "must have the member %q, because it has %q", name, d.name)
			}
		}
	}
	for _, d := range o.dependentSchemas {
		if _, there := v.Get(d.name); there {
			ok = k.node(d.node, v, *at, depth+1) && ok
		}
	}
	return ok
}

func (k *check) member(n *node, m artifact.Member, at *place, depth int) bool {
	o, ok := n.object, true
	below := place{above: at, name: m.Name, named: true}
	if o.names != nil && !k.holds(o.names, artifact.StringValue(m.Name), below, depth) {
		ok = k.fail(n, &below, "propertyNames", "has a name that is not allowed")
	}
	child, known := o.properties[m.Name]
	if known {
		ok = k.node(child, m.Value, below, depth+1) && ok
	}
	for _, p := range o.patterns {
		if p.pattern.MatchString(m.Name) {
			known = true
			ok = k.node(p.node, m.Value, below, depth+1) && ok
		}
	}
	switch {
	case known || o.additional == nil:
		return ok
	case o.additional.never:
		return k.fail(n, &below, "additionalProperties", "is not a known member%s", artifact.Suggest(m.Name, n.propertyNames()))
	}
	return k.node(o.additional, m.Value, below, depth+1) && ok
}

func (n *node) propertyNames() []string {
	names := make([]string, 0, len(n.object.properties))
	for name := range n.object.properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (k *check) logic(n *node, v artifact.Value, at place, depth int) bool {
	l, ok := n.logic, true
	for _, c := range l.all {
		ok = k.node(c, v, at, depth+1) && ok
	}
	if l.some != nil && !slices.ContainsFunc(l.some, func(c *node) bool { return k.holds(c, v, at, depth) }) {
		ok = k.fail(n, &at, "anyOf", "must match one of the %d alternatives", len(l.some))
	}
	if l.one != nil {
		matches := 0
		for _, c := range l.one {
			if k.holds(c, v, at, depth) {
				matches++
			}
		}
		if matches != 1 {
			ok = k.fail(n, &at, "oneOf", "must match exactly one of the %d alternatives, and matches %d", len(l.one), matches)
		}
	}
	if l.not != nil && k.holds(l.not, v, at, depth) {
		ok = k.fail(n, &at, "not", "must not be of the kind that is ruled out")
	}
	if l.test != nil {
		branch := l.otherwise
		if k.holds(l.test, v, at, depth) {
			branch = l.then
		}
		if branch != nil {
			ok = k.node(branch, v, at, depth+1) && ok
		}
	}
	return ok
}

// repeated finds two equal elements.
func repeated(elements []artifact.Value) (i, j int, found bool) {
	seen := make(map[string]int, len(elements))
	for j, e := range elements {
		key := string(appendKey(nil, e))
		if i, ok := seen[key]; ok {
			return i, j, true
		}
		seen[key] = j
	}
	return 0, 0, false
}

// appendKey appends a text that is equal for equal values.
func appendKey(dst []byte, v artifact.Value) []byte {
	switch v.Kind() {
	case artifact.KindNumber:
		return parseDecimal(v.Text()).appendKey(dst)
	case artifact.KindArray:
		dst = append(dst, '[')
		for _, e := range v.Elements() {
			dst = append(appendKey(dst, e), ',')
		}
		return append(dst, ']')
	case artifact.KindObject:
		members := slices.SortedFunc(slices.Values(v.Members()), func(a, b artifact.Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(artifact.AppendString(dst, m.Name), ':')
			dst = append(appendKey(dst, m.Value), ',')
		}
		return append(dst, '}')
	}
	return v.AppendCompact(dst)
}
