package wasm

import (
	"bytes"
	"compress/gzip"
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates/wasm/internal/fixture"
)

func TestHostileFixtures(t *testing.T) { fixture.Check(t, "testdata/hostile") }

// bigObject is one of about a mebibyte.
func bigObject() map[string]any {
	status := map[string]any{"state": "Attached"}
	list := make([]any, 10_000)
	for i := range list {
		list[i] = map[string]any{"type": "Ready", "status": "True", "message": strings.Repeat("x", 70)}
	}
	status["conditions"] = list
	return status
}

// well is the reason of a guest that does no harm, or none that lasts.
const well = Reason("")

// hostile are the guests that want to do harm, with what is said of them.
var hostile = map[string]struct {
	reason  Reason
	message string
}{
	"spin":             {FuelExhausted, "dw_evaluate: the fuel is used up"},
	"tree":             {FuelExhausted, ""},
	"recursion":        {Trap, "dw_evaluate: calls are nested too deeply"},
	"recursion_table":  {Trap, "dw_evaluate: calls are nested too deeply"},
	"grow":             {MemoryLimit, "no memory could be added to the 8192 KiB, the limit of the predicate is reached"},
	"grow_content":     {well, ""},
	"grow_then_trap":   {Trap, "dw_evaluate: unreachable"},
	"unreachable":      {Trap, "dw_evaluate: unreachable"},
	"out_of_bounds":    {Trap, "out of bounds memory access"},
	"divide_by_zero":   {Trap, "integer divide by zero"},
	"bad_path":         {BadPointer, "get: 20 bytes at 0xfffa are not in the module's memory of 65536 bytes"},
	"bad_path_length":  {BadPointer, "a path of 1025 bytes"},
	"bad_path_wrap":    {BadPointer, "get: 16 bytes at 0xfffffff8"},
	"bad_buffer":       {BadPointer, "get: 10000 bytes at 0xea60"},
	"bad_code":         {BadPointer, "result: 1 bytes at 0x11170"},
	"long_code":        {BadResult, "a code of 65 bytes"},
	"bad_message":      {BadPointer, "result: 4294967295 bytes at 0x0"},
	"bad_log":          {BadPointer, "log: 1 bytes"},
	"bad_random":       {BadPointer, "random_get: 65536 bytes"},
	"bad_clock":        {BadPointer, "clock_time_get: 8 bytes"},
	"bad_write":        {BadPointer, "fd_write: 8 bytes"},
	"bad_write_count":  {BadPointer, "fd_write: 536870913 parts"},
	"bad_part":         {BadPointer, "fd_write: 8 bytes at 0xffff"},
	"text_path":        {BadPointer, "is no JSON Pointer"},
	"no_path":          {BadPointer, `"object" is no JSON Pointer`},
	"text_code":        {BadResult, "the code is no UTF-8"},
	"text_message":     {BadResult, "the message is no UTF-8"},
	"start":            {FuelExhausted, "start the module: the fuel is used up"},
	"initialize":       {FuelExhausted, "start the module: the fuel is used up"},
	"start_crash":      {Trap, "start the module: "},
	"counter":          {well, ""},
	"grow_counter":     {well, ""},
	"table_set":        {well, ""},
	"data_drop":        {well, ""},
	"vector_global":    {well, ""},
	"exit":             {GuestExit, "the module ended its program with code 3"},
	"stderr":           {Trap, "; it wrote: panic: the disk has no LUN"},
	"log_flood":        {well, ""},
	"many_gets":        {TooManyCalls, "more than 1024 fields were asked for"},
	"whole_object":     {well, ""},
	"whole_copy":       {FuelExhausted, ""},
	"many_results":     {FuelExhausted, ""},
	"one_gigabyte":     {MemoryLimit, "starts with 1048576 KiB of memory, at most 65536 KiB are allowed"},
	"nine_megabytes":   {MemoryLimit, "starts with 9216 KiB of memory, its limit is 8192 KiB"},
	"later_abi":        {AbiMismatch, "module speaks dw_abi_v3, this build knows v1"},
	"no_abi":           {AbiMismatch, "exports no dw_abi_v1"},
	"no_evaluate":      {AbiMismatch, "exports no dw_evaluate (func () -> i32)"},
	"wrong_type":       {AbiMismatch, "dw_evaluate is a func () -> i64, not a func () -> i32"},
	"reserved":         {ModuleInvalid, `"__dw_fuel": names that begin with __dw_ are reserved`},
	"nine":             {BadResult, "dw_evaluate returned 9"},
	"cannot":           {GuestError, "the module cannot judge: no such publish context"},
	"imports":          {ImportDenied, "env.abort func (i32, i32); dw.get func (i32) -> i32, which is a func (i32, i32, i32, i32) -> i64; wasi_snapshot_preview1.path_open func () -> i32; env.memory memory"},
	"fill":             {FuelExhausted, ""},
	"fill_small":       {FuelExhausted, ""},
	"copy":             {FuelExhausted, ""},
	"chase":            {FuelExhausted, ""},
	"divide":           {FuelExhausted, ""},
	"root":             {FuelExhausted, ""},
	"indirect":         {FuelExhausted, ""},
	"ref_func":         {FuelExhausted, ""},
	"table_copy":       {FuelExhausted, ""},
	"grow_nothing":     {FuelExhausted, ""},
	"vector":           {FuelExhausted, ""},
	"bad_buffer_place": {BadPointer, "get: 0 bytes at 0x10001 are not"},
	"bad_code_length":  {BadPointer, "result: 4294967295 bytes at 0xffff"},
	"bad_log_length":   {BadPointer, "log: 4294967295 bytes at 0x1"},
	"bad_sizes":        {BadPointer, "sizes_get: 4 bytes at 0xfffd"},
	"bad_environ":      {BadPointer, "sizes_get: 4 bytes at 0xfffffffc"},
	"bad_poll":         {BadPointer, "poll_oneoff: 4 bytes at 0x10000"},
	"bad_written":      {BadPointer, "fd_write: 4 bytes at 0xfffd"},
	"text_log":         {well, ""},
	"text_stderr":      {Trap, "; it wrote: no \ufffd\ufffd[2"},
	"data_segment":     {well, ""},
	"init_data":        {well, ""},
	"whole_scan":       {FuelExhausted, ""},
	"write_nothing":    {FuelExhausted, ""},
	"write_much":       {FuelExhausted, ""},
	"random":           {FuelExhausted, ""},
	"host_calls":       {FuelExhausted, ""},
}

// hostileDocument is what they are asked about.
func hostileDocument(name string) *Document {
	o := object(map[string]any{"state": "Attaching"})
	if strings.HasPrefix(name, "whole_") {
		o.Object["status"] = bigObject()
	}
	return &Document{Object: o}
}

// TestHostileGuests holds that whatever a guest does gives a verdict with a reason,
// and leaves nothing behind.
func TestHostileGuests(t *testing.T) {
	for name, want := range hostile {
		t.Run(name, func(t *testing.T) {
			rt := newRuntime(t)
			binary := fixture.Read(t, "testdata/hostile/"+name+".wasm")
			document := hostileDocument(name)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := cpuTime()
			result, err := judgeOnce(rt, binary, document)
			took := cpuTime() - start
			runtime.ReadMemStats(&after)
			t.Logf(name+": %v of cpu time, %d KiB allocated, fuel %d: %v", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>10, result.Fuel, err)
			if got := ReasonOf(err); got != want.reason {
				t.Fatalf("reason is %q (%v), want %q", got, err, want.reason)
			}
			if want.reason == well {
				if result.Decision != Done {
					t.Errorf("decision is %d", result.Decision)
				}
				// Nor does it know of the first time.
				if again, err := judgeOnce(rt, binary, document); err != nil || again != result {
					t.Errorf("the second time gives %+v, %v, the first %+v", again, err, result)
				}
			} else if !strings.Contains(err.Error(), want.message) {
				t.Errorf("message is %q, want %q", err, want.message)
			}
			// What big objects are encoded into, and memory that grows to its limit and has
			// been copied by then, are the most.
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 40<<20 {
				t.Errorf("%d KiB were allocated", allocated>>10)
			}
			if len(message(err)) > 2*maxMessage {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if used := rt.Memory(); used > 2*DefaultMemory {
				t.Errorf("%d bytes of memory are still in use", used)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// judgeOnce does all there is to do with a module, as far as it gets.
func judgeOnce(rt *Runtime, binary []byte, d *Document) (Result, error) {
	ctx := klog.NewContext(context.Background(), logr.Discard())
	m, err := rt.Load(ctx, binary, "")
	if err != nil {
		return Result{}, err
	}
	defer m.Close()
	g, err := m.Guest(ctx, Use{})
	if err != nil {
		return Result{}, err
	}
	if _, err := g.Evaluate(ctx, d, true); err != nil {
		return Result{}, err
	}
	return g.Evaluate(ctx, d, true)
}

func TestHostileFiles(t *testing.T) {
	rt := newRuntime(t)
	zip := func(data []byte) []byte {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	good := fixture.Read(t, "testdata/attached.wasm")
	for name, c := range map[string]struct {
		binary []byte
		pin    string
		want   string
	}{
		"component":      {[]byte("\x00asm\x0d\x00\x01\x00"), "", "a component, not a core module"},
		"truncated":      {good[:len(good)-7], "", "bytes are announced"},
		"text":           {[]byte("apiVersion: v1"), "", "no WebAssembly module"},
		"gzip bomb":      {zip(make([]byte, 32<<20)), "", "more than 4194304 bytes"},
		"gzip cut":       {zip(good)[:60], "", "unzip the module: unexpected EOF"},
		"gzip of gzip":   {zip(zip(good)), "", "no WebAssembly module"},
		"too big":        {make([]byte, 4<<20+1), "", "more than 4194304 bytes"},
		"another digest": {good, strings.Repeat("0", 64), "but it is pinned to 0000"},
	} {
		_, err := rt.Load(context.Background(), c.binary, c.pin)
		if ReasonOf(err) != ModuleInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	m, err := rt.Load(context.Background(), zip(good), "")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	again, err := rt.Load(context.Background(), good, strings.ToUpper(m.Digest()))
	if err != nil || again.Digest() != m.Digest() {
		t.Errorf("the module by its pin: %v", err)
	}
	again.Close()
	again.Close() // no harm
}

// TestEveryHostCallHasAHostileGuest holds that for each function that takes a place in
// memory there is a guest among the hostile ones that gives it a bad one.
func TestEveryHostCallHasAHostileGuest(t *testing.T) {
	// These look at no memory: there are no arguments and no files, whatever is asked.
	without := []string{"args_get", "environ_get", "sched_yield", "proc_exit", "fd_close", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_prestat_get", "fd_prestat_dir_name"}
	rt := newRuntime(t)
	bad := map[string]bool{}
	for name, want := range hostile {
		if want.reason != BadPointer {
			continue
		}
		m, err := rt.Load(context.Background(), fixture.Read(t, "testdata/hostile/"+name+".wasm"), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range m.Imports() {
			bad[i.Name] = true
		}
		m.Close()
	}
	for _, f := range functions {
		if !bad[f.name] && !slices.Contains(without, f.name) {
			t.Errorf("no hostile guest gives %s.%s a bad place", f.module, f.name)
		}
	}
}
