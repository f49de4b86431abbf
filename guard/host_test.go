package guard

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// spellings of one address, as browsers and resolvers read them.
var loopbackSpellings = []string{
	"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F000001", "017700000001", "0x7f.1",
	"0x7f.0.0.1", "0177.0.0.1", "0177.0x0.0.1", "127.0.0.0x1", "127.0x1", "127.0.00000000000000000001", "0x7f.0x0.0x0.0x1",
	"00000177.0.0.1", "127.0.0.01", "127.000.000.001", "0x7F.0.0.1", "0x000000000000000007f000001", "127.0.0.0x01.",
	"１２７.０.０.１", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "①②⑦.0.0.1", "１２７。1", "127.0.0.\u00ad1", "𝟙𝟚𝟟.0.0.1", "127.0.0.₁",
	"localhost", "LOCALHOST", "LocalHost.", "a.localhost", "a.b.LOCALHOST", "ｌｏｃａｌｈｏｓｔ", "loc\u00adalhost", "ⓛocalhost",
}

func TestLoopbackSpellings(t *testing.T) {
	for _, text := range loopbackSpellings {
		host, err := ParseHost(text)
		if err != nil || host.Addr != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%q: %+v, %v", text, host, err)
		}
	}
	t.Logf("%d spellings", len(loopbackSpellings))
}

func TestParseHost(t *testing.T) {
	for text, want := range map[string]struct {
		name, addr string
		respelt    bool
	}{
		"example.com":         {"example.com", "", false},
		"EXAMPLE.com":         {"example.com", "", false},
		"bücher.example":      {"xn--bcher-kva.example", "", false},
		"xn--bcher-kva.test":  {"xn--bcher-kva.test", "", false},
		"a_b.example":         {"a_b.example", "", false},
		"1.2.3.4.nip.io":      {"1.2.3.4.nip.io", "", false},
		"0x7f.example":        {"0x7f.example", "", false},
		"8.8.8.8":             {"8.8.8.8", "8.8.8.8", false},
		"134744072":           {"8.8.8.8", "8.8.8.8", true},
		"8.8.2056":            {"8.8.8.8", "8.8.8.8", true},
		"010.8.8.8":           {"8.8.8.8", "8.8.8.8", true},
		"0":                   {"0.0.0.0", "0.0.0.0", true},
		"0x":                  {"0.0.0.0", "0.0.0.0", true},
		"0xa9fea9fe":          {"169.254.169.254", "169.254.169.254", true},
		"4294967295":          {"255.255.255.255", "255.255.255.255", true},
		"::1":                 {"::1", "::1", false},
		"0:0:0:0:0:0:0:1":     {"::1", "::1", false},
		"::ffff:127.0.0.1":    {"::ffff:127.0.0.1", "::ffff:127.0.0.1", false},
		"2606:4700:0::1111":   {"2606:4700::1111", "2606:4700::1111", false},
		"fe80::1%eth0":        {"fe80::1%eth0", "fe80::1%eth0", false},
		"::FFFF:7F00:1":       {"::ffff:127.0.0.1", "::ffff:127.0.0.1", false},
		"foo.localhost.":      {"foo.localhost", "127.0.0.1", false},
		"localhost.localhost": {"localhost.localhost", "127.0.0.1", false},
	} {
		host, err := ParseHost(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var addr string
		if host.Addr.IsValid() {
			addr = host.Addr.String()
		}
		if host.Name != want.name || addr != want.addr || host.Respelt != want.respelt {
			t.Errorf("%q: %+v, want %+v", text, host, want)
		}
	}
}

func TestNoHost(t *testing.T) {
	long := "a234567890123456789012345678901234567890123456789012345678901234"
	for _, text := range []string{
		"", ".", "..", "a..b", ".a", "1.2.3.4.5", "256.0.0.1", "1.2.3.256", "1.2.65536", "4294967296", "0x100000000",
		"09.0.0.1", "08", "1..2", "+1.0.0.1", "-1", "a-.example", "-a.example", "127.0.0.1..", "a b", "a\tb", "a\x00b", "a/b", "a@b",
		"a#b", "a?b", `a\b`, "a[b", "a|b", "a^b", "a<b", "a`b", "a{b", "*.example", "a,b", "a;b", "a'b", "a!b", "a$b", "a&b", "~", "a=b",
		long + ".example", "xn--", "xn--a", "xn--\u00fc", "\u2028", "\u202eexample", "a\u200db.example", "例\u0000", "%31", "[::1]", "::g", "1:2:3",
		"::ffff:1.2.3.256", "v1.a:b", "1.2.3.4:80", ":", "١٢٧.0.0.1",
	} {
		if host, err := ParseHost(text); err == nil {
			t.Errorf("%q is a host: %+v", text, host)
		}
	}
	if host, err := ParseHost(strings.Repeat("ü", maxHostText)); err == nil {
		t.Errorf("a very long name is a host: %.20q", host.Name)
	}
	if _, err := ParseHost("example.com."); !errors.Is(err, ErrEndsInDot) {
		t.Errorf("final dot: %v", err)
	}
}

// FuzzParseHost checks that a host has one spelling that stands for itself.
func FuzzParseHost(f *testing.F) {
	for _, text := range loopbackSpellings {
		f.Add(text)
	}
	for _, text := range []string{"example.com", "bücher.example", "::1", "fe80::1%a", "1.2.3", "xn--bcher-kva.test"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, err := ParseHost(text)
		if err != nil {
			return
		}
		again, err := ParseHost(host.Name)
		if err != nil || again.Name != host.Name || again.Addr != host.Addr || again.Respelt {
			t.Errorf("%q: %+v, and again %+v, %v", text, host, again, err)
		}
		if addr, err := netip.ParseAddr(host.Name); err == nil && addr != host.Addr {
			t.Errorf("%q: the name %q is an address, %s is not", text, host.Name, host.Addr)
		}
	})
}
