package jsonschema

import (
	"regexp"

	"github.com/writ-dev/writ/artifact"
)

// types is a set of the seven type names.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeInteger // a number without a fraction
	typeNumber
	typeString
	typeArray
	typeObject
)

var typeNames = []string{"null", "boolean", "integer", "number", "string", "array", "object"}

// node is one compiled schema object. A nil pointer, a zero count bound and an
// empty list mean that the keyword is absent.
type node struct {
	pointer string // of the schema in its document
	never   bool   // the schema false

	ref   *node
	types types
	enum  []artifact.Value
	fixed *artifact.Value // const

	numbers    *numbers
	text       *text
	array      *array
	object     *object
	logic      *logic
	sameHere   []*node // every subschema that sees the same value, for finding loops
	refPointer string  // target of $ref before it is resolved
}

type numbers struct {
	minimum, maximum                   *decimal
	exclusiveMinimum, exclusiveMaximum *decimal
	multipleOf                         *decimal
	shown                              map[string]string // literal of each bound, for messages
}

// span is an inclusive range of a count; an absent bound is -1.
type span struct{ min, max int }

type text struct {
	length  span
	pattern *regexp.Regexp
}

type array struct {
	count    span
	unique   bool
	prefix   []*node
	items    *node
	contains *node
	matches  span // of contains
}

type named struct {
	name string
	node *node
}

type matched struct {
	pattern *regexp.Regexp
	node    *node
}

type object struct {
	count             span
	required          []string
	properties        map[string]*node
	patterns          []matched
	additional        *node
	names             *node
	dependentRequired []dependency
	dependentSchemas  []named
}

type dependency struct {
	name  string
	needs []string
}

type logic struct {
	all, some, one        []*node // allOf, anyOf, oneOf
	not                   *node
	test, then, otherwise *node
}
