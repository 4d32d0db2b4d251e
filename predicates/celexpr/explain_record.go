package celexpr

import (
	"context"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// How much a recorder takes in.
const (
	maxRecorded  = 200_000 // values seen in one evaluation
	maxKeptOf    = 3       // elements of one loop, of each outcome
	maxKeptAll   = 200     // elements of all loops of one evaluation
	lookAtClock  = 64      // steps between two looks at the deadline
	stoppedSteps = "the expression takes too long to explain"
)

// recorder takes in the value of every node as it is evaluated. cel-go's own
// state keeps the last value of a node, so of a loop only its last element; this
// one also keeps those elements that decided.
type recorder struct {
	layout *layout
	ctx    context.Context
	steps  int
	kept   int
	stack  []*frame
}

// frame holds the values of one scope: of the expression, or of a loop's body for
// one element.
type frame struct {
	scope  int
	values []ref.Val
	loops  map[int]*looped // by scope
	round  int
	loop   *looped // that it is a round of
}

// looped is what a recorder keeps of a loop.
type looped struct {
	count  int
	counts [3]int
	kept   [3][]element
	keyed  bool // it went over a map
}

// Classes of elements, by what the loop's condition was.
const (
	classTrue = iota
	classFalse
	classFailed
)

// element is one element that was kept.
type element struct {
	index  int
	key    string
	values []ref.Val
	loops  map[int]*looped
}

// stopped is thrown to end an evaluation.
type stopped struct{ message string }

func newRecorder(l *layout) *recorder {
	r := &recorder{layout: l}
	r.stack = append(r.stack, &frame{values: make([]ref.Val, l.scopes[0].size)})
	return r
}

// SetValue implements interpreter.EvalState.
func (r *recorder) SetValue(id int64, v ref.Val) {
	if r.steps++; r.steps%lookAtClock == 0 {
		if r.steps > maxRecorded {
			panic(stopped{stoppedSteps})
		}
		if r.ctx.Err() != nil {
			panic(stopped{context.Cause(r.ctx).Error()})
		}
	}
	if at, ok := r.layout.at[id]; ok && v != nil {
		r.enter(at.scope).values[at.slot] = v
	}
	if scope, ok := r.layout.steps[id]; ok {
		r.ended(r.enter(scope))
	}
}

// enter returns the scope's frame: a loop begins with the first value in it, and
// has ended when there is one outside.
func (r *recorder) enter(scope int) *frame {
	top := r.stack[len(r.stack)-1]
	if top.scope == scope {
		return top
	}
	for depth := len(r.stack) - 1; depth > 0; depth-- {
		if r.stack[depth-1].scope == scope {
			r.stack = r.stack[:depth]
			return r.stack[depth-1]
		}
	}
	s := r.layout.scopes[scope]
	outer := r.enter(s.parent)
	if outer.loops == nil {
		outer.loops = map[int]*looped{}
	}
	l := s.loop.loop
	record := &looped{}
	if over := outer.values[l.over.place.slot]; over != nil {
		_, record.keyed = over.(traits.Mapper)
	}
	outer.loops[scope] = record
	f := &frame{scope: scope, values: make([]ref.Val, s.size), loop: record}
	r.stack = append(r.stack, f)
	return f
}

// ended takes in one round of a loop.
func (r *recorder) ended(f *frame) {
	l := r.layout.scopes[f.scope].loop.loop
	class := classTrue
	if l.condition != nil {
		switch f.values[l.condition.place.slot] {
		case types.True:
		case types.False:
			class = classFalse
		default:
			class = classFailed
		}
	}
	e := element{index: f.round, values: f.values, loops: f.loops}
	if f.loop.keyed && l.hasKey && f.values[l.key.slot] != nil {
		e.key, _ = f.values[l.key.slot].Value().(string)
	}
	f.round++
	f.loop.count++
	f.loop.counts[class]++
	f.loops = nil
	if r.keep(f.loop, class, e) {
		f.values = make([]ref.Val, len(f.values))
	} else {
		clear(f.values)
	}
}

// keep keeps the first elements of each class; of maps, which have no order, those
// with the smallest keys.
func (r *recorder) keep(l *looped, class int, e element) bool {
	kept := l.kept[class]
	if len(kept) < maxKeptOf {
		if r.kept == maxKeptAll {
			return false
		}
		r.kept++
		kept = append(kept, e)
	} else {
		if !l.keyed || strings.Compare(e.key, kept[maxKeptOf-1].key) >= 0 {
			return false
		}
		kept[maxKeptOf-1] = e
	}
	for i := len(kept) - 1; l.keyed && i > 0 && kept[i].key < kept[i-1].key; i-- {
		kept[i], kept[i-1] = kept[i-1], kept[i]
	}
	l.kept[class] = kept
	return true
}

// IDs implements interpreter.EvalState; nothing asks for them.
func (r *recorder) IDs() []int64 { return nil }

// Value implements interpreter.EvalState; nothing asks for it.
func (r *recorder) Value(int64) (ref.Val, bool) { return nil, false }

// Reset implements interpreter.EvalState; a recorder is used once.
func (r *recorder) Reset() {}

var _ interpreter.EvalState = (*recorder)(nil)
