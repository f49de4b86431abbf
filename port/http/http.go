// Package http performs effects by sending requests.
//
// Open it at [New], which takes the [Endpoint]s that a host offers; [Port.Do]
// sends a request, and [Port.Tools] tells an engine how policy is to judge it: by
// host, method and scheme, which the pack names. Every connection goes through
// package guard, so that no name and no redirect leads into a private network
// that the host has not opened.
//
// The arguments of an effect are an object:
//
//	{"method": "POST", "url": "https://api.example.com/v1/notes",
//	 "headers": {"Accept": "application/json"}, "json": {"text": "hello"}}
//
// method is GET unless given. The body is one of json, body (text) and
// body_base64. The result has status, headers (those that the endpoint names),
// body, encoding (text, or base64 for what is not UTF-8), json (null unless the
// body is JSON), bytes (of the body that is here) and truncated.
//
// What an effect cannot choose: credentials come from the endpoint's Secrets and
// stand in no record, also where the answer echoes them; proxies and cookies do
// not exist; each request has a connection of its own, because a client that
// reuses connections sends requests again without telling.
package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/guard"
	"github.com/writ-dev/writ/policy"
)

// Endpoint is what runs may be granted to send requests to, by its name in the
// pack.
type Endpoint struct {
	Headers []string          // that an effect may set, besides Accept and Content-Type
	Set     map[string]string // headers of every request
	Secrets map[string]Secret // headers with credentials

	// Answer names the headers of an answer that are recorded, besides
	// Content-Type, ETag, Last-Modified, Location and Retry-After.
	Answer []string

	Statuses []int // that are results; others are failures. Nil for 200 to 299

	// Redirects is how many redirects within one origin are followed, for GET and
	// HEAD. The pack's rules about arguments are not applied to where they lead.
	// Others are not followed: they are failures, unless Statuses has them.
	Redirects int

	RequestBytes uint64 // the longest body; 0 for [DefaultRequestBytes]

	// KeyHeader carries the key of the effect, where the method may change
	// something; empty for Idempotency-Key.
	KeyHeader string
	// Idempotent says that the other side performs a request once for each key.
	Idempotent bool
}

// Secret is a credential: a prefix, such as "Bearer ", and the secret of a handle.
type Secret struct {
	Prefix string
	Handle string
}

// DefaultRequestBytes is the longest body where the endpoint names no other.
const DefaultRequestBytes = 1 << 20

// Options are what endpoints share.
type Options struct {
	Scope    guard.Scope    // who may be dialled; public addresses unless given
	Resolver guard.Resolver // nil for the system's
	RootCAs  *x509.CertPool // nil for the system's
	// Secret gives the secret of a handle; nil when there are none. Its error must
	// not quote the secret.
	Secret func(ctx context.Context, handle string) (string, error)
}

// Name is what the engine calls this port.
const Name = "http"

// Port sends requests. It is safe for concurrent use.
type Port struct {
	endpoints map[string]Endpoint
	secret    func(ctx context.Context, handle string) (string, error)
	transport *http.Transport
}

var _ engine.Port = (*Port)(nil)

// New checks the endpoints and gives the port that serves them. The error names
// everything that is wrong.
func New(endpoints map[string]Endpoint, o Options) (*Port, error) {
	checked := make(map[string]Endpoint, len(endpoints))
	var problems []error
	for _, name := range artifact.SortedNames(endpoints) {
		e, list := endpoints[name].complete()
		for _, p := range list {
			problems = append(problems, fmt.Errorf("endpoint %s: %s", name, p.Text))
		}
		if len(e.Secrets) > 0 && o.Secret == nil {
			problems = append(problems, fmt.Errorf("endpoint %s: it has secrets, and there is nothing to give them", name))
		}
		checked[name] = e
	}
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	dialer := &guard.Dialer{Scope: o.Scope, Resolver: o.Resolver}
	return &Port{endpoints: checked, secret: o.Secret, transport: &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}}, nil
}

// maxHeaderBytes bounds the headers of an answer.
const maxHeaderBytes = 64 << 10

// Headers that every endpoint has.
var (
	usualRequest = []string{"Accept", "Content-Type"}
	usualAnswer  = []string{"Content-Type", "Etag", "Last-Modified", "Location", "Retry-After"}
)

// Headers that belong to the connection, and those that hold credentials.
var (
	framing     = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
	credentials = []string{"Authorization", "Cookie", "Set-Cookie", "Www-Authenticate"}
)

// Check lists everything that is wrong with the endpoint. Pointers name its fields,
// such as /headers and /set/X-Agent.
func (e Endpoint) Check() []artifact.Problem {
	_, list := e.complete()
	return list
}

// complete checks an endpoint, and gives it with names in their usual spelling.
func (e Endpoint) complete() (Endpoint, []artifact.Problem) {
	if e.KeyHeader == "" {
		e.KeyHeader = "Idempotency-Key"
	}
	if e.RequestBytes == 0 {
		e.RequestBytes = DefaultRequestBytes
	}
	var problems []artifact.Problem
	say := func(pointer, text string) {
		problems = append(problems, artifact.Problem{Pointer: pointer, Text: text})
	}
	seen := map[string]bool{}
	name := func(pointer, header string, secret bool) string {
		canonical, err := headerName(header, secret)
		switch {
		case err != nil:
			say(pointer, err.Error())
		case seen[canonical]:
			say(pointer, "header "+canonical+" is there twice")
		}
		seen[canonical] = true
		return canonical
	}
	names := func(pointer string, usual, more []string) []string {
		list := slices.Clone(usual)
		for _, header := range more {
			list = append(list, name(pointer, header, false))
		}
		return list
	}
	e.KeyHeader = name("/key_header", e.KeyHeader, false)
	set := map[string]string{}
	for _, header := range artifact.SortedNames(e.Set) {
		pointer := artifact.PointerTo("/set", header)
		if !httpguts.ValidHeaderFieldValue(e.Set[header]) {
			say(pointer, fmt.Sprintf("header %.80q has a value that no header can have", header))
		}
		set[name(pointer, header, false)] = e.Set[header]
	}
	secrets := map[string]Secret{}
	for _, header := range artifact.SortedNames(e.Secrets) {
		secrets[name(artifact.PointerTo("/secrets", header), header, true)] = e.Secrets[header]
	}
	e.Set, e.Secrets, e.Headers = set, secrets, names("/headers", usualRequest, e.Headers)
	clear(seen)
	e.Answer = names("/answer", usualAnswer, e.Answer)
	return e, problems
}

// headerName gives the usual spelling of a header that an endpoint may name.
func headerName(name string, secret bool) (string, error) {
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return canonical, fmt.Errorf("header %.80q has no proper name", name)
	case slices.Contains(framing, canonical) || strings.HasPrefix(canonical, "Proxy-"):
		return canonical, fmt.Errorf("header %s belongs to the connection, not to the request", canonical)
	case !secret && slices.Contains(credentials, canonical):
		return canonical, fmt.Errorf("header %s holds credentials, which belong under secrets", canonical)
	}
	return canonical, nil
}

// Tools gives how each endpoint's requests are authorized.
func (p *Port) Tools() map[string]engine.Tool {
	tools := make(map[string]engine.Tool, len(p.endpoints))
	for name := range p.endpoints {
		tools[name] = engine.Tool{Port: Name, Kind: policy.KindHTTP, Shape: Shape}
	}
	return tools
}

// Shape tells policy the address and the method. Its error says what is wrong with
// the arguments.
func Shape(call policy.Call) (policy.Call, error) {
	q, err := readRequest(call.Args)
	call.URL, call.Action = q.url, q.method
	return call, err
}

// Idempotent reports whether the effect may be performed again under its key: its
// method says so (RFC 9110 section 9.2.2), or its endpoint does.
func (p *Port) Idempotent(e engine.Effect) bool {
	q, err := readRequest(e.Args)
	return err == nil && (isSafe(q.method) || q.method == http.MethodPut || q.method == http.MethodDelete || p.endpoints[e.Name].Idempotent)
}

// isSafe reports whether a method changes nothing (RFC 9110 section 9.2.1).
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// request is what the arguments of an effect ask for.
type request struct {
	method  string
	url     string
	headers []header // in their order
	body    []byte   // nil for none
	isJSON  bool
}

type header struct{ name, value string }

func readRequest(args artifact.Value) (request, error) {
	r := artifact.NewReader(artifact.DocumentOf(args, "arguments"))
	o := r.Root().Object()
	q := request{method: o.May("method").Text(), url: o.Need("url").Text()}
	if q.method == "" {
		q.method = http.MethodGet
	}
	for name, v := range o.May("headers").Map() {
		value := v.Text()
		if !httpguts.ValidHeaderFieldValue(value) {
			v.Report("header %.80q has a value that no header can have", name)
		}
		q.headers = append(q.headers, header{textproto.CanonicalMIMEHeaderKey(name), value})
	}
	readBody(o, args, &q)
	if u, err := url.Parse(q.url); o.Has("url") && (err != nil || u.User != nil || u.Host == "") {
		o.Need("url").Report("url: write an address with a host, and without a user name")
	}
	o.RefuseUnknown()
	return q, r.Err()
}

func readBody(o *artifact.Object, args artifact.Value, q *request) {
	count := 0
	for _, name := range []string{"json", "body", "body_base64"} {
		f := o.May(name)
		if !o.Has(name) {
			continue
		}
		if count++; count > 1 {
			f.Report("%s: the body is one of json, body and body_base64", name)
			return
		}
		switch name {
		case "json": // null is a body too
			v, _ := args.Get("json")
			q.body, q.isJSON = v.AppendCompact(nil), true
		case "body":
			q.body = []byte(f.Text())
		default:
			data, err := base64.StdEncoding.DecodeString(f.Text())
			if err != nil {
				f.Report("body_base64 is no base64")
			}
			q.body = data
		}
	}
}
