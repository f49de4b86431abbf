package http

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/guard"
	"github.com/writ-dev/writ/policy"
)

// local opens the loopback address, where the tests' servers are.
var local = Options{Scope: guard.PublicAndPrivate}

const planted = "planted-credential"

func vault(_ context.Context, handle string) (string, error) {
	if handle != "vault/token" {
		return "", errors.New("no such secret")
	}
	return planted, nil
}

func port(t *testing.T, e Endpoint, o Options) *Port {
	t.Helper()
	p, err := New(map[string]Endpoint{"api": e}, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func effect(t *testing.T, method, url string, more ...string) engine.Effect {
	t.Helper()
	text := fmt.Sprintf(`{"method":%q,"url":%q%s}`, method, url, strings.Join(append([]string{""}, more...), ","))
	args, err := artifact.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err, text)
	}
	return engine.Effect{
		Key: "key-1", Port: Name, Name: "api", Kind: policy.KindHTTP, Args: args,
		Permit: policy.Permit{Kind: policy.KindHTTP, Name: "api"},
	}
}

func do(t *testing.T, p *Port, e engine.Effect) engine.Outcome {
	t.Helper()
	o, err := p.Do(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func expect(t *testing.T, o engine.Outcome, members ...string) {
	t.Helper()
	if o.Failed {
		t.Fatalf("failed: %s: %s", o.Class, o.Error)
	}
	for i := 0; i < len(members); i += 2 {
		v, _ := o.Result.Get(members[i])
		if v.String() != members[i+1] {
			t.Errorf("%s is %s, want %s", members[i], v, members[i+1])
		}
	}
}

func expectFailure(t *testing.T, o engine.Outcome, class, part string) {
	t.Helper()
	if !o.Failed || o.Class != class || !strings.Contains(o.Error, part) {
		t.Errorf("%s: %q, %s, want class %s and %q", o.Class, o.Error, o.Result, class, part)
	}
}

// echo answers with what it was sent.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Trace", "t-1")
	w.Header().Set("X-Private", "p")
	w.Header().Set("Etag", "e-1 "+r.Header.Get("Authorization"))
	_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "headers": r.Header, "body": string(body), "host": r.Host})
}

func TestRequest(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer srv.Close()
	o := local
	o.RootCAs, o.Secret = x509.NewCertPool(), vault
	o.RootCAs.AddCert(srv.Certificate())
	p := port(t, Endpoint{
		Headers: []string{"x-tenant"}, Set: map[string]string{"x-app": "writ-test"}, Answer: []string{"X-Trace"},
		Secrets: map[string]Secret{"authorization": {"Bearer ", "vault/token"}},
	}, o)
	got := do(t, p, effect(t, "POST", srv.URL+"/a?b=c", `"headers":{"X-Tenant":"t","Accept":"application/json"}`, `"json":{"n":1.50,"z":null}`))
	expect(t, got, "status", "200", "encoding", `"text"`, "truncated", "false",
		"headers", `{"Content-Type":"application/json","Etag":"e-1 Bearer [redacted]","X-Trace":"t-1"}`)
	parsed, _ := got.Result.Get("json")
	body, _ := parsed.Get("body")
	method, _ := parsed.Get("method")
	if body.Text() != `{"n":1.50,"z":null}` || method.Text() != "POST" {
		t.Errorf("sent %s %s", method, body)
	}
	headers, _ := parsed.Get("headers")
	for name, want := range map[string]string{
		"X-Tenant": "t", "X-App": "writ-test", "Authorization": "Bearer [redacted]", "Idempotency-Key": "key-1", "Content-Type": "application/json",
		"User-Agent": "writ",
	} {
		if v, _ := headers.Get(name); v.Len() != 1 || v.Elements()[0].Text() != want {
			t.Errorf("header %s: %s, want %s", name, v, want)
		}
	}
	if strings.Contains(got.Result.String(), planted) {
		t.Error("the credential is in the result")
	}
	if got.Usage.Calls != 1 {
		t.Errorf("usage %+v", got.Usage)
	}
	got = do(t, p, effect(t, "GET", srv.URL))
	if v, _ := got.Result.Get("body"); strings.Contains(v.Text(), "Idempotency-Key") {
		t.Error("a request that changes nothing has a key")
	}
}

func TestBodies(t *testing.T) {
	var got []byte
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) }))
	defer srv.Close()
	p := port(t, Endpoint{RequestBytes: 10}, local)
	for body, want := range map[string]string{
		`"body":"text"`: "text", `"body_base64":"/wA="`: "\xff\x00", `"json":null`: "null", `"json":"x"`: `"x"`, `"body":""`: "",
	} {
		expect(t, do(t, p, effect(t, "PUT", srv.URL, body)), "status", "200", "body", `""`, "json", "null")
		if string(got) != want {
			t.Errorf("%s: sent %q", body, got)
		}
	}
	expectFailure(t, do(t, p, effect(t, "PUT", srv.URL, `"body":"12345678901"`)), "invalid", "the body has 11 bytes, of at most 10")
}

func TestRefusals(t *testing.T) {
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	p := port(t, Endpoint{Set: map[string]string{"X-App": "a"}}, local)
	for more, part := range map[string]string{
		`"headers":{"X-Tenant":"t"}`:            "header X-Tenant is not one that the endpoint lets an effect set",
		`"headers":{"X-App":"t"}`:               "header X-App is not one",
		`"headers":{"Host":"other.test"}`:       "header Host is not one",
		`"headers":{"Authorization":"x"}`:       "header Authorization is not one",
		`"headers":{"Idempotency-Key":"x"}`:     "header Idempotency-Key is not one",
		`"headers":{"Accept":"a\r\nX-Evil: 1"}`: "value that no header can have",
		`"headers":{"Accept":1}`:                "1 is not a string",
		`"headers":[]`:                          "headers",
		`"body":"a","json":1`:                   "one of json, body and body_base64",
		`"body_base64":"*"`:                     "no base64",
		`"proxy":"http://x"`:                    "proxy",
	} {
		expectFailure(t, do(t, p, effect(t, "GET", srv.URL, more)), "invalid", part)
	}
	for _, url := range []string{"", "::", "/path", "http://", "http://user:pass@" + srv.Listener.Addr().String()} {
		expectFailure(t, do(t, p, effect(t, "GET", url)), "invalid", "write an address with a host, and without a user name")
	}
	expectFailure(t, do(t, p, effect(t, "GET", "ftp://127.0.0.1/x")), "unavailable", "")
	expectFailure(t, do(t, p, effect(t, "BAD METHOD", srv.URL)), "invalid", "cannot be used")
	e := effect(t, "GET", srv.URL)
	e.Permit = policy.Permit{}
	expectFailure(t, do(t, p, e), "invalid", "has no permit")
	e.Name = "other"
	expectFailure(t, do(t, p, e), "invalid", "there is no endpoint other")
	closed := port(t, Endpoint{}, Options{})
	expectFailure(t, do(t, closed, effect(t, "POST", srv.URL)), ClassRefused, "refused loopback address 127.0.0.1")
	expectFailure(t, do(t, closed, effect(t, "GET", "http://169.254.169.254/latest")), ClassRefused, "169.254.169.254")
	if reached {
		t.Error("the server was reached")
	}
	o := local
	o.Secret = vault
	missing := port(t, Endpoint{Secrets: map[string]Secret{"X-Key": {"", "vault/other"}}}, o)
	expectFailure(t, do(t, missing, effect(t, "GET", srv.URL)), "invalid", "secret vault/other: no such secret")
}

func TestNewChecksEndpoints(t *testing.T) {
	for part, e := range map[string]Endpoint{
		"nothing to give them":                {Secrets: map[string]Secret{"Authorization": {}}},
		"header Host belongs to the connect":  {Headers: []string{"host"}},
		"header Proxy-Authorization belongs":  {Headers: []string{"proxy-authorization"}},
		"header Authorization holds credent":  {Headers: []string{"authorization"}},
		"header Cookie holds credentials":     {Set: map[string]string{"cookie": "x"}},
		"header Set-Cookie holds credentials": {Answer: []string{"Set-Cookie"}},
		"header X-A is there twice":           {Headers: []string{"x-a"}, Set: map[string]string{"X-A": "b"}},
		"header \"x y\" has no proper name":   {Headers: []string{"x y"}},
		"has a value that no header can have": {Set: map[string]string{"X-A": "a\nb"}},
		"header Transfer-Encoding belongs to": {KeyHeader: "Transfer-Encoding"},
	} {
		if _, err := New(map[string]Endpoint{"api": e, "ok": {}}, local); err == nil || !strings.Contains(err.Error(), "endpoint api: ") || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}

func TestStatuses(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &status)
		w.Header().Set("Date", "Tue, 15 Nov 1994 08:12:31 GMT")
		w.Header().Set("Content-Type", "application/problem+json")
		if after := r.URL.Query().Get("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"detail":"why"}`)
	}))
	defer srv.Close()
	o := local
	o.Secret = vault
	p := port(t, Endpoint{}, o)
	for path, want := range map[string]string{
		"/429?after=30": "rate_limited: the answer is 429 Too Many Requests, retry after 30 s: {\"detail\":\"why\"}",
		"/429?after=Tue,%2015%20Nov%201994%2008:13:01%20GMT": "rate_limited: the answer is 429 Too Many Requests, retry after 30 s:",
		"/429?after=Tue,%2015%20Nov%201994%2008:00:00%20GMT": "rate_limited: the answer is 429 Too Many Requests, retry after 0 s:",
		"/503?after=999999999":                               "unavailable: the answer is 503 Service Unavailable, retry after 86400 s:",
		"/503?after=soon":                                    "unavailable: the answer is 503 Service Unavailable: ",
		"/502":                                               "unavailable: ",
		"/504":                                               "timeout: ",
		"/408":                                               "timeout: ",
		"/409":                                               "conflict: ",
		"/412":                                               "conflict: ",
		"/500":                                               "internal: the answer is 500 Internal Server Error: {\"detail\":\"why\"}",
		"/400":                                               "invalid: ",
		"/404":                                               "invalid: the answer is 404 Not Found: {\"detail\":\"why\"}",
		"/599":                                               "internal: the answer is 599: ",
	} {
		got := do(t, p, effect(t, "POST", srv.URL+path))
		text := got.Class + ": " + got.Error
		retry := got.Class == graph.ClassRateLimited || got.Class == graph.ClassUnavailable || got.Class == graph.ClassTimeout
		if !got.Failed || !strings.HasPrefix(text, want) || got.Retryable != retry {
			t.Errorf("%s: %s (retryable %v), want %s", path, text, got.Retryable, want)
		}
	}
	p = port(t, Endpoint{Statuses: []int{200, 404}}, local)
	expect(t, do(t, p, effect(t, "GET", srv.URL+"/404")), "status", "404", "json", `{"detail":"why"}`)
	expectFailure(t, do(t, p, effect(t, "GET", srv.URL+"/201")), "invalid", "the answer is 201 Created")
}

func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other origin was asked") }))
	defer other.Close()
	var mu sync.Mutex
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		switch r.URL.Path {
		case "/one":
			http.Redirect(w, r, "/two", http.StatusFound)
		case "/two":
			http.Redirect(w, r, "/three", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, other.URL+"/steal", http.StatusFound)
		}
	}))
	defer srv.Close()
	o := local
	o.Secret = vault
	secrets := map[string]Secret{"Authorization": {"Bearer ", "vault/token"}}
	expectFailure(t, do(t, port(t, Endpoint{}, local), effect(t, "GET", srv.URL+"/one")), ClassRedirect, "302 Found, a redirect number 1, of at most 0, which is not followed")
	expectFailure(t, do(t, port(t, Endpoint{Redirects: 1}, local), effect(t, "GET", srv.URL+"/one")), ClassRedirect, "307 Temporary Redirect, a redirect number 2, of at most 1")
	p := port(t, Endpoint{Redirects: 2, Secrets: secrets}, o)
	expect(t, do(t, p, effect(t, "GET", srv.URL+"/one")), "status", "200")
	expectFailure(t, do(t, p, effect(t, "POST", srv.URL+"/two", `"body":"x"`)), ClassRedirect, "of a request that may change something")
	expectFailure(t, do(t, p, effect(t, "GET", srv.URL+"/away")), ClassRedirect, "to another origin, "+other.URL)
	if got := asked[len(asked)-3]; got != "GET /three Bearer "+planted {
		t.Errorf("within the origin: %s", got)
	}
	p = port(t, Endpoint{Statuses: []int{302}}, local)
	expect(t, do(t, p, effect(t, "GET", srv.URL+"/away")), "status", "302", "headers", `{"Content-Type":"text/html; charset=utf-8","Location":"`+other.URL+`/steal"}`)
}

func TestAnswerIsCapped(t *testing.T) {
	body := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	o := local
	o.Secret = vault
	p := port(t, Endpoint{Secrets: map[string]Secret{"X-Key": {"", "vault/token"}}}, o)
	for _, c := range []struct {
		body, text, encoding, truncated string
		bytes                           string
	}{
		{"123456789", `"123456789"`, `"text"`, "false", "9"},
		{"0123456789", `"0123456789"`, `"text"`, "false", "10"},
		{"0123456789+", `"0123456789"`, `"text"`, "true", "10"},
		{"012345678ö+", `"012345678"`, `"text"`, "true", "10"},
		{"\xff\xfe", `"//4="`, `"base64"`, "false", "2"},
		{planted, `"[redacted]"`, `"text"`, "true", "10"},
		{"12345" + planted + "!", `"12345[reda"`, `"text"`, "true", "10"}, // no part of it is left
		{"", `""`, `"text"`, "false", "0"},
	} {
		body = c.body
		e := effect(t, "GET", srv.URL)
		e.Permit.OutputBytes = 10
		expect(t, do(t, p, e), "body", c.text, "encoding", c.encoding, "truncated", c.truncated, "bytes", c.bytes)
	}
	body = strings.Repeat("1", policy.DefaultOutputBytes+1)
	expect(t, do(t, p, effect(t, "GET", srv.URL)), "truncated", "true", "json", "null", "bytes", fmt.Sprint(policy.DefaultOutputBytes))
	body = "{"
	expect(t, do(t, p, effect(t, "GET", srv.URL)), "body", `"{"`, "json", "null")
}
