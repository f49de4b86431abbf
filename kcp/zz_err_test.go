package kcp

import (
	"fmt"
	"strings"
	"testing"
)

func TestDevErr(t *testing.T) {
	for _, s := range []string{
		"", "hello\n", "- a\n", "~", "project: a\n---\nproject: b\n", "project: a\nproject: b\n", "project: a\nunits:\n\t- id: x\n",
		"project: \"a\nunits: []\n", "project: [a\n", "project: a: b\n", "units:\n  - id: a\n    intent: What: is this\n", "units:\n  - id: a\n   path: b\n",
		"units:\n  - id: a\n    path: @x\n", "a: *x\n", "a: !foo b\n", "a: &a [*a]\nproject: *a\n", "units:\n- id: a\n  audience: [a, b\n- id: b\n",
		"a: {b: c\nd: e\n", "a: \"\\q\"\n", "a: 'x\n", "<<: 5\n", "a: &x {b: 1}\n<<: [*x, 5]\n", "x: \x01\n", "x: \xff\n", "\ufeffproject: a\nb: \ufeff\n",
		"1: a\n\"1\": b\n", "units:\n  - id: a\n    id: b\n", "a: b\n c: d\n", "a:\n  b: 1\n   c: 2\n", "a: |x\n  y\n", "%YAML 2.0\n---\na: b\n", strings.Repeat("[", 200), "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n",
		"project: a\n  - b\n c\n", "key\n", "project: a\nfoo\nbar: 1\n", "a: &x.y b\n", "a: `b`\n", "a: b\r\nc: [\r\n", "a: b\rc: d\r", "é: \"ü\n",
	} {
		_, _, err := Parse([]byte(s), "f")
		fmt.Printf("%-50q %v\n", s[:min(50, len(s))], err)
	}
}
