package faultproxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what is expected to happen, silence what is expected not to.
const (
	patience = 10 * time.Second
	silence  = 50 * time.Millisecond
)

// echo is a server that sends back what it gets.
type echo struct {
	net.Listener
	conns chan net.Conn // every one accepted
	wg    sync.WaitGroup
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: listener, conns: make(chan net.Conn, 2*maxConnections)}
	e.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			e.conns <- conn
			e.wg.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() { e.shutDown() })
	return e
}

// shutDown closes the listener and every connection.
func (e *echo) shutDown() {
	e.Close()
	for {
		select {
		case conn := <-e.conns:
			conn.Close()
			continue
		default:
		}
		break
	}
	e.wg.Wait()
}

func newProxy(t *testing.T, target string) *Proxy {
	t.Helper()
	p, err := Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

type client struct {
	*testing.T
	net.Conn
}

func dial(t *testing.T, p *Proxy) client {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client{t, conn}
}

// expectReset dials a connection that is reset at once, or by and by.
func expectReset(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client{t, conn}.expectEnd(syscall.ECONNRESET)
}

func (c client) send(text string) {
	c.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		c.Fatalf("sending %q: %v", text, err)
	}
}

func (c client) expect(text string) {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c.Conn, got); err != nil || string(got) != text {
		c.Fatalf("got %q, %v, want %q", got, err, text)
	}
}

func (c client) expectSilence() {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(silence))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.Fatalf("got %d bytes, %v, want silence", n, err)
	}
}

func (c client) expectEnd(want error) {
	c.Helper()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, want) {
		c.Fatalf("got %d bytes, error %v, want %v", n, err, want)
	}
}

func TestForwards(t *testing.T) {
	p := newProxy(t, newEcho(t).Addr().String())
	one, two := dial(t, p), dial(t, p)
	one.send("one")
	two.send("two")
	two.expect("two")
	one.expect("one")
	if open, accepted := p.Connections(); open != 2 || accepted != 2 {
		t.Errorf("%d open, %d accepted, want 2 and 2", open, accepted)
	}
}

func TestEndsPassThrough(t *testing.T) {
	e := newEcho(t)
	p := newProxy(t, e.Addr().String())
	one, two := dial(t, p), dial(t, p)
	one.send("x")
	one.expect("x")
	server := <-e.conns
	server.Close()
	one.expectEnd(io.EOF)
	two.send("x")
	two.expect("x")
	server = <-e.conns
	two.Close()
	_ = server.SetReadDeadline(time.Now().Add(patience))
	if n, err := server.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server got %d bytes, %v, want the end", n, err)
	}
}

func TestTargetDown(t *testing.T) {
	e := newEcho(t)
	e.shutDown()
	dial(t, newProxy(t, e.Addr().String())).expectEnd(io.EOF)
}

func TestCut(t *testing.T) {
	e := newEcho(t)
	p := newProxy(t, e.Addr().String())
	c := dial(t, p)
	c.send("before")
	c.expect("before")
	p.Cut()
	c.expectEnd(syscall.ECONNRESET)
	again := dial(t, p)
	again.send("after")
	again.expect("after")
}

func TestCutEvery(t *testing.T) {
	p := newProxy(t, newEcho(t).Addr().String())
	stop := p.CutEvery(10 * time.Millisecond)
	for range 3 {
		expectReset(t, p)
	}
	stop()
	stop()
	c := dial(t, p)
	c.expectSilence() // five intervals
	c.send("x")
	c.expect("x")
	p.CutEvery(time.Hour) // Close ends it
}

func TestDelay(t *testing.T) {
	const delay = 30 * time.Millisecond
	p := newProxy(t, newEcho(t).Addr().String())
	c := dial(t, p)
	p.Delay(delay)
	begin := time.Now()
	c.send("slow")
	c.expect("slow")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("there and back took %v, want at least %v", took, 2*delay)
	}
	p.Delay(time.Hour)
	c.send("never")
	c.expectSilence()
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	again := dial(t, p)
	again.send("fast")
	again.expect("fast")
}

func TestBlackHole(t *testing.T) {
	e := newEcho(t)
	p := newProxy(t, e.Addr().String())
	old := dial(t, p)
	old.send("before")
	old.expect("before")
	server := <-e.conns

	p.BlackHole()
	old.send("lost")
	old.expectSilence()
	fresh := dial(t, p)
	fresh.send("lost")
	fresh.expectSilence()
	if len(e.conns) != 0 {
		t.Error("the target was dialed")
	}
	if _, err := server.Write([]byte("lost")); err != nil {
		t.Error(err)
	}
	server.Close()
	old.expectSilence() // not even the end of the server's connection is heard

	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	after := dial(t, p)
	after.send("after")
	after.expect("after")
	old.send("still lost")
	old.expectSilence()
	fresh.expectSilence()
	p.Cut()
	old.expectEnd(syscall.ECONNRESET)
	fresh.expectEnd(syscall.ECONNRESET)
	after.expectEnd(syscall.ECONNRESET)
}

func TestRefuse(t *testing.T) {
	p := newProxy(t, newEcho(t).Addr().String())
	old := dial(t, p)
	old.send("before")
	old.expect("before")
	p.Refuse()
	p.Refuse()
	for range 3 {
		if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("dialing: got error %v, want connection refused", err)
		}
	}
	old.send("meanwhile")
	old.expect("meanwhile")
	for range 2 {
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, p)
	c.send("after")
	c.expect("after")
}

func TestTooManyConnections(t *testing.T) {
	p := newProxy(t, newEcho(t).Addr().String())
	for range maxConnections {
		c := dial(t, p)
		c.send("x")
		c.expect("x")
	}
	expectReset(t, p)
	if open, _ := p.Connections(); open != maxConnections {
		t.Errorf("%d connections are open, want %d", open, maxConnections)
	}
}

// Close returns although a connection is delayed, one is swallowed, one is being dialed and one is stuck because the
// target doesn't read.
func TestCloseLeavesNothing(t *testing.T) {
	running := goleak.IgnoreCurrent()
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // connections stay in its backlog
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	p := newProxy(t, deaf.Addr().String())
	stuck := dial(t, p)
	_ = stuck.SetWriteDeadline(time.Now().Add(4 * silence))
	for err = nil; err == nil; {
		_, err = stuck.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	p.Delay(time.Hour)
	delayed := dial(t, p)
	delayed.send("x")
	p.BlackHole()
	swallowed := dial(t, p)
	swallowed.send("x")
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, running)
	if open, _ := p.Connections(); open != 0 {
		t.Errorf("%d connections are open", open)
	}
	if _, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialing a closed proxy: got error %v", err)
	}
	if err := p.Resume(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("resuming a closed proxy: got error %v", err)
	}
}
