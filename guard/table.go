package guard

import (
	"encoding/binary"
	"net/netip"
)

// Reach says who can be reached at the addresses of a row.
type Reach uint8

// The kinds of rows. Addresses in no row are public.
const (
	Never      Reach = iota // nobody that a manifest could live with
	Private                 // this machine or a network of the operator's
	Translated              // an IPv4 address behind a translator (NAT64)
)

// Row is one line of the address table.
type Row struct {
	Prefix netip.Prefix
	Reach  Reach
	Name   string // what the addresses are for, as in "refused <name> address"
	Source string // who says so

	at     uint8 // first byte of the IPv4 address inside; 0 when there is none
	invert bool  // that address is stored with its bits inverted
}

// table4 is the IANA IPv4 Special-Purpose Address Registry, its globally
// reachable infrastructure ranges included, with multicast and with the
// addresses at which clouds give credentials to whoever asks. A row comes before
// the wider ones that contain it.
var table4 = []Row{
	row("100.100.100.200/32", Never, "cloud metadata", "Alibaba Cloud ECS"),
	row("168.63.129.16/32", Never, "cloud metadata", "Azure virtual public IP"),
	row("169.254.169.254/32", Never, "cloud metadata", "AWS, Azure, Google Cloud and others"),
	row("192.0.0.192/32", Never, "cloud metadata", "Oracle Cloud Classic"),
	row("0.0.0.0/8", Never, "this-network", "RFC 791 section 3.2"),
	row("10.0.0.0/8", Private, "private", "RFC 1918"),
	row("100.64.0.0/10", Private, "shared", "RFC 6598"),
	row("127.0.0.0/8", Private, "loopback", "RFC 1122 section 3.2.1.3"),
	// All of it, with any scope: clouds have several services in this range that
	// give out credentials.
	row("169.254.0.0/16", Never, "link-local", "RFC 3927"),
	row("172.16.0.0/12", Private, "private", "RFC 1918"),
	row("192.0.0.0/24", Never, "protocol-assignment", "RFC 6890 section 2.1"),
	row("192.0.2.0/24", Never, "documentation", "RFC 5737"),
	row("192.31.196.0/24", Never, "AS112", "RFC 7535"),
	row("192.52.193.0/24", Never, "AMT relay", "RFC 7450"),
	row("192.88.99.0/24", Never, "6to4 relay", "RFC 7526"),
	row("192.168.0.0/16", Private, "private", "RFC 1918"),
	row("192.175.48.0/24", Never, "AS112", "RFC 7534"),
	row("198.18.0.0/15", Never, "benchmarking", "RFC 2544"),
	row("198.51.100.0/24", Never, "documentation", "RFC 5737"),
	row("203.0.113.0/24", Never, "documentation", "RFC 5737"),
	row("224.0.0.0/4", Never, "multicast", "RFC 5771"),
	row("255.255.255.255/32", Never, "broadcast", "RFC 919"),
	row("240.0.0.0/4", Never, "reserved", "RFC 1112 section 4"),
}

// table6 is the IANA IPv6 Special-Purpose Address Registry with multicast,
// deprecated ranges and metadata addresses. Outside 2000::/3 every address is
// refused, so that a range which is assigned tomorrow is refused today.
var table6 = []Row{
	row("fd00:ec2::/32", Never, "cloud metadata", "AWS link-local services: ::254 metadata, ::23 credentials"),
	row("fd20:ce::254/128", Never, "cloud metadata", "Google Cloud"),
	row("fd00:c1::a9fe:a9fe/128", Never, "cloud metadata", "Oracle Cloud"),
	row("fd00:42::42/128", Never, "cloud metadata", "Scaleway"),
	row("::1/128", Private, "loopback", "RFC 4291 section 2.5.3"),
	row("::/128", Never, "unspecified", "RFC 4291 section 2.5.2"),
	row("::/96", Never, "IPv4-compatible", "RFC 4291 section 2.5.5.1").inside(12),
	row("::ffff:0:0:0/96", Never, "IPv4-translated", "RFC 2765 section 2.1").inside(12),
	row("64:ff9b::/96", Translated, "NAT64", "RFC 6052").inside(12),
	row("64:ff9b:1::/48", Never, "local NAT64", "RFC 8215"),
	row("100::/64", Never, "discard-only", "RFC 6666"),
	row("100:0:0:1::/64", Never, "dummy", "RFC 9780"),
	row("2001::/32", Never, "Teredo", "RFC 4380").inside(12).inverted(),
	row("2001:2::/48", Never, "benchmarking", "RFC 5180"),
	row("2001:10::/28", Never, "ORCHID", "RFC 4843"),
	row("2001:20::/28", Never, "ORCHIDv2", "RFC 7343"),
	row("2001::/23", Never, "protocol-assignment", "RFC 2928"),
	row("2001:db8::/32", Never, "documentation", "RFC 3849"),
	row("2002::/16", Never, "6to4", "RFC 3056").inside(2),
	row("2620:4f:8000::/48", Never, "AS112", "RFC 7534"),
	row("3ffe::/16", Never, "6bone", "RFC 3701"),
	row("3fff::/20", Never, "documentation", "RFC 9637"),
	row("5f00::/16", Never, "segment-routing", "RFC 9602"),
	row("fc00::/7", Private, "unique-local", "RFC 4193"),
	row("fe80::/10", Never, "link-local", "RFC 4291 section 2.5.6"),
	row("fec0::/10", Never, "site-local", "RFC 3879"),
	row("ff00::/8", Never, "multicast", "RFC 4291 section 2.7"),
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	unassigned    = row("::/0", Never, "unassigned", "RFC 4291 section 2.4")
	scoped        = row("fe80::/10", Never, "link-local", "RFC 4007 section 11: an address with a zone")
	isatap        = row("::/0", Never, "ISATAP", "RFC 5214 section 6.1").inside(12)
	invalid       = Row{Name: "invalid", Source: "not an IP address"}
)

func row(prefix string, reach Reach, name, source string) Row {
	return Row{Prefix: netip.MustParsePrefix(prefix), Reach: reach, Name: name, Source: source}
}

func (r Row) inside(at uint8) Row { r.at = at; return r }

func (r Row) inverted() Row { r.invert = true; return r }

// Lookup gives the row that an address falls into, the narrowest one. False
// means that the address is public. An IPv4-mapped address counts as the IPv4
// address, which is what the system dials for it.
func Lookup(addr netip.Addr) (Row, bool) {
	addr = addr.Unmap()
	switch {
	case !addr.IsValid():
		return invalid, true
	case addr.Zone() != "":
		return scoped, true
	case addr.Is4():
		return find(table4, addr)
	}
	if r, found := find(table6, addr); found {
		return r, true
	}
	switch {
	case !globalUnicast.Contains(addr):
		return unassigned, true
	case isISATAP(addr):
		return isatap, true
	}
	return Row{}, false
}

func find(table []Row, addr netip.Addr) (Row, bool) {
	for i := range table {
		if table[i].Prefix.Contains(addr) {
			return table[i], true
		}
	}
	return Row{}, false
}

// isISATAP reports whether the lower half of an address has the form that a
// tunnel of that kind turns into an IPv4 address.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return binary.BigEndian.Uint32(b[8:12])&^0x0200_0000 == 0x0000_5efe
}

// Embedded gives the IPv4 address inside an address that carries one: mapped,
// compatible, NAT64, 6to4, Teredo (the client) and the like.
func Embedded(addr netip.Addr) (netip.Addr, bool) {
	if addr.Is4In6() {
		return addr.Unmap(), true
	}
	r, found := Lookup(addr)
	if !found {
		return netip.Addr{}, false
	}
	return r.embedded(addr)
}

func (r Row) embedded(addr netip.Addr) (netip.Addr, bool) {
	if r.at == 0 || !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	inner := [4]byte(b[r.at : r.at+4])
	if r.invert {
		for i := range inner {
			inner[i] ^= 0xff
		}
	}
	return netip.AddrFrom4(inner), true
}
