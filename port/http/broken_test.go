package http

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
)

// TestBrokenConnection tells what cannot have happened from what may have.
func TestBrokenConnection(t *testing.T) {
	var requests atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	defer srv.Close()
	p := port(t, Endpoint{}, local)
	for _, path := range []string{"/none", "/half"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
			if path == "/half" && method == "HEAD" {
				continue // has no body that could break
			}
			before := requests.Load()
			e := effect(t, method, srv.URL+path, `"body":"x"`)
			if isSafe(method) {
				e = effect(t, method, srv.URL+path)
			}
			o, err := p.Do(t.Context(), e)
			if isSafe(method) {
				if err != nil || !o.Failed || o.Class != "unavailable" {
					t.Errorf("%s %s: %+v, %v", method, path, o, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), "the request was sent, and there is no whole answer") {
				t.Errorf("%s %s: %+v, %v", method, path, o, err)
			}
			if n := requests.Load() - before; n != 1 {
				t.Errorf("%s %s: %d requests", method, path, n)
			}
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	expectFailure(t, do(t, p, effect(t, "POST", gone.URL)), "unavailable", "the connection failed")
}

func TestIdempotent(t *testing.T) {
	p := port(t, Endpoint{}, local)
	keyed := port(t, Endpoint{Idempotent: true}, local)
	for method, want := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "PUT": true, "DELETE": true, "POST": false, "PATCH": false} {
		e := effect(t, method, "https://example.com")
		if p.Idempotent(e) != want || !keyed.Idempotent(e) {
			t.Errorf("%s: %v, %v", method, p.Idempotent(e), keyed.Idempotent(e))
		}
	}
	if p.Idempotent(engine.Effect{Name: "api"}) {
		t.Error("an effect without arguments is idempotent")
	}
}

// TestContextEnds stops requests whose answer does not come.
func TestContextEnds(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case arrived <- struct{}{}:
		case <-release:
		}
		<-release
	}))
	defer srv.Close()
	defer close(release)
	p := port(t, Endpoint{}, local)
	type end struct {
		o   engine.Outcome
		err error
	}
	run := func(method string, cause error) end {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan end, 1)
		go func() {
			o, err := p.Do(ctx, effect(t, method, srv.URL))
			done <- end{o, err}
		}()
		<-arrived
		cancel(cause)
		return <-done
	}
	expectFailure(t, run("GET", context.DeadlineExceeded).o, "timeout", "no answer before the deadline")
	expectFailure(t, run("GET", nil).o, graph.ClassCancelled, "the request was ended with the run")
	for _, cause := range []error{context.DeadlineExceeded, nil} {
		if got := run("POST", cause); got.err == nil || got.o.Failed {
			t.Errorf("POST: %+v, %v", got.o, got.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := p.Do(ctx, effect(t, "POST", srv.URL)) // never sent
	if err != nil {
		t.Fatal(err)
	}
	expectFailure(t, o, graph.ClassCancelled, "")
	e := effect(t, "GET", srv.URL)
	e.Permit.TimeoutMS = 1
	done := make(chan engine.Outcome, 1)
	go func() {
		o, _ := p.Do(t.Context(), e)
		done <- o
	}()
	for {
		select {
		case <-arrived: // it may be in time or not
		case o := <-done:
			expectFailure(t, o, "timeout", "no answer before the deadline")
			return
		}
	}
}

func TestTLS(t *testing.T) {
	quiet := func(srv *httptest.Server) *httptest.Server {
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		return srv
	}
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request got through") })
	srv := quiet(httptest.NewUnstartedServer(hello))
	srv.StartTLS()
	defer srv.Close()
	known := local
	known.RootCAs = x509.NewCertPool()
	known.RootCAs.AddCert(srv.Certificate())
	_, portNumber, _ := net.SplitHostPort(srv.Listener.Addr().String())

	expired, root := expiredCertificate(t)
	old := quiet(httptest.NewUnstartedServer(hello))
	old.TLS = &tls.Config{Certificates: []tls.Certificate{expired}}
	old.StartTLS()
	defer old.Close()
	trusting := local
	trusting.RootCAs = x509.NewCertPool()
	trusting.RootCAs.AddCert(root)

	ancient := quiet(httptest.NewUnstartedServer(hello))
	ancient.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	ancient.StartTLS()
	defer ancient.Close()
	known.RootCAs.AddCert(ancient.Certificate())

	plain := quiet(httptest.NewUnstartedServer(hello))
	plain.Start()
	defer plain.Close()

	for _, c := range []struct {
		options Options
		url     string
		text    string
	}{
		{local, srv.URL, "its certificate is not signed by a known authority"},
		{known, "https://localhost:" + portNumber, "its certificate is for another host"},
		{trusting, old.URL, "its certificate is not valid at this time"},
		{known, ancient.URL, "the handshake ended with the alert tls: "},
		{known, "https://" + plain.Listener.Addr().String(), "it does not speak TLS"},
	} {
		expectFailure(t, do(t, port(t, Endpoint{}, c.options), effect(t, "POST", c.url)), ClassTLS, c.text)
	}
}

// expiredCertificate gives a certificate of the loopback address that was valid
// long ago.
func expiredCertificate(t *testing.T) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1000, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, parsed
}

func TestTLSProblem(t *testing.T) {
	for want, err := range map[string]error{
		"":                             errors.New("other"),
		"its certificate is not valid": x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign},
		"it does not speak TLS":        tls.RecordHeaderError{},
		"the system has no certificates of authorities": x509.SystemRootsError{},
	} {
		if got := tlsProblem(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
