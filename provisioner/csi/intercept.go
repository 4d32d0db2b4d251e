package csi

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/provisioner"
)

// maxMessage is the most that callers are told, in bytes: messages end up in
// Events, which are cut there. The whole text is in the log.
const maxMessage = 1024

// intercept logs each call, turns its error into a status and a panic into one
// too, and tells the observer.
func intercept(logger klog.Logger, observe CallObserver) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
		method := info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:]
		logger := logger.WithValues("method", method)
		started := time.Now()
		defer func() {
			if cause := recover(); cause != nil {
				// Not Internal: the operation may be running, and a final code would
				// have the caller forget it.
				response, err = nil, status.Errorf(codes.Unavailable, "panic: %v; the operation may go on, call again", cause)
				logger.Error(err, "The call panicked", "stack", string(debug.Stack()))
			}
			took := time.Since(started)
			if err == nil {
				logger.V(4).Info("Call ended", "took", took)
			} else {
				full := err
				response, err = nil, asStatus(err)
				logger.Info("Call failed", "took", took, "code", status.Code(err).String(), "err", full)
			}
			observe(method, status.Code(err), took)
		}()
		logger.V(4).Info("Call", describe(request)...)
		return handler(klog.NewContext(ctx, logger), request)
	}
}

// describe returns what may be logged of a request. Of secrets that is the keys.
func describe(request any) []any {
	var described []any
	if r, ok := request.(interface{ GetName() string }); ok {
		described = append(described, "name", r.GetName())
	}
	if r, ok := request.(interface{ GetVolumeId() string }); ok {
		described = append(described, "volumeID", r.GetVolumeId())
	}
	if r, ok := request.(interface{ GetNodeId() string }); ok {
		described = append(described, "nodeID", r.GetNodeId())
	}
	if r, ok := request.(interface{ GetSecrets() map[string]string }); ok && len(r.GetSecrets()) != 0 {
		described = append(described, "ignoredSecrets", slices.Sorted(maps.Keys(r.GetSecrets())))
	}
	return described
}

// asStatus gives the error its code on the wire and cuts its text.
func asStatus(err error) error {
	if own, ok := errors.AsType[*provisioner.Error](err); ok {
		return status.Error(own.Code, cut(own.Message))
	}
	if known, ok := status.FromError(err); ok {
		return status.Error(known.Code(), cut(known.Message()))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, cut(err.Error()))
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, cut(err.Error()))
	}
	return status.Error(codes.Internal, cut(err.Error()))
}

// cut returns at most maxMessage bytes of whole characters.
func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	const more = "…"
	end := maxMessage - len(more)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + more
}
