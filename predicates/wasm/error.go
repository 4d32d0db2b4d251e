package wasm

import (
	"errors"
	"fmt"

	"github.com/donewhen/donewhen/engine"
)

// Reason says in one word what was wrong with a module or a call. The words are
// stable.
type Reason string

// Reasons. The first four are found when a module is loaded, the others when it
// runs, which it does at load as well.
const (
	ModuleInvalid     Reason = "ModuleInvalid"        // no module that can be run
	ImportDenied      Reason = "ImportDenied"         // it wants more from the host than there is
	AbiMismatch       Reason = "AbiMismatch"          // it doesn't speak this version of the contract
	ValidationRefused Reason = "ValidationRefused"    // it doesn't accept params and settings
	FuelExhausted     Reason = "FuelExhausted"        // it computes for longer than it may
	MemoryLimit       Reason = "MemoryLimit"          // it wants more memory than it may have, or than is left
	Trap              Reason = "Trap"                 // it crashed
	GuestExit         Reason = "GuestExit"            // it ended its program
	BadPointer        Reason = "BadPointer"           // it gave a place outside its memory, or a path that is none
	BadResult         Reason = engine.ReasonBadResult // it returned what means nothing
	GuestError        Reason = "GuestError"           // it says that it cannot judge
	TooManyCalls      Reason = "TooManyCalls"         // it asked for too many fields, or for too much
	// LimitExceeded: it took longer than the timeout.
	LimitExceeded Reason = engine.ReasonLimitExceeded
)

// Error is what is wrong with a module, or why a call gave no verdict.
type Error struct {
	Reason  Reason
	Message string
	// Parked says that the guest wasn't asked, because it failed too often of late;
	// Reason and Message are those of the last time.
	Parked bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func newError(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// ReasonOf returns an error's reason, "" if it is none of this package.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}
