// Package fetch reads knowledge: over the network through the guard, and from
// files below a directory. It is the one way in for the bytes of manifests,
// signatures, keys and units.
//
// Open this package at [Client.Get] for URLs and at [Dir.Read] for files. Both
// give bytes or a [*Refusal]: a code to branch on, the location, the redirect at
// which it happened, what is wrong, and what to do about it.
//
// What a publisher writes decides where to read from, so nothing here trusts it.
// A client dials public hosts over https only, judges every redirect like a new
// location, sends no cookie and no credential, ignores proxies of the
// environment, and gives one exchange one deadline and one ceiling of bytes.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/writ-dev/writ/guard"
)

// The limits of one exchange.
const (
	DefaultMaxBytes = 8 << 20          // of a body, after decompression
	DefaultTimeout  = 15 * time.Second // for all its hops, names and bodies together
	MaxRedirects    = 5

	maxHeaderBytes = 64 << 10
	maxURLBytes    = 8 << 10
)

// Options says what a client may reach. The zero value reaches public hosts
// over https.
type Options struct {
	// AllowPrivateHosts also reaches loopback and private networks, over https or
	// http. It opens neither cleartext to public hosts nor the addresses that are
	// never dialled, such as cloud metadata.
	AllowPrivateHosts bool
	// MaxBytes is the largest body that is read, after decompression. Zero stands
	// for [DefaultMaxBytes].
	MaxBytes int64
	// Timeout is for one whole exchange. Zero stands for [DefaultTimeout].
	Timeout time.Duration
	// RootCAs are the authorities that vouch for servers. Nil stands for the
	// system's.
	RootCAs *x509.CertPool
	// Cache keeps bodies on disk and asks the server whether they still hold.
	// Nil means no cache.
	Cache *Cache
	// UserAgent is sent with each request. Empty stands for "writ".
	UserAgent string
	// Dialer replaces the resolver and the connection of the guard; its Scope is
	// not used. It is there for tests and for tunnels.
	Dialer *guard.Dialer
}

// Client reads over the network. It may be used by several goroutines, and is
// made once for all that one command reads, so that connections are used again.
type Client struct {
	o     Options
	https *http.Transport
	http  *http.Transport // for private hosts; nil unless they are allowed
}

// New makes a client. It touches no network.
func New(o Options) *Client {
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "writ"
	}
	scope := guard.Public
	if o.AllowPrivateHosts {
		scope = guard.PublicAndPrivate
	}
	c := &Client{o: o, https: o.transport(scope)}
	if o.AllowPrivateHosts {
		c.http = o.transport(guard.PrivateOnly)
	}
	return c
}

// Close closes the connections that are kept for the next request.
func (c *Client) Close() {
	c.https.CloseIdleConnections()
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

func (o Options) transport(scope guard.Scope) *http.Transport {
	dialer := guard.Dialer{Scope: scope}
	if o.Dialer != nil {
		dialer.Resolver, dialer.Connect = o.Dialer.Resolver, o.Dialer.Connect
	}
	return &http.Transport{
		Proxy:                  nil, // not that of the environment either
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		DisableCompression:     true, // body.go counts what it decompresses
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// Request is one location to read.
type Request struct {
	URL string
	// MaxBytes is the ceiling for this body; zero stands for that of the client.
	MaxBytes int64
	// Text says that a manifest, a key or other plain text is wanted: a page of
	// HTML or a picture in its place is refused.
	Text bool
	// Within is a URL whose folder neither the location nor a redirect may leave.
	// Empty means no such bound.
	Within string
	// Vouched says that the caller knows the digest of the bytes, so that only the
	// location itself is bound by Within, and redirects lead anywhere.
	Vouched bool
	// Trace is sent as traceparent to the first origin; the zero value is not.
	Trace TraceParent
}

// Response is what was read.
type Response struct {
	Bytes []byte
	URL   string   // that gave the bytes, after redirects, in its canonical spelling
	Hops  []string // the URLs that were asked, the first to the last
	// Cached says that the bytes come from the disk, and the server has said in
	// this exchange that they still hold.
	Cached bool
}

// Get reads a location. The refusal is nil exactly when the response is not.
func (c *Client) Get(ctx context.Context, r Request) (*Response, *Refusal) {
	if r.MaxBytes <= 0 {
		r.MaxBytes = c.o.MaxBytes
	}
	bounded, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	x := exchange{client: c, caller: ctx, request: r}
	response, refusal := x.run(bounded)
	if refusal != nil {
		refusal.Location = withoutCredentials(r.URL)
		return nil, refusal
	}
	return response, nil
}
