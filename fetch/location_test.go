package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-dev/writ/guard"
)

// FuzzLocation reads any text as a location, and as a redirect. What is let
// through has one spelling, and its host is no address that may not be dialled.
func FuzzLocation(f *testing.F) {
	for _, h := range hostileTable() {
		f.Add(h.url)
	}
	f.Add("https://good.test/a/../b?c#d")
	f.Add("//good.test/x")
	c := New(Options{})
	base, refusal := c.parseTarget("https://good.test/dir/x")
	if refusal != nil {
		f.Fatal(refusal)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (target, *Refusal){
			c.parseTarget, func(s string) (target, *Refusal) { return c.resolve(base, s) },
		} {
			got, refusal := parse(text)
			if refusal != nil {
				if strings.TrimSpace(refusal.Problem) == "" || refusal.Code == "" {
					t.Errorf("%q: %+v", text, refusal)
				}
				continue
			}
			checkTarget(t, c, text, got)
		}
		if shown := withoutCredentials(text); strings.HasPrefix(text, "https://") {
			if u, err := url.Parse(shown); err == nil && u.User != nil && u.User.String() != "%2A%2A%2A" && u.User.String() != "***" {
				t.Errorf("%q is shown as %q", text, shown)
			}
		}
	})
}

func checkTarget(t *testing.T, c *Client, text string, got target) {
	t.Helper()
	if got.url.Scheme != "https" || got.url.User != nil || got.url.Fragment != "" || !strings.HasPrefix(got.url.EscapedPath(), "/") {
		t.Errorf("%q: let through as %s", text, got.url)
	}
	again, refusal := c.parseTarget(got.url.String())
	if refusal != nil || again.url.String() != got.url.String() {
		t.Errorf("%q: %s, and again %v, %v", text, got.url, again.url, refusal)
	}
	if addr, err := netip.ParseAddr(got.url.Hostname()); err == nil && guard.Public.Check("", addr) != nil {
		t.Errorf("%q: let through to %s", text, addr)
	}
	if leaves(got.url, "https://good.test/dir/x") {
		return
	}
	path, err := url.PathUnescape(got.url.EscapedPath())
	if err != nil || !strings.HasPrefix(path, "/dir/") || strings.Contains(path+"/", "/../") {
		t.Errorf("%q: %s counts as inside", text, got.url)
	}
}

func TestWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"https://u:p@h/x@y": "https://***@h/x@y", "https://a@b@h": "https://***@h", "https://h/x@y": "https://h/x@y", "//u@h": "//***@h",
		"https://h?u@x": "https://h?u@x", "x": "x", "": "", `https://u@h\@x`: `https://***@h\@x`, "https://u@h#@": "https://***@h#@",
	} {
		if got := withoutCredentials(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// BenchmarkOverhead compares a whole exchange, connection included, with the
// same exchange through a bare transport under the same deadline. "parse" is what the client does before
// it asks.
func BenchmarkOverhead(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a: b\n")) }))
	defer server.Close()
	for _, reuse := range []bool{true, false} {
		suffix := map[bool]string{true: "reused", false: "dialled"}[reuse]
		bare := &http.Transport{DisableCompression: true, DisableKeepAlives: !reuse}
		b.Run("bare/"+suffix, func(b *testing.B) {
			for b.Loop() {
				ctx, cancel := context.WithTimeout(context.Background(), DefaultTimeout)
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
				if err != nil {
					b.Fatal(err)
				}
				response, err := bare.RoundTrip(request)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadAll(response.Body); err != nil {
					b.Fatal(err)
				}
				cancel()
				_ = response.Body.Close()
			}
		})
		bare.CloseIdleConnections()
		c := New(Options{AllowPrivateHosts: true})
		c.http.DisableKeepAlives = !reuse
		b.Run("guarded/"+suffix, func(b *testing.B) {
			for b.Loop() {
				if _, refusal := c.Get(context.Background(), Request{URL: server.URL, Text: true}); refusal != nil {
					b.Fatal(refusal)
				}
			}
		})
		c.Close()
	}
	c := New(Options{})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, refusal := c.parseTarget("https://example.com/docs/knowledge.yaml"); refusal != nil {
				b.Fatal(refusal)
			}
		}
	})
	dialer := guard.Dialer{Connect: func(context.Context, string, netip.AddrPort) (net.Conn, error) { return nil, nil }}
	b.Run("judge", func(b *testing.B) {
		for b.Loop() {
			_, _ = dialer.DialContext(context.Background(), "tcp", "8.8.8.8:443")
		}
	})
}
