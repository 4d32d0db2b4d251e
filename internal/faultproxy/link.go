package faultproxy

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	bufferSize  = 32 << 10
)

// ending says how a connection ends.
type ending bool

const (
	orderly ending = false // what was written before arrives
	reset   ending = true  // both ends see "connection reset by peer"
)

// link is one client's connection and the one to the target that belongs to it. It ends as a whole: there are no
// half-closed connections.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	lost   atomic.Bool // in the black hole, for good
	ctx    context.Context
	cancel context.CancelFunc // ends ctx, which is how the link's end is known

	mu     sync.Mutex
	server *net.TCPConn // nil: not dialed yet, not reached, or not meant to be
	ended  bool
}

func newLink(p *Proxy, client *net.TCPConn) *link {
	l := &link{proxy: p, client: client}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// run forwards until either end closes or the link is cut.
func (l *link) run() {
	defer l.proxy.remove(l)
	var pumps sync.WaitGroup
	defer pumps.Wait()
	if server := l.dial(); server != nil {
		pumps.Go(func() {
			l.pump(l.client, server)
			l.serverEnded()
		})
		l.pump(server, l.client)
	} else {
		l.serverEnded()
		l.pump(nil, l.client)
	}
	l.end(orderly) // the client has closed: nobody is left to hear the rest
}

// dial connects to the target; nil if that fails, or if the link is in the black hole.
func (l *link) dial() *net.TCPConn {
	if l.lost.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", l.proxy.target)
	if err != nil {
		return nil
	}
	server := conn.(*net.TCPConn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		closeConn(server, reset)
		return nil
	}
	l.server = server
	return server
}

// serverEnded ends the link because the target has gone, unless its client must not learn that.
func (l *link) serverEnded() {
	if !l.lost.Load() {
		l.end(orderly)
	}
}

// pump passes on what it reads until src closes or dst takes no more. Nothing is passed on in the black hole.
func (l *link) pump(dst, src *net.TCPConn) {
	buf := make([]byte, bufferSize)
	for {
		n, err := src.Read(buf)
		if n > 0 && !l.lost.Load() {
			l.wait(time.Duration(l.proxy.delay.Load()))
			if !l.lost.Load() {
				if _, werr := dst.Write(buf[:n]); werr != nil && !l.lost.Load() {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns after d, or when the link has ended.
func (l *link) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

// end closes both connections, once.
func (l *link) end(how ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.cancel()
	closeConn(l.client, how)
	if l.server != nil {
		closeConn(l.server, how)
	}
}

func closeConn(conn *net.TCPConn, how ending) {
	if how == reset {
		_ = conn.SetLinger(0) // closed by the other end already, if it fails
	}
	conn.Close()
}
