package guard

import (
	"net/netip"
	"slices"
	"testing"

	"code.dny.dev/ssrf"
)

// The classes of the address table in one text each.
var reachable = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
	"128.0.0.0", "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255",
	"172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0",
	"198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255", "::ffff:8.8.8.8",
	"2001:200::1", "2001:4860:4860::8888", "2606:4700::1111", "2620:4f:7fff::1", "2a00:1450::1", "2003::1",
	"2000::", "3ffd::1", "2620:4f:8001::", "2001:db7:ffff::1", "2001:db9::",
}

var operators = []string{
	"10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.199", "100.127.255.255", "127.0.0.1", "127.0.0.0",
	"127.255.255.255", "127.1.2.3", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
	"::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3", "::ffff:c0a8:1", "fc00::", "fd00::1", "fd12:3456:789a::1",
	"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::c0a8:101",
}

var forbidden = []string{
	"0.0.0.0", "0.0.0.1", "0.255.255.255", "100.100.100.200", "168.63.129.16", "169.254.0.0", "169.254.169.254",
	"169.254.170.2", "169.254.170.23", "169.254.42.42", "169.254.0.23", "169.254.255.255", "192.0.0.0",
	"192.0.0.170", "192.0.0.192", "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.31.196.1", "192.52.193.1",
	"192.88.99.1", "192.88.99.2", "192.175.48.6", "198.18.0.0", "198.19.255.255", "198.51.100.0",
	"198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.0", "224.0.0.1", "233.252.0.1", "239.255.255.255",
	"240.0.0.0", "255.255.255.254", "255.255.255.255",
	"::", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8", "::2", "::ffff:0.0.0.0", "::ffff:169.254.169.254",
	"::ffff:a83f:8110", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "64:ff9b::169.254.169.254", "64:ff9b::0.0.0.0",
	"64:ff9b::a83f:8110", "64:ff9b::255.255.255.255", "64:ff9b:1::1", "64:ff9b:1:ffff::10.0.0.1",
	"64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "64:ff9b:2::1", "100::", "100::1", "100:0:0:1::1", "100:0:0:2::",
	"1000::1", "1fff:ffff::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:1::1", "2001:2::1",
	"2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:1ff:ffff::1", "2001:db8::",
	"2001:db8:ffff::1", "2002::", "2002:7f00:1::", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:808:808::1",
	"2620:4f:8000::1", "3ffe::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "8000::1", "a000::1", "c000::1",
	"e000::1", "f000::1", "fe00::1", "fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::23", "fd20:ce::254",
	"fd00:c1::a9fe:a9fe", "fd00:42::42", "fe80::", "fe80::1", "fe80::1%eth0", "fe90::1", "febf::1", "::1%lo",
	"2606:4700::1111%eth0", "fec0::1", "feff::1", "ff00::", "ff02::1", "ff05::1:3", "ffff::",
	"2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:8.8.8.8",
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		addrs                        []string
		public, both, private, mixed bool
	}{
		{reachable, true, true, false, false},
		{operators, false, true, true, false},
		{forbidden, false, false, false, false},
		{[]string{"64:ff9b::8.8.8.8", "64:ff9b::1.1.1.1"}, false, true, false, false},
	} {
		for _, text := range c.addrs {
			addr := netip.MustParseAddr(text)
			for scope, want := range map[Scope]bool{Public: c.public, PublicAndPrivate: c.both, PrivateOnly: c.private} {
				if got := scope.Check("h", addr) == nil; got != want {
					row, _ := Lookup(addr)
					t.Errorf("%s in scope %d: allowed %t, want %t (row %q)", text, scope, got, want, row.Name)
				}
			}
		}
	}
	if Public.Check("h", netip.Addr{}) == nil {
		t.Error("the zero address is allowed")
	}
	t.Logf("%d addresses", len(reachable)+len(operators)+len(forbidden)+2)
}

// TestPrefixBounds looks at both ends of every row and at the addresses beside
// them, which another row may hold, but never this one.
func TestPrefixBounds(t *testing.T) {
	for _, table := range [][]Row{table4, table6} {
		for i, r := range table {
			first, last := r.Prefix.Masked().Addr(), lastOf(r.Prefix)
			if first != r.Prefix.Addr() {
				t.Errorf("%s has bits below its mask", r.Prefix)
			}
			if r.Name == "" || r.Source == "" {
				t.Errorf("%s: no name or source", r.Prefix)
			}
			for _, inside := range []netip.Addr{first, last} {
				if got, found := Lookup(inside); !found || got.Prefix.Bits() < r.Prefix.Bits() {
					t.Errorf("%s: found %t in %s, want %s or narrower", inside, found, got.Prefix, r.Prefix)
				}
			}
			for _, outside := range []netip.Addr{first.Prev(), last.Next()} {
				if got, _ := Lookup(outside); outside.IsValid() && got.Prefix == r.Prefix {
					t.Errorf("%s lies outside %s", outside, r.Prefix)
				}
			}
			for _, later := range table[i+1:] {
				if r.Prefix.Bits() <= later.Prefix.Bits() && r.Prefix.Overlaps(later.Prefix) {
					t.Errorf("%s hides %s below it", r.Prefix, later.Prefix)
				}
			}
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// TestRowsByName pins what an operator reads.
func TestRowsByName(t *testing.T) {
	for text, name := range map[string]string{
		"127.0.0.1": "loopback", "10.1.1.1": "private", "169.254.169.254": "cloud metadata", "169.254.1.1": "link-local",
		"64:ff9b::1": "NAT64", "2002::": "6to4", "2001::1": "Teredo", "::7f00:1": "IPv4-compatible", "fe80::1%en0": "link-local",
		"224.0.0.1": "multicast", "255.255.255.255": "broadcast", "fec0::1": "site-local", "4000::": "unassigned",
		"2606::5efe:7f00:1": "ISATAP", "::ffff:10.0.0.1": "private", "2001:2::": "benchmarking",
	} {
		if row, found := Lookup(netip.MustParseAddr(text)); !found || row.Name != name {
			t.Errorf("%s: %q, want %q", text, row.Name, name)
		}
	}
}

func TestEmbedded(t *testing.T) {
	for text, want := range map[string]string{
		"::ffff:10.0.0.1": "10.0.0.1", "::10.0.0.1": "10.0.0.1", "64:ff9b::10.0.0.1": "10.0.0.1",
		"2002:a00:1::": "10.0.0.1", "::ffff:0:10.0.0.1": "10.0.0.1", "2606:4700::5efe:10.0.0.1": "10.0.0.1",
		"2001:0:4136:e378:8000:63bf:3fff:fdd2": "192.0.2.45", // the example of RFC 4380
		"8.8.8.8":                              "", "2606:4700::1": "", "::1": "", "fd00::a00:1": "",
	} {
		got, found := Embedded(netip.MustParseAddr(text))
		if found != (want != "") || found && got.String() != want {
			t.Errorf("%s: %s %t, want %q", text, got, found, want)
		}
	}
}

func TestPorts(t *testing.T) {
	if !slices.IsSorted(blockedPorts) {
		t.Fatal("blockedPorts is not sorted")
	}
	for _, port := range blockedPorts {
		if CheckPort("h", port) == nil {
			t.Errorf("port %d is allowed", port)
		}
	}
	for _, port := range []uint16{80, 443, 8080, 8443, 3000, 5000, 65535} {
		if err := CheckPort("h", port); err != nil {
			t.Error(err)
		}
	}
}

// agrees compares with an independent reading of the registries.
func agrees(t *testing.T, addr netip.Addr) {
	t.Helper()
	other := ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))
	theirs := other.SafeAddr(addr.Unmap().WithZone("")) == nil
	ours := Public.Check("h", addr) == nil
	if ours && !theirs {
		t.Errorf("%s is allowed, and another reading of the registries refuses it", addr)
	}
	if row, _ := Lookup(addr); !ours && theirs && row.Name != "ISATAP" && row.Name != "6bone" && addr.Zone() == "" {
		t.Errorf("%s is refused as %s, and another reading of the registries allows it", addr, row.Name)
	}
}

func TestAgreesWithAnotherTable(t *testing.T) {
	for _, text := range slices.Concat(reachable, operators, forbidden) {
		agrees(t, netip.MustParseAddr(text))
	}
	for _, prefixes := range [][]netip.Prefix{ssrf.IPv4DeniedPrefixes, ssrf.IPv6DeniedPrefixes} {
		for _, p := range prefixes {
			for _, addr := range []netip.Addr{p.Addr(), p.Addr().Prev(), lastOf(p), lastOf(p).Next()} {
				if addr.IsValid() {
					agrees(t, addr)
				}
			}
		}
	}
}

// FuzzCheck judges any 16 bytes, and the IPv4 address of the last four in every
// form that carries one.
func FuzzCheck(f *testing.F) {
	for _, text := range slices.Concat(reachable, operators, forbidden) {
		b := netip.MustParseAddr(text).As16()
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) != 16 {
			return
		}
		addr := netip.AddrFrom16([16]byte(data))
		agrees(t, addr)
		agrees(t, addr.Unmap())
		if allowed := Public.Check("h", addr) == nil; allowed {
			plain := addr.Unmap()
			if plain.IsPrivate() || plain.IsLoopback() || plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified() || !plain.IsGlobalUnicast() {
				t.Errorf("%s is allowed, and net/netip says it is not global", addr)
			}
			if PublicAndPrivate.Check("h", addr) != nil || PrivateOnly.Check("h", addr) == nil {
				t.Errorf("%s: the scopes contradict each other", addr)
			}
		}
		v4 := netip.AddrFrom4([4]byte(data[12:]))
		for _, form := range carriers(v4) {
			if form.IsLoopback() || form.IsUnspecified() {
				continue // carries nothing
			}
			if Public.Check("h", form) == nil {
				t.Errorf("%s carries %s and is allowed", form, v4)
			}
			if PublicAndPrivate.Check("h", v4) != nil && PublicAndPrivate.Check("h", form) == nil {
				t.Errorf("%s carries the forbidden %s and is allowed", form, v4)
			}
			if inner, ok := Embedded(form); !ok || inner != v4 {
				t.Errorf("%s carries %s, not %s", form, v4, inner)
			}
		}
		if mapped := netip.AddrFrom16(v4.As16()); (Public.Check("h", mapped) == nil) != (Public.Check("h", v4) == nil) {
			t.Errorf("%s and %s differ", mapped, v4)
		}
	})
}

// carriers gives the transition forms of an IPv4 address that are never public.
func carriers(v4 netip.Addr) []netip.Addr {
	b := v4.As4()
	at := func(prefix string, i int, invert byte) netip.Addr {
		a := netip.MustParseAddr(prefix).As16()
		for k := range b {
			a[i+k] = b[k] ^ invert
		}
		return netip.AddrFrom16(a)
	}
	return []netip.Addr{
		at("::", 12, 0), at("::ffff:0:0:0", 12, 0), at("64:ff9b::", 12, 0), at("2001::", 12, 0xff), at("2002::", 2, 0),
		at("2606:4700::5efe:0:0", 12, 0),
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, text := range []string{"8.8.8.8", "2606:4700::1111", "127.0.0.1", "64:ff9b::1"} {
		addr := netip.MustParseAddr(text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Public.Check("h", addr)
			}
		})
	}
}
