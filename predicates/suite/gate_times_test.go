package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

var doorOperations = []engine.Operation{{Name: "Open", Kind: "Door", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "doors"}}}

const doors = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: opened}
spec:
  match: {apiVersion: example.com/v1, kind: Door}
  done: object.status.open == 'wide'
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: open}
spec: {operation: Open, predicate: opened}
`

// foreign judges in place of the predicate that it has.
type foreign struct {
	engine.Predicate
	judge func(engine.Observation) engine.Judgement
}

func (f foreign) Bind(engine.Params) (engine.Judge, error) { return foreignJudge(f), nil }

type foreignJudge foreign

func (f foreignJudge) Key() string { return "foreign" }

func (f foreignJudge) Judge(_ context.Context, o engine.Observation) engine.Judgement {
	return f.judge(o)
}

func (f foreignJudge) Describe(_ context.Context, o engine.Observation) engine.Judgement {
	return f.judge(o)
}

// doorGate returns a look of a gate at the doors, judged by the function.
func doorGate(t *testing.T, judge func(engine.Observation) engine.Judgement, opts ...GateOption) (*look, *Contract, *engine.Binding) {
	t.Helper()
	gate, err := NewGateOf(doorOperations, fstest.MapFS{"open.yaml": {Data: []byte(`
apiVersion: donewhen.dev/v1alpha1
kind: Contract
metadata: {name: open}
spec:
  operation: Open
  objects:
    door: {apiVersion: example.com/v1, kind: Door, metadata: {name: d}, status: {}}
  cases:
  - {name: by state, object: $door, sweep: {path: status.open, is: {"": InProgress, ajar: InProgress, shut: InProgress, wide: Done}}}
`)}}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	source := predicates.Source{Name: "defaults", Files: []predicates.File{{Name: "doors.yaml", Data: []byte(doors)}}}
	set, err := predicates.NewSet(doorOperations, source)
	if err != nil {
		t.Fatal(err)
	}
	binding, err := set.Binding("Open")
	if err != nil {
		t.Fatal(err)
	}
	replaced := *binding
	replaced.Predicate = foreign{Predicate: binding.Predicate, judge: judge}
	look := &look{Gate: gate, set: set, places: &places{set: set, sources: []predicates.Source{source}}, report: &GateReport{}}
	return look, gate.contracts[0], &replaced
}

// truly judges doors as the predicate does.
func truly(o engine.Observation) engine.Judgement {
	object := o.Object.(*unstructured.Unstructured)
	if open, _, _ := unstructured.NestedString(object.Object, "status", "open"); open == "wide" {
		return engine.Judgement{Verdict: engine.Verdict{Decision: engine.Done}}
	}
	return engine.Judgement{}
}

func ajar(o engine.Observation) bool {
	open, _, _ := unstructured.NestedString(o.Object.(*unstructured.Unstructured).Object, "status", "open")
	return open == "ajar"
}

// A judge that doesn't come back ends the look after a time, and the refusal names
// the case. What was judged before is reported too.
func TestGateEndsWhateverAJudgeDoes(t *testing.T) {
	for _, row := range []struct {
		name  string
		judge func(engine.Observation, <-chan struct{}) engine.Judgement
		after time.Duration
		cases int
		want  string
	}{
		{"it hangs", func(o engine.Observation, release <-chan struct{}) engine.Judgement {
			if ajar(o) {
				<-release
			}
			return truly(o)
		}, DefaultCaseTime, 1, `the gate ran out of time at contract case "open/by state/ajar" of Open: a case may take 5s, all of them 30s`},
		{"it is slow", func(o engine.Observation, _ <-chan struct{}) engine.Judgement {
			time.Sleep(DefaultCaseTime/2 + time.Second)
			return truly(o)
		}, DefaultCaseTime, 0, `the gate ran out of time at contract case "open/by state/(absent)" of Open`},
		{"it panics", func(o engine.Observation, _ <-chan struct{}) engine.Judgement {
			if ajar(o) {
				panic("no such door")
			}
			return truly(o)
		}, 0, 1, `the gate couldn't judge contract case "open/by state/ajar" of Open: panic: no such door`},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				look, contract, binding := doorGate(t, func(o engine.Observation) engine.Judgement { return row.judge(o, release) })
				start := time.Now()
				var judged Judged
				err := look.keep(t.Context(), contract, binding, &judged)
				if took := time.Since(start); took != row.after || err == nil {
					t.Fatalf("error %v after %v, want one after %v", err, took, row.after)
				}
				if judged.Cases != row.cases {
					t.Errorf("%d cases were judged, want %d", judged.Cases, row.cases)
				}
				if got := look.unjudged(err).Summary(); !strings.Contains(got, row.want) {
					t.Errorf("it says %q,\nwant %q", got, row.want)
				}
				time.Sleep(time.Hour) // what was slow and left behind ends
			})
		})
	}
}

// All of a look has an end too, though each case is quick enough; and it ends with
// its context.
func TestALookHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(string) ([]byte, error) {
			time.Sleep(time.Hour)
			return nil, fmt.Errorf("no such file")
		}
		look, _, _ := doorGate(t, truly, WithObjects(slow), WithTimes(time.Second, time.Minute))
		suites := predicates.Source{Name: "config", Files: []predicates.File{{Name: "s.yaml", Data: []byte("apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {name: s}\nspec:\n  objects: {d: door.yaml}\n  cases: [{name: c, predicate: opened, object: $d, expect: Done}]\n")}}}
		sources := []predicates.Source{look.places.sources[0], suites}
		start := time.Now()
		problems := look.Check(t.Context(), look.set, sources)
		if took := time.Since(start); took != time.Minute || !strings.Contains(fmt.Sprint(problems), "config, s.yaml: the gate ran out of time at the suites in this file") {
			t.Errorf("after %v: %v", took, problems)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if problems := look.Check(ctx, look.set, sources); !strings.Contains(fmt.Sprint(problems), "the gate was interrupted at the suites in this file: context deadline exceeded") {
			t.Errorf("interrupted: %v", problems)
		}
		time.Sleep(2 * time.Hour) // what was left behind ends
	})
}

// A suite whose cases never end refuses the set, with the case.
func TestASuiteCaseHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look, _, _ := doorGate(t, truly, WithTimes(time.Second, time.Minute))
		file := predicates.File{Name: "s.yaml", Data: []byte("apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {name: s}\nspec:\n  objects: {d: {apiVersion: example.com/v1, kind: Door, metadata: {name: d}, status: {open: wide}}}\n  cases:\n  - {name: quick, predicate: opened, object: $d, expect: Done}\n  - {name: endless, predicate: opened, object: $d, expect: Done}\n")}
		suites, err := Parse(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		defer close(release)
		look.runner.clock = endlessClock{release: release, calls: new(int)}
		err = look.suite(t.Context(), "config", file, suites[0], func(p ...predicates.Problem) { look.add(p...) })
		if err == nil || look.report.Checks != 1 {
			t.Fatalf("error %v after %d checks", err, look.report.Checks)
		}
		want := `config, s.yaml:8:5: Suite s: the gate ran out of time at suite case "endless": a case may take 1s, all of them 1m0s`
		if got := look.unjudged(err).Summary(); !strings.HasPrefix(got, want) {
			t.Errorf("it says %q,\nwant %q", got, want)
		}
	})
}

// endlessClock stands still, and hangs from the second case on.
type endlessClock struct {
	release chan struct{}
	calls   *int
}

func (c endlessClock) Now() time.Time {
	if *c.calls++; *c.calls > 1 {
		<-c.release
	}
	return time.Time{}
}

func (c endlessClock) Since(time.Time) time.Duration { return 0 }

// A binding that has kept its contract isn't judged again as long as it stays the
// same; one that hasn't is.
func TestWhatIsTheSameIsJudgedOnce(t *testing.T) {
	n, wrong := 0, false
	look, contract, binding := doorGate(t, func(o engine.Observation) engine.Judgement {
		n++
		if wrong {
			return engine.Judgement{}
		}
		return truly(o)
	})
	judge := func(binding *engine.Binding) int {
		n = 0
		var judged Judged
		if err := look.keep(t.Context(), contract, binding, &judged); err != nil || judged.Cases != 4 {
			t.Errorf("error %v, %d cases", err, judged.Cases)
		}
		return n
	}
	if judge(binding) == 0 || judge(binding) != 0 {
		t.Error("the same binding is judged twice")
	}
	other := *binding
	other.Timeout = time.Hour
	if judge(&other) == 0 {
		t.Error("another timeout isn't judged")
	}
	wrong = true
	third := other
	third.Params = engine.Params{"x": 1}
	for range 2 {
		if judge(&third) == 0 {
			t.Error("what was refused isn't judged again")
		}
	}
	if len(look.report.Problems) != 2 {
		t.Errorf("problems %v", look.report.Problems)
	}
}
