// Package guard says who may be dialled, and dials nobody else.
//
// Open this package at [Dialer]: it resolves a host once, judges every address
// that the host has, and connects to the judged addresses only. A last look at
// the moment of connecting ([Scope.Control]) judges what is really dialled, so
// neither a resolver that changes its answer nor a redirect gets around it.
//
// [Lookup] gives the row of the address table that an address falls into, and
// [ParseHost] reads the host of a URL in every spelling that some resolver or
// browser takes for an address.
//
// Every way out of writ that somebody else's text can steer goes through here.
package guard

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// Scope says which addresses may be dialled.
type Scope uint8

// The scopes. The zero value is the safe one. No scope contains the addresses of
// rows with Never: cloud metadata, link-local, multicast, reserved.
const (
	Public           Scope = iota // what the whole Internet can reach
	PublicAndPrivate              // also loopback and private networks
	PrivateOnly                   // loopback and private networks
)

// Error is an address or a port that may not be dialled.
type Error struct {
	Host string     // as it was asked for: a name or the address itself
	Addr netip.Addr // what it leads to; zero when the port is refused
	Row  Row        // of the table; zero for a public address in PrivateOnly
	Port uint16     // when the port is refused, see OfPort
}

// OfPort reports whether the port is refused, not the address.
func (e *Error) OfPort() bool { return !e.Addr.IsValid() && e.Row.Name == "" }

func (e *Error) Error() string {
	switch {
	case e.OfPort():
		return fmt.Sprintf("refused port %d of '%s': it belongs to another protocol", e.Port, e.Host)
	case e.Row.Name == "":
		return fmt.Sprintf("refused public address %s for '%s'", e.Addr, e.Host)
	}
	return fmt.Sprintf("refused %s address %s for '%s'", e.Row.Name, e.Addr, e.Host)
}

// Check judges one address of a host. The error is an [*Error].
func (s Scope) Check(host string, addr netip.Addr) error {
	row, special := Lookup(addr)
	allowed := false
	switch {
	case !special:
		allowed = s != PrivateOnly
	case row.Reach == Private:
		allowed = s != Public
	case row.Reach == Translated && s != Public:
		inner, _ := row.embedded(addr)
		return s.recheck(host, addr, inner)
	}
	if allowed {
		return nil
	}
	return &Error{Host: host, Addr: addr, Row: row}
}

// recheck judges an address by the IPv4 address that a translator will dial.
func (s Scope) recheck(host string, addr, inner netip.Addr) error {
	if err := s.Check(host, inner); err != nil {
		refused := *err.(*Error)
		refused.Addr = addr
		return &refused
	}
	return nil
}

// CheckPort refuses the ports that the Fetch standard blocks: they belong to
// protocols, such as mail, that can mistake a request for one of their own.
// The error is an [*Error].
func CheckPort(host string, port uint16) error {
	if _, found := slices.BinarySearch(blockedPorts, port); found {
		return &Error{Host: host, Port: port}
	}
	return nil
}

// blockedPorts is sorted (https://fetch.spec.whatwg.org/#port-blocking).
var blockedPorts = []uint16{
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79,
	87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137,
	139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540,
	548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
	3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
	6697, 10080,
}

// Control is for [net.Dialer.Control]: it judges the address of a socket that is
// about to connect. Only TCP passes.
func (s Scope) Control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("refused network %s for '%s'", network, address)
	}
	dialled, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("refused address '%s': %w", address, err)
	}
	host := dialled.Addr().String()
	if err := s.Check(host, dialled.Addr()); err != nil {
		return err
	}
	return CheckPort(host, dialled.Port())
}
