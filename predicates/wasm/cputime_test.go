package wasm

import (
	"syscall"
	"time"
)

// cpuTime is what the process has computed so far. On a machine that others use
// too, wall time says little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
