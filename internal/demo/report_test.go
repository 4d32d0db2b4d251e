package demo

import (
	"bytes"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// scraped serves testdata/metrics.txt as the driver would and reads it.
func scraped(t *testing.T) metrics {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, "testdata/metrics.txt")
	}))
	defer server.Close()
	measured, err := scrape(t.Context(), strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return measured
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	d := &demo{opts: Options{Volumes: 4, Parallel: 2, Namespace: "ns", Out: &out}, stats: newStats()}
	for i, call := range calls() {
		for n := range 4 {
			d.ended(call, time.Duration((i+1)*(n+1))*100*time.Millisecond, nil)
		}
	}
	d.ended(callDelete, 3*time.Second, errors.New("failed"))
	d.report(12340*time.Millisecond, &probeResult{
		before: 1100 * time.Microsecond, after: time.Second, afterUpdated: 900 * time.Microsecond, reload: 23 * time.Millisecond,
		explanation: `state is "Created"`,
	}, scraped(t))

	const golden = "testdata/report.golden"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("report (-want +got, -update if it is meant):\n%s", diff)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                   "0 ns",
		999:                                 "999 ns",
		1234:                                "1.23 µs",
		45678 * time.Nanosecond:             "45.7 µs",
		9996 * time.Microsecond:             "10.0 ms",
		456789 * time.Microsecond:           "457 ms",
		time.Second:                         "1.00 s",
		59 * time.Second:                    "59.0 s",
		90 * time.Second:                    "1.50 min",
		150*time.Minute + 30*time.Second:    "150 min",
		99950 * time.Microsecond:            "100 ms",
		time.Millisecond - time.Microsecond: "999 µs",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestLastFailure(t *testing.T) {
	log := strings.Join([]string{
		`I1130 09:00:00.000000   1 intercept.go:44] "Call failed" method="ControllerExpandVolume" took="1s" code="Aborted" err="old"`,
		`I1130 09:00:01.000000   1 intercept.go:44] "Call failed" method="ControllerExpandVolume" took="1s" code="DeadlineExceeded" err="waiting: context canceled; state is \"Created\"; more"`,
		`I1130 09:00:02.000000   1 intercept.go:44] "Call failed" method="CreateVolume" took="1s" code="Aborted" err="other"`,
		`I1130 09:00:03.000000   1 intercept.go:44] "Call" method="ControllerExpandVolume"`,
	}, "\n")
	if got, want := lastFailure(log, callExpand), `state is "Created"; more`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := lastFailure(log, callDelete); got != "" {
		t.Errorf("%q for a method that didn't fail", got)
	}
	if got := lastFailure(`"Call failed" method="DeleteVolume" err=unquoted`, callDelete); got != "" {
		t.Errorf("%q for a line that can't be read", got)
	}
}

func TestDiffLines(t *testing.T) {
	want := []string{
		`-   version: "1"`,
		`+   version: "2-updated"`,
		"-       object.status.detail.capacity_bytes >= params.requiredBytes",
		"+       object.status.detail.capacity_bytes >= params.requiredBytes &&",
		"+       object.status.state == 'Updated'",
	}
	if diff := cmp.Diff(want, diffLines(predicateYAML, editedPredicate())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lines := diffLines("a\nb\nc", "b\nc\nd"); !cmp.Equal(lines, []string{"- a", "+ d"}) {
		t.Errorf("%q", lines)
	}
	if lines := diffLines("a", "a"); lines != nil {
		t.Errorf("%q for equal texts", lines)
	}
}
