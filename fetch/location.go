package fetch

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/writ-dev/writ/guard"
)

const (
	adviceRespell = "write the URL as https://host/path"
	adviceGiven   = "" // the problem itself says what to do
)

// target is a location that may be asked for.
type target struct {
	url  *url.URL
	host guard.Host
	port uint16 // 443 when none is written
}

// parseTarget reads a URL and judges all that can be judged without asking
// anybody.
func (c *Client) parseTarget(raw string) (target, *Refusal) {
	u, refusal := parseURL(raw)
	if refusal != nil {
		return target{}, refusal
	}
	host, refusal := parseHost(u)
	if refusal != nil {
		return target{}, refusal
	}
	port, refusal := parsePort(u)
	if refusal != nil {
		return target{}, refusal
	}
	t := target{url: u, host: host, port: port}
	if refusal := c.judge(t); refusal != nil {
		return target{}, refusal
	}
	t.normalise()
	return t, nil
}

// parseURL takes what every reader reads in the same way: no blanks, no
// backslash before the query, no credentials, an authority after two slashes.
func parseURL(raw string) (*url.URL, *Refusal) {
	shown := withoutCredentials(raw)
	bad := refuse(BadURL, "not a valid URL: "+shown, adviceRespell)
	if len(raw) > maxURLBytes || strings.ContainsFunc(raw, isBlankOrControl) {
		return nil, bad
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, bad
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		if u.Scheme == "" {
			return nil, bad
		}
		return nil, refuse(BadScheme, "refused scheme '"+u.Scheme+":' (only http/https are fetched)", "name an https location")
	}
	hierarchy, _, _ := strings.Cut(raw, "?")
	hierarchy, _, _ = strings.Cut(hierarchy, "#")
	switch {
	case u.User != nil:
		return nil, refuse(Credentials, "Request cannot be constructed from a URL that includes credentials: "+shown,
			"remove what stands before the @")
	case u.Opaque != "" || u.Hostname() == "" || strings.Contains(hierarchy, `\`):
		return nil, bad
	}
	return u, nil
}

func isBlankOrControl(r rune) bool { return r <= ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 }

func parseHost(u *url.URL) (guard.Host, *Refusal) {
	text := u.Hostname()
	host, err := guard.ParseHost(text)
	bracketed := strings.HasPrefix(u.Host, "[")
	switch {
	case errors.Is(err, guard.ErrEndsInDot):
		return host, refuse(BadHost, "host '"+text+"' ends in a dot", "remove the dot")
	case err != nil || bracketed != strings.Contains(text, ":"):
		return host, refuse(BadHost, "'"+text+"' is not a host name or an IP address", "check the spelling of the host")
	}
	return host, nil
}

func parsePort(u *url.URL) (uint16, *Refusal) {
	text := u.Port()
	if text == "" {
		return 443, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, refuse(BadURL, "not a valid URL: "+u.String(), "the port is a number up to 65535")
	}
	return uint16(port), nil
}

// judge looks at an address that stands in the URL itself, and at the scheme.
// The guard judges all addresses again when it dials.
func (c *Client) judge(t target) *Refusal {
	scope := guard.Public
	if c.o.AllowPrivateHosts {
		scope = guard.PublicAndPrivate
	}
	cleartext := t.url.Scheme == "http"
	if t.host.Addr.IsValid() {
		if err := scope.Check(t.host.Name, t.host.Addr); err != nil {
			return c.refuseAddress(err)
		}
		if cleartext && guard.PrivateOnly.Check(t.host.Name, t.host.Addr) != nil {
			return refuseCleartext(t.host.Name)
		}
	}
	switch {
	case cleartext && !c.o.AllowPrivateHosts:
		return refuseCleartext(t.host.Name)
	case t.host.Respelt:
		return refuse(BadHost, "host '"+t.url.Hostname()+"' is an odd spelling of "+t.host.Name, "write "+t.host.Name)
	}
	if err := guard.CheckPort(t.host.Name, t.port); err != nil {
		return c.refuseAddress(err)
	}
	return nil
}

func refuseCleartext(host string) *Refusal {
	return refuse(Cleartext, "refused cleartext http:// for '"+host+"' (use https, or --allow-private-hosts for local)", adviceGiven)
}

// normalise gives the URL its canonical spelling: the host in ASCII and lower
// case, no default port, no fragment, a path without dot segments.
func (t *target) normalise() {
	u := t.url
	port := u.Port()
	u.Host = t.host.URLHost()
	if port != "" && !(port == "443" && u.Scheme == "https") && !(port == "80" && u.Scheme == "http") {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	t.url = new(url.URL).ResolveReference(u)
}

func (t target) origin() string { return t.url.Scheme + "://" + t.url.Host }

// resolve gives the target of a redirect. A server may leave out what it has in
// common with its own URL, and write blanks that mean nothing.
func (c *Client) resolve(from target, location string) (target, *Refusal) {
	ref, err := url.Parse(strings.TrimSpace(location))
	if err != nil || strings.Contains(location, `\`) {
		return target{}, refuse(BadURL, "not a valid URL: "+withoutCredentials(location), "the server's Location header is at fault")
	}
	next := from.url.ResolveReference(ref)
	if from.url.Scheme == "https" && next.Scheme == "http" {
		if t, refusal := c.parseTarget(next.String()); refusal != nil {
			return t, refusal
		}
		return target{}, refuse(Cleartext, "refused redirect from https to cleartext http:// for '"+next.Hostname()+"'",
			"name the http location itself if it is meant")
	}
	return c.parseTarget(next.String())
}

// withoutCredentials replaces a user name and password, for messages.
func withoutCredentials(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return raw
	}
	authority := rest
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		authority = rest[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return scheme + "//***" + rest[i:]
	}
	return raw
}

// maxEscapes is how often a path may be escaped, one time in another.
const maxEscapes = 4

// leaves reports whether u is outside the folder: another origin, another path,
// or a way up that a server might take, however it is escaped.
func leaves(u *url.URL, folder string) bool {
	f, err := url.Parse(folder)
	if err != nil || f.Scheme != u.Scheme || f.Host != u.Host {
		return true
	}
	base := f.EscapedPath()
	base = base[:strings.LastIndexByte(base, '/')+1]
	rest, below := strings.CutPrefix(u.EscapedPath(), base)
	if !below || base == "" {
		return true
	}
	for range maxEscapes {
		for segment := range strings.SplitSeq(strings.ReplaceAll(rest, `\`, "/"), "/") {
			if segment == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(rest)
		if err != nil || decoded == rest {
			return false
		}
		rest = decoded
	}
	return true
}
