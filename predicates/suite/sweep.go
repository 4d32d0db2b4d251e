package suite

import (
	"maps"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// Values of a sweep that stand for something else than themselves.
const (
	sweepAbsent  = ""   // the field isn't there
	sweepUnknown = "zz" // a value that nobody has thought of
)

// statesPath is the path that a bare list of states is about.
const statesPath = "status.state"

// buildStates reads spec.states: a list of the values of status.state, or lists
// by path.
func (b *builder) buildStates() {
	b.states = map[string][]string{}
	at := []any{"spec", "states"}
	switch states := b.spec.States.(type) {
	case nil:
	case []any:
		b.buildStatesOf(statesPath, states, at)
	case map[string]any:
		for _, path := range slices.Sorted(maps.Keys(states)) {
			list, ok := states[path].([]any)
			if _, err := parsePath(path); err != nil {
				b.fail(append(at, path), "", "states of %v", err)
			} else if !ok {
				b.fail(append(at, path), "", "the states of a path are a list")
			} else {
				b.buildStatesOf(path, list, append(at, path))
			}
		}
	default:
		b.fail(at, "", "states are a list of the values of %s, or lists by path", statesPath)
	}
}

func (b *builder) buildStatesOf(path string, list []any, at []any) {
	for i, value := range list {
		state, ok := value.(string)
		if !ok || state == "" {
			b.fail(append(slices.Clip(at), i), "", "a state is a string that isn't empty")
			continue
		}
		b.states[path] = append(b.states[path], state)
	}
}

// buildSweep makes a check of every value, in the order in which they stand.
func (b *builder) buildSweep(c caseSpec, base check) {
	sweep := append(slices.Clip(base.at), "sweep")
	expects := append(slices.Clip(sweep), "expect")
	path, err := parsePath(c.Sweep.Path)
	if err != nil {
		b.fail(append(slices.Clip(sweep), "path"), "", "path %v", err)
		return
	}
	values := slices.Collect(maps.Keys(c.Sweep.Expect))
	if len(values) == 0 {
		b.fail(sweep, "", "the sweep has no values")
		return
	}
	slices.SortFunc(values, func(x, y string) int {
		xLine, xColumn := b.doc.KeyPosition(append(slices.Clip(expects), x)...)
		yLine, yColumn := b.doc.KeyPosition(append(slices.Clip(expects), y)...)
		return slices.Compare([]int{xLine, xColumn}, []int{yLine, yColumn})
	})
	b.complete(c.Sweep.Path, values, expects)
	for _, value := range values {
		at := append(slices.Clip(expects), value)
		r := base.copy(sweepName(value), at)
		var set any = value
		if value == sweepAbsent {
			set = nil
		}
		if r.object, err = path.set(base.object, set); err != nil {
			b.fail(append(slices.Clip(sweep), "path"), "", "path %s can't be set: %v", c.Sweep.Path, err)
			return
		}
		spec := c.Sweep.Expect[value]
		r.expect = b.buildExpect(&spec, at, at)
		b.add(r)
	}
}

// sweepKeys says of keys that aren't strings what a sweep is for.
func (b *builder) sweepKeys() {
	for i, c := range b.spec.Cases {
		if c.Sweep == nil {
			continue
		}
		for value := range c.Sweep.Expect {
			line, column := b.doc.KeyPosition("spec", "cases", i, "sweep", "expect", value)
			for j := range b.findings {
				if f := &b.findings[j]; f.Line == line && f.Column == column && strings.HasSuffix(f.Message, "is no string but a number") {
					f.Hint = "a sweep sets texts; for numbers write a table"
				}
			}
		}
	}
}

// complete finds states that the sweep leaves out, and values that are none.
func (b *builder) complete(path string, values []string, at []any) {
	states, ok := b.states[path]
	if !ok {
		return
	}
	var absent []string
	for _, state := range states {
		if !slices.Contains(values, state) {
			absent = append(absent, state)
		}
	}
	if len(absent) > 0 {
		b.fail(at, "say what is expected of each, or take it out of spec.states", "the sweep leaves out %s", strings.Join(absent, ", "))
	}
	for _, value := range values {
		if value != sweepAbsent && value != sweepUnknown && !slices.Contains(states, value) {
			b.fail(append(slices.Clip(at), value), nearest.Hint(value, "states", states), "%q isn't in spec.states", value)
		}
	}
}

func sweepName(value string) string {
	switch value {
	case sweepAbsent:
		return "(absent)"
	case sweepUnknown:
		return "zz (unknown)"
	}
	return value
}

// unknownError is about a name that isn't there.
type unknownError struct{ message, hint string }

func (e *unknownError) Error() string { return e.message }
