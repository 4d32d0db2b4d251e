package wasm

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Use is how a module is used.
type Use struct {
	// Settings are what the guest finds under /settings: values as JSON decodes
	// them. They must not be changed afterwards.
	Settings map[string]any
	Limits   Limits
}

// Guest is a module in one use. It is safe for concurrent use.
type Guest struct {
	module   *Module
	limits   Limits
	settings map[string]any

	// parked is until when the guest isn't asked, in Unix nanoseconds; 0 if it is.
	parked atomic.Int64
	faults atomic.Int32 // in a row
	mu     sync.Mutex
	park   time.Duration
	last   *Error
}

// Document is what a guest is asked about.
type Document struct {
	Object metav1.Object
	// TypeMeta fills in apiVersion and kind of typed objects that lack them.
	TypeMeta *metav1.TypeMeta
	// Params are what the guest finds under /params: values as JSON decodes them.
	Params map[string]any
	// Hide returns what is shown of a line that the guest logs about this document; if
	// it is nil, all is.
	Hide func(line string) string
}

// Decision is what a guest returns.
type Decision int32

// Decisions, as dw_evaluate returns them.
const (
	Pending Decision = 0
	Done    Decision = 1
	Failed  Decision = 2
	cannot  Decision = 3
)

// Result is what a guest says of a document.
type Result struct {
	Decision Decision
	// Code is what the guest gave as code and reason, Message its text; both are
	// empty if it gave none.
	Code, Message string
	// Fuel is what it used.
	Fuel int64
}

// Guest returns the module in a use of that name. The first use makes an instance,
// so that a module that can't start fails here.
func (m *Module) Guest(ctx context.Context, use Use) (*Guest, error) {
	if err := use.Limits.Check(); err != nil {
		return nil, fmt.Errorf("use the module: %w", err)
	}
	g := &Guest{module: m, limits: use.Limits.withDefaults(), settings: use.Settings}
	i, err := m.pool.acquire(ctx, g.limits.Timeout)
	if err != nil {
		return nil, err
	}
	size := int64(len(i.memory.buf))
	m.pool.release(i, true)
	if size > g.limits.Memory {
		return nil, newError(MemoryLimit, "the module starts with %d KiB of memory, its limit is %d KiB", size>>10, g.limits.Memory>>10)
	}
	return g, nil
}

// Validate asks the guest whether it accepts the params, with its settings. A guest
// without dw_validate accepts all.
func (g *Guest) Validate(ctx context.Context, params map[string]any) error {
	defer runtime.KeepAlive(g.module)
	pool := &g.module.pool
	i, err := pool.acquire(ctx, g.limits.Timeout)
	if err != nil {
		return err
	}
	if i.validate == nil {
		pool.release(i, true)
		return nil
	}
	i.call.begin(ctx, g.limits.Timeout)
	i.call.params, i.call.settings = params, g.settings
	i.memory.limit = uint64(g.limits.Memory)
	accepted, e := i.run(i.validate, exportValidate, g.limits.Fuel)
	if e == nil && accepted != 1 {
		e = newError(ValidationRefused, "the module refuses params and settings: %s%s", i.call.said(), i.call.output())
	}
	pool.release(i, e == nil)
	if e != nil {
		return e
	}
	return nil
}

// said returns the guest's own words.
func (c *call) said() string {
	code, message := c.code.String(), c.message.String()
	switch {
	case message == "" && code == "":
		return "it doesn't say why"
	case message == "":
		return code
	case code == "":
		return message
	}
	return code + ": " + message
}

// Evaluate asks the guest about a document. If words is false, those of a pending
// result aren't returned, which saves their copies. The error is an *Error, or the
// context's if that ends while all instances are busy.
func (g *Guest) Evaluate(ctx context.Context, d *Document, words bool) (Result, error) {
	defer runtime.KeepAlive(g.module)
	if until := g.parked.Load(); until != 0 && g.module.rt.clock.Now().UnixNano() < until {
		return Result{}, g.parkedError()
	}
	pool := &g.module.pool
	i, err := pool.acquire(ctx, g.limits.Timeout)
	if err != nil {
		return Result{}, err
	}
	result, e := g.evaluate(ctx, i, d, words)
	pool.release(i, e == nil || e.Reason == GuestError)
	g.note(e)
	if e != nil {
		return Result{}, e
	}
	return result, nil
}

func (g *Guest) evaluate(ctx context.Context, i *instance, d *Document, words bool) (Result, *Error) {
	c := &i.call
	c.begin(ctx, g.limits.Timeout)
	c.about(d.Object, d.TypeMeta)
	c.params, c.settings, c.hide = d.Params, g.settings, d.Hide
	i.memory.limit = uint64(g.limits.Memory)
	n, e := i.run(i.evaluate, exportEvaluate, g.limits.Fuel)
	if e == nil {
		e = c.late()
	}
	if e != nil {
		return Result{}, e
	}
	result := Result{Decision: Decision(n), Fuel: i.fuelUsed(g.limits.Fuel)}
	switch result.Decision {
	case Pending, Done, Failed:
		if words || result.Decision != Pending {
			result.Code, result.Message = c.code.String(), c.message.String()
		}
		return result, nil
	case cannot:
		return Result{}, newError(GuestError, "the module cannot judge: %s%s", c.said(), c.output())
	}
	return Result{}, newError(BadResult, "dw_evaluate returned %d, not 0 to 3%s", n, c.output())
}

// note counts faults in a row and parks a guest that has too many.
func (g *Guest) note(e *Error) {
	fault := e != nil && e.Reason != GuestError
	if !fault && g.faults.Load() == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !fault {
		g.park, g.last = 0, nil
		g.faults.Store(0)
		g.parked.Store(0)
		return
	}
	g.last = e
	if g.faults.Add(1) < faultsToPark {
		return
	}
	g.park = min(max(2*g.park, firstPark), longestPark)
	g.parked.Store(g.module.rt.clock.Now().Add(g.park).UnixNano())
}

// parkedError says why the guest isn't asked.
func (g *Guest) parkedError() *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		return newError(Trap, "the module is parked")
	}
	return &Error{
		Reason: g.last.Reason, Parked: true,
		Message: fmt.Sprintf("the module failed %d times in a row and isn't asked for %v: %s", g.faults.Load(), g.park, g.last.Message),
	}
}

// Parked returns until when the guest isn't asked, because it failed too often in a
// row; false if it is.
func (g *Guest) Parked() (time.Time, bool) {
	until := g.parked.Load()
	now := g.module.rt.clock.Now()
	return time.Unix(0, until), until != 0 && now.UnixNano() < until
}

// Module returns the guest's module.
func (g *Guest) Module() *Module { return g.module }
