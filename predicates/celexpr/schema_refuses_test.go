package celexpr

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// valid makes objects and strict expressions of a schema: those in which every
// operand is needed, so that nothing (an ||, a ?:, a default) makes up for one that
// can't be evaluated.
type valid struct{ *rand.Rand }

// value makes a value of the type. What is of any type is one that has no fields.
func (r valid) value(t *schemas.Type) any {
	switch t.Form {
	case schemas.Object:
		m := map[string]any{}
		for _, name := range t.Names() {
			if r.IntN(5) > 0 {
				m[name] = r.value(t.Fields[name])
			}
		}
		return m
	case schemas.Map:
		m := map[string]any{}
		for _, name := range []string{"a", "b"}[:r.IntN(3)] {
			m[name] = r.value(t.Elem)
		}
		return m
	case schemas.List:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, r.value(t.Elem))
		}
		return l
	case schemas.Int:
		return r.Int64N(4)
	case schemas.Bool:
		return r.IntN(2) == 0
	case schemas.String:
		if t.Enum != nil {
			return t.Enum[r.IntN(len(t.Enum))]
		}
		return []string{"", "a", "b", "Created", "1"}[r.IntN(5)]
	}
	return []any{"a", r.Int64N(4), true}[r.IntN(3)]
}

// path makes a path of a schema, one in eight of its names misspelt.
func (r valid) path(t *schemas.Type) string {
	expression := rootObject
	for range 1 + r.IntN(5) {
		switch t.Form {
		case schemas.Object:
			names := t.Names()
			name := names[r.IntN(len(names))]
			t = t.Fields[name]
			if r.IntN(8) == 0 {
				name += "x"
			}
			if strings.Contains(name, "-") {
				expression += "['" + name + "']"
			} else {
				expression += "." + name
			}
		case schemas.List:
			expression, t = expression+"["+strconv.Itoa(r.IntN(2))+"]", t.Elem
		case schemas.Map:
			expression, t = expression+"['a']", t.Elem
		default:
			return expression
		}
	}
	return expression
}

func (r valid) operand(t *schemas.Type) string {
	if r.IntN(2) == 0 {
		return []string{"1", "'a'", "true", "'Created'", "1.0"}[r.IntN(5)]
	}
	return r.path(t)
}

// expression makes one, and says what it is always if its operands can't be: "" is
// an error.
func (r valid) expression(t *schemas.Type) (expression, otherwise string) {
	a, b := r.path(t), r.operand(t)
	switch r.IntN(9) {
	case 0, 1:
		return a + " == " + b, "false"
	case 2:
		return a + " != " + b, "true"
	case 3:
		return b + " in " + a, "false"
	case 4:
		return a + " " + []string{"<", "<=", ">", ">="}[r.IntN(4)] + " " + b, ""
	case 5:
		return a + []string{".startsWith('a')", ".contains('a')", ".matches('^a')"}[r.IntN(3)], ""
	case 6:
		return fmt.Sprintf("%s + %s == %s", a, b, b), "false"
	case 7:
		return fmt.Sprintf("size(%s) > 1", a), ""
	}
	return fmt.Sprintf("has(%s.%s)", a, []string{"state", "detail", "nope"}[r.IntN(3)]), "false"
}

// TestASchemaOnlyRefusesWhatNeverRuns: a strict expression that is refused for the
// schema alone can't be evaluated on any object that fits the schema. Wanted
// exceptions: a comparison of types that are never equal is always false (!= always
// true), and so is has() of a field that there is not.
func TestASchemaOnlyRefusesWhatNeverRuns(t *testing.T) {
	seed, runs := uint64(time.Now().UnixNano()), 3000
	if s, err := strconv.ParseUint(os.Getenv("DONEWHEN_SEED"), 10, 64); err == nil {
		seed = s
	}
	if n, err := strconv.Atoi(os.Getenv("DONEWHEN_RUNS")); err == nil {
		runs = n
	}
	t.Logf("DONEWHEN_SEED=%d", seed)
	compiler, err := NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	schema := volumes(t, "v1")[0]
	checked, err := NewEnvironment(nil, WithCompiler(compiler), WithSchemas(schema))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := NewEnvironment(nil, WithCompiler(compiler))
	if err != nil {
		t.Fatal(err)
	}
	params := testParams(t, plain)
	refused, ran, kinds := 0, 0, map[string]int{}
	for i := range runs {
		r := valid{rand.New(rand.NewPCG(seed+uint64(i), 3))}
		expression, otherwise := r.expression(schema.Root)
		p, issues := plain.Compile(expression, OutputBool)
		if issues != nil {
			continue
		}
		_, issues = checked.Compile(expression, OutputBool)
		if issues != nil {
			refused++
		}
		for range 20 {
			ev := plain.Evaluation(context.Background(), r.value(schema.Root).(map[string]any), params, Limits{Cost: 1e6})
			got, failure := p.Bool(ev)
			ev.Close()
			switch outcome := strconv.FormatBool(got); {
			case issues == nil && failure == nil:
				ran++
			case issues == nil:
			case failure != nil:
				kinds[strconv.Itoa(int(failure.Kind))]++
			case outcome == otherwise:
				kinds["never equal"]++
			default:
				t.Fatalf("DONEWHEN_SEED=%d DONEWHEN_RUNS=1: %s is refused, and is %s:\n%s", seed+uint64(i), expression, outcome, render(issues))
			}
		}
	}
	t.Logf("%d refused: %v; the others had a value %d times", refused, kinds, ran)
	if runs >= 1000 && (refused < runs/10 || ran < runs || kinds["0"] < runs/10 || kinds["1"] < runs/10) {
		t.Errorf("%d of %d are refused (%v), %d ran: that proves nothing", refused, runs, kinds, ran)
	}
}
