package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress tells a person what a build is doing, one line at a time.
type progress struct {
	w        io.Writer
	interval time.Duration
}

func newProgress(w io.Writer, interval time.Duration) *progress {
	if w == nil {
		w = io.Discard
	}
	if interval <= 0 {
		interval = 10 * time.Second
	}
	return &progress{w: w, interval: interval}
}

func (p *progress) line(format string, args ...any) {
	fmt.Fprintf(p.w, "control plane: "+format+"\n", args...)
}

// start writes a line now and one after each interval, until the returned function is called with the build's result.
func (p *progress) start(packages func() int, cacheDir string) (stop func(error)) {
	p.line("building etcd and kube-apiserver %s. The first time this takes some minutes (about 9 CPU minutes); "+
		"the result is kept in %s", Version, cacheDir)
	begin := time.Now()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(p.interval)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				p.line("building, %v, %d packages compiled", time.Since(begin).Round(time.Second), packages())
			}
		}
	}()
	return func(err error) {
		close(quit)
		<-done
		if err == nil {
			p.line("built in %v", time.Since(begin).Round(time.Second))
		}
	}
}

// buildOutput takes what "go build -v" writes to its standard error: one line for each package that it compiles, mixed
// with messages. It is safe for concurrent use.
type buildOutput struct {
	mu    sync.Mutex
	rest  []byte // an incomplete last line
	count int
	other []string
}

// Write implements io.Writer. It never fails.
func (o *buildOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = append(o.rest, data...)
	for {
		line, rest, complete := bytes.Cut(o.rest, []byte("\n"))
		if !complete {
			return len(data), nil
		}
		o.rest = rest
		o.add(string(line))
	}
}

func (o *buildOutput) add(line string) {
	switch {
	case strings.ContainsAny(line, " \t:"):
		if !strings.HasPrefix(line, "go: downloading ") {
			o.other = append(o.other, line)
		}
	case line != "":
		o.count++
	}
}

// packages is the number of packages compiled so far.
func (o *buildOutput) packages() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count
}

// messages are the last lines that don't name a package.
func (o *buildOutput) messages() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	const limit = 30
	lines := append(o.other[:len(o.other):len(o.other)], string(o.rest))
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-limit):], "\n"))
}
