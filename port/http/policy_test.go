package http

import (
	"testing"

	"github.com/writ-dev/writ/policy"
)

const pack = `
version: 2
id: test
http:
  api:
    hosts: [api.example.com]
    methods: [GET, POST]
`

// TestPolicyJudges sends calls through shape to policy, as an engine does.
func TestPolicyJudges(t *testing.T) {
	doc, err := policy.ReadPack([]byte(pack), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pol, _, err := policy.Compile(doc, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := port(t, Endpoint{}, local)
	tool := p.Tools()["api"]
	for _, c := range []struct {
		method, url string
		allowed     bool
	}{
		{"GET", "https://api.example.com/v1", true},
		{"GET", "https://API.example.com:443/v1", true},
		{"POST", "https://api.example.com/", true},
		{"DELETE", "https://api.example.com/", false},
		{"GET", "http://api.example.com/", false},
		{"GET", "https://api.example.com:8443/", false},
		{"GET", "https://api.example.com.evil.test/", false},
		{"GET", "https://evil.test/?api.example.com", false},
		{"GET", "https://evil.test\\@api.example.com/", false},
		{"GET", "https://127.0.0.1/", false},
	} {
		call := policy.Call{Kind: tool.Kind, Name: "api", Args: effect(t, c.method, c.url).Args}
		call, err := tool.Shape(call)
		if err != nil {
			if c.allowed {
				t.Errorf("%s %s: %v", c.method, c.url, err)
			}
			continue
		}
		if _, denial := pol.Authorize(call, nil); (denial == nil) != c.allowed {
			t.Errorf("%s %s: %v", c.method, c.url, denial)
		}
	}
	if call, err := tool.Shape(policy.Call{Args: effect(t, "GET", "https://h").Args.Without("method")}); err != nil || call.Action != "GET" {
		t.Errorf("%+v, %v", call, err)
	}
}
