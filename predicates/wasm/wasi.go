package wasm

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// Error numbers of WASI.
const (
	wasiOK    = 0
	wasiBadFD = 8
)

// wasiTime is what every clock shows, in nanoseconds. Go's runtime takes 0 for a
// broken clock.
const wasiTime = 1_000_000_000

// wasi are the functions of wasi_snapshot_preview1 that Go programs import even if
// they use none of them: no arguments, no environment, no files; a clock that
// stands still, random numbers that are always the same, and an output that is kept
// for error messages.
var wasi = func() []function {
	list := []function{
		{name: "args_get", params: []api.ValueType{i32, i32}, call: wasiNothing},
		{name: "args_sizes_get", params: []api.ValueType{i32, i32}, call: wasiZeroSizes},
		{name: "environ_get", params: []api.ValueType{i32, i32}, call: wasiNothing},
		{name: "environ_sizes_get", params: []api.ValueType{i32, i32}, call: wasiZeroSizes},
		{name: "sched_yield", call: wasiNothing},
		{name: "clock_time_get", params: []api.ValueType{i32, i64, i32}, call: func(c *call, stack []uint64) {
			binary.LittleEndian.PutUint64(c.space("clock_time_get", uint32(stack[2]), 8), wasiTime)
			stack[0] = wasiOK
		}},
		{name: "random_get", params: []api.ValueType{i32, i32}, call: wasiRandom},
		{name: "fd_write", params: []api.ValueType{i32, i32, i32, i32}, call: wasiWrite},
		// Go sleeps for a moment before it writes why it panics.
		{name: "poll_oneoff", params: []api.ValueType{i32, i32, i32, i32}, call: func(c *call, stack []uint64) {
			binary.LittleEndian.PutUint32(c.space("poll_oneoff", uint32(stack[3]), 4), 0)
			stack[0] = wasiOK
		}},
		{name: "proc_exit", params: []api.ValueType{i32}, call: func(c *call, stack []uint64) {
			panic(newError(GuestExit, "the module ended its program with code %d", uint32(stack[0])))
		}},
	}
	for _, f := range []struct {
		name   string
		params int
	}{{"fd_close", 1}, {"fd_fdstat_get", 2}, {"fd_fdstat_set_flags", 2}, {"fd_prestat_get", 2}, {"fd_prestat_dir_name", 3}} {
		params := make([]api.ValueType, f.params)
		for i := range params {
			params[i] = i32
		}
		list = append(list, function{name: f.name, params: params, call: wasiNoFile})
	}
	for i := range list {
		do := list[i].call
		list[i].call = func(c *call, stack []uint64) {
			c.charge(priceCall)
			do(c, stack)
		}
		list[i].module = "wasi_snapshot_preview1"
		if list[i].name != "proc_exit" {
			list[i].results = []api.ValueType{i32}
		}
	}
	return list
}()

func wasiNothing(_ *call, stack []uint64) { stack[0] = wasiOK }

func wasiNoFile(_ *call, stack []uint64) { stack[0] = wasiBadFD }

// wasiZeroSizes says that there are no arguments, in no bytes.
func wasiZeroSizes(c *call, stack []uint64) {
	for _, ptr := range stack[:2] {
		binary.LittleEndian.PutUint32(c.space("sizes_get", uint32(ptr), 4), 0)
	}
	stack[0] = wasiOK
}

// wasiRandom fills a buffer with the numbers of a generator that begins anew with
// each call.
func wasiRandom(c *call, stack []uint64) {
	buf := c.space("random_get", uint32(stack[0]), uint32(stack[1]))
	c.charge(uint64(len(buf)))
	for i := range buf {
		// The multiplier and increment of Knuth's MMIX.
		c.random = c.random*6364136223846793005 + 1442695040888963407
		buf[i] = byte(c.random >> 56)
	}
	stack[0] = wasiOK
}

// wasiWrite keeps what is written to standard output and error, as far as there is
// room.
func wasiWrite(c *call, stack []uint64) {
	fd, vectors, n, written := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if fd != 1 && fd != 2 {
		stack[0] = wasiBadFD
		return
	}
	const size = 8
	if n > 1_024 {
		panic(newError(BadPointer, "fd_write: %d parts, at most 1024 are allowed", n))
	}
	c.charge(uint64(n) * priceElement)
	total := uint32(0)
	list := c.view("fd_write", vectors, n*size)
	for ; len(list) > 0; list = list[size:] {
		part := c.view("fd_write", binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		room := min(len(part), maxStderr-len(c.stderr))
		c.charge(uint64(room))
		c.stderr = append(c.stderr, part[:room]...)
		total += uint32(len(part))
	}
	binary.LittleEndian.PutUint32(c.space("fd_write", written, 4), total)
	stack[0] = wasiOK
}
