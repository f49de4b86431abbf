package kcp

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMalformed runs testdata/malformed.txt; its head says what it means.
func TestMalformed(t *testing.T) {
	data, err := os.ReadFile("testdata/malformed.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(data), "\n=== ")[1:]
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		text, want, ok := strings.Cut(rest, "\n---\n")
		if !ok {
			t.Fatalf("%s: no expectations", name)
		}
		t.Run(name, func(t *testing.T) { checkMalformed(t, text+"\n", strings.Split(strings.TrimSpace(want), "\n")) })
	}
	t.Logf("%d cases", len(cases))
}

func checkMalformed(t *testing.T, text string, want []string) {
	m, findings, err := Parse([]byte(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprintf("finding %s %s %d:%d", f.Code, f.Path, f.Pos.Line, f.Pos.Column))
		if f.Message == "" || f.Hint == "" || f.Severity != Warning {
			t.Errorf("incomplete finding %+v", f)
		}
		if p := m.Position(f.Path); p != f.Pos {
			t.Errorf("%s is at %v, Position says %v", f.Path, f.Pos, p)
		}
	}
	var expected []string
	for _, line := range want {
		rest, isValue := strings.CutPrefix(line, "value ")
		if !isValue {
			expected = append(expected, line)
			continue
		}
		path, value, _ := strings.Cut(rest, " =")
		if v := fieldText(t, m, path); v != strings.TrimPrefix(value, " ") {
			t.Errorf("%s = %s, want%s", path, v, value)
		}
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
	if !checkOneModel(t, t.Name(), []byte(text)) {
		t.Error("the fast reader gives up")
	}
}

var fieldStep = regexp.MustCompile(`(\w+)(?:\[(\d+)\])?\.?`)

// fieldText writes one field of the model, named by its Go path.
func fieldText(t *testing.T, m *Manifest, path string) string {
	t.Helper()
	v := reflect.ValueOf(m).Elem()
	for _, s := range fieldStep.FindAllStringSubmatch(path, -1) {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v = v.FieldByName(s[1]); !v.IsValid() {
			t.Fatalf("no field %q in %s", s[1], path)
		}
		if s[2] != "" {
			i, _ := strconv.Atoi(s[2])
			v = v.Index(i)
		}
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "nil"
		}
		v = v.Elem()
	}
	return fmt.Sprintf("%+v", v.Interface())
}
