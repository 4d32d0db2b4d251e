package celexpr

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// bothWays is two environments alike, of which one doesn't fuse.
type bothWays struct {
	fused, plain             *Environment
	fusedParams, plainParams *Params
}

// sharing is how many seeds one pair of environments, with its random variables, is for.
const sharing = 25

// newBothWays returns those for a seed and the ones beside it.
func newBothWays(t testing.TB, compilers [2]*Compiler, seed uint64) *bothWays {
	t.Helper()
	out := &bothWays{}
	r := &random{Rand: rand.New(rand.NewPCG(seed/sharing, 2))}
	made := [][2]string{}
	for i := range 5 {
		// They see the object of another seed: a path may or may not be there.
		r.object = jsonObject(t, r.newObject())
		e, _ := r.value(2)
		if r.IntN(3) == 0 {
			e = r.condition(2)
		}
		made = append(made, [2]string{"r" + strconv.Itoa(i), e})
	}
	for i, compiler := range compilers {
		unfused := i == 1
		compiler.unfused = unfused
		env, err := NewEnvironment([]Param{
			{"role", "string"}, {"count", "int"}, {"ratio", "double"}, {"force", "bool"}, {"names", "list(string)"}, {"limits", "map(string, quantity)"},
		}, WithCompiler(compiler))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range [][2]string{
			{"state", "object.?status.?state.orValue('')"},
			{"detail", "object.status"},
			{"list", "object.?status.?conditions.orValue([])"},
			{"ready", "condition(object, 'Ready')"},
			{"broken", "object.metadata.?name.orValue('') > 1"},
			{"absent", "object.metadata.nope"},
			{"meta", "object.?metadata"},
		} {
			if issues := env.AddVariable(v[0], v[1]); issues != nil {
				t.Fatalf("variable %s: %v", v[0], issues)
			}
		}
		for _, v := range made {
			if issues := env.AddVariable(v[0], v[1]); issues != nil {
				_ = issues // then it has no value, which is an error for all alike
			}
		}
		params, err := env.BindParams(map[string]any{"role": "a", "count": 2, "ratio": 0.5, "force": true, "names": []any{"a", "Ready"}, "limits": map[string]any{"a": "1"}})
		if err != nil {
			t.Fatal(err)
		}
		if unfused {
			out.plain, out.plainParams = env, params
		} else {
			out.fused, out.fusedParams = env, params
		}
	}
	return out
}

// result is all that evaluating an expression gives.
func result(p *Program, ev *Evaluation) string {
	defer ev.Close()
	got, err := p.Bool(ev)
	if err != nil {
		return fmt.Sprintf("error %d %q at %d, %s", err.Kind, err.Error(), err.node, err.Missing(ev))
	}
	if again, err := p.Bool(ev); err != nil || again != got {
		return fmt.Sprintf("first %v, then %v, %v", got, again, err)
	}
	return strconv.FormatBool(got)
}

// jsonObject returns an object's JSON form by way of its text.
func jsonObject(t testing.TB, object any) map[string]any {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// twoCompilers are for bothWays.
func twoCompilers(t testing.TB) (out [2]*Compiler) {
	t.Helper()
	for i := range out {
		c, err := NewCompiler()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = c
	}
	return out
}

// compare evaluates a random expression in four ways, and returns the kind of its
// outcome and whether it was fused.
func (b *bothWays) compare(t testing.TB, seed uint64) (string, bool) {
	t.Helper()
	r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
	object := r.newObject()
	r.object = jsonObject(t, object)
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	meta := &metav1.TypeMeta{APIVersion: "v1", Kind: "Thing"}
	r.object["apiVersion"], r.object["kind"] = meta.APIVersion, meta.Kind
	expression := r.condition(4)
	fused, issues := b.fused.Compile(expression, OutputBool)
	if issues != nil {
		return "issues", false
	}
	plain, issues := b.plain.Compile(expression, OutputBool)
	if issues != nil {
		t.Fatalf("%s: %v", expression, issues)
	}
	ctx, limits := context.Background(), Limits{Cost: 1e9}
	typed := func(e *Environment, params *Params) *Evaluation {
		ev, err := e.EvaluationOf(ctx, object, meta, params, limits)
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	want := result(plain, b.plain.Evaluation(ctx, r.object, b.plainParams, limits))
	for name, got := range map[string]string{
		"typed":           result(plain, typed(b.plain, b.plainParams)),
		"fused":           result(fused, b.fused.Evaluation(ctx, r.object, b.fusedParams, limits)),
		"fused and typed": result(fused, typed(b.fused, b.fusedParams)),
	} {
		if got != want {
			t.Errorf("DONEWHEN_SEED=%d DONEWHEN_RUNS=1: %s\n%s: got  %s\nwant %s\nobject %s", seed, expression, name, got, want, data)
		}
	}
	kind := want
	if len(kind) > 7 {
		kind = kind[:7]
	}
	if fused.fused.Load().test != nil {
		ev := b.fused.Evaluation(ctx, r.object, b.fusedParams, limits)
		defer ev.Close()
		result, _ := fused.fused.Load().test.test(ev)
		return kind, result != unsure
	}
	return kind, false
}

// TestDifferential: random expressions on random objects mean what they mean in
// plain cel-go on the object's JSON form, typed or not, fused or not: the same value,
// or the same kind of error, text, node and missing path. DONEWHEN_SEED and
// DONEWHEN_RUNS choose others.
func TestDifferential(t *testing.T) {
	seed, runs := uint64(time.Now().UnixNano()), 2000
	if s, err := strconv.ParseUint(os.Getenv("DONEWHEN_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("DONEWHEN_RUNS")); err == nil {
		runs = n
	}
	t.Logf("DONEWHEN_SEED=%d", seed)
	compilers := twoCompilers(t)
	var b *bothWays
	kinds, fused := map[string]int{}, 0
	for i := range runs {
		if i == 0 || (seed+uint64(i))%sharing == 0 {
			b = newBothWays(t, compilers, seed+uint64(i))
		}
		kind, isFused := b.compare(t, seed+uint64(i))
		if t.Failed() {
			t.FailNow()
		}
		kinds[kind]++
		if isFused {
			fused++
		}
	}
	t.Logf("outcomes %v, %d fused", kinds, fused)
	if runs < 1000 {
		return
	}
	// A generator that only makes errors proves nothing.
	for _, kind := range []string{"true", "false", "error 0", "error 1"} {
		if kinds[kind] < runs/50 {
			t.Errorf("only %d of %d outcomes are %q", kinds[kind], runs, kind)
		}
	}
	if fused < runs/5 {
		t.Errorf("only %d of %d expressions are fused", fused, runs)
	}
}

func FuzzDifferential(f *testing.F) {
	f.Add(uint64(1))
	compilers := twoCompilers(f)
	f.Fuzz(func(t *testing.T, seed uint64) { newBothWays(t, compilers, seed).compare(t, seed) })
}
