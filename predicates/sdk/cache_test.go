package sdk_test

import (
	"context"
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/racedetector"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// loadedIn loads a module with a cache directory, up to its first instance, as a process
// that starts does, and returns the cpu time of it.
func loadedIn(t testing.TB, dir string, binary []byte) time.Duration {
	t.Helper()
	ctx := context.Background()
	runtime, err := wasm.New(wasm.WithCacheDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	start := cpuTime(t)
	module, err := runtime.Load(ctx, binary, "")
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	if _, err := module.Guest(ctx, wasm.Use{}); err != nil {
		t.Fatal(err)
	}
	return cpuTime(t) - start
}

// TestCacheTakesLittle holds what it costs to load the example in Go from a cache
// directory against compiling it, in one run: a twentieth was measured.
func TestCacheTakesLittle(t *testing.T) {
	binary, dir := example(t, "go"), t.TempDir()
	compiled := loadedIn(t, dir, binary)
	kept := loadedIn(t, dir, binary)
	for range 4 {
		kept = min(kept, loadedIn(t, dir, binary))
	}
	t.Logf("compiled in %v, from the cache in %v of cpu time", compiled, kept)
	if kept > compiled/8 && !racedetector.Enabled {
		t.Errorf("loading from the cache takes %v, compiling takes %v", kept, compiled)
	}
}

// BenchmarkCached is what it costs to load the example from a cache directory.
func BenchmarkCached(b *testing.B) {
	for language := range examples {
		b.Run(language, func(b *testing.B) {
			binary, dir := example(b, language), b.TempDir()
			loadedIn(b, dir, binary)
			var took time.Duration
			for b.Loop() {
				took += loadedIn(b, dir, binary)
			}
			b.ReportMetric(float64(took)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}
