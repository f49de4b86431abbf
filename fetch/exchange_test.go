package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

func TestGet(t *testing.T) {
	w := newWorld(t)
	w.name("good.test", "8.8.8.8")
	w.name("xn--bcher-kva.test", "2606:4700::1")
	w.serve("/", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("request %s with %v", r.Method, r.Header)
		}
		rw.Header().Set("Set-Cookie", "a=b")
		fmt.Fprintf(rw, "%s %s", r.Host, r.RequestURI)
	})
	c := w.client(Options{})
	for url, want := range map[string]struct{ final, body string }{
		"https://good.test":                 {"https://good.test/", "good.test /"},
		"https://GOOD.test:443/a/../b#part": {"https://good.test/b", "good.test /b"},
		"HTTPS://good.test:8443/x?y=1#z":    {"https://good.test:8443/x?y=1", "good.test:8443 /x?y=1"},
		"https://bücher.test/ü":             {"https://xn--bcher-kva.test/%C3%BC", "xn--bcher-kva.test /%C3%BC"},
	} {
		response, _ := get(t, c, Request{URL: url}, "")
		if response == nil || response.URL != want.final || string(response.Bytes) != want.body || !slices.Equal(response.Hops, []string{want.final}) {
			t.Errorf("%s: %+v", url, response)
		}
	}
}

// TestRefusedAnswers pins code and problem of each thing that a server can do.
func TestRefusedAnswers(t *testing.T) {
	w := newWorld(t)
	w.name("good.test", "8.8.8.8")
	var answer http.HandlerFunc
	w.serve("good.test/", func(rw http.ResponseWriter, r *http.Request) { answer(rw, r) })
	c := w.client(Options{MaxBytes: 1000})
	status := func(code int) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(code) }
	}
	typed := func(header, value, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set(header, value); fmt.Fprint(rw, body) }
	}
	large := strings.Repeat("x", 1001)
	const here = "https://good.test/k.yaml"
	for name, a := range map[string]struct {
		answer  http.HandlerFunc
		code    Code
		problem string
	}{
		"ok":                   {text("a: b\n"), "", ""},
		"203":                  {status(203), "", ""},
		"204":                  {status(204), "", ""},
		"206":                  {status(206), Incomplete, "206 Partial Content"},
		"400":                  {status(400), Status, "400 Bad Request"},
		"401":                  {status(401), Status, "401 Unauthorized"},
		"403":                  {status(403), Status, "403 Forbidden"},
		"404":                  {status(404), Status, "404 Not Found"},
		"407":                  {status(407), Status, "407 Proxy Authentication Required"},
		"410":                  {status(410), Status, "410 Gone"},
		"429":                  {status(429), Status, "429 Too Many Requests"},
		"500":                  {status(500), Status, "500 Internal Server Error"},
		"503":                  {status(503), Status, "503 Service Unavailable"},
		"304":                  {status(304), BadRedirect, "redirect with no Location from " + here},
		"302 without Location": {status(302), BadRedirect, "redirect with no Location from " + here},
		"redirects to itself":  {redirect(302, "/k.yaml"), TooManyRedirects, "too many redirects (>5) starting at " + here},
		"declared too large":   {typed("Content-Length", "1001", large), TooLarge, "response too large: 1001 bytes exceeds cap 1000"},
		"declared enormous":    {typed("Content-Length", "9223372036854775807", ""), TooLarge, "response too large: 9223372036854775807 bytes exceeds cap 1000"},
		"streamed too large":   {func(rw http.ResponseWriter, _ *http.Request) { rw.(http.Flusher).Flush(); fmt.Fprint(rw, large) }, TooLarge, "response too large: exceeded cap 1000 bytes while reading " + here},
		"exactly the ceiling":  {text(large[1:]), "", ""},
		"brotli":               {typed("Content-Encoding", "br", "x"), BadEncoding, `the body is encoded as "br", and only gzip was offered`},
		"twice":                {typed("Content-Encoding", "gzip, gzip", "x"), BadEncoding, `the body is encoded as "gzip, gzip", and only gzip was offered`},
		"no gzip":              {typed("Content-Encoding", "gzip", "not gzip at all"), BadEncoding, "the body is not the gzip that it says it is"},
		"damaged gzip":         {typed("Content-Encoding", "gzip", zipped(t, "hello")[:10]+"\xff\xff\xff\xff"), BadEncoding, "the body is not the gzip that it says it is"},
		"wrong checksum":       {typed("Content-Encoding", "gzip", zipped(t, "hello")[:24]+"\x00\x00\x00\x00\x05\x00\x00\x00"), BadEncoding, "the body is not the gzip that it says it is"},
		"half a gzip":          {typed("Content-Encoding", "gzip", zipped(t, "hello")[:15]), Incomplete, "the connection ended before the answer did"},
		"empty gzip":           {typed("Content-Encoding", "gzip", ""), "", ""},
		"good gzip":            {typed("Content-Encoding", "GZIP", zipped(t, "a: b")), "", ""},
		"gzip bomb":            {typed("Content-Encoding", "gzip", zipped(t, strings.Repeat("x", 500_000))), TooLarge, "response too large: exceeded cap 1000 bytes while reading " + here},
		"gzip of nothing": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			rw.(http.Flusher).Flush()
			fmt.Fprint(rw, strings.Repeat(zipped(t, ""), 100))
		}, TooLarge, "response too large: exceeded cap 1000 bytes while reading " + here},
		"picture":             {typed("Content-Type", "image/png", "x"), ContentType, `the content type is "image/png", not text`},
		"picture in capitals": {typed("Content-Type", "IMAGE/PNG; q=1", "x"), ContentType, `the content type is "image/png", not text`},
		"form":                {typed("Content-Type", "multipart/form-data", "x"), ContentType, `the content type is "multipart/form-data", not text`},
		"page":                {typed("Content-Type", "text/html; charset=utf-8", "<p>hello"), HTML, "an HTML page, not YAML or plain text"},
		"page as YAML":        {typed("Content-Type", "text/yaml", "\ufeff\n <!DOCTYPE HTML><title>x"), HTML, "an HTML page, not YAML or plain text"},
		"YAML as a page":      {typed("Content-Type", "text/html", "a: b\n"), "", ""},
		"merge key as a page": {typed("Content-Type", "text/html", "<<: {a: b}\n"), "", ""},
		"bytes":               {typed("Content-Type", "application/octet-stream", "a: b\n"), "", ""},
		"broken type":         {typed("Content-Type", ";;;", "a: b\n"), "", ""},
		"announces more": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100")
			fmt.Fprint(rw, "half")
		}, Incomplete, "the connection ended before the answer did"},
		"breaks off": {func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(rw, "half")
			rw.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, Incomplete, "the connection ended before the answer did"},
		"breaks off at once": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Incomplete, "the connection ended before the answer did"},
		"enormous header":    {typed("X-Large", strings.Repeat("x", 2*maxHeaderBytes), "x"), Protocol, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer = a.answer
			_, refusal := get(t, c, Request{URL: here, Text: true}, a.code)
			if refusal == nil {
				return
			}
			if a.problem != "" && refusal.Problem != a.problem {
				t.Errorf("problem %q, want %q", refusal.Problem, a.problem)
			}
			if refusal.Advice == "" || refusal.Location != here || !strings.HasPrefix(refusal.Error(), here+": ") || strings.Contains(refusal.Error(), "\n") {
				t.Errorf("%+v", refusal)
			}
		})
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRawAnswers answers with bytes that no Go server writes, over cleartext.
func TestRawAnswers(t *testing.T) {
	for name, a := range map[string]struct {
		answer string
		code   Code
		body   string
	}{
		"mail server":        {"220 mail.test ESMTP\r\n", Protocol, ""},
		"nothing":            {"", Incomplete, ""},
		"half a head":        {"HTTP/1.1 200 OK\r\nContent-", Protocol, ""},
		"shorter than sent":  {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na: b, and more", "", "a: b"},
		"two lengths":        {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\na: b", Protocol, ""},
		"negative length":    {"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\na: b", Protocol, ""},
		"bad chunk":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n", Protocol, ""},
		"half a chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nx", Incomplete, ""},
		"endless chunk":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", Incomplete, ""},
		"until it ends":      {"HTTP/1.0 200 OK\r\n\r\na: b", "", "a: b"},
		"many early hints":   {strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n", 10_000) + "HTTP/1.1 200 OK\r\n\r\n", Protocol, ""},
		"switches protocols": {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Status, ""},
		"line break in it":   {"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/a\r\n b\r\nContent-Length: 0\r\n\r\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.client(Options{AllowPrivateHosts: true})
			ours, theirs := net.Pipe()
			c.http.DialContext = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
			go func() {
				_, _ = theirs.Read(make([]byte, 4096))
				_, _ = io.WriteString(theirs, a.answer)
				_ = theirs.Close()
			}()
			response, refusal := c.Get(t.Context(), Request{URL: "http://10.0.0.1/"})
			switch {
			case name == "line break in it":
				if refusal == nil {
					t.Error("read")
				}
			case a.code == "" && (response == nil || string(response.Bytes) != a.body), a.code != "" && (refusal == nil || refusal.Code != a.code):
				t.Errorf("%+v, %+v, want %q", response, refusal, a.code)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	w := newWorld(t)
	w.name("good.test", "8.8.8.8")
	w.name("plain.test", "8.8.4.4")
	w.serve("/", text("x"))
	good, stranger := newAuthority(t), newAuthority(t)
	w.roots.AddCert(good.cert)
	for name, c := range map[string]struct {
		leaf    func(string) *tls.Certificate
		problem string
	}{
		"good":     {func(n string) *tls.Certificate { return good.leaf(t, n, time.Hour) }, ""},
		"expired":  {func(n string) *tls.Certificate { return good.leaf(t, n, -time.Minute) }, "the certificate of 'good.test' has expired or is not yet valid"},
		"other":    {func(string) *tls.Certificate { return good.leaf(t, "other.test", time.Hour) }, "the certificate is not for 'good.test'"},
		"nameless": {func(string) *tls.Certificate { return good.leaf(t, "", time.Hour) }, "the certificate is not for 'good.test'"},
		"stranger": {func(n string) *tls.Certificate { return stranger.leaf(t, n, time.Hour) }, "the certificate of 'good.test' is signed by an unknown authority"},
	} {
		w.present(c.leaf)
		code := Certificate
		if c.problem == "" {
			code = ""
		}
		client := w.client(Options{})
		_, refusal := get(t, client, Request{URL: "https://good.test/"}, code)
		if refusal != nil && (refusal.Problem != c.problem || refusal.Advice == "") {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	// A server that speaks plain HTTP on the secure port.
	client := w.client(Options{})
	client.https.DialContext = func(context.Context, string, string) (net.Conn, error) { return w.plain.dial() }
	if _, refusal := get(t, client, Request{URL: "https://plain.test/"}, TLS); refusal.Problem != "the server does not speak TLS there" {
		t.Error(refusal)
	}
}

func TestUnreachable(t *testing.T) {
	w := newWorld(t)
	w.name("good.test", "8.8.8.8")
	c := w.client(Options{})
	for problem, errno := range map[string]error{
		"fetch failed: connection refused":     syscall.ECONNREFUSED,
		"fetch failed: no route to host":       syscall.EHOSTUNREACH,
		"fetch failed: network is unreachable": syscall.ENETUNREACH,
	} {
		w.broken = func(netip.AddrPort) error { return &net.OpError{Op: "dial", Net: "tcp", Err: errno} }
		if _, refusal := get(t, c, Request{URL: "https://good.test/"}, Unreachable); refusal.Problem != problem || refusal.Advice == "" {
			t.Errorf("%+v", refusal)
		}
	}
	if _, refusal := get(t, c, Request{URL: "https://nowhere.test/"}, Unresolved); refusal.Problem != "cannot resolve host 'nowhere.test': no such host" {
		t.Errorf("%+v", refusal)
	}
	w.name("empty.test", "")
	if _, refusal := get(t, c, Request{URL: "https://empty.test/"}, Unresolved); refusal.Problem != "host 'empty.test' resolved to no addresses" {
		t.Errorf("%+v", refusal)
	}
	// A port of the loopback address where nobody listens.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	open := New(Options{AllowPrivateHosts: true})
	defer open.Close()
	get(t, open, Request{URL: "http://" + address + "/"}, Unreachable)
}

// TestDeadline lets every part of an exchange take for ever, and five hops take
// a part of the time each. Time is that of the bubble.
func TestDeadline(t *testing.T) {
	slow := func(d time.Duration, then http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(d):
				then(rw, r)
			case <-r.Context().Done():
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"no answer": slow(time.Hour, text("x")),
		"slow drip": func(rw http.ResponseWriter, r *http.Request) {
			for range 1000 {
				slow(time.Second, text("x"))(rw, r)
				rw.(http.Flusher).Flush()
			}
		},
		"slow hops": slow(4*time.Second, redirect(302, "/again")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.name("slow.test", "10.0.0.1")
				w.serve("/", handler)
				c := w.client(Options{AllowPrivateHosts: true})
				begin := time.Now()
				_, refusal := get(t, c, Request{URL: "http://slow.test/"}, Timeout)
				if d := time.Since(begin); d != DefaultTimeout {
					t.Errorf("took %s", d)
				}
				if refusal.Problem != "The operation was aborted due to timeout" {
					t.Errorf("%+v", refusal)
				}
				if name == "slow hops" && (refusal.Hop != 3 || refusal.At != "http://slow.test/again") {
					t.Errorf("%+v", refusal)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.serve("/", slow(time.Hour, text("x")))
		c := w.client(Options{AllowPrivateHosts: true})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, refusal := c.Get(ctx, Request{URL: "http://10.0.0.1/"})
		if refusal == nil || refusal.Code != Cancelled || !errors.Is(refusal, context.Canceled) {
			t.Errorf("cancelled: %+v", refusal)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, refusal = c.Get(ctx, Request{URL: "http://10.0.0.1/"})
		if refusal == nil || refusal.Code != Timeout || !errors.Is(refusal, context.DeadlineExceeded) {
			t.Errorf("the caller's deadline: %+v", refusal)
		}
	})
}

func TestRedirects(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a.test", "b.test", "login.test"} {
		w.name(name, "8.8.8.8")
	}
	for _, kind := range []int{301, 302, 303, 307, 308} {
		w.serve(fmt.Sprintf("a.test/%d", kind), redirect(kind, "https://b.test/k.yaml"))
	}
	w.serve("b.test/k.yaml", text("a: b"))
	w.serve("a.test/relative/x", redirect(302, "../dir/./k.yaml?q#frag"))
	w.serve("a.test/dir/k.yaml", text("c: d"))
	w.serve("a.test/login", redirect(301, "https://login.test/?back=a"))
	w.serve("login.test/", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<!doctype html><title>Log in</title>")
	})
	for i := range 7 {
		w.serve(fmt.Sprintf("a.test/hop%d", i), redirect(302, fmt.Sprintf("/hop%d", i-1)))
	}
	w.serve("a.test/hop-1", text("arrived"))
	c := w.client(Options{})
	for _, kind := range []int{301, 302, 303, 307, 308} {
		response, _ := get(t, c, Request{URL: fmt.Sprintf("https://a.test/%d", kind)}, "")
		if response.URL != "https://b.test/k.yaml" || len(response.Hops) != 2 {
			t.Errorf("%d: %+v", kind, response)
		}
	}
	if r, _ := get(t, c, Request{URL: "https://a.test/relative/x"}, ""); r.URL != "https://a.test/dir/k.yaml?q" {
		t.Errorf("%+v", r)
	}
	if r, _ := get(t, c, Request{URL: "https://a.test/hop4"}, ""); string(r.Bytes) != "arrived" || len(r.Hops) != 6 {
		t.Errorf("five redirects: %+v", r)
	}
	if _, r := get(t, c, Request{URL: "https://a.test/hop5"}, TooManyRedirects); r.Hop != 5 {
		t.Errorf("six redirects: %+v", r)
	}
	_, r := get(t, c, Request{URL: "https://a.test/login", Text: true}, HTML)
	const want = "https://a.test/login: after 1 redirect, at https://login.test/?back=a: an HTML page, not YAML or plain text; " +
		"the redirect may lead to a login page; name the raw file"
	if r.Error() != want {
		t.Errorf("%s", r)
	}
	get(t, c, Request{URL: "https://a.test/login"}, "")
}

// TestDowngrade does not follow a redirect to cleartext, not even to a private
// host when those are open.
func TestDowngrade(t *testing.T) {
	w := newWorld(t)
	w.name("in.test", "10.0.0.1")
	w.serve("/down", redirect(302, "http://in.test/x"))
	w.serve("/up", redirect(302, "https://in.test/x"))
	w.serve("/x", text("x"))
	c := w.client(Options{AllowPrivateHosts: true})
	get(t, c, Request{URL: "https://in.test/down"}, Cleartext)
	get(t, c, Request{URL: "http://in.test/up"}, "")
	get(t, c, Request{URL: "http://in.test/x"}, "")
}

func TestWithin(t *testing.T) {
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	w.name("b.test", "8.8.4.4")
	w.serve("a.test/docs/ok", text("x"))
	w.serve("a.test/docs/sub/ok", text("x"))
	w.serve("a.test/docs/inside", redirect(302, "sub/ok"))
	for i, location := range []string{"/other", "../other", "//b.test/docs/ok", "https://a.test:8443/docs/ok", "/docs/%2e%2e/other", "/docs/..%2fother",
		"/docs/%252e%252e/x", "/docs/..%5cother", "/docsother"} {
		w.serve(fmt.Sprintf("a.test/docs/out%d", i), redirect(302, location))
	}
	c := w.client(Options{})
	const folder = "https://a.test/docs/knowledge.yaml"
	for url, code := range map[string]Code{
		"https://a.test/docs/ok": "", "https://a.test/docs/sub/ok": "", "https://a.test/docs/inside": "", "https://a.test/docs/../docs/ok": "",
		"https://a.test/other": Outside, "https://a.test/docs/../other": Outside, "https://a.test/docs/%2e%2e/other": Outside, "https://a.test/docs/..%2f": Outside,
		"https://a.test/docs/%252e%252e%252fx": Outside, "https://a.test/docs/..%5cx": Outside, "https://a.test/Docs/ok": Outside, "https://a.test/docsx": Outside,
		"https://b.test/docs/ok": Outside, "https://a.test:444/docs/ok": Outside, "https://a.test/%64ocs/ok": Outside,
		"https://a.test/docs/%25252525252525252e": Outside,
	} {
		get(t, c, Request{URL: url, Within: folder}, code)
	}
	w.record()
	for i := range 9 {
		_, r := get(t, c, Request{URL: fmt.Sprintf("https://a.test/docs/out%d", i), Within: folder}, Outside)
		if r.Hop != 1 {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// TestTraceStaysHome sends the trace to the first origin only.
func TestTraceStaysHome(t *testing.T) {
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	w.name("b.test", "8.8.4.4")
	var seen []string
	note := func(next http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Host+" "+r.Header.Get("Traceparent"))
			next(rw, r)
		}
	}
	w.serve("a.test/1", note(redirect(302, "/2")))
	w.serve("a.test/2", note(redirect(302, "https://b.test/3")))
	w.serve("b.test/3", note(redirect(302, "https://a.test/4")))
	w.serve("a.test/4", note(text("x")))
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parsed, err := ParseTraceParent(trace)
	if err != nil || parsed.String() != trace {
		t.Fatal(parsed, err)
	}
	c := w.client(Options{})
	get(t, c, Request{URL: "https://a.test/1", Trace: parsed}, "")
	if want := []string{"a.test " + trace, "a.test " + trace, "b.test ", "a.test " + trace}; !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
	seen = nil
	get(t, c, Request{URL: "https://a.test/4"}, "")
	if !slices.Equal(seen, []string{"a.test "}) {
		t.Errorf("%q", seen)
	}
}

func TestTraceParent(t *testing.T) {
	a, b := NewTraceParent(), NewTraceParent()
	if a == b || a.IsZero() || len(a.String()) != 55 {
		t.Errorf("%s and %s", a, b)
	}
	for _, text := range []string{
		"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01", "00-\r\n",
	} {
		if p, err := ParseTraceParent(text); err == nil || !p.IsZero() || p.String() != "" {
			t.Errorf("%q is read as %q", text, p)
		}
	}
}

// TestEnvironment ignores the proxies that the environment names.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	w.serve("/", text("x"))
	get(t, w.client(Options{}), Request{URL: "https://a.test/"}, "")
	sameDialled(t, w, "https://a.test/", "8.8.8.8:443")
}

// TestConnectionsAreUsedAgain dials once for many requests.
func TestConnectionsAreUsedAgain(t *testing.T) {
	w := newWorld(t)
	w.name("a.test", "8.8.8.8")
	w.serve("/", text("x"))
	c := w.client(Options{})
	for range 20 {
		get(t, c, Request{URL: "https://a.test/"}, "")
	}
	sameDialled(t, w, "all", "8.8.8.8:443")
}
