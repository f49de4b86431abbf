package planner

import (
	"net/url"
	"strings"

	"golang.org/x/net/idna"

	"github.com/writ-dev/writ/kcp"
)

// CheckServing compares where a manifest came from with where its publisher
// says it is served (specification 3.12 and 16.5 C22). It gives nil when the
// manifest makes no statement.
func CheckServing(s *kcp.Serving, source string) *ServingCheck {
	if s == nil {
		return nil
	}
	declared := s.Manifest.Items
	if len(declared) == 0 {
		return &ServingCheck{Status: "no-binding",
			Detail: "serving block declares no manifest URLs — retrieval binding not in effect"}
	}
	if !isRemote(source) {
		return &ServingCheck{Status: "local", Declared: declared,
			Detail: "loaded from a local path — retrieval binding applies to HTTP(S) retrieval only"}
	}
	from, ok := normaliseURL(source)
	for _, entry := range declared {
		if to, valid := normaliseURL(entry); ok && valid && from == to {
			return &ServingCheck{Status: "bound", RetrievalURL: source, Declared: declared,
				Detail: "retrieval URL is in the declared serving.manifest list"}
		}
	}
	return &ServingCheck{Status: "unbound", RetrievalURL: source, Declared: declared,
		Detail: "retrieved from " + source + ", which is not in the declared serving.manifest list [" +
			strings.Join(declared, ", ") + "] — trust capped at 'known' (KCP §16.5 C22)"}
}

func isRemote(source string) bool {
	scheme, _, found := strings.Cut(source, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// normaliseURL keeps what identifies a served document: scheme, host and path
// without dot segments. User information, query, fragment and a default port
// are dropped; percent-encoding is untouched.
func normaliseURL(raw string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" {
		return "", false
	}
	scheme := strings.ToLower(u.Scheme)
	defaultPort, known := map[string]string{"http": "80", "https": "443"}[scheme]
	if !known {
		return "", false
	}
	host, err := idna.Lookup.ToASCII(strings.ToLower(u.Hostname()))
	if err != nil {
		host = strings.ToLower(u.Hostname())
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != defaultPort {
		host += ":" + port
	}
	return scheme + "://" + host + cleanURLPath(u.EscapedPath()), true
}

// cleanURLPath resolves dot segments as RFC 3986 section 5.2.4 does.
func cleanURLPath(path string) string {
	var out []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
}
