package controlplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const logTailLines = 20

// process is one run of the server's program.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer     // its end ends the process; nil if detached
	done  chan struct{} // closed when the process has ended and err is set
	err   error
}

// startProcess starts the program and waits until it says that it is ready. When it returns an error the process is gone.
func startProcess(ctx context.Context, binary string, args []string, logPath string, detached bool) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	defer log.Close() // the process has its own descriptor
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("find the end of its log: %w", err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Stderr = log // panics and errors before the log is open; the program opens the same file
	detachSignals(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	if !detached {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, fmt.Errorf("make its standard input: %w", err)
		}
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make its standard output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err // names the program
	}
	ready := make(chan struct{})
	go p.wait(stdout, ready)
	select {
	case <-ready:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("it ended before it was ready (%w); the end of its log:\n%s", p.exit(), tail(logPath, before, logTailLines))
	case <-ctx.Done():
		err := errors.Join(context.Cause(ctx), p.kill())
		return nil, fmt.Errorf("wait until it is ready: %w; the end of its log:\n%s", err, tail(logPath, before, logTailLines))
	}
}

// wait closes ready when the process has said so, and done when it has ended.
func (p *process) wait(stdout io.Reader, ready chan<- struct{}) {
	defer close(p.done)
	sc := bufio.NewScanner(stdout)
	for said := false; sc.Scan(); {
		if !said && strings.HasPrefix(sc.Text(), "ready ") {
			said = true
			close(ready)
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // the scanner gives up on lines that are too long
	p.err = p.cmd.Wait()
}

// exit says how the process ended. Call it only after done.
func (p *process) exit() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

// stop asks the process to end and waits. If ctx ends first it kills it and returns why.
func (p *process) stop(ctx context.Context) error {
	if p.ended() {
		return nil
	}
	if err := terminate(p.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("killed it: %w", context.Cause(ctx)), p.kill())
	}
}

// kill ends the process without notice and waits until it is gone.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail is the end of the log, at most n lines of what was written after the first bytes. If the log says what was fatal,
// it begins there: goroutine dumps follow it.
func tail(path string, after int64, n int) string {
	const limit = 256 << 10
	f, err := os.Open(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	data := make([]byte, min(limit, max(0, size-after)))
	read, err := f.ReadAt(data, size-int64(len(data)))
	if err != nil && !errors.Is(err, io.EOF) {
		return "(" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(data[:read]), "\n"), "\n")
	for i, line := range lines {
		if isFatal(line) {
			return strings.Join(lines[i:min(len(lines), i+n)], "\n")
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// isFatal recognises the header of klog's fatal lines, F and month and day, and the first line of a panic.
func isFatal(line string) bool {
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		return true
	}
	return len(line) > 5 && line[0] == 'F' && strings.Trim(line[1:5], "0123456789") == "" && line[5] == ' '
}
