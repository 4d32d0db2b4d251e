package wasm

import (
	"fmt"
	"time"
)

// Bounds of what a use may ask for, and what it gets if it doesn't.
const (
	DefaultFuel   = 20_000_000    // about 10 ms of arithmetic, 170 ms of the worst loop known
	MaxFuel       = 1_000_000_000 // per evaluation
	DefaultMemory = 8 << 20
	MaxMemory     = 64 << 20
	// StartFuel is what the start function and _initialize of an
	// instance get, each.
	StartFuel = 1_000_000_000
	// DefaultModuleSize bounds a module's bytes, unzipped.
	DefaultModuleSize = 4 << 20
	MaxModuleSize     = 16 << 20
	// DefaultTotalMemory bounds the linear memory of all instances together.
	DefaultTotalMemory = 256 << 20
)

// Bounds of one evaluation that can't be changed.
const (
	maxGets    = 1_024
	maxEncoded = 8 << 20 // bytes
	maxPath    = 1_024
	maxCode    = 64
	maxMessage = 1_024
	maxLog     = 4_096
	maxStderr  = 4_096
)

// Prices of host calls, in units of fuel.
const (
	priceCall    = 256
	priceSegment = 64 // of a path
	priceElement = 32 // of a list that is searched, or written
	priceEncoded = 4  // per byte of JSON
	copiedShift  = 3  // a unit per eight bytes copied
)

// When a guest is parked, and an instance closed.
const (
	faultsToPark = 5
	firstPark    = time.Second
	longestPark  = 5 * time.Minute
	sweepTime    = time.Minute
	idleSweeps   = 5 // an instance that was idle for so many is closed
)

// Limits bound one evaluation. Zero values mean the defaults; without a Timeout
// there is none: the fuel is the hard stop.
type Limits struct {
	Fuel   int64
	Memory int64 // bytes
	// Timeout is wall time, looked at when the guest calls the host and at the end.
	Timeout time.Duration
}

// withDefaults fills in what isn't given.
func (l Limits) withDefaults() Limits {
	if l.Fuel == 0 {
		l.Fuel = DefaultFuel
	}
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	return l
}

// Check returns what is wrong with the limits, nil if nothing.
func (l Limits) Check() error {
	switch {
	case l.Fuel < 0 || l.Fuel > MaxFuel:
		return fmt.Errorf("fuel must be at most %d", MaxFuel)
	case l.Memory < 0 || l.Memory > MaxMemory:
		return fmt.Errorf("memory must be at most %dMi", MaxMemory>>20)
	case l.Timeout < 0:
		return fmt.Errorf("timeout must be more than 0")
	}
	return nil
}
