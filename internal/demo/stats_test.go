package demo

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i) // in descending order
	}
	for name, test := range map[string]struct {
		durations []time.Duration
		p         float64
		want      time.Duration
	}{
		"none":               {nil, 50, 0},
		"one":                {[]time.Duration{7}, 99, 7},
		"p0 is the smallest": {hundred, 0, 1},
		"p50":                {hundred, 50, 50},
		"p99":                {hundred, 99, 99},
		"p100":               {hundred, 100, 100},
		"of four":            {[]time.Duration{4, 3, 2, 1}, 50, 2},
		"p99 of four":        {[]time.Duration{4, 3, 2, 1}, 99, 4},
	} {
		if got := percentile(test.durations, test.p); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the durations were put in order in place")
	}
}

func TestPolls(t *testing.T) {
	durations := []time.Duration{time.Millisecond, time.Second, time.Second + 1, 9500 * time.Millisecond}
	if got := polls(durations); got != 1+1+2+10 {
		t.Errorf("%d polls, want 14", got)
	}
}

func TestQuantile(t *testing.T) {
	m := scraped(t)
	h := m.histogram(metricShare, map[string]string{"operation": callCreate})
	if h.count != 4 || h.sum != 4*time.Millisecond {
		t.Errorf("%d observations, %v in all; want 4 and 4ms", h.count, h.sum)
	}
	for p, want := range map[float64]time.Duration{
		25:  100 * time.Microsecond, // the end of the first bucket
		50:  150 * time.Microsecond, // the middle of the second
		75:  200 * time.Microsecond,
		100: 200 * time.Microsecond, // beyond the last bound nothing is known
	} {
		if got := h.quantile(p); got.Round(time.Microsecond) != want {
			t.Errorf("p%v: %v, want %v", p, got, want)
		}
	}
	if got := m.histogram(metricShare, map[string]string{"operation": "none"}).quantile(50); got != 0 {
		t.Errorf("p50 of nothing: %v", got)
	}
	if got := m.digest(); got != "sha256:abc" {
		t.Errorf("digest %q", got)
	}
	if got := m.total(metricRequests, map[string]string{"verb": "GET"}); got != 7 {
		t.Errorf("%v GETs, want 7", got)
	}
}

func TestProgressLine(t *testing.T) {
	s := newStats()
	for range 3 {
		s.add(callCreate, time.Second, nil)
	}
	s.add(callPublish, time.Second, nil)
	want := "create 3 pub 1 stage 0 expand 0 unstage 0 unpub 0 del 0"
	if got := progressLine(s, 20); got != "of 20: "+want {
		t.Errorf("%q, want %q", got, want)
	}
	s.add(callPublish, time.Second, errors.New("failed"))
	if got := progressLine(s, 20); got != "of 20: FAILED 1 "+want {
		t.Errorf("%q, want the failure in it", got)
	}
}

// The line that changes must not wrap: it couldn't be taken away again.
func TestProgressFitsTheTerminal(t *testing.T) {
	s := newStats()
	fill := func(count int) {
		for _, call := range calls() {
			for range count {
				s.add(call, time.Second, nil)
			}
		}
	}
	fill(20)
	var out strings.Builder
	p := &progress{out: &out, terminal: true, begin: time.Now()}
	shown := func() string {
		out.Reset()
		p.update(progressLine(s, 20))
		return strings.TrimPrefix(out.String(), "\r\x1b[K")
	}
	if line := shown(); utf8.RuneCountInString(line) >= 80 || !strings.HasSuffix(line, "del 20") {
		t.Errorf("%q", line)
	}
	fill(20000)
	if line := shown(); utf8.RuneCountInString(line) >= 80 || !strings.HasSuffix(line, "…") {
		t.Errorf("%q", line)
	}
}
