package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-dev/writ/guard"
)

// world is an Internet in memory. A name has the addresses that the test gives
// it, in turn, and every connection that is let through leads to one server.
// Nothing leaves the process, and what was dialled is on record.
type world struct {
	mux    *http.ServeMux // patterns begin with a host
	roots  *x509.CertPool
	secure pipes // port 443 and the like
	plain  pipes // port 80
	broken func(addr netip.AddrPort) error
	stop   []func()

	mu      sync.Mutex
	leaf    func(name string) *tls.Certificate
	names   map[string][][]string
	dialled []string
	asked   []string
}

// newWorld starts the servers. In a synctest bubble it belongs to the bubble.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{mux: http.NewServeMux(), names: map[string][][]string{}, secure: newPipes(), plain: newPipes(), roots: x509.NewCertPool()}
	ca := newAuthority(t)
	w.roots.AddCert(ca.cert)
	w.present(func(name string) *tls.Certificate { return ca.leaf(t, name, time.Hour) })
	servers := []*http.Server{{Handler: w.mux, ErrorLog: quiet}, {Handler: w.mux, ErrorLog: quiet, TLSConfig: &tls.Config{
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return w.certificate(hello.ServerName), nil
		},
	}}}
	var running sync.WaitGroup
	running.Go(func() { _ = servers[0].Serve(w.plain) })
	running.Go(func() { _ = servers[1].ServeTLS(w.secure, "", "") })
	t.Cleanup(func() { w.close(servers, &running) })
	return w
}

func (w *world) close(servers []*http.Server, running *sync.WaitGroup) {
	for _, stop := range w.stop {
		stop()
	}
	for _, s := range servers {
		_ = s.Close()
	}
	running.Wait()
}

// present sets which certificate the server shows for a name.
func (w *world) present(leaf func(name string) *tls.Certificate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaf = leaf
}

func (w *world) certificate(name string) *tls.Certificate {
	w.mu.Lock()
	leaf := w.leaf
	w.mu.Unlock()
	return leaf(name)
}

// client makes a client that lives in this world.
func (w *world) client(o Options) *Client {
	o.RootCAs = w.roots
	o.Dialer = &guard.Dialer{Resolver: w, Connect: w.connect}
	c := New(o)
	w.stop = append(w.stop, c.Close)
	return c
}

// name gives a name its addresses; each answer is one turn, the last one stays.
func (w *world) name(host string, answers ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[host] = nil
	for _, a := range answers {
		w.names[host] = append(w.names[host], strings.Fields(a))
	}
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, host)
	turns, known := w.names[host]
	if !known {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(turns) > 1 {
		w.names[host] = turns[1:]
	}
	var addrs []netip.Addr
	for _, text := range turns[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (w *world) connect(_ context.Context, _ string, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, addr.String())
	broken := w.broken
	w.mu.Unlock()
	if broken != nil {
		if err := broken(addr); err != nil {
			return nil, err
		}
	}
	if addr.Port() == 80 {
		return w.plain.dial()
	}
	return w.secure.dial()
}

// record gives what was dialled since the last call.
func (w *world) record() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	dialled := w.dialled
	w.dialled, w.asked = nil, nil
	return dialled
}

// serve answers at a host and path.
func (w *world) serve(pattern string, handler http.HandlerFunc) { w.mux.HandleFunc(pattern, handler) }

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func redirect(status int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = []string{location}
		w.WriteHeader(status)
	}
}

// pipes is a listener for connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   *sync.Once
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{}), new(sync.Once)} }

func (p pipes) dial() (net.Conn, error) {
	a, b := net.Pipe()
	ours, theirs := newQueued(a), newQueued(b)
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// queued is a connection that writes without waiting for its reader, as a socket
// does.
type queued struct {
	net.Conn
	queue chan []byte
	end   chan struct{}
	once  sync.Once
}

func newQueued(conn net.Conn) *queued {
	q := &queued{Conn: conn, queue: make(chan []byte, 1<<12), end: make(chan struct{})}
	go func() {
		defer conn.Close()
		for {
			select {
			case data := <-q.queue:
				if _, err := conn.Write(data); err != nil {
					return
				}
			case <-q.end:
				if len(q.queue) == 0 {
					return
				}
			}
		}
	}()
	return q
}

func (q *queued) Write(p []byte) (int, error) {
	select {
	case <-q.end:
		return 0, net.ErrClosed
	case q.queue <- slices.Clone(p):
		return len(p), nil
	}
}

func (q *queued) Close() error { q.once.Do(func() { close(q.end) }); return nil }

func (p pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key}
}

// leaf signs a certificate for a name or address that holds for some time from
// now; a negative one has expired.
func (a authority) leaf(t *testing.T, name string, valid time.Duration) *tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(valid),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else if name != "" {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Error(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

// get reads a URL, and checks the code; an empty one means that it is read.
func get(t *testing.T, c *Client, r Request, code Code) (*Response, *Refusal) {
	t.Helper()
	response, refusal := c.Get(t.Context(), r)
	switch {
	case (response == nil) == (refusal == nil):
		t.Fatalf("%s: response %v and refusal %v", r.URL, response, refusal)
	case refusal == nil && code != "":
		t.Errorf("%s: read %q, want %s", r.URL, response.Bytes, code)
	case refusal != nil && refusal.Code != code:
		t.Errorf("%s: %s %q, want %q", r.URL, refusal.Code, refusal, code)
	}
	return response, refusal
}

func sameDialled(t *testing.T, w *world, url string, want ...string) {
	t.Helper()
	if got := w.record(); !slices.Equal(got, want) {
		t.Errorf("%s: dialled %q, want %q", url, got, want)
	}
}
