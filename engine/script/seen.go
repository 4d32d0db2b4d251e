package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// Code returns the gRPC code of the failure, or of the end that came without a
// verdict; OK if there is none.
func (s Seen) Code() codes.Code {
	var e *engine.WaitError
	switch {
	case s.Status.Verdict.Decision == engine.Failed:
		return s.Status.Verdict.Code
	case errors.As(s.Status.Err, &e):
		return e.Code()
	}
	return codes.OK
}

// String returns what is seen on one line, as the trace shows it.
func (s Seen) String() string {
	if !s.Registered {
		return "-"
	}
	v := s.Status.Verdict
	var b strings.Builder
	if s.Status.Ended {
		b.WriteString("ended ")
		if !v.Decisive() {
			fmt.Fprintf(&b, "(%s) ", endOf(s.Status.Err))
		}
	}
	b.WriteString(v.Decision.String())
	if s.Status.ResourceVersion != "" {
		b.WriteString(" @" + s.Status.ResourceVersion)
	}
	if code := s.Code(); code != codes.OK {
		b.WriteString(", code " + code.String())
	}
	if v.Reason != "" {
		b.WriteString(", reason " + v.Reason)
	}
	if v.Cause != engine.CauseOperation {
		b.WriteString(", cause " + v.Cause.String())
	}
	if s.Status.For != 0 {
		b.WriteString(", for " + s.Status.For.String())
	}
	if s.Disagreements != 0 {
		fmt.Fprintf(&b, ", disagreements %d", s.Disagreements)
	}
	missing := strings.Join(v.Missing, ", ")
	if v.Message != "" {
		b.WriteString(": " + strings.Join(strings.FieldsFunc(v.Message, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
	}
	if missing != "" && !strings.Contains(v.Message, missing) {
		b.WriteString(" (missing " + missing + ")")
	}
	return b.String()
}

// endOf names how a wait ended without a verdict.
func endOf(err error) string {
	for _, cause := range []error{
		context.Canceled, context.DeadlineExceeded, engine.ErrClosed, engine.ErrSuperseded, engine.ErrEngineStopped,
	} {
		if errors.Is(err, cause) {
			return cause.Error()
		}
	}
	return fmt.Sprint(err)
}
