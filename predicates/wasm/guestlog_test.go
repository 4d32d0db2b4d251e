package wasm

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clocktesting "k8s.io/utils/clock/testing"
)

// logging is a guest that logs, and what it has logged.
type logging struct {
	*Guest
	clock *clocktesting.FakeClock
	text  strings.Builder
	ctx   context.Context
}

func newLogging(t *testing.T, verbosity int) *logging {
	t.Helper()
	l := &logging{clock: clocktesting.NewFakeClock(time.Unix(1e9, 0))}
	l.Guest = guest(t, newRuntime(t, WithClock(l.clock)), "log", Use{})
	l.ctx = klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&l.text), textlogger.Verbosity(verbosity))))
	return l
}

// log has the guest log so many times, and returns the lines.
func (l *logging) log(t *testing.T, times int, text string, hide func(string) string) []string {
	t.Helper()
	l.text.Reset()
	for range times {
		if _, err := l.Evaluate(l.ctx, &Document{Object: object(map[string]any{"state": text}), Hide: hide}, false); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

// A module logs so much at once, then so much in a second; what it doesn't is counted.
func TestLogIsLimitedOverTime(t *testing.T) {
	l := newLogging(t, 0)
	if lines := l.log(t, 3*logBurst, "3 x", nil); len(lines) != logBurst || l.Module().Dropped() != 2*logBurst {
		t.Fatalf("%d lines, %d were dropped", len(lines), l.Module().Dropped())
	}
	l.clock.Step(time.Second)
	lines := l.log(t, logBurst, "3 x", nil)
	if len(lines) != logRate {
		t.Errorf("%d lines after a second", len(lines))
	}
	if !strings.Contains(lines[0], "dropped=200") || strings.Contains(lines[1], "dropped") {
		t.Errorf("%s\n%s", lines[0], lines[1])
	}
	// Nobody reads these, so they take nothing from those that are read.
	l.clock.Step(time.Second)
	l.log(t, 100*logBurst, "0 x", nil)
	if lines := l.log(t, logRate, "2 x", nil); len(lines) != logRate {
		t.Errorf("%d lines after many that nobody reads", len(lines))
	}
	// A guest in another use is the same module.
	again, err := l.Module().Guest(l.ctx, Use{})
	if err != nil {
		t.Fatal(err)
	}
	l.text.Reset()
	if _, err := again.Evaluate(l.ctx, &Document{Object: object(map[string]any{"state": "3 x"})}, false); err != nil || l.text.Len() > 0 {
		t.Errorf("%v, %s", err, l.text.String())
	}
}

func TestLogLevels(t *testing.T) {
	l := newLogging(t, 4)
	digest := "sha256=\"" + l.Module().Digest()[:12] + `" text="`
	for text, want := range map[string]string{
		"0 a":      `"WebAssembly module" ` + digest + `0 a"`,
		"1 a":      `"WebAssembly module" ` + digest + `1 a"`,
		"2 a":      `"WebAssembly module warns" ` + digest + `2 a"`,
		"3 a":      `"WebAssembly module" ` + digest + `3 a"`,
		"9 a\xff!": digest + "9 a\uFFFD!\"",
	} {
		lines := l.log(t, 1, text, nil)
		if len(lines) != 1 || !strings.Contains(lines[0], want) || strings.HasPrefix(lines[0], "E") != (text[0] >= '3') {
			t.Errorf("%q: %q, want %s", text, lines, want)
		}
	}
	if lines := l.log(t, 1, "3 secret", func(line string) string { return strings.ReplaceAll(line, "secret", "•••") }); !strings.HasSuffix(lines[0], `text="3 •••"`) {
		t.Errorf("%q", lines)
	}
}

// What is beyond an evaluation's share is counted too.
func TestLogOfAnEvaluation(t *testing.T) {
	g := guest(t, newRuntime(t), "hostile/log_flood", Use{})
	var text strings.Builder
	ctx := klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&text))))
	if _, err := g.Evaluate(ctx, &Document{Object: object(nil)}, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n"); n != 5 || g.Module().Dropped() != 3_995 {
		t.Errorf("%d lines, %d were dropped", n, g.Module().Dropped())
	}
}
