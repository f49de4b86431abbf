package kcp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/artifact"
)

// The coercions of planner contract section 2.3, made strict where a slip would
// open a gate. Each says with a finding when it changes or ignores what the
// publisher wrote.

// str reads text; null is unset.
func (d *decoder) str(i int32) String {
	n := d.at(i)
	if n.kind == kindScalar && !n.plain {
		return artifact.Some(n.text)
	}
	if d.isNull(i) {
		return String{}
	}
	return artifact.Some(d.asText(i))
}

// required reads text with a default for null.
func (d *decoder) required(i int32, fallback string) string {
	return d.str(i).Or(fallback)
}

// asText reads text that is not null.
func (d *decoder) asText(i int32) string {
	n := d.at(i)
	if n.kind != kindScalar {
		d.warn(i, "not-text",
			fmt.Sprintf("%s is %s where text is expected", d.field(), d.describe(i)),
			"write one text, in quotes")
		return d.text(i)
	}
	text := textOf(n)
	if text != n.text {
		d.warn(i, "number-as-text",
			fmt.Sprintf("%s: %s without quotes is read as %s", d.field(), excerpt(n.text), text),
			"write it in quotes: "+d.key()+": "+strconv.Quote(excerpt(n.text)))
	}
	return text
}

// identifier reads an id. One that is a number is a slip even when its digits
// survive: it means another id as soon as somebody writes 07 or 1.0.
func (d *decoder) identifier(i int32) String {
	n := d.at(i)
	if n.kind == kindScalar && n.plain {
		if kind, _ := scalarTypeOf(n.text); kind == typeNumber && textOf(n) == n.text {
			d.warn(i, "number-as-text",
				fmt.Sprintf("%s: %s without quotes is a number", d.field(), excerpt(n.text)),
				"write it in quotes: "+d.key()+": "+strconv.Quote(excerpt(n.text)))
		}
	}
	return d.str(i)
}

// boolean reads one of the six boolean words of YAML 1.2.
func (d *decoder) boolean(i int32) Bool {
	n := d.at(i)
	if n.kind == kindScalar && n.plain {
		if value, ok := boolText(n.text); ok {
			return Bool{Declared: true, Value: value}
		}
	}
	if d.isNull(i) {
		return Bool{}
	}
	d.warn(i, "not-a-boolean",
		fmt.Sprintf("%s is %s, which is not a boolean; it counts as not declared and grants nothing", d.field(), d.describe(i)),
		"write true or false, without quotes")
	return Bool{Malformed: true}
}

// number reads a YAML number or a decimal string.
func (d *decoder) number(i int32) Number {
	x, ok := d.measured(i, "a number", func(x float64) bool { return !math.IsNaN(x) })
	return Number{Value: x, Set: ok}
}

// size reads a non-negative finite number.
func (d *decoder) size(i int32) Number {
	x, ok := d.measured(i, "a non-negative number", isAmount)
	return Number{Value: x, Set: ok}
}

func isAmount(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// measured reads a number that fits, and leaves a finding for another value
// that is not null.
func (d *decoder) measured(i int32, what string, fits func(float64) bool) (float64, bool) {
	if d.isNull(i) {
		return 0, false
	}
	if x, ok := d.numeric(i); ok && fits(x) {
		return x, true
	}
	d.warn(i, "not-a-number",
		fmt.Sprintf("%s is %s where %s is expected; it counts as not declared", d.field(), d.describe(i), what),
		"write digits, such as "+d.key()+": 1200")
	return 0, false
}

// numeric reads a YAML number, or a string that is one decimal number between
// blanks.
func (d *decoder) numeric(i int32) (float64, bool) {
	n := d.at(i)
	if n.kind != kindScalar {
		return 0, false
	}
	if n.plain {
		kind, x := scalarTypeOf(n.text)
		return x, kind == typeNumber
	}
	digits := strings.Trim(n.text, " \t")
	unsigned := digits
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		unsigned = digits[1:]
	}
	if !isDecimal(unsigned) {
		return 0, false
	}
	x, err := strconv.ParseFloat(digits, 64)
	return x, err == nil
}

// count reads a number or the word unlimited.
func (d *decoder) count(i int32) Count {
	n := d.at(i)
	if n.kind == kindScalar && n.text == "unlimited" {
		return Count{Set: true, Unlimited: true}
	}
	x, ok := d.measured(i, "a number or the word unlimited", func(x float64) bool { return !math.IsNaN(x) })
	return Count{Set: ok, Value: x}
}

// scalarRule says what one value means where a list is expected.
type scalarRule uint8

const (
	scalarIgnored scalarRule = iota // a field that grants: nothing is granted
	scalarSlip                      // a field that restricts: a list of one, with a finding
	scalarFine                      // the format allows one value or a list
)

// grants reads a list of a field that grants or describes something.
func (d *decoder) grants(i int32) List { return d.list(i, scalarIgnored) }

// restricts reads a list of a field that restricts something.
func (d *decoder) restricts(i int32) List { return d.list(i, scalarSlip) }

// either reads one value or a list.
func (d *decoder) either(i int32) List { return d.list(i, scalarFine) }

func (d *decoder) list(i int32, rule scalarRule) List {
	n := d.at(i)
	switch {
	case n.kind == kindList:
		return d.listItems(i)
	case d.isNull(i):
		return List{}
	case rule == scalarIgnored:
		d.isList(i)
		return List{Malformed: true}
	case n.kind == kindMap:
		d.warn(i, "not-a-list",
			fmt.Sprintf("%s is a mapping where a list is expected; what it restricts stays closed", d.field()),
			"write a list, such as "+d.key()+": [...], or remove it")
		return List{Declared: true, Malformed: true}
	case rule == scalarSlip:
		d.warn(i, "list-of-one",
			fmt.Sprintf("%s is %s where a list is expected; it is read as a list of one", d.field(), d.describe(i)),
			fmt.Sprintf("write %s: [%s]", d.key(), excerpt(n.text)))
	}
	items := d.strings(1)
	items[0] = textOf(n)
	return List{Items: items, Declared: true}
}

func (d *decoder) listItems(i int32) List {
	count := 0
	for e := d.at(i).first; e != 0; e = d.t.nodes[e].next {
		count++
	}
	l := List{Items: d.strings(count), Declared: true}
	for index, e := range d.elements(i) {
		n := d.at(e)
		switch {
		case n.kind == kindScalar && !n.plain:
			l.Items[index] = n.text
		case n.kind != kindScalar:
			l.Malformed = true
			l.Items[index] = d.asText(e)
		case isNullText(n.text):
			d.warn(e, "null-entry",
				fmt.Sprintf("%s is null; it is read as the word null", d.field()),
				"write a text, in quotes, or remove the entry")
			l.Items[index] = "null"
		default:
			l.Items[index] = d.asText(e)
		}
	}
	return l
}
