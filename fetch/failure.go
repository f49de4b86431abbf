package fetch

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/writ-dev/writ/guard"
)

var errOverLimit = errors.New("more bytes than the ceiling")

// failed turns the error of an exchange into a refusal: what the guard said
// first, then whose time ran out, then what the network and the server did.
func (x *exchange) failed(ctx context.Context, t target, err error) *Refusal {
	r := x.classify(ctx, t, err)
	r.cause = err
	if ended := x.caller.Err(); ended != nil && (r.Code == Cancelled || r.Code == Timeout) {
		r.cause = ended
	}
	return r
}

func (x *exchange) classify(ctx context.Context, t target, err error) *Refusal {
	var refused *guard.Error
	switch {
	case errors.As(err, &refused):
		return x.client.refuseAddress(refused)
	case errors.Is(x.caller.Err(), context.Canceled):
		return refuse(Cancelled, "cancelled", "")
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(Timeout, "The operation was aborted due to timeout", "the whole exchange has "+x.client.o.Timeout.String()+"; try again later")
	}
	if r := classifyName(t, err); r != nil {
		return r
	}
	if r := classifyCertificate(t, err); r != nil {
		return r
	}
	return classifyBytes(err)
}

func classifyName(t target, err error) *Refusal {
	var name *net.DNSError
	if !errors.As(err, &name) {
		return nil
	}
	problem := "cannot resolve host '" + t.host.Name + "': " + name.Err
	if name.Err == "resolved to no addresses" {
		problem = "host '" + t.host.Name + "' resolved to no addresses"
	}
	return refuse(Unresolved, problem, "check the spelling of the host and the network")
}

// classifyCertificate says what is wrong with a certificate. Who answers with a
// wrong one is not the publisher.
func classifyCertificate(t target, err error) *Refusal {
	var (
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		other     *tls.CertificateVerificationError
		alert     tls.AlertError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return refuse(Certificate, "the certificate of '"+t.host.Name+"' has expired or is not yet valid",
			"check this machine's clock, then ask the publisher to renew it")
	case errors.As(err, &name):
		return refuse(Certificate, "the certificate is not for '"+t.host.Name+"'", "check the spelling of the host")
	case errors.As(err, &authority):
		return refuse(Certificate, "the certificate of '"+t.host.Name+"' is signed by an unknown authority",
			"add the authority to this machine's trust store if it is yours")
	case errors.As(err, &invalid), errors.As(err, &other):
		return refuse(Certificate, "the certificate of '"+t.host.Name+"' is not valid", "ask the publisher")
	case errors.As(err, &record):
		return refuse(TLS, "the server does not speak TLS there", "check the port")
	case errors.As(err, &alert):
		return refuse(TLS, "no TLS version or cipher in common with the server", "ask the publisher")
	}
	return nil
}

func classifyBytes(err error) *Refusal {
	var (
		corrupt flate.CorruptInputError
		network *net.OpError
	)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(Incomplete, "the connection ended before the answer did", "try again later")
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return refuse(BadEncoding, "the body is not the gzip that it says it is", "the server is at fault; ask the publisher")
	case errors.Is(err, syscall.ECONNREFUSED):
		return refuse(Unreachable, "fetch failed: connection refused", "check the host and the port")
	case errors.As(err, &network) && network.Op == "dial":
		return refuse(Unreachable, "fetch failed: "+systemText(network), "check the host and the network")
	case errors.Is(err, io.EOF), errors.As(err, &network), errors.Is(err, net.ErrClosed), isStreamError(err):
		return refuse(Incomplete, "the connection ended before the answer did", "try again later")
	}
	// The error quotes the server, whose words are kept out of the message.
	return refuse(Protocol, "fetch failed: the answer is not valid HTTP", "check the port; the server may be at fault")
}

// isStreamError reports whether an HTTP/2 server broke off. net/http exports no
// type for that.
func isStreamError(err error) bool {
	return strings.HasPrefix(err.Error(), "stream error: ") || strings.HasPrefix(err.Error(), "http2: ")
}

// systemText gives what the system says without the addresses around it.
func systemText(err *net.OpError) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Err.Error()
}
