package guard

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Host is the host of a URL: a name, or an address.
type Host struct {
	Name string     // in ASCII and lower case; an address in its one canonical spelling
	Addr netip.Addr // zero for a name that must be resolved
	// Respelt says that the text named an IPv4 address in another than the usual
	// spelling, which readers of URLs do not agree on.
	Respelt bool
}

// maxHostText is in bytes. A name has 253 in ASCII and may be longer before it
// is mapped; mapping takes time that grows with the square of the length.
const maxHostText = 1024

// The reasons why text is not a host.
var (
	ErrHost      = errors.New("not a host name or an IP address")
	ErrEndsInDot = errors.New("the host name ends in a dot")
)

// ParseHost reads the host of a URL, without brackets, as browsers do
// (https://url.spec.whatwg.org/#host-parsing): what ends in a number is an IPv4
// address in decimal, octal or hexadecimal with one to four parts. Names outside
// ASCII are mapped first, so that full-width digits are digits. The name
// localhost and all below it stand for the loopback address (RFC 6761
// section 6.3) and are never looked up.
func ParseHost(text string) (Host, error) {
	if len(text) > maxHostText {
		return Host{}, ErrHost
	}
	if strings.ContainsAny(text, ":%") {
		return parseIPv6(text)
	}
	name, err := toASCII(text)
	if err != nil {
		return Host{}, err
	}
	trimmed := strings.TrimSuffix(name, ".")
	if endsInNumber(trimmed) {
		addr, err := parseIPv4(trimmed)
		if err != nil {
			return Host{}, err
		}
		canonical := addr.String()
		return Host{Name: canonical, Addr: addr, Respelt: canonical != text}, nil
	}
	if isLocalhost(trimmed) {
		return Host{Name: trimmed, Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
	}
	if trimmed != name {
		return Host{}, ErrEndsInDot
	}
	return Host{Name: name}, checkName(name)
}

// URLHost gives the host as it is written in a URL.
func (h Host) URLHost() string {
	if strings.Contains(h.Name, ":") {
		return "[" + h.Name + "]"
	}
	return h.Name
}

func parseIPv6(text string) (Host, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() {
		return Host{}, ErrHost
	}
	return Host{Name: addr.String(), Addr: addr}, nil
}

func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// toASCII gives a name in lower case, mapped as browsers map it.
func toASCII(text string) (string, error) {
	if isASCII(text) {
		return strings.ToLower(text), nil
	}
	name, err := idna.Lookup.ToASCII(text)
	if err != nil {
		return "", ErrHost
	}
	return name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// checkName checks labels and lengths (RFC 1035 section 2.3.4). An underscore is
// no part of host names, but servers have it.
func checkName(name string) error {
	if name == "" || len(name) > 253 {
		return ErrHost
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return ErrHost
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return ErrHost
			}
		}
	}
	if strings.HasPrefix(name, "xn--") || strings.Contains(name, ".xn--") {
		if _, err := idna.Lookup.ToUnicode(name); err != nil {
			return ErrHost
		}
	}
	return nil
}

// endsInNumber reports whether the last label is a number, which makes the
// whole an IPv4 address or nothing.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	digits, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(digits, "0123456789abcdef") == ""
}

// parseIPv4 reads one to four numbers; the last one fills the bytes that are
// left.
func parseIPv4(name string) (netip.Addr, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, ErrHost
	}
	var value uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		limit := uint64(1) << 8
		if i == len(parts)-1 {
			limit = 1 << (8 * (5 - len(parts)))
		}
		if !ok || n >= limit {
			return netip.Addr{}, ErrHost
		}
		if i == len(parts)-1 {
			value |= n
		} else {
			value |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), nil
}

// parseNumber reads decimal, octal after 0 and hexadecimal after 0x; 0x alone
// is zero.
func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if strings.Trim(s, "0123456789abcdef") != "" { // ParseUint takes a sign
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
