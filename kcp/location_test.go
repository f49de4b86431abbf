package kcp

import "testing"

func TestResolveLocationMatchesReference(t *testing.T) {
	list := records[struct{ Base, Loc, Resolved string }](t, "vectors", "differential", "locations.jsonl")
	for _, r := range list {
		if got := ResolveLocation(r.Base, r.Loc); got != r.Resolved {
			t.Errorf("%q in %q: %q, want %q", r.Loc, r.Base, got, r.Resolved)
		}
	}
	t.Logf("locations.jsonl: %d matched", len(list))
}

func TestResolveLocation(t *testing.T) {
	const page = "https://h/a/k.yaml"
	tests := []struct{ base, loc, want string }{
		{page, "", page},
		{page + "?q#f", "", page + "?q"},
		{page + "#f", "#g", page + "#g"},
		{page, "?x", page + "?x"},
		{page, "HTTPS://O/x", "https://o/x"},
		{page, "https:x", "https://h/a/x"},
		{page, "http:x", "http://x/"},
		{page, `\\o\x`, "https://o/x"},
		{page, `..\..\..\x`, "https://h/x"},
		{page, " \tx\n", "https://h/a/x"},
		{page, "a b", "https://h/a/a%20b"},
		{page, "å", "https://h/a/%C3%A5"},
		{page, "100%", "https://h/a/100%25"},
		{page, "1a:b", "https://h/a/1a:b"},
		{page, "//O:443/x", "https://o/x"},
		{page, "//[bad", ""},
		{page, "file:///etc/passwd", "file:///etc/passwd"},
		{"a/k.yaml", "sub/", "a/sub/"},
		{"a/k.yaml", "../../x", "../x"},
		{"a/k.yaml", "data:x", "a/data:x"},
		{"", "../x", "../x"},
	}
	for _, test := range tests {
		if got := ResolveLocation(test.base, test.loc); got != test.want {
			t.Errorf("%q in %q: %q, want %q", test.loc, test.base, got, test.want)
		}
	}
}

func TestSafeUnitPath(t *testing.T) {
	tests := []struct{ path, want, reference string }{
		{"docs/a.md", "", ""},
		{"a..b", "", ""},
		{"1a:b", "", ""},
		{"./a", "", ""},
		{"", pathEmpty, pathEmpty},
		{"mailto:x", pathURL, pathURL},
		{"C:x", pathURL, pathURL},
		{`C:\x`, pathURL, pathURL},
		{"//x", pathURL, pathURL},
		{`\\server\share`, pathURL, ""},
		{"/abs", pathAbsolute, pathAbsolute},
		{`\abs`, pathAbsolute, ""},
		{"a/../b", pathTraverses, pathTraverses},
		{`a\..\b`, pathTraverses, ""},
	}
	for _, test := range tests {
		if got := SafeUnitPath(test.path); got != test.want {
			t.Errorf("%q: %q, want %q", test.path, got, test.want)
		}
		if got := referencePathProblem(test.path); got != test.reference {
			t.Errorf("%q as the reference reads it: %q, want %q", test.path, got, test.reference)
		}
	}
}

func TestIsHTTPS(t *testing.T) {
	for s, want := range map[string]bool{
		"https://ok/x":        true,
		"https://h:8443":      true,
		"https://[::1]/x":     true,
		"https://å.example/x": true,
		"https://":            false,
		"https:///x":          false,
		"https://a b":         false,
		"https://h:99999/":    false,
		"https://[x]/":        false,
		"HTTPS://ok/x":        false,
		"http://ok/x":         false,
		"":                    false,
	} {
		if got := isHTTPS(s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}
