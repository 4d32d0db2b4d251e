package wasm

import (
	"context"
	"math/bits"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
	"github.com/donewhen/donewhen/predicates/wasm/internal/rewrite"
)

// call is what host functions know of the call under way. Each instance has one,
// which is used again and again; it is the context that the engine hands through,
// so that a call allocates nothing.
type call struct {
	context.Context
	rt     *Runtime
	memory *memory
	lines  *guestLog
	// What is left of the fuel is the sum of both; nil while the instance is being made.
	fuel, reserve api.MutableGlobal
	// starting: the engine looks into the context for what instances are made with.
	starting bool

	// The document; nil and absent is what nothing is known of. An object is in
	// objectMap if it is unstructured.
	objectMap, params, settings map[string]any
	object                      jsonform.Value

	started time.Time // zero without a timeout
	timeout time.Duration
	gets    int
	encoded int
	random  uint64
	logged  int
	hide    func(string) string // of the document
	code    said
	message said
	codeBuf [maxCode]byte
	msgBuf  [maxMessage]byte
	// written are the units of the memory that host functions have written to, as
	// rewrite.WrittenExport has those of the guest.
	written      uint64
	writtenShift int
	stderr       []byte
	paths        paths
	scratch      []byte            // what is encoded and not kept
	subtrees     map[string][]byte // what is, by path
}

// said is a text of the guest's. The last one that somebody wanted to have is kept: it
// is often the same again.
type said struct {
	text []byte
	last string
}

// String returns the text.
func (s *said) String() string {
	if s.last != string(s.text) {
		s.last = string(s.text)
	}
	return s.last
}

type callKey struct{}

// Value implements context.Context.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	if c.starting {
		return c.Context.Value(key)
	}
	return nil // the engine's only questions are about options that aren't in use
}

// callOf returns the call of the context that a host function was given.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.(*call); ok {
		return c
	}
	return ctx.Value(callKey{}).(*call)
}

// begin makes the call ready for another one, with an empty document.
func (c *call) begin(ctx context.Context, timeout time.Duration) {
	c.Context = ctx
	c.timeout = timeout
	if timeout > 0 {
		c.started = c.rt.clock.Now()
	}
	c.gets, c.encoded, c.random, c.logged = 0, 0, 0, 0
	c.code.text, c.message.text = nil, nil
	c.stderr = c.stderr[:0]
}

// about sets the object that the call is about.
func (c *call) about(object metav1.Object, meta *metav1.TypeMeta) {
	if u, ok := object.(*unstructured.Unstructured); ok && u != nil && u.Object != nil {
		c.objectMap = u.Object
	} else if object != nil {
		c.object = c.rt.plans.Object(object, meta)
	}
}

// end lets go of what the call was about.
func (c *call) end() {
	c.Context = nil
	if c.hide != nil {
		c.hide = nil
	}
	c.objectMap, c.params, c.settings = nil, nil, nil
	if c.object.Kind() != jsonform.Absent {
		c.object = jsonform.Value{}
	}
	if len(c.subtrees) > 0 {
		clear(c.subtrees)
	}
}

// late returns an error once the timeout has passed.
func (c *call) late() *Error {
	if c.timeout > 0 {
		if took := c.rt.clock.Since(c.started); took > c.timeout {
			return newError(LimitExceeded, "the module took %v, its timeout is %v", took.Round(time.Millisecond), c.timeout)
		}
	}
	return nil
}

// errOutOfFuel ends the guest; whoever called it sees the meter.
var errOutOfFuel = newError(FuelExhausted, "out of fuel in a host function")

// charge takes fuel.
func (c *call) charge(units uint64) {
	left := int64(c.fuel.Get()) - int64(units)
	if left < 0 {
		left = c.setFuel(left + int64(c.reserve.Get()))
	} else {
		c.fuel.Set(uint64(left))
	}
	if left < 0 {
		panic(errOutOfFuel)
	}
}

// setFuel sets what is left of the fuel, and returns what is left of the slice that
// the guest may burn at a stretch.
func (c *call) setFuel(left int64) int64 {
	slice := min(left, rewrite.SliceFuel)
	c.fuel.Set(uint64(slice))
	c.reserve.Set(uint64(left - slice))
	return slice
}

// fuelLeft returns what is left of the fuel, below zero if that wasn't enough.
func (c *call) fuelLeft() int64 { return int64(c.fuel.Get()) + int64(c.reserve.Get()) }

// view returns a part of the guest's memory.
func (c *call) view(function string, ptr, length uint32) []byte {
	buf := c.memory.buf
	from, to := uint64(ptr), uint64(ptr)+uint64(length)
	if to > uint64(len(buf)) {
		panic(newError(BadPointer, "%s: %d bytes at %#x are not in the module's memory of %d bytes", function, length, ptr, len(buf)))
	}
	return buf[from:to:to]
}

// wrote notes that a part of the guest's memory is written to. It lies in the memory.
func (c *call) wrote(ptr uint32, length int) {
	if length == 0 {
		return
	}
	first := int(ptr) >> c.writtenShift
	more := min((int(ptr)+length-1)>>c.writtenShift-first, 63)
	c.written |= bits.RotateLeft64(^uint64(0)>>(63-more), first)
}

// space returns a part of the guest's memory to be written to.
func (c *call) space(function string, ptr, length uint32) []byte {
	b := c.view(function, ptr, length)
	c.wrote(ptr, len(b))
	return b
}

// setResult keeps what the guest says of its verdict.
func (c *call) setResult(code, message []byte) {
	if len(code) > maxCode {
		panic(newError(BadResult, "result: a code of %d bytes, at most %d are allowed", len(code), maxCode))
	}
	if !utf8.Valid(code) {
		panic(newError(BadResult, "result: the code is no UTF-8"))
	}
	if len(message) > maxMessage {
		cut := maxMessage
		for cut > 0 && !utf8.RuneStart(message[cut]) {
			cut--
		}
		message = message[:cut]
	}
	if !utf8.Valid(message) {
		panic(newError(BadResult, "result: the message is no UTF-8"))
	}
	c.code.text = append(c.codeBuf[:0], code...)
	c.message.text = append(c.msgBuf[:0], message...)
}

// log writes a line of the guest's, of what is left of the evaluation's share.
func (c *call) log(level uint32, text []byte) {
	room := maxLog - c.logged
	if room <= 0 {
		c.lines.drop()
		return
	}
	c.logged += len(text)
	c.lines.write(klog.FromContext(c.Context), level, text[:min(room, len(text))], c.hide)
}

// harmless returns a text that does nothing to a terminal.
func harmless(text []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(string(text), "\uFFFD"))
}

// output returns what the guest wrote to its output, to be put behind an error.
func (c *call) output() string {
	text := strings.TrimSpace(harmless(c.stderr))
	switch {
	case text == "":
		return ""
	case len(text) > maxMessage:
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return "; it wrote: " + text
}
