package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// Config is what a script is played with.
type Config struct {
	// Set is the set at the start.
	Set engine.Set
	// Request is what Register asks for.
	Request engine.Request
	// Logger is the engine's; the zero one is silent.
	Logger klog.Logger
}

// Player plays a script. It isn't safe for concurrent use.
type Player struct {
	config  Config
	clock   *Clock
	source  *Source
	engine  *engine.Engine
	stop    context.CancelFunc
	waiter  *engine.Waiter
	cancel  context.CancelFunc
	waiting chan struct{} // closed when Wait has returned; nil if it wasn't called
	created int           // UIDs given

	disagreements atomic.Int64
	trace         []string
}

// New returns a player of one script. Close it when done.
func New(config Config) (*Player, error) {
	if config.Set == nil {
		return nil, errors.New("a script needs a set to play with")
	}
	if config.Request.Ref.Name == "" || config.Request.Ref.Resource.Resource == "" {
		return nil, errors.New("a script needs the reference of an object to wait for: its resource and name")
	}
	return &Player{config: config, clock: NewClock()}, nil
}

// Seen is what there is to see after a step.
type Seen struct {
	// Registered: there is, or was, a waiter. Without one Status means nothing.
	Registered bool
	// Status is the waiter's.
	Status engine.Status
	// Disagreements counts how often a shadow binding has judged otherwise.
	Disagreements int
}

// Play plays one step, and returns what there is to see when the engine has
// nothing left to do about it. The error says why the step can't be played; the
// script can't go on then.
func (p *Player) Play(ctx context.Context, step Step) (Seen, error) {
	if p.engine == nil {
		// A script that begins cut off has seen nothing yet.
		if err := p.start(step.Verb == Disconnect); err != nil {
			return Seen{}, err
		}
	}
	p.source.told = func() error { return p.settle(ctx) }
	text, err := p.do(ctx, step)
	if err == nil {
		err = p.settle(ctx)
	}
	seen := p.see()
	if err != nil {
		err = fmt.Errorf("%s: %w", step.Verb, err)
		p.note(text, "error: "+err.Error())
		return seen, err
	}
	p.note(text, seen.String())
	return seen, nil
}

// start makes the engine with the source of the object awaited, and with an
// empty one of whatever else the set has bindings for.
func (p *Player) start(unsynced bool) error {
	p.source = NewSource(unsynced)
	p.engine = engine.New(p.config.Set, p.options()...)
	sources := map[schema.GroupVersionResource]*Source{p.config.Request.Ref.Resource: p.source}
	for _, binding := range p.config.Set.Bindings() {
		if sources[binding.Resource] == nil {
			sources[binding.Resource] = NewSource(false)
		}
	}
	for resource, source := range sources {
		if err := p.engine.Watch(resource, source); err != nil {
			return fmt.Errorf("starting the script: %w", err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	if err := p.engine.Start(ctx); err != nil {
		stop()
		return fmt.Errorf("starting the script: %w", err)
	}
	p.stop = stop
	return nil
}

func (p *Player) options() []engine.Option {
	return []engine.Option{
		engine.WithClock(p.clock), engine.WithLogger(p.config.Logger),
		engine.WithObserver(disagreements{count: &p.disagreements}),
	}
}

// settle blocks until the engine has nothing left to do, what is due now included.
func (p *Player) settle(ctx context.Context) error {
	if err := p.engine.Settle(ctx); err != nil {
		return err
	}
	return p.clock.Advance(ctx, 0, p.engine.Settle)
}

// Close ends what still runs. The trace stays.
func (p *Player) Close() {
	if p.stop == nil {
		return
	}
	if p.waiter != nil {
		p.leave()
		p.waiter.Close()
	}
	p.stop()
	<-p.source.removed // the engine has let go of it
	p.stop = nil
}

// leave ends the context of the wait, and waits until it has returned.
func (p *Player) leave() {
	if p.waiting == nil {
		return
	}
	p.cancel()
	<-p.waiting
	p.waiting = nil
}

// see returns what there is to see now.
func (p *Player) see() Seen {
	seen := Seen{Registered: p.waiter != nil, Disagreements: int(p.disagreements.Load())}
	if seen.Registered {
		seen.Status = p.waiter.Status()
	}
	return seen
}

// note adds a line to the trace.
func (p *Player) note(step, outcome string) {
	p.trace = append(p.trace, fmt.Sprintf("%-8s %-36s %s", p.clock.Since(epoch), step, outcome))
}

// Trace returns a line per step played: the time, the verb with object@version,
// and what the waiter saw then.
func (p *Player) Trace() []string { return slices.Clone(p.trace) }

// disagreements counts what shadow bindings have judged otherwise.
type disagreements struct {
	engine.NopObserver
	count *atomic.Int64
}

// ShadowDisagreed counts.
func (d disagreements) ShadowDisagreed(string, string) { d.count.Add(1) }
