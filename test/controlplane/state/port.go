package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
)

// New ports are taken from below the range that Linux (32768 and up) and macOS (49152 and up) hand out to outgoing
// connections and to listeners without a port: while the server is down, nobody else gets its port by accident. A client that
// keeps dialling a port of that range can even end up connected to itself.
const (
	firstPort = 20000
	lastPort  = 32767
)

// Listen opens 127.0.0.1:port and remembers the port. Port 0 means the remembered one, or a free one at the first start.
func (d *Dir) Listen(port int) (net.Listener, error) {
	if port == 0 {
		remembered, err := d.rememberedPort()
		if err != nil {
			return nil, err
		}
		port = remembered
	}
	l, err := listen(port)
	if err != nil {
		return nil, err
	}
	port = l.Addr().(*net.TCPAddr).Port
	if err := writeFile(d.file("port"), []byte(strconv.Itoa(port)+"\n")); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (d *Dir) rememberedPort() (int, error) {
	text, err := readTrimmed(d.file("port"))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the port of the last start: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("file %s (remove it to get a new port): %w", d.file("port"), err)
	}
	return port, nil
}

func listen(port int) (net.Listener, error) {
	if port != 0 {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return nil, fmt.Errorf("listen (end the process that has the port, or choose another with --port): %w", err)
		}
		return l, nil
	}
	const attempts = 100
	var last error
	for range attempts {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort+1)))
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen on loopback: %w", err)
		}
		last = err
	}
	return nil, fmt.Errorf("find a free port between %d and %d in %d attempts: %w", firstPort, lastPort, attempts, last)
}
