package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stopTimeout is how long a process has to end after it was asked to.
const stopTimeout = 15 * time.Second

// process is a program that the demo has started. Its output goes to a file, so
// that it can outlive the demo.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and err is set
	err  error
	told sync.Once // that it ended by itself
}

// startProcess starts a program in a process group of its own: an interrupt from
// the terminal reaches the demo only, which ends it in good order.
func startProcess(dir, name, program string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	defer log.Close() // the process has its own descriptor
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// pid is the id of the process.
func (p *process) pid() int { return p.cmd.Process.Pid }

// ready waits until check says so. A process that ends before is an error with
// what it said last.
func (p *process) ready(ctx context.Context, check func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not ready after a minute"))
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !check(ctx) {
		select {
		case <-ticker.C:
		case <-p.done:
			return p.ended()
		case <-ctx.Done():
			return fmt.Errorf("start the %s: %w%s", p.name, context.Cause(ctx), p.said())
		}
	}
	return nil
}

// ended is the error of a process that ended by itself.
func (p *process) ended() error {
	if p.err == nil {
		return fmt.Errorf("the %s ended although nobody asked it to", p.name)
	}
	return fmt.Errorf("the %s ended: %w%s", p.name, p.err, p.said())
}

// endedOnce is ended the first time, then nil.
func (p *process) endedOnce() (err error) {
	p.told.Do(func() { err = p.ended() })
	return err
}

// said is the last line of the process's output, to be put behind an error.
func (p *process) said() string {
	output, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}

// stop asks the process to end and waits; one that doesn't is killed, which is
// an error.
func (p *process) stop() error {
	select {
	case <-p.done:
		return p.endedOnce()
	default:
	}
	if err := terminate(p.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the %s: %w", p.name, err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		if p.err != nil {
			return p.endedOnce()
		}
		return nil
	case <-timer.C:
		err := p.cmd.Process.Kill()
		<-p.done
		return errors.Join(fmt.Errorf("the %s ran on for %v after it was asked to end, so it was killed", p.name, stopTimeout), err)
	}
}
