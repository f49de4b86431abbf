package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/event"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/policy"
)

// Classes of failures besides those of package graph.
const (
	ClassRefused  = "refused"  // an address that may not be dialled
	ClassTLS      = "tls"      // the other side could not prove who it is
	ClassRedirect = "redirect" // a redirect that is not followed
)

// Do sends one request. An answer with a status that the endpoint does not allow
// is a failed outcome, and so is a request that never left, and one that changes
// nothing. An error means that the request may have been performed: its
// connection broke, or time was up, after it had been sent.
func (p *Port) Do(ctx context.Context, e engine.Effect) (engine.Outcome, error) {
	endpoint, ok := p.endpoints[e.Name]
	if !ok {
		return engine.Failed(graph.ClassInvalid, "there is no endpoint "+e.Name), nil
	}
	if e.Permit.Kind != policy.KindHTTP || e.Permit.Name != e.Name {
		return engine.Failed(graph.ClassInvalid, "endpoint "+e.Name+" has no permit"), nil
	}
	q, err := readRequest(e.Args)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	ctx, cancel := e.Bound(ctx)
	defer cancel()
	s := sending{Endpoint: endpoint, request: q, key: e.Key, cap: e.Permit.OutputBytes}
	if s.cap == 0 {
		s.cap = policy.DefaultOutputBytes
	}
	begin := time.Now()
	o, err := s.send(ctx, p)
	o.Usage = policy.Amount{Calls: 1, DurationMS: uint64(time.Since(begin).Milliseconds())}
	o.Error = s.secrets.Text(o.Error)
	return o, err
}

// sending is one request on its way.
type sending struct {
	Endpoint
	request
	key     string
	cap     uint64
	secrets event.Scrubber
	sent    atomic.Bool
	refused string // why a redirect was not followed
}

func (s *sending) send(ctx context.Context, p *Port) (engine.Outcome, error) {
	trace := &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { s.sent.Store(true) }}
	req, err := s.build(httptrace.WithClientTrace(ctx, trace), p.secret)
	if err != nil {
		return engine.Failed(graph.ClassInvalid, err.Error()), nil
	}
	client := &http.Client{Transport: p.transport, CheckRedirect: s.checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		return s.broken(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // was read as far as it is wanted
	return s.answer(ctx, resp)
}

// build makes the request. The error may be recorded.
func (s *sending) build(ctx context.Context, secret func(context.Context, string) (string, error)) (*http.Request, error) {
	if uint64(len(s.body)) > s.RequestBytes {
		return nil, fmt.Errorf("the body has %d bytes, of at most %d", len(s.body), s.RequestBytes)
	}
	var body io.Reader
	if s.body != nil {
		body = bytes.NewReader(s.body)
	}
	req, err := http.NewRequestWithContext(ctx, s.method, s.url, body)
	if err != nil {
		return nil, errors.New("the address or the method cannot be used")
	}
	req.Header.Set("User-Agent", "writ")
	if s.isJSON {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range s.headers {
		if !slices.Contains(s.Headers, h.name) {
			return nil, fmt.Errorf("header %.80s is not one that the endpoint lets an effect set", h.name)
		}
		req.Header.Set(h.name, h.value)
	}
	for name, value := range s.Set {
		req.Header.Set(name, value)
	}
	if !isSafe(s.method) {
		req.Header.Set(s.KeyHeader, s.key)
	}
	for name, credential := range s.Secrets {
		value, err := secret(ctx, credential.Handle)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", credential.Handle, err)
		}
		s.secrets.Learn(value)
		req.Header.Set(name, credential.Prefix+value)
	}
	return req, nil
}

// checkRedirect says whether a redirect is followed. One that is not is the
// answer.
func (s *sending) checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case origin(next.URL) != origin(first):
		s.refused = "to another origin, " + origin(next.URL)
	case s.method != http.MethodGet && s.method != http.MethodHead:
		s.refused = "of a request that may change something"
	case len(via) > s.Redirects:
		s.refused = fmt.Sprintf("number %d, of at most %d", len(via), s.Redirects)
	default:
		return nil
	}
	return http.ErrUseLastResponse
}

// origin gives scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// broken is the outcome of a request without an answer.
func (s *sending) broken(ctx context.Context, err error) (engine.Outcome, error) {
	class, text := classify(ctx, err)
	if s.sent.Load() && !isSafe(s.method) {
		return engine.Outcome{}, errors.New(s.secrets.Text("the request was sent, and there is no whole answer: " + text))
	}
	return engine.Failed(class, text), nil
}
