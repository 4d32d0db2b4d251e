package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// How a wait can end without the operation having succeeded. Test with
// errors.Is; all except ErrGone and ErrUnfinished arrive inside a *WaitError.
var (
	// ErrGone is what the write function of Do returns when the server itself
	// said that the object doesn't exist (or that its UID is another): the wait
	// ends at once on the object's absence.
	ErrGone = errors.New("the object is gone")
	// ErrEngineStopped: the context given to Start has ended.
	ErrEngineStopped = errors.New("the engine has stopped")
	// ErrClosed: the waiter was closed before its wait had ended.
	ErrClosed = errors.New("the waiter was closed")
	// ErrSuperseded: a newer waiter has taken this one's place.
	ErrSuperseded = errors.New("the waiter was superseded by a newer one")
	// ErrJudge: the predicate itself broke. It is no news about the object.
	ErrJudge = errors.New("the predicate could not judge")
	// ErrUnfinished is what Result returns before the wait has ended.
	ErrUnfinished = errors.New("the wait has not ended yet")
	// ErrFailed: the operation has failed; the verdict says how.
	ErrFailed = errors.New("the operation failed")
)

// WaitError says how a wait ended other than with Done. It is one line, and it
// is not changed after Wait has returned it.
type WaitError struct {
	// Ref is the reference that was awaited.
	Ref Reference
	// Operation is the operation's name, empty for a wait made by predicate name.
	Operation string
	// Predicate is the predicate that judged.
	Predicate PredicateID
	// Verdict is the last verdict: the failure, or why it was still pending.
	Verdict Verdict
	// ResourceVersion is the version last judged, empty if none was.
	ResourceVersion string
	// Age is how long before the end that version had reached the engine; 0 if
	// none was judged.
	Age time.Duration
	// Explanation says what was still false when the wait ended without a
	// verdict, as the predicate describes it; empty after a verdict.
	Explanation string
	// Blind says why the engine could not see the object's resource when the wait
	// ended without a verdict; nil if it could.
	Blind *Blindness
	// Cause is the context's error, ErrEngineStopped, ErrClosed, ErrSuperseded,
	// ErrJudge or ErrFailed.
	Cause error
	// Timeout is the binding's timeout if that, and not the caller's context,
	// ended the wait (Cause is then context.DeadlineExceeded).
	Timeout time.Duration
}

// Error returns one line: what was awaited, by which predicate, how it ended,
// the last verdict, and the version judged with its age.
func (e *WaitError) Error() string {
	var b strings.Builder
	what := e.Operation
	if what == "" {
		what = "predicate " + e.Predicate.Name
	}
	if e.Verdict.Decision == Failed {
		b.WriteString(what + " on " + e.Ref.String())
		if e.Verdict.Cause == CauseJudge {
			b.WriteString(" could not be judged")
		} else {
			b.WriteString(" failed")
		}
		if e.Verdict.Message != "" {
			b.WriteString(": " + oneLine(e.Verdict.Message))
		}
		b.WriteString(" (code " + e.Verdict.Code.String())
		if e.Verdict.Reason != "" {
			b.WriteString(", reason " + e.Verdict.Reason)
		}
	} else {
		b.WriteString("waiting for " + what + " on " + e.Ref.String() + ": " + e.Cause.Error())
		if e.Timeout > 0 {
			b.WriteString(" (the binding's timeout of " + e.Timeout.String() + ")")
		}
		b.WriteString("; ")
		if e.Explanation != "" {
			b.WriteString(oneLine(e.Explanation))
		} else {
			b.WriteString("still " + strings.ToLower(e.Verdict.Decision.String()))
		}
		if e.Blind != nil {
			b.WriteString("; " + e.Blind.String())
		}
		b.WriteString(" (")
		if e.Verdict.Reason != "" {
			b.WriteString("reason " + e.Verdict.Reason)
		} else {
			b.WriteString("no reason given")
		}
	}
	if e.Operation != "" && e.Predicate.Name != "" {
		b.WriteString(", predicate " + e.Predicate.String())
	}
	switch {
	case e.ResourceVersion != "":
		b.WriteString(", judged at resourceVersion " + e.ResourceVersion + ", " + ageString(e.Age) + " before the end)")
	case e.Verdict.Decision == Failed:
		b.WriteString(")")
	default:
		b.WriteString(", nothing judged)")
	}
	return b.String()
}

// Unwrap returns Cause.
func (e *WaitError) Unwrap() error { return e.Cause }

// Is reports that the error is ErrJudge whenever the last verdict's cause is
// CauseJudge, whatever ended the wait.
func (e *WaitError) Is(target error) bool {
	return target == ErrJudge && e.Verdict.Cause == CauseJudge
}

// Code returns the gRPC code of the end: the verdict's if it failed, else that
// of the context's error, Unavailable for a stopped engine, Aborted for a
// superseded waiter and Canceled for a closed one.
func (e *WaitError) Code() codes.Code {
	if e.Verdict.Decision == Failed {
		if e.Verdict.Code == codes.OK {
			return codes.Internal
		}
		return e.Verdict.Code
	}
	switch {
	case errors.Is(e.Cause, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(e.Cause, ErrEngineStopped):
		return codes.Unavailable
	case errors.Is(e.Cause, ErrSuperseded):
		return codes.Aborted
	case errors.Is(e.Cause, context.Canceled), errors.Is(e.Cause, ErrClosed):
		return codes.Canceled
	}
	return codes.Unknown
}

// oneLine folds line breaks, so that an error stays on one line of a log.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// ageString rounds an age to what a reader can use.
func ageString(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}
