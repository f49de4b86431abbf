package guard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Resolver looks up the addresses of a host; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to hosts in its scope over TCP. The zero value connects to
// public addresses. It may be used by several goroutines.
type Dialer struct {
	Scope    Scope
	Resolver Resolver // nil stands for the system's
	// Connect opens a connection to an address that was judged. Nil stands for
	// TCP with Scope.Control. Whatever else is set here must judge what it dials.
	Connect func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
}

const (
	// attemptDelay is how long the next address waits for the one before it
	// (RFC 8305 section 5, "Connection Attempt Delay").
	attemptDelay = 250 * time.Millisecond
	// maxAttempts is how many addresses of one host are tried.
	maxAttempts = 16
)

// DialContext connects to a host and port, for [net/http.Transport.DialContext].
// It fails with an [*Error] when any address of the host is out of scope: a host
// that mixes public and private addresses is a trick. It resolves once, and the
// addresses that were judged are those that are dialled. A host that cannot be
// resolved gives a [*net.DNSError].
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, fmt.Errorf("refused network %s for '%s'", network, address)
	}
	text, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("refused port '%s' of '%s': not a number from 1 to 65535", portText, text)
	}
	host, err := ParseHost(text)
	if err != nil {
		return nil, fmt.Errorf("refused host '%s': %w", text, err)
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	targets, err := d.judge(host.Name, addrs, uint16(port))
	if err != nil {
		return nil, err
	}
	return d.race(ctx, targets)
}

func (d *Dialer) resolve(ctx context.Context, host Host) ([]netip.Addr, error) {
	if host.Addr.IsValid() {
		return []netip.Addr{host.Addr}, nil
	}
	resolver := d.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host.Name)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "resolved to no addresses", Name: host.Name, IsNotFound: true}
	}
	return addrs, err
}

// judge checks all addresses before the first one is dialled.
func (d *Dialer) judge(host string, addrs []netip.Addr, port uint16) ([]netip.AddrPort, error) {
	targets := make([]netip.AddrPort, len(addrs))
	for i, addr := range addrs {
		addr = addr.Unmap()
		if err := d.Scope.Check(host, addr); err != nil {
			return nil, err
		}
		targets[i] = netip.AddrPortFrom(addr, port)
	}
	return targets[:min(len(targets), maxAttempts)], CheckPort(host, port)
}

// race tries the addresses in order, the next one when the last has failed or
// takes long, and keeps the first connection.
func (d *Dialer) race(ctx context.Context, targets []netip.AddrPort) (net.Conn, error) {
	if len(targets) == 1 {
		return d.connect(ctx, targets[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan attempt, len(targets))
	timer := time.NewTimer(0)
	defer timer.Stop()
	var first error
	for next, pending := 0, 0; next < len(targets) || pending > 0; {
		select {
		case <-timer.C:
			if next < len(targets) {
				go func(target netip.AddrPort) {
					conn, err := d.connect(ctx, target)
					results <- attempt{conn, err}
				}(targets[next])
				next, pending = next+1, pending+1
				timer.Reset(attemptDelay)
			}
		case r := <-results:
			pending--
			if r.err == nil {
				go closeLate(results, pending)
				return r.conn, nil
			}
			if first == nil {
				first = r.err
			}
			timer.Reset(0)
		}
	}
	return nil, first
}

type attempt struct {
	conn net.Conn
	err  error
}

// closeLate closes the connections that came after the first.
func closeLate(results <-chan attempt, pending int) {
	for range pending {
		if r := <-results; r.err == nil {
			_ = r.conn.Close() // never used
		}
	}
}

func (d *Dialer) connect(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
	network := "tcp4"
	if target.Addr().Is6() {
		network = "tcp6"
	}
	if d.Connect != nil {
		return d.Connect(ctx, network, target)
	}
	dialer := net.Dialer{Control: d.Scope.Control}
	return dialer.DialContext(ctx, network, target.String())
}
