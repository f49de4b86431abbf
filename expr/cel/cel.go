// Package cel implements [expr.Compiler] with the Common Expression Language.
//
// Use [Compiler], whose zero value is ready. The dialect is CEL's standard
// library without time zones: there is no now(), nothing reads the host, and one
// source with the same values gives the same result everywhere. Objects keep
// their order: values reach CEL as an ordered map type, and a map that a source
// builds is one too, since a comprehension over a Go map would visit it in
// another order each time.
//
// Whole numbers are CEL's int (or uint beyond 2^63), all others double. They
// compare across types (order.total < 100), but arithmetic does not mix them:
// write double(n) where a value may be either.
//
// The environment is built when the first source is compiled. Linking the
// package costs what CEL's own packages do at program start, about 2 ms.
package cel

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/expr"
)

// DefaultCostLimit is what one evaluation may cost when nothing else is said, in
// CEL's units: reading a member costs one, comparing or building something a few
// more. A condition over arguments costs below 100.
const DefaultCostLimit = 10_000

// Limits that do not depend on who asks.
const (
	maxNesting = 100       // of a source
	maxRegex   = 1_000     // instructions of a pattern
	maxMemory  = 1_000_000 // elements that exist at once during an evaluation
	maxResult  = 100_000   // values in a result, however they are shared inside CEL
)

// Compiler compiles CEL. It implements [expr.Compiler].
type Compiler struct {
	// CostLimit bounds each evaluation; 0 means [DefaultCostLimit].
	CostLimit uint64
}

// WithCostLimit gives a compiler whose programs stop at the given cost. Packs
// use it for conditions that state a limit of their own.
func (c Compiler) WithCostLimit(limit uint64) expr.Compiler {
	c.CostLimit = limit
	return c
}

// Compile implements [expr.Compiler].
func (c Compiler) Compile(source string, vars []expr.Var) (expr.Program, error) {
	if len(source) > expr.MaxSource {
		return nil, &expr.Error{Line: 1, Column: 1, Problem: fmt.Sprintf("source has %d bytes; at most %d are read", len(source), expr.MaxSource)}
	}
	base, err := baseEnvironment()
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	declarations := make([]cel.EnvOption, len(vars))
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = v.Name
		declarations[i] = cel.Variable(v.Name, typeOf(v.Type))
	}
	environment, err := base.Extend(declarations...)
	if err != nil {
		return nil, fmt.Errorf("declare variables for CEL: %w", err)
	}
	ast, issues := environment.Compile(source)
	if issues.Err() != nil {
		return nil, explain(issues, vars)
	}
	limit := c.CostLimit
	if limit == 0 {
		limit = DefaultCostLimit
	}
	program, err := environment.Program(ast, cel.CostLimit(limit), cel.MemoryLimit(maxMemory), countAll(), cel.CustomDecoratorV2(orderMaps))
	if err != nil {
		return nil, &expr.Error{Line: 1, Column: 1, Problem: err.Error()}
	}
	return &compiled{
		program: program, names: names, vars: vars, limit: limit,
		result: resultType(ast.OutputType()), references: references(ast.NativeRep().Expr(), names),
	}, nil
}

// countAll lets the memory of a value be counted at every depth that a document
// may have, and up to the limit. The library's own five levels and some thousand
// values are fewer than results of tools have, and it takes what it cannot count to
// be too large.
func countAll() cel.ProgramOption {
	return cel.MemoryTracking(types.MemoryTrackerSizeCalculator(types.NewSizeCalculator(
		types.SizeCalculatorMaxDepth(artifact.MaxDepth), types.SizeCalculatorMaxTraversal(maxMemory),
	)))
}

// baseEnvironment is built once, when it is first needed.
var baseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(withoutTimeZones())),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserExpressionSizeLimit(expr.MaxSource),
		cel.RegexProgramSizeLimit(maxRegex),
		cel.ASTValidators(cel.ValidateRegexLiterals()),
	)
})

// withoutTimeZones leaves out the functions that read the host's time zone
// database.
func withoutTimeZones() *env.LibrarySubset {
	zoned := map[string]string{
		overloads.TimeGetFullYear: overloads.TimestampToYearWithTz, overloads.TimeGetMonth: overloads.TimestampToMonthWithTz,
		overloads.TimeGetDayOfYear:  overloads.TimestampToDayOfYearWithTz,
		overloads.TimeGetDayOfMonth: overloads.TimestampToDayOfMonthZeroBasedWithTz,
		overloads.TimeGetDate:       overloads.TimestampToDayOfMonthOneBasedWithTz,
		overloads.TimeGetDayOfWeek:  overloads.TimestampToDayOfWeekWithTz,
		overloads.TimeGetHours:      overloads.TimestampToHoursWithTz, overloads.TimeGetMinutes: overloads.TimestampToMinutesWithTz,
		overloads.TimeGetSeconds:      overloads.TimestampToSecondsWithTz,
		overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
	}
	var subset env.LibrarySubset
	for name, overload := range zoned {
		subset.AddExcludedFunctions(env.NewFunction(name, env.NewOverload(overload, nil, nil)))
	}
	return &subset
}

func typeOf(t expr.Type) *cel.Type {
	switch t {
	case expr.Null:
		return cel.NullType
	case expr.Bool:
		return cel.BoolType
	case expr.String:
		return cel.StringType
	case expr.List:
		return cel.ListType(cel.DynType)
	case expr.Object:
		return cel.MapType(cel.StringType, cel.DynType)
	}
	return cel.DynType // a number is an int, an uint or a double
}

func resultType(t *cel.Type) expr.Type {
	switch t.Kind() {
	case types.NullTypeKind:
		return expr.Null
	case types.BoolKind:
		return expr.Bool
	case types.StringKind:
		return expr.String
	case types.IntKind, types.UintKind, types.DoubleKind:
		return expr.Number
	case types.ListKind:
		return expr.List
	case types.MapKind:
		return expr.Object
	}
	return expr.Any
}

// explain gives the first problem in the order of the text.
func explain(issues *cel.Issues, vars []expr.Var) error {
	found := issues.Errors()
	first := found[0]
	for _, e := range found[1:] {
		if l, m := e.Location, first.Location; l.Line() < m.Line() || l.Line() == m.Line() && l.Column() < m.Column() {
			first = e
		}
	}
	problem := first.Message
	if m := undeclared().FindStringSubmatch(problem); m != nil {
		known := make([]string, len(vars))
		for i, v := range vars {
			known[i] = v.Name
		}
		problem = fmt.Sprintf("unknown name %q%s", m[1], artifact.Suggest(m[1], known))
		if !strings.Contains(problem, "did you mean") {
			problem += "; known are " + strings.Join(known, ", ")
		}
	}
	if problem == "invalid matches argument" {
		problem = "the argument of matches is no pattern in RE2 syntax"
	}
	return &expr.Error{Line: max(1, first.Location.Line()), Column: max(1, first.Location.Column()+1), Problem: problem}
}

var undeclared = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^undeclared reference to '([^']*)'`) })

// compiled implements [expr.Program].
type compiled struct {
	program    cel.Program
	names      []string
	vars       []expr.Var
	limit      uint64
	result     expr.Type
	references []expr.Reference
}

// Type implements [expr.Program].
func (c *compiled) Type() expr.Type { return c.result }

// References implements [expr.Program].
func (c *compiled) References() []expr.Reference { return c.references }

// Eval implements [expr.Program].
func (c *compiled) Eval(values ...artifact.Value) (artifact.Value, error) {
	if len(values) != len(c.names) {
		return artifact.Value{}, fmt.Errorf("%d values for %d variables", len(values), len(c.names))
	}
	for i, v := range c.vars {
		if !fits(v.Type, values[i].Kind()) {
			return artifact.Value{}, fmt.Errorf("%s is %s, not %s", v.Name, values[i].Kind(), v.Type)
		}
	}
	out, _, err := c.program.Eval(activation{c.names, values})
	if err != nil {
		return artifact.Value{}, c.reason(err)
	}
	n := maxResult
	return fromCEL(out, &n, 0)
}

func fits(t expr.Type, k artifact.Kind) bool {
	return t == expr.Any || artifact.Kind(t-1) == k
}

// reason turns the library's error into words of ours.
func (c *compiled) reason(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "cost limit exceeded"):
		return fmt.Errorf("evaluation costs more than %d", c.limit)
	case strings.Contains(text, "memory limit exceeded"):
		return fmt.Errorf("evaluation holds more than %d values at once", maxMemory)
	}
	return errors.New(text)
}

// activation gives variables their values. It implements the library's
// Activation.
type activation struct {
	names  []string
	values []artifact.Value
}

// ResolveName gives the value of a variable.
func (a activation) ResolveName(name string) (any, bool) {
	for i, n := range a.names {
		if n == name {
			return toCEL(a.values[i]), true
		}
	}
	return nil, false
}

// Parent gives nil: there is no outer scope.
func (a activation) Parent() cel.Activation { return nil }
