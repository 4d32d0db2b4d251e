package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// A judgement that means nothing is the predicate's failure: it is neither a success
// nor news about the object, and the error names the predicate.
func TestG8_AJudgementThatMeansNothingIsThePredicatesFailure(t *testing.T) {
	done := engine.Verdict{Decision: engine.Done}
	for what, j := range map[string]engine.Judgement{
		"a verdict of Decision(7)":                    {Verdict: engine.Verdict{Decision: 7}},
		"a verdict of Decision(-1)":                   {Verdict: engine.Verdict{Decision: -1}},
		"a verdict of Cause(9)":                       {Verdict: engine.Verdict{Decision: engine.Done, Cause: 9}},
		"a failure of code OK":                        {Verdict: engine.Verdict{Decision: engine.Failed}},
		"rule done[0] holds for a verdict of Pending": {Verdict: done, Holding: []engine.Hold{{Rule: "done[0]", For: time.Second}}},
		"rule done[1] holds for -1s": {Verdict: done, Holding: []engine.Hold{
			{Rule: "done[0]", For: time.Second, Verdict: done}, {Rule: "done[1]", For: -time.Second, Verdict: done},
		}},
	} {
		t.Run(what, func(t *testing.T) {
			odd := &predicate{name: "odd", judge: func(engine.Observation, engine.Params) engine.Judgement { return j }}
			play(t, func(s *scene) {
				s.informer.put(pod("x", "u1", "10", "Other"))
				g := s.wait(s.register("odd", "x"))
				g.failed(engine.ReasonBadResult, "10")
				var e *engine.WaitError
				if !errors.As(g.err, &e) || !errors.Is(e, engine.ErrJudge) || e.Code() != codes.Internal ||
					e.Verdict.Predicate.Name != "odd" || !strings.Contains(e.Error(), "predicate odd returned what means nothing: "+what) {
					t.Errorf("%v (%+v)", g.err, e)
				}
			}, odd)
		})
	}
}

// hooked is a predicate whose Bind calls a function first, and a set that has it
// under every name that it has nothing else for.
type hooked struct {
	*predicate
	hook func()
}

type hookedSet struct {
	*set
	hooked *hooked
}

func (p *hooked) Bind(params engine.Params) (engine.Judge, error) {
	p.hook()
	return p.predicate.Bind(params)
}

func (s *hookedSet) Predicate(name string) (engine.Predicate, error) {
	if p := s.predicates[name]; p != nil {
		return p, nil
	}
	return s.hooked, nil
}

// A predicate that panics while it is given params has refused them. A reload leaves
// the waits where they are; no process dies.
func TestG8_APanicInBindRefusesTheParams(t *testing.T) {
	play(t, func(s *scene) {
		g := s.wait(s.register("ready", "x"))
		bad := &hookedSet{set: &set{}, hooked: &hooked{predicate: &predicate{name: "ready", digest: "bad"}, hook: func() { panic("no such index") }}}
		bad.bindings = []*engine.Binding{{Name: "shadow", Operation: "Make", Resource: pods, Predicate: bad.hooked, Action: engine.Shadow}}
		s.engine.Swap(bad)
		_, err := s.engine.Register(engine.Request{Ref: refTo("x"), Predicate: "ready"})
		if err == nil || !strings.Contains(err.Error(), "params of predicate ready: it panicked while it was given them: no such index") {
			t.Errorf("Register: %v", err)
		}
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
		beside := newSet().bind("Make", "ready", nil)
		beside.bindings = append(beside.bindings, bad.bindings...)
		s.engine.Swap(beside)
		w, err := s.engine.Register(engine.Request{Ref: refTo("x"), Operation: "Make"})
		must(t, err)
		defer w.Close()
		s.wait(w).done("10")
	})
}
