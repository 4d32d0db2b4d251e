package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	terminalInterval = 100 * time.Millisecond
	plainInterval    = 2 * time.Second
	// terminalWidth is what a line that changes may take: one that wraps can't be
	// taken away again. A terminal has at least 80 columns.
	terminalWidth = 79
)

// progress tells what happens: on a terminal in one line that changes, elsewhere
// in a line now and then. It is safe for concurrent use.
type progress struct {
	out      io.Writer
	terminal bool
	begin    time.Time

	mu    sync.Mutex
	shown bool // a line that changes stands there
	last  string
}

func newProgress(opts Options) *progress {
	return &progress{out: opts.Err, terminal: opts.Terminal, begin: time.Now()}
}

// say prints a line that stays.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.begin).Seconds(), fmt.Sprintf(format, args...))
}

// end takes away the line that changes.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear is end for who holds mu.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// show keeps showing how far the volumes are until ctx ends or stop is called,
// which may be done more than once.
func (p *progress) show(ctx context.Context, s *stats, volumes int) (stop func()) {
	interval := plainInterval
	if p.terminal {
		interval = terminalInterval
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.update(progressLine(s, volumes))
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		p.end()
	}
}

func (p *progress) update(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.terminal:
		fmt.Fprint(p.out, "\r\x1b[K"+cut(fmt.Sprintf("%6.1fs  %s", time.Since(p.begin).Seconds(), line), terminalWidth))
		p.shown = true
	case line != p.last:
		fmt.Fprintf(p.out, "%6.1fs  %s\n", time.Since(p.begin).Seconds(), line)
		p.last = line
	}
}

// progressLine is short enough for a narrow terminal.
func progressLine(s *stats, volumes int) string {
	short := map[string]string{
		callCreate: "create", callPublish: "pub", callStage: "stage", callExpand: "expand",
		callUnstage: "unstage", callUnpublish: "unpub", callDelete: "del",
	}
	var parts []string
	failed := 0
	for _, call := range calls() {
		c := s.of(call)
		failed += c.failed
		parts = append(parts, fmt.Sprintf("%s %d", short[call], len(c.took)-c.failed))
	}
	line := fmt.Sprintf("of %d: ", volumes)
	if failed > 0 {
		line += fmt.Sprintf("FAILED %d ", failed)
	}
	return line + strings.Join(parts, " ")
}

// cut shortens a line to so many characters.
func cut(line string, width int) string {
	if r := []rune(line); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return line
}
