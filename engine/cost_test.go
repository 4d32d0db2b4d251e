package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// costs sums up what evaluations have cost.
type costs struct {
	engine.NopObserver
	sum atomic.Uint64
}

func (c *costs) Evaluated(e engine.Evaluation) { c.sum.Add(e.Cost) }

// TestK51_TheObserverIsToldTheCost: what a judgement says it has cost, for each
// purpose.
func TestK51_TheObserverIsToldTheCost(t *testing.T) {
	dear := &predicate{name: "dear", judge: func(engine.Observation, engine.Params) engine.Judgement {
		return engine.Judgement{Cost: 7}
	}}
	play(t, func(s *scene) {
		ctx, stop := context.WithCancel(s.Context())
		defer stop()
		told := &costs{}
		s.informer, s.stop = newInformer(), stop
		s.informer.sync("1")
		s.engine = engine.New(s.set, engine.WithLogger(klog.Logger{}), engine.WithObserver(told))
		must(s.T, s.engine.Watch(pods, s.informer))
		must(s.T, s.engine.Start(ctx))
		s.informer.put(pod("x", "u1", "11", "Other"))
		w := s.register("dear", "x")
		seconds(0)
		if got := told.sum.Load(); got != 7 {
			t.Errorf("judged: %d", got)
		}
		w.Status()
		if got := told.sum.Load(); got != 14 {
			t.Errorf("described: %d", got)
		}
		w.Close()
	}, dear)
}
