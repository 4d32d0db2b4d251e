package provisioner

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
)

// Error is the error of every method of Provisioner: what CSI callers are told.
// It is immutable and safe for concurrent use.
type Error struct {
	// Code is never OK.
	Code codes.Code
	// Message says what failed, on what, and why.
	Message string
	// Err is the cause, nil if there is none. Its text is part of Message.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Code returns the code of an error of this package, OK for nil, and Unknown for
// an error of somebody else. Safe for concurrent use.
func Code(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Code
	}
	return codes.Unknown
}

func newError(code codes.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func wrapError(code codes.Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...) + ": " + err.Error(), Err: err}
}

// asError gives err, the error of the request what ("create AzVolume ns/name"),
// the code that callers must see. It returns nil for nil and our own errors
// unchanged.
func asError(ctx context.Context, err error, what string) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if errors.Is(err, engine.ErrGone) {
		return engine.ErrGone // not a failure: how a write tells the engine
	}
	return requestError(ctx, err, what)
}

// endError does the same for what engine.Do returns.
func endError(ctx context.Context, err error, what string) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if wait, ok := errors.AsType[*engine.WaitError](err); ok {
		return waitError(wait)
	}
	if code, ended := contextCode(ctx, err); ended {
		return wrapError(code, err, "%s", what)
	}
	// The wait couldn't begin: the engine stops, or the set in force is no good.
	return wrapError(codes.Unavailable, err, "%s: can't wait for it", what)
}

// contextCode returns the code of a call whose context has ended.
func contextCode(ctx context.Context, err error) (codes.Code, bool) {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, true
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, context.Canceled):
		return codes.Canceled, true
	}
	return codes.OK, false
}

// waitError maps the end of a wait, which says itself what was awaited. A judge's
// failure is no news about the object, so it is never final.
func waitError(err *engine.WaitError) *Error {
	end := func(code codes.Code, advice string) *Error {
		return &Error{Code: code, Message: err.Error() + advice, Err: err}
	}
	switch {
	case errors.Is(err, engine.ErrJudge):
		return end(codes.Unavailable, "; nothing is concluded from that: mend the predicate and call again")
	case errors.Is(err, engine.ErrFailed):
		return end(err.Code(), "")
	case errors.Is(err, context.DeadlineExceeded):
		return end(codes.DeadlineExceeded, "; the operation goes on, call again")
	case errors.Is(err, context.Canceled):
		return end(codes.Canceled, "; the operation goes on, call again")
	case errors.Is(err, engine.ErrSuperseded):
		return end(codes.Aborted, "")
	default: // stopped or closed: this process is going away
		return end(codes.Unavailable, "; the driver is stopping, call again")
	}
}

// requestError maps the error of a request to the API server. What isn't known
// to be final may still be running, or may work the next time: Unavailable.
func requestError(ctx context.Context, err error, what string) *Error {
	if code, ended := contextCode(ctx, err); ended {
		return wrapError(code, err, "%s", what)
	}
	switch {
	case apierrors.IsForbidden(err):
		return wrapError(codes.Internal, err, "%s: the API server forbids it, check the driver's RBAC rules", what)
	case apierrors.IsInvalid(err):
		return wrapError(codes.InvalidArgument, err, "%s: the API server finds the object invalid", what)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return wrapError(codes.Aborted, err, "%s: somebody else is changing the object, call again", what)
	case apierrors.IsNotFound(err):
		return wrapError(codes.Unavailable, err, "%s: the namespace or the CRDs are missing, or the API server is just starting", what)
	case apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err):
		return wrapError(codes.Internal, err, "%s: the API server refuses the request", what)
	default:
		return wrapError(codes.Unavailable, err, "%s: the API server can't do it now", what)
	}
}

// objectNotFound reports whether the server said that the object itself doesn't
// exist. A path that nobody serves (a CRD that isn't there, a server that has
// just started) is also a 404, but says nothing about the object.
func objectNotFound(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	if details == nil || details.Name == "" || details.Kind == "namespaces" {
		return false
	}
	return !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
