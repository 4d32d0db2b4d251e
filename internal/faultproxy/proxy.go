// Package faultproxy is a TCP proxy on loopback that breaks connections on purpose, for tests of what clients do then.
// Bytes pass through as they are, so TLS does too: a client that dials the proxy's address verifies the server's own
// certificate.
//
//	proxy, err := faultproxy.Listen("127.0.0.1:6443")
//	if err != nil {
//		return err
//	}
//	defer proxy.Close()
//	config.Host = "https://" + proxy.Addr() // and TLSClientConfig.ServerName, if the certificate doesn't name loopback
//	…
//	proxy.BlackHole() // the client hears nothing more, and doesn't know
//	proxy.Resume()    // what it dials from now on works,
//	proxy.Cut()       // and it has to
package faultproxy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxConnections bounds the goroutines: two for each connection. Those over it are cut at once.
	maxConnections = 256

	// The proxy's port is none of those that the kernel gives to whoever asks for any: else another program could get it
	// while the proxy refuses connections, or a client that dials it could be connected to itself.
	firstPort, lastPort = 20000, 29999
	listenAttempts      = 100
)

// Proxy forwards connections to one target until it is told otherwise. Its methods are safe for concurrent use.
type Proxy struct {
	target string
	addr   string
	done   chan struct{} // closed by Close
	delay  atomic.Int64  // nanoseconds
	wg     sync.WaitGroup

	mu        sync.Mutex
	listener  net.Listener // nil while connections are refused
	blackHole bool
	closed    bool
	accepted  int
	links     map[*link]struct{}
}

// Listen returns a proxy that forwards to target (host:port) from a port of its own on 127.0.0.1. Close it.
func Listen(target string) (*Proxy, error) {
	p := &Proxy{target: target, done: make(chan struct{}), links: map[*link]struct{}{}}
	var err error
	for range listenAttempts {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		p.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if p.listener, err = net.Listen("tcp", p.addr); err == nil {
			p.acceptFrom(p.listener)
			return p, nil
		}
	}
	return nil, fmt.Errorf("listening for a proxy to %s: no free port found between %d and %d: %w", target, firstPort, lastPort, err)
}

// Addr is the host:port that clients dial. It never changes.
func (p *Proxy) Addr() string { return p.addr }

// Connections returns how many connections are open, and how many were accepted so far.
func (p *Proxy) Connections() (open, accepted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links), p.accepted
}

// Cut resets every open connection at both ends. New ones are treated as before.
func (p *Proxy) Cut() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.end(reset)
	}
}

// CutEvery cuts once per interval until stop is called or the proxy is closed. When stop has returned there is no cut
// on its way.
func (p *Proxy) CutEvery(interval time.Duration) (stop func()) {
	stopped, ended := make(chan struct{}), make(chan struct{})
	p.wg.Go(func() {
		defer close(ended)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.Cut()
			case <-stopped:
				return
			case <-p.done:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stopped)
		<-ended
	})
}

// Delay has whatever is read from now on, in either direction, wait that long before it is passed on. What arrives
// meanwhile waits behind it, so a byte is late by once to twice the delay. 0 ends it.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// BlackHole has everything vanish that is read from now on, on open connections too, and accepts new ones without
// dialing the target. No end learns of it: even if the target goes away, the client's connection stays open. A
// connection that was in the black hole never gets out: Cut ends it.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blackHole = true
	for l := range p.links {
		l.lost.Store(true)
	}
}

// Refuse has new connections refused by the kernel, as where no server listens. Open ones go on: Cut ends them.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
}

// Resume has new connections forwarded without a delay, whatever was asked for before. Those that are in the black hole
// stay there. It fails if the proxy is closed, or was refusing and doesn't get its port back.
func (p *Proxy) Resume() error {
	p.Delay(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("resuming the proxy to %s: %w", p.target, net.ErrClosed)
	}
	p.blackHole = false
	if p.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		return fmt.Errorf("resuming the proxy to %s: taking its port again: %w", p.target, err)
	}
	p.listener = listener
	p.acceptFrom(listener)
	return nil
}

// Close cuts every connection, stops listening, and returns when nothing of the proxy runs. It may be called again.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
	p.mu.Unlock()
	p.Refuse()
	p.Cut()
	p.wg.Wait()
	return nil
}

// acceptFrom accepts connections in a goroutine until the listener is closed.
func (p *Proxy) acceptFrom(listener net.Listener) {
	p.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			switch {
			case err == nil:
				p.admit(listener, conn.(*net.TCPConn))
			case errors.Is(err, net.ErrClosed):
				return
			default:
				// The connection was gone before it was accepted, or there are too many open files, which passes.
			}
		}
	})
}

// admit starts a link for an accepted connection, unless there are too many or they are refused by now.
func (p *Proxy) admit(listener net.Listener, conn *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.listener != listener || len(p.links) >= maxConnections {
		closeConn(conn, reset)
		return
	}
	l := newLink(p, conn)
	l.lost.Store(p.blackHole)
	p.accepted++
	p.links[l] = struct{}{}
	p.wg.Go(l.run)
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
