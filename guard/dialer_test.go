package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// answers is a resolver that gives its answers in turn; the last one stays.
type answers struct {
	mu    sync.Mutex
	turns [][]string
	asked []string
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, host)
	if len(a.turns) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var addrs []netip.Addr
	for _, text := range a.turns[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	if len(a.turns) > 1 {
		a.turns = a.turns[1:]
	}
	return addrs, nil
}

// recorder notes what would be dialled.
type recorder struct {
	mu      sync.Mutex
	dialled []string
}

func (r *recorder) connect(_ context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dialled = append(r.dialled, network+" "+addr.String())
	conn, other := net.Pipe()
	_ = other.Close()
	return conn, nil
}

func TestDialerJudgesEveryAddress(t *testing.T) {
	for name, c := range map[string]struct {
		scope   Scope
		address string
		answer  []string
		dialled string // empty: refused
	}{
		"public":                  {Public, "h.test:443", []string{"8.8.8.8"}, "tcp4 8.8.8.8:443"},
		"public, mapped answer":   {Public, "h.test:443", []string{"::ffff:8.8.8.8"}, "tcp4 8.8.8.8:443"},
		"public 6":                {Public, "h.test:8443", []string{"2606:4700::1"}, "tcp6 [2606:4700::1]:8443"},
		"literal":                 {Public, "8.8.8.8:443", nil, "tcp4 8.8.8.8:443"},
		"literal 6":               {Public, "[2606:4700::1]:443", nil, "tcp6 [2606:4700::1]:443"},
		"mixed, private last":     {Public, "h.test:443", []string{"8.8.8.8", "10.0.0.1"}, ""},
		"mixed, private first":    {Public, "h.test:443", []string{"::1", "8.8.8.8"}, ""},
		"mixed, metadata":         {PublicAndPrivate, "h.test:443", []string{"8.8.8.8", "169.254.169.254"}, ""},
		"mixed, opened":           {PublicAndPrivate, "h.test:443", []string{"10.0.0.1", "8.8.8.8"}, "tcp4 10.0.0.1:443"},
		"public, private only":    {PrivateOnly, "h.test:80", []string{"8.8.8.8"}, ""},
		"private, private only":   {PrivateOnly, "h.test:80", []string{"10.0.0.1"}, "tcp4 10.0.0.1:80"},
		"localhost":               {Public, "localhost:443", nil, ""},
		"below localhost, opened": {PublicAndPrivate, "x.localhost:443", nil, "tcp4 127.0.0.1:443"},
		"mail port":               {Public, "h.test:25", []string{"8.8.8.8"}, ""},
		"redis in hex":            {Public, "0x7f000001:6379", nil, ""},
		"mapped literal":          {Public, "[::ffff:127.0.0.1]:443", nil, ""},
		"zone":                    {PublicAndPrivate, "[fe80::1%eth0]:443", nil, ""},
		"bad host":                {Public, "a b:443", nil, ""},
		"no port":                 {Public, "h.test", nil, ""},
		"port 0":                  {Public, "h.test:0", []string{"8.8.8.8"}, ""},
		"port too large":          {Public, "h.test:65536", []string{"8.8.8.8"}, ""},
		"port by name":            {Public, "h.test:https", []string{"8.8.8.8"}, ""},
		"no answer":               {Public, "h.test:443", nil, ""},
		"empty answer":            {Public, "h.test:443", []string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			resolver := &answers{}
			if c.answer != nil {
				resolver.turns = [][]string{c.answer}
			}
			d := Dialer{Scope: c.scope, Resolver: resolver, Connect: r.connect}
			conn, err := d.DialContext(t.Context(), "tcp", c.address)
			if got := strings.Join(r.dialled, ","); got != c.dialled || (err == nil) != (c.dialled != "") {
				t.Errorf("dialled %q, error %v, want %q", got, err, c.dialled)
			}
			if err == nil {
				_ = conn.Close()
			}
		})
	}
	d := Dialer{}
	for _, network := range []string{"udp", "unix", "ip", "tcp4"} {
		if _, err := d.DialContext(t.Context(), network, "127.0.0.1:1"); err == nil {
			t.Errorf("network %s is dialled", network)
		}
	}
}

// TestResolverFlips resolves to a public address first and to a private one
// later. Each dial asks once and connects to what it judged.
func TestResolverFlips(t *testing.T) {
	var r recorder
	resolver := &answers{turns: [][]string{{"8.8.8.8"}, {"127.0.0.1"}}}
	d := Dialer{Resolver: resolver, Connect: r.connect}
	conn, err := d.DialContext(t.Context(), "tcp", "flip.test:443")
	if err != nil || len(resolver.asked) != 1 || !slices.Equal(r.dialled, []string{"tcp4 8.8.8.8:443"}) {
		t.Fatalf("asked %q, dialled %q, %v", resolver.asked, r.dialled, err)
	}
	_ = conn.Close()
	_, err = d.DialContext(t.Context(), "tcp", "flip.test:443")
	var refused *Error
	if !errors.As(err, &refused) || refused.Row.Name != "loopback" || refused.Host != "flip.test" || len(r.dialled) != 1 {
		t.Errorf("dialled %q, %v", r.dialled, err)
	}
}

// TestControl lets the system's dialer resolve, and looks at the moment of
// connecting: a listener on the loopback address hears nothing.
func TestControl(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	heard := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				close(heard)
				return
			}
			heard <- struct{}{}
			_ = conn.Close()
		}
	}()
	dialer := net.Dialer{Control: Public.Control}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.53"} {
		conn, err := dialer.DialContext(t.Context(), "tcp", fmt.Sprintf("%s:%d", host, port))
		var refused *Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, %v", host, conn, err)
		}
	}
	guarded := Dialer{}
	for _, host := range loopbackSpellings {
		_, err := guarded.DialContext(t.Context(), "tcp", fmt.Sprintf("%s:%d", host, port))
		var refused *Error
		if !errors.As(err, &refused) || refused.Row.Name != "loopback" {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := Public.Control("udp4", "8.8.8.8:53", nil); err == nil {
		t.Error("UDP passes")
	}
	if err := Public.Control("tcp4", "h.test:443", nil); err == nil {
		t.Error("a name passes")
	}
	if err := Public.Control("tcp4", "8.8.8.8:25", nil); err == nil {
		t.Error("a mail port passes")
	}
	open := Dialer{Scope: PublicAndPrivate}
	conn, err := open.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("opened: %v", err)
	}
	_ = conn.Close()
	<-heard
	_ = listener.Close()
	if _, more := <-heard; more {
		t.Error("the listener heard a refused connection")
	}
}

// TestRace tries the next address when the first one hangs or fails.
func TestRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var tried []string
		var mu sync.Mutex
		connect := func(ctx context.Context, _ string, addr netip.AddrPort) (net.Conn, error) {
			mu.Lock()
			tried = append(tried, fmt.Sprintf("%s at %s", addr.Addr(), time.Since(begin)))
			mu.Unlock()
			switch addr.Addr().String() {
			case "8.8.8.1": // answers late, and must be closed then
				time.Sleep(time.Second)
			case "8.8.8.2":
				return nil, errors.New("refused by the host")
			case "8.8.8.4":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			conn, _ := net.Pipe()
			return conn, nil
		}
		d := Dialer{Connect: connect, Resolver: &answers{turns: [][]string{{"8.8.8.4", "8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.5"}}}}
		conn, err := d.DialContext(t.Context(), "tcp", "h.test:443")
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		want := []string{"8.8.8.4 at 0s", "8.8.8.1 at 250ms", "8.8.8.2 at 500ms", "8.8.8.3 at 500ms"}
		if !slices.Equal(tried, want) {
			t.Errorf("tried %q, want %q", tried, want)
		}
		d.Resolver = &answers{turns: [][]string{{"8.8.8.2", "8.8.8.2"}}}
		if _, err := d.DialContext(t.Context(), "tcp", "h.test:443"); err == nil || err.Error() != "refused by the host" {
			t.Errorf("all fail: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d.Resolver = &answers{turns: [][]string{{"8.8.8.4", "8.8.8.4"}}}
		if _, err := d.DialContext(ctx, "tcp", "h.test:443"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("deadline: %v", err)
		}
		many := make([]string, 100)
		for i := range many {
			many[i] = "8.8.8.2"
		}
		tried = nil
		d.Resolver = &answers{turns: [][]string{many}}
		if _, err := d.DialContext(t.Context(), "tcp", "h.test:443"); err == nil || len(tried) != maxAttempts {
			t.Errorf("%d attempts, %v", len(tried), err)
		}
	})
}

// TestErrorText pins the sentences.
func TestErrorText(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.1:443":          "refused private address 10.0.0.1 for '10.0.0.1'",
		"[64:ff9b::a9fe:1]:443": "refused NAT64 address 64:ff9b::a9fe:1 for '64:ff9b::a9fe:1'",
		"8.8.8.8:0":             "refused port 0 of '8.8.8.8': it belongs to another protocol",
		"8.8.8.8:25":            "refused port 25 of '8.8.8.8': it belongs to another protocol",
		"example.com.:443":      "refused host 'example.com.': the host name ends in a dot",
		"h.test:1e9":            "refused port '1e9' of 'h.test': not a number from 1 to 65535",
	} {
		if _, err := (&Dialer{}).DialContext(t.Context(), "tcp", address); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	if err := PrivateOnly.Check("h", netip.MustParseAddr("8.8.8.8")); err == nil || err.Error() != "refused public address 8.8.8.8 for 'h'" {
		t.Error(err)
	}
}

// BenchmarkDial gives what the guard adds to a dial: reading the host, judging
// its addresses, and the hand-over.
func BenchmarkDial(b *testing.B) {
	conn, _ := net.Pipe()
	d := Dialer{
		Resolver: &answers{turns: [][]string{{"8.8.8.8", "2606:4700::1111"}}},
		Connect:  func(context.Context, string, netip.AddrPort) (net.Conn, error) { return conn, nil },
	}
	for name, address := range map[string]string{"address": "8.8.8.8:443", "name": "example.com:443", "unicode": "bücher.example:443"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.DialContext(b.Context(), "tcp", address); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("control", func(b *testing.B) {
		for b.Loop() {
			_ = Public.Control("tcp6", "[2606:4700::1111]:443", nil)
		}
	})
}
