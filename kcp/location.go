package kcp

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// isHTTP reports whether location is an http or https URL. As in the reference
// agent only the lower-case schemes count, so HTTPS://x is a path.
func isHTTP(location string) bool {
	return strings.HasPrefix(location, "https://") || strings.HasPrefix(location, "http://")
}

// ResolveLocation gives the location that loc names when it stands in the
// manifest at base (planner contract section 2.1). An http(s) URL stands for
// itself. Below an http(s) base loc is a URL reference, else it is joined to the
// folder of base and cleaned; both are written with "/". An empty base leaves
// loc as it is.
//
// The result is a name and no permission: it may lead out of the folder, to
// another host or to another scheme, and whoever reads it must check that. It
// is empty when base is a URL and loc is no URL reference.
func ResolveLocation(base, loc string) string {
	switch {
	case isHTTP(loc), base == "":
		return loc
	case isHTTP(base):
		return resolveURL(base, loc)
	case strings.HasPrefix(loc, "/"):
		return loc
	}
	joined := path.Join(path.Dir(base), loc)
	if strings.HasSuffix(loc, "/") && !strings.HasSuffix(joined, "/") {
		joined += "/"
	}
	return joined
}

// resolveURL resolves as a browser does (WHATWG), within what net/url can
// express: the client that will dial the result reads it with net/url, and must
// see what was meant here.
func resolveURL(base, loc string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ""
	}
	ref, err := url.Parse(tidyReference(loc, b.Scheme))
	if err != nil {
		return ""
	}
	if ref.Scheme == "" && ref.Host == "" && ref.Path == "" && ref.RawQuery == "" {
		b.Fragment, b.RawFragment = ref.Fragment, ref.RawFragment
		return normalURL(b)
	}
	return normalURL(b.ResolveReference(ref))
}

// tidyReference writes a reference the way net/url wants it: no control
// characters, "/" for "\", no "%" that starts no escape, no colon that could
// end a scheme.
func tidyReference(loc, baseScheme string) string {
	loc = strings.TrimFunc(loc, func(r rune) bool { return r <= ' ' })
	loc = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(loc)
	loc = escapeStray(loc)
	scheme, rest, ok := cutScheme(loc)
	switch {
	case ok && scheme == baseScheme && !startsWithSlashes(rest):
		loc = rest // https:x is relative to an https base
	case ok && (scheme == "http" || scheme == "https"):
		loc = scheme + "://" + strings.TrimLeft(rest, `/\`)
	case ok:
		return loc
	}
	end := strings.IndexAny(loc, "?#")
	if end < 0 {
		end = len(loc)
	}
	hierarchy := strings.ReplaceAll(loc[:end], `\`, "/")
	if first, _, _ := strings.Cut(hierarchy, "/"); !ok && strings.Contains(first, ":") {
		hierarchy = "./" + hierarchy
	}
	return hierarchy + loc[end:]
}

func startsWithSlashes(s string) bool {
	return len(s) >= 2 && strings.Trim(s[:2], `/\`) == ""
}

// cutScheme splits a reference that starts with a scheme and a colon; the scheme
// is in lower case.
func cutScheme(loc string) (scheme, rest string, ok bool) {
	name, rest, ok := strings.Cut(loc, ":")
	if !ok || name == "" || !isASCIILetter(name[0]) {
		return "", loc, false
	}
	for i := range len(name) {
		if c := name[i]; !isASCIILetter(c) && (c < '0' || c > '9') && !strings.ContainsRune("+.-", rune(c)) {
			return "", loc, false
		}
	}
	return strings.ToLower(name), rest, true
}

func isASCIILetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// escapeStray turns each "%" that starts no escape into "%25".
func escapeStray(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '%' && (i+2 >= len(s) || !isHexDigit(s[i+1]) || !isHexDigit(s[i+2])) {
			b.WriteString("%25")
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// normalURL writes u with a lower-case host, without the default port and with a
// path. Other schemes stay as they are.
func normalURL(u *url.URL) string {
	if u.Scheme != "http" && u.Scheme != "https" {
		return u.String()
	}
	u.Host = strings.ToLower(u.Host)
	switch port := u.Port(); {
	case port == "443" && u.Scheme == "https", port == "80" && u.Scheme == "http":
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// isHTTPS reports whether s is an absolute https URL with a host.
func isHTTPS(s string) bool {
	if !strings.HasPrefix(s, "https://") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && validHost(u.Hostname()) && validPort(u.Port())
}

// validHost reports whether host can stand in a URL: a name without the
// characters that would end it, or an IP address.
func validHost(host string) bool {
	if strings.Contains(host, ":") {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return host != "" && !strings.ContainsAny(host, " \t\r\n#%/<>?@[\\]^|\x00\x7f")
}

func validPort(port string) bool {
	if port == "" {
		return true
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// The reasons why a unit's path is not used.
const (
	pathEmpty     = "path is empty"
	pathURL       = "path must be relative, not a URL"
	pathAbsolute  = "path must be relative, not absolute"
	pathTraverses = "path must not traverse with '..'"
	pathControl   = "path must not contain control characters"
	pathEscapes   = "path is escaped too often"
)

// SafeUnitPath gives "" when a unit's path stays below its manifest's folder on
// every system, else the reason why it must not be read. It goes further than
// the reference agent: "\" counts as "/", because on some systems it is one,
// percent escapes count as what they stand for, because a server resolves them,
// and control characters are refused.
func SafeUnitPath(unitPath string) (problem string) {
	if plainPath(unitPath) {
		return ""
	}
	for range maxPathEscapes {
		unitPath = strings.ReplaceAll(unitPath, `\`, "/")
		if problem := referencePathProblem(unitPath); problem != "" {
			return problem
		}
		if strings.IndexFunc(unitPath, unicode.IsControl) >= 0 {
			return pathControl
		}
		decoded, err := url.PathUnescape(unitPath)
		if err != nil || decoded == unitPath {
			return ""
		}
		unitPath = decoded
	}
	return pathEscapes
}

// maxPathEscapes is how often a path may be escaped, one time in another.
const maxPathEscapes = 4

// plainPath reports whether a path is made of harmless characters only, with no
// empty segment and none that begins with a dot. Nearly every path is.
func plainPath(s string) bool {
	before := byte('/')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		case (c == '.' || c == '/') && before != '/':
		default:
			return false
		}
		before = c
	}
	return s != ""
}

// referencePathProblem is the reference agent's check (planner contract section
// 15). A drive such as C: counts as the scheme of a URL.
func referencePathProblem(unitPath string) string {
	_, _, hasScheme := cutScheme(unitPath)
	switch {
	case unitPath == "":
		return pathEmpty
	case hasScheme, strings.HasPrefix(unitPath, "//"):
		return pathURL
	case strings.HasPrefix(unitPath, "/"):
		return pathAbsolute
	}
	for segment := range strings.SplitSeq(unitPath, "/") {
		if segment == ".." {
			return pathTraverses
		}
	}
	return ""
}
