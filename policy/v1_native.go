package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
)

// NativeV1 is a pack in the native text form.
type NativeV1 struct {
	DeclarationV1
	// MaxSteps and MaxCostMicros are run budgets that the text states. Version 1
	// checks and then drops them; [Options.EnforceNativeRunBudget] keeps them.
	MaxSteps      artifact.Optional[uint64]
	MaxCostMicros artifact.Optional[uint64]
}

// ParseNative reads the native .knolo text: a strict grammar of lines that looks
// like YAML and is none. The texts of its errors are part of the version 1
// contract.
func ParseNative(data []byte) (NativeV1, error) {
	n, _, err := parseNative(data)
	return n, err
}

// parseNative also says where and why a text is refused.
func parseNative(data []byte) (NativeV1, nativePlace, error) {
	if at := firstInvalid(data); at >= 0 {
		line := 1 + strings.Count(string(data[:at]), "\n")
		column := 1 + utf8.RuneCount(data[1+strings.LastIndexByte(string(data[:at]), '\n'):at])
		return NativeV1{}, nativePlace{line, column, ""}, packLoad("native pack is not UTF-8: " + describeInvalid(data, at))
	}
	r, number := nativeReader{seen: map[string]bool{}}, 0
	for line := range strings.SplitSeq(string(data), "\n") {
		number++
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line == "" {
			continue
		}
		if err := r.line(line); err != nil {
			indent := line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
			return NativeV1{}, nativePlace{number, 1 + utf8.RuneCountInString(indent), r.hint}, err
		}
	}
	n, err := r.finish()
	return n, nativePlace{1, 1, "; it needs version: 1, an id, and a budget with max_calls above 0"}, err
}

// firstInvalid gives the offset of the first byte that is no UTF-8, or -1.
func firstInvalid(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// describeInvalid words the invalid sequence at an offset as version 1 does.
func describeInvalid(data []byte, at int) string {
	if !utf8.FullRune(data[at:]) {
		return fmt.Sprintf("incomplete utf-8 byte sequence from index %d", at)
	}
	length := 1 // of the longest prefix that could have begun a character
	for n := 2; n <= 3 && at+n <= len(data) && !utf8.FullRune(data[at:at+n]); n++ {
		length = n
	}
	return fmt.Sprintf("invalid utf-8 sequence of %d bytes from index %d", length, at)
}

// nativeReader takes the lines one by one. A line is judged in full before the
// next one is looked at.
type nativeReader struct {
	pack         NativeV1
	version      uint64
	capabilities []string
	section      string
	seen         map[string]bool // "key" and "section key"
	hint         string          // what to do about a line that is refused
}

var (
	nativeTop    = []string{"version", "id", "tools", "authority", "budget"}
	nativeNested = map[string][]string{
		"authority": {"capabilities", "namespaces"},
		"budget":    {"max_calls", "max_units", "max_duration_ms", "max_steps", "max_cost_micros"},
	}
)

func (r *nativeReader) line(line string) error {
	invalid := packLoad("invalid native pack line: " + line)
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		r.hint = "; write KEY: VALUE"
		return invalid
	}
	indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	name, allowed := key, nativeTop
	if indent != 0 {
		name, allowed = r.section+" "+key, nativeNested[r.section]
	}
	switch {
	case r.seen[name]:
		r.hint = "; " + key + " is there already"
	case indent != 0 && indent != 2:
		r.hint = "; begin keys of authority and budget with two blanks, and others with none"
	case !slices.Contains(allowed, key):
		r.hint = artifact.Suggest(key, allowed)
	default:
		r.seen[name] = true
		if indent == 0 {
			r.section = key
		}
		return r.value(key, value)
	}
	return invalid
}

func (r *nativeReader) value(key, value string) (err error) {
	p := &r.pack
	number := func(bits int) artifact.Optional[uint64] {
		n, problem := parseNativeNumber(value, bits)
		if problem != nil {
			err = packLoad("invalid native " + key + ": " + problem.Error())
		}
		return artifact.Some(n)
	}
	switch key {
	case "version":
		r.version = number(16).Value
	case "id":
		p.ID = value
		if problem := artifact.CheckIdentifier(value); problem != nil {
			err = packLoad("invalid native id: " + problem.Error())
		}
	case "tools":
		p.Tools, err = parseNativeList(key, value)
	case "capabilities":
		r.capabilities, err = parseNativeList(key, value)
	case "namespaces":
		p.Namespaces, err = parseNativeList(key, value)
	case "max_calls":
		p.Budget.MaxCalls = number(64).Value
	case "max_units":
		p.Budget.MaxUnits = number(64).Value
	case "max_duration_ms":
		p.Budget.MaxDurationMS = number(64).Value
	case "max_steps":
		p.MaxSteps = number(64)
	case "max_cost_micros":
		p.MaxCostMicros = number(64)
	}
	return err
}

func (r *nativeReader) finish() (NativeV1, error) {
	p := r.pack
	if r.version != 1 || p.ID == "" || p.Budget.MaxCalls == 0 {
		return NativeV1{}, packLoad("native pack is incomplete or unsupported")
	}
	p.Version, p.CapabilityBindings = 1, map[string]string{}
	for _, c := range r.capabilities {
		p.CapabilityBindings[c] = c
	}
	return p, nil
}

// parseNativeNumber reads unsigned decimal digits after an optional plus sign.
func parseNativeNumber(text string, bits int) (uint64, error) {
	digits := strings.TrimPrefix(text, "+")
	switch {
	case text == "":
		return 0, errors.New("cannot parse integer from empty string")
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return 0, errors.New("invalid digit found in string")
	}
	n, err := strconv.ParseUint(digits, 10, bits)
	if err != nil {
		return 0, errors.New("number too large to fit in target type")
	}
	return n, nil
}

func parseNativeList(field, text string) ([]string, error) {
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed {
		return nil, packLoad("native " + field + " must be a bracketed list")
	}
	items := []string{}
	for item := range strings.SplitSeq(inner, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		if err := artifact.CheckIdentifier(item); err != nil {
			return nil, packLoad("invalid native " + field + ": " + err.Error())
		}
		items = append(items, item)
	}
	slices.Sort(items)
	return slices.Compact(items), nil
}
