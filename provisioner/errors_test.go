package provisioner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// X2, X4–X7, C35, P29, D20: what a request's error becomes.
func TestRequestErrors(t *testing.T) {
	volumes := v1beta2.Resource("azvolumes")
	dialing := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, row := range []struct {
		name string
		err  error
		want codes.Code
	}{
		{"refused", dialing, codes.Unavailable},
		{"cut off", io.ErrUnexpectedEOF, codes.Unavailable},
		{"429", apierrors.NewTooManyRequests("busy", 1), codes.Unavailable},
		{"500", apierrors.NewInternalError(errors.New("etcd")), codes.Unavailable},
		{"503", apierrors.NewServiceUnavailable("starting"), codes.Unavailable},
		{"504", apierrors.NewTimeoutError("slow", 1), codes.Unavailable},
		{"server timeout", apierrors.NewServerTimeout(volumes, "create", 1), codes.Unavailable},
		{"401", apierrors.NewUnauthorized("who"), codes.Unavailable},
		{"403", apierrors.NewForbidden(volumes, "v", errors.New("no")), codes.Internal},
		{"422", apierrors.NewInvalid(schema.GroupKind{Kind: "AzVolume"}, "v", nil), codes.InvalidArgument},
		{"400", apierrors.NewBadRequest("null"), codes.Internal},
		{"409", apierrors.NewConflict(volumes, "v", errors.New("version")), codes.Aborted},
		{"exists", apierrors.NewAlreadyExists(volumes, "v"), codes.Aborted},
		{"namespace missing", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), codes.Unavailable},
		{"deadline", fmt.Errorf("put: %w", context.DeadlineExceeded), codes.DeadlineExceeded},
		{"cancelled", fmt.Errorf("put: %w", context.Canceled), codes.Canceled},
	} {
		err := asError(t.Context(), fmt.Errorf("wrapped: %w", row.err), "write it")
		if got := Code(err); got != row.want {
			t.Errorf("%s: code %s, want %s", row.name, got, row.want)
		}
		if !errors.Is(err, row.err) {
			t.Errorf("%s: the cause is lost in %v", row.name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Code(asError(ended, dialing, "write it")); got != codes.Canceled {
		t.Errorf("after the context's end: code %s", got)
	}
	if asError(t.Context(), nil, "write it") != nil || Code(nil) != codes.OK || Code(io.EOF) != codes.Unknown {
		t.Error("nil and foreign errors")
	}
	if err := asError(t.Context(), engine.ErrGone, "write it"); err != engine.ErrGone {
		t.Errorf("ErrGone became %v", err)
	}
}

// The end of a wait keeps its code; a broken judge's never counts.
func TestWaitErrors(t *testing.T) {
	failed := func(cause engine.Cause, code codes.Code) engine.Verdict {
		return engine.Verdict{Decision: engine.Failed, Cause: cause, Code: code, Message: "no"}
	}
	for _, row := range []struct {
		name string
		err  error
		want codes.Code
	}{
		{"failed", &engine.WaitError{Cause: engine.ErrFailed, Verdict: failed(engine.CauseOperation, codes.ResourceExhausted)}, codes.ResourceExhausted},
		{"judge", &engine.WaitError{Cause: engine.ErrJudge, Verdict: failed(engine.CauseJudge, codes.Internal)}, codes.Unavailable},
		{"deadline", &engine.WaitError{Cause: context.DeadlineExceeded}, codes.DeadlineExceeded},
		{"cancelled", &engine.WaitError{Cause: context.Canceled}, codes.Canceled},
		{"W22 stopped", &engine.WaitError{Cause: engine.ErrEngineStopped}, codes.Unavailable},
		{"stopped before", fmt.Errorf("register: %w", engine.ErrEngineStopped), codes.Unavailable},
		{"closed", &engine.WaitError{Cause: engine.ErrClosed}, codes.Unavailable},
		{"superseded", &engine.WaitError{Cause: engine.ErrSuperseded}, codes.Aborted},
		{"set is no good", errors.New("unknown predicate"), codes.Unavailable},
		{"own", newError(codes.NotFound, "no"), codes.NotFound},
	} {
		if got := Code(endError(t.Context(), row.err, "CreateVolume")); got != row.want {
			t.Errorf("%s: code %s, want %s", row.name, got, row.want)
		}
	}
}

func TestObjectNotFound(t *testing.T) {
	volumes := v1beta2.Resource("azvolumes")
	for _, row := range []struct {
		name string
		err  error
		want bool
	}{
		{"object", apierrors.NewNotFound(volumes, "v"), true},
		{"wrapped", fmt.Errorf("get: %w", apierrors.NewNotFound(volumes, "v")), true},
		{"namespace", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), false},
		{"unserved path", apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", volumes, "v", "404 page not found", 0, true), false},
		{"another error", apierrors.NewServiceUnavailable("starting"), false},
		{"nil", nil, false},
	} {
		if got := objectNotFound(row.err); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}
