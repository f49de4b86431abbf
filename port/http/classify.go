package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/guard"
)

// classify gives the class of an error of the client, and a text that is fit for a
// record: without the address, which the record of the arguments has.
func classify(ctx context.Context, err error) (class, text string) {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var refused *guard.Error
	var lookup *net.DNSError
	switch {
	case errors.As(err, &refused):
		return ClassRefused, refused.Error()
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return graph.ClassTimeout, "no answer before the deadline"
	case ctx.Err() != nil:
		return graph.ClassCancelled, "the request was ended with the run"
	}
	if problem := tlsProblem(err); problem != "" {
		return ClassTLS, problem
	}
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return graph.ClassUnavailable, "there is no host of this name"
	case errors.As(err, &lookup):
		return graph.ClassUnavailable, "the host's name cannot be looked up"
	}
	return graph.ClassUnavailable, "the connection failed: " + err.Error()
}

// tlsProblem says why the other side could not prove who it is, or gives "".
func tlsProblem(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		alert     *net.OpError
		record    tls.RecordHeaderError
		system    x509.SystemRootsError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is not signed by a known authority"
	case errors.As(err, &name):
		return "its certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate is not valid at this time"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "its certificate is not valid"
	case errors.As(err, &system):
		return "the system has no certificates of authorities"
	case errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"): // alerts of package tls
		return "the handshake ended with the alert " + alert.Err.Error()
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS"
	}
	return ""
}
