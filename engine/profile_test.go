package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// profiledEnv has a child process measure that many waits by its heap profile.
const profiledEnv = "DONEWHEN_PROFILED"

// sites are bytes in use by what allocated them: the engine's function and line.
type sites map[string]int64

func (s sites) sum() (sum int64) {
	for _, bytes := range s {
		sum += bytes
	}
	return sum
}

// print prints them per wait, the biggest first.
func (s sites) print(tb testing.TB, n int) {
	names := slices.SortedFunc(maps.Keys(s), func(a, b string) int { return cmp.Compare(s[b], s[a]) })
	for _, name := range names {
		if each := float64(s[name]) / float64(n); each >= 0.1 {
			tb.Logf("%7.1f B  %s", each, name)
		}
	}
}

// inUse returns what the engine keeps on the heap by the heap profile, which
// counts whole size classes.
func inUse() sites {
	runtime.GC()
	runtime.GC() // the profile is that of the collection before
	records := make([]runtime.MemProfileRecord, 1000)
	for {
		n, ok := runtime.MemProfile(records, false)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.MemProfileRecord, 2*n)
	}
	found := sites{}
	for i := range records {
		if site := engineSite(&records[i]); site != "" {
			found[site] += records[i].InUseBytes()
		}
	}
	return found
}

// engineSite returns the innermost line of the engine that led to the allocation,
// empty if none did.
func engineSite(r *runtime.MemProfileRecord) string {
	const engine = "github.com/donewhen/donewhen/engine."
	frames := runtime.CallersFrames(r.Stack())
	for {
		frame, more := frames.Next()
		if name, ok := strings.CutPrefix(frame.Function, engine); ok {
			return fmt.Sprintf("%s %s:%d", name, frame.File[strings.LastIndex(frame.File, "/")+1:], frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// profile has a child process, in which every allocation is sampled from the start,
// measure n pending waits.
func profile(tb testing.TB, n int, test string) sites {
	tb.Helper()
	child := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^"+test+"$")
	child.Env = append(os.Environ(), "GODEBUG=memprofilerate=1", profiledEnv+"="+strconv.Itoa(n))
	child.Stderr = os.Stderr
	out, err := child.Output()
	must(tb, err)
	line, _, _ := strings.Cut(string(out), "\n")
	var found sites
	must(tb, json.Unmarshal([]byte(line), &found))
	return found
}

// profiled is the child's part.
func profiled(t *testing.T, n string) {
	waits, err := strconv.Atoi(n)
	must(t, err)
	before := sites{}
	c := newCrowd(t, waits, false, func() { before = inUse() })
	found := inUse()
	for site, bytes := range before {
		found[site] -= bytes
	}
	runtime.KeepAlive(c)
	line, err := json.Marshal(found)
	must(t, err)
	fmt.Println(string(line))
}

// The bar is twice what was measured when it was set.
func TestMemory_ByHeapProfile(t *testing.T) {
	if n := os.Getenv(profiledEnv); n != "" {
		profiled(t, n)
		return
	}
	const n, bar = 20_000, 800
	found := profile(t, n, t.Name())
	found.print(t, n)
	if each := float64(found.sum()) / n; each > bar || each < 100 {
		t.Errorf("a pending wait takes %.0f B by the heap profile, want at most %d, and at least what a waiter takes", each, bar)
	}
}

// BenchmarkCrowdProfile measures a million registered waits by the heap profile
// and prints it by site; ns/op means nothing.
func BenchmarkCrowdProfile(b *testing.B) {
	n := crowdSize(b)
	var found sites
	for range b.N {
		found = profile(b, n, "TestMemory_ByHeapProfile")
	}
	found.print(b, n)
	b.ReportMetric(float64(found.sum())/float64(n), "B/wait")
}
