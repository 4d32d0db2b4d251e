package wasm_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

var disks = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "disks"}

// world is an engine with operations that are ended by rules and by modules.
type world struct {
	testing.TB
	*engine.Engine
	runtime *wasm.Runtime
	store   *predicates.Store
	source  *script.Source
	count   *counter
	version int
}

// counter counts evaluations by predicate.
type counter struct {
	engine.NopObserver
	mu          sync.Mutex
	evaluations map[string]int
}

func (c *counter) Evaluated(e engine.Evaluation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evaluations[e.Predicate.Name]++
}

func (c *counter) of(predicate string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evaluations[predicate]
}

// predicate is the document of one, whose spec is besides its match as written.
func predicate(name, spec string) string {
	return "---\napiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: " + name + "}\nspec:\n  match: {apiVersion: example.com/v1, kind: Disk}\n" + spec
}

func binding(operation, predicate, more string) string {
	return "---\napiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: " + strings.ToLower(operation) + "}\nspec: {operation: " + operation + ", predicate: " + predicate + more + "}\n"
}

const ready = "  done: |-\n    object.?status.?state.orValue('') == 'Attached'\n"

// newWorld starts an engine with the operations Make and Other, each ended by the
// predicate of the same name that the documents have.
func newWorld(tb testing.TB, documents string, modules map[string][]byte, opts ...wasm.Option) *world {
	tb.Helper()
	w := &world{TB: tb, source: script.NewSource(false), count: &counter{evaluations: map[string]int{}}}
	var err error
	if w.runtime, err = wasm.New(opts...); err != nil {
		tb.Fatal(err)
	}
	operations := []engine.Operation{{Name: "Make", Kind: "Disk", Resource: disks}, {Name: "Other", Kind: "Disk", Resource: disks}}
	loader, err := predicates.NewLoader(operations, predicates.WithWasm(w.runtime))
	if err != nil {
		tb.Fatal(err)
	}
	w.store, err = loader.NewStore(w.files(documents, modules), predicates.WithObserver(func(r predicates.Report) { w.Swap(r.Set) }))
	if err != nil {
		tb.Fatal(err)
	}
	w.Engine = engine.New(w.store.Set(), engine.WithObserver(w.count), engine.WithLogger(klog.Background().V(10)))
	if err := w.Watch(disks, w.source); err != nil {
		tb.Fatal(err)
	}
	if err := w.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return w
}

// files is a source of the documents and modules.
func (w *world) files(documents string, modules map[string][]byte) predicates.Source {
	s := predicates.Source{Name: "test", Files: []predicates.File{{Name: "p.yaml", Data: []byte(documents)}}}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		s.Files = append(s.Files, predicates.File{Name: name, Data: modules[name], Binary: true})
	}
	return s
}

// put writes a disk in a state.
func (w *world) put(name, state string) {
	w.Helper()
	w.version++
	disk := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Disk", "metadata": map[string]any{"namespace": "n", "name": name}, "status": map[string]any{"state": state},
	}}
	disk.SetUID(types.UID(name))
	disk.SetResourceVersion(fmt.Sprint(w.version))
	if err := w.source.Put(disk); err != nil {
		w.Fatal(err)
	}
}

func (w *world) register(operation, name string) *engine.Waiter {
	w.Helper()
	waiter, err := w.Register(engine.Request{Ref: engine.Reference{Resource: disks, Namespace: "n", Name: name}, Operation: operation})
	if err != nil {
		w.Fatal(err)
	}
	return waiter
}

// end waits until the wait ends.
func (w *world) end(waiter *engine.Waiter) *engine.Result {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	result, err := waiter.Wait(ctx)
	if err != nil {
		w.Fatal(err)
	}
	return result
}

// module reads a module of the tests.
func module(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name + ".wasm")
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// eventually polls until it is so.
func eventually(tb testing.TB, what string, so func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); runtime.Gosched() {
		if time.Now().After(deadline) {
			tb.Fatalf("waited too long for %s", what)
		}
	}
}

// leaping is a clock by which no guest is parked for long: each look at it is an
// hour later.
type leaping struct {
	clock.RealClock
	mu  sync.Mutex
	now time.Time
}

func (c *leaping) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Hour)
	return c.now
}

// TestK55_OthersAreJudgedWhileModulesBurn (G8): a thousand objects are judged by a
// module that burns all its fuel on each, and is never parked. Meanwhile waits that
// rules and that other modules end are ended, long before all of that is burnt.
func TestK55_OthersAreJudgedWhileModulesBurn(t *testing.T) {
	const objects = 1_000
	const others, burns = 100, 5 // at least
	for _, name := range []string{"spin", "tree", "fill", "chase", "recursion", "grow"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t,
				predicate("burns", "  failurePolicy: Pending\n  wasm: {module: {file: burns.wasm}}\n")+binding("Other", "burns", "")+
					predicate("rules", ready)+binding("Make", "rules", "")+
					predicate("module", "  wasm: {module: {file: attached.wasm}, settings: {strict: true}}\n"),
				map[string][]byte{"burns.wasm": module(t, "hostile/"+name), "attached.wasm": module(t, "attached")},
				wasm.WithClock(&leaping{now: time.Unix(1_000_000_000, 0)}))
			var burning []*engine.Waiter
			for n := range objects {
				w.put(fmt.Sprint("burns-", n), "Attaching")
			}
			for n := range objects {
				burning = append(burning, w.register("Other", fmt.Sprint("burns-", n)))
			}
			eventually(t, "the first to burn", func() bool { return w.count.of("burns") > 0 })
			before := w.count.of("burns")
			var took []time.Duration
			// One burns at a time, and a wait can come upon it with the only processor: there
			// are more waits than burns, but for the beginning.
			for n := 0; n < others || w.count.of("burns") < min(before+burns, objects); n++ {
				name := fmt.Sprint("other-", n)
				waiter := w.register("Make", name)
				if n%2 == 1 {
					waiter.Close()
					var err error
					if waiter, err = w.Register(engine.Request{Ref: engine.Reference{Resource: disks, Namespace: "n", Name: name}, Predicate: "module"}); err != nil {
						t.Fatal(err)
					}
				}
				w.put(name, "Attached")
				result := w.end(waiter)
				if result.Verdict.Decision != engine.Done {
					t.Fatalf("%+v", result.Verdict)
				}
				took = append(took, result.Ended.Sub(result.Delivered))
				if during := w.count.of("burns") - before; during > n+20 {
					t.Fatalf("%d objects were burnt on while %d other waits ended", during, n)
				}
				waiter.Close()
			}
			during := w.count.of("burns") - before
			if before+during >= objects {
				t.Errorf("all objects had been burnt on before the others ended")
			}
			for _, waiter := range burning {
				waiter.Close()
			}
			if err := w.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(took)
			t.Logf("%d waits of others ended after %v at the median, %v at p99, while %d objects were judged by the module", len(took), took[len(took)/2], took[len(took)*99/100], during)
		})
	}
}

// TestK65_EncodedOncePerEvent: a hundred waiters of an object share one evaluation
// of each of its versions, and what a guest asks for again isn't encoded again.
func TestK65_EncodedOncePerEvent(t *testing.T) {
	const waiters = 100
	w := newWorld(t,
		predicate("module", "  wasm: {module: {file: attached.wasm}, settings: {strict: true}}\n")+binding("Make", "module", "")+predicate("rules", ready)+binding("Other", "rules", ""),
		map[string][]byte{"attached.wasm": module(t, "attached")})
	var all []*engine.Waiter
	for range waiters {
		all = append(all, w.register("Make", "a"))
	}
	for _, state := range []string{"Attaching", "StillAttaching", "Attached"} {
		before := w.count.of("module")
		w.put("a", state)
		if err := w.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := w.count.of("module") - before; n != 1 {
			t.Errorf("%s was judged %d times for %d waiters", state, n, waiters)
		}
	}
	for _, waiter := range all {
		if result := w.end(waiter); result.Verdict.Decision != engine.Done {
			t.Errorf("%+v", result.Verdict)
		}
		waiter.Close()
	}
}

// TestK63_OldCodeGoesWithItsLastWaiter: a waiter that stays on its predicate keeps
// the old module's code, until it has ended.
func TestK63_OldCodeGoesWithItsLastWaiter(t *testing.T) {
	documents := func(file string) string {
		return predicate("module", "  wasm: {module: {file: "+file+"}, settings: {strict: true}}\n") + binding("Make", "module", ", inFlight: Pin") +
			predicate("rules", ready) + binding("Other", "rules", "")
	}
	modules := map[string][]byte{"attached.wasm": module(t, "attached"), "counter.wasm": module(t, "hostile/counter")}
	w := newWorld(t, documents("attached.wasm"), modules)
	old := w.register("Make", "a")
	w.put("a", "Attaching")
	// Those that nobody has go with a collection.
	loaded := func(n int) func() bool {
		return func() bool { runtime.GC(); return w.runtime.Loaded() == n }
	}
	if err := w.store.Update(w.files(documents("counter.wasm"), modules)); err != nil {
		t.Fatal(err)
	}
	next := w.register("Make", "b") // by the new one, which says Done of everything
	w.put("b", "Attaching")
	if result := w.end(next); result.Verdict.Decision != engine.Done {
		t.Fatalf("%+v", result.Verdict)
	}
	next.Close()
	for range 3 {
		if runtime.GC(); w.runtime.Loaded() != 2 {
			t.Fatalf("%d modules are compiled while a waiter has the old one", w.runtime.Loaded())
		}
	}
	w.put("a", "Attached")
	if result := w.end(old); result.Verdict.Decision != engine.Done {
		t.Fatalf("%+v", result.Verdict)
	}
	old.Close()
	old = nil
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old module to go", loaded(1))
}

// TestG2_ParkedUntilReload: a module that crashes on every object is parked, which
// the verdict says. Its mended version isn't: what waited is judged at once.
func TestG2_ParkedUntilReload(t *testing.T) {
	documents := predicate("module", "  failurePolicy: Pending\n  wasm: {module: {file: module.wasm}, settings: {strict: true}}\n") + binding("Make", "module", "") +
		predicate("rules", ready) + binding("Other", "rules", "")
	w := newWorld(t, documents, map[string][]byte{"module.wasm": module(t, "hostile/unreachable")})
	waiter := w.register("Make", "a")
	defer waiter.Close()
	for range 10 {
		w.put("a", "Attached")
		if err := w.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	v := waiter.Status().Verdict
	if v.Decision != engine.Pending || v.Cause != engine.CauseJudge || v.Reason != "Trap" ||
		!strings.Contains(v.Message, "failed 5 times in a row and isn't asked for 1s: dw_evaluate: unreachable") {
		t.Errorf("while it is parked: %+v", v)
	}
	if err := w.store.Update(w.files(documents, map[string][]byte{"module.wasm": module(t, "attached")})); err != nil {
		t.Fatal(err)
	}
	if result := w.end(waiter); result.Verdict.Decision != engine.Done {
		t.Errorf("after the reload: %+v", result.Verdict)
	}
}
