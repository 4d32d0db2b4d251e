package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// Expectation is what a case expects of a verdict; a nil field isn't compared.
// It is immutable and safe for concurrent use.
type Expectation struct {
	Decision engine.Decision
	// Any: whatever the decision is. Only steps of events may leave it open.
	Any     bool
	Code    *codes.Code
	Reason  *string // "" means that there must be none
	Message *Text
	Cause   *engine.Cause
	For     *time.Duration // 0 means that no rule may need time
	Missing *string        // part of a missing path; "" means that nothing may be missing

	// Of steps of events only: whether the wait has ended, and how often a shadow
	// binding has judged otherwise so far.
	Ended         *bool
	Disagreements *int
}

// Text is what a text must be: exactly one of the fields is set.
type Text struct {
	Contains, Equals *string
	Matches          *regexp.Regexp
}

// differences says how a verdict differs from what was expected, one line each;
// none means that the check has passed. hold is how long the deciding rule has
// to hold.
func (e *Expectation) differences(v engine.Verdict, hold time.Duration) []string {
	var all []string
	differs := func(what, want, got string) {
		all = append(all, fmt.Sprintf("%s: want %s, got %s", what, want, got))
	}
	if !e.Any && v.Decision != e.Decision {
		differs("verdict", e.Decision.String(), v.Decision.String())
	}
	if e.Code != nil && (v.Decision != engine.Failed || v.Code != *e.Code) {
		differs("code", e.Code.String(), codeText(v))
	}
	if e.Reason != nil && v.Reason != *e.Reason {
		differs("reason", quoteOrNone(*e.Reason), quoteOrNone(v.Reason))
	}
	if e.Message != nil && !e.Message.holds(v.Message) {
		differs("message", e.Message.String(), quoteOrNone(v.Message))
	}
	switch {
	case e.Cause != nil && v.Cause != *e.Cause:
		differs("cause", e.Cause.String(), v.Cause.String())
	case e.Cause == nil && e.Reason == nil && !e.Any && v.Cause == engine.CauseJudge:
		// A broken predicate also says Failed; that must not pass for the failure
		// that a case is about.
		all = append(all, "cause: the predicate itself broke; expect cause: Judge, or its reason, if that is meant")
	}
	if e.For != nil && hold != *e.For {
		differs("for", durationText(*e.For), durationText(hold))
	}
	if e.Missing != nil && !missingHolds(*e.Missing, v.Missing) {
		want := "one that contains " + strconv.Quote(*e.Missing)
		if *e.Missing == "" {
			want = "none"
		}
		differs("missing", want, missingText(v.Missing))
	}
	return all
}

func missingHolds(want string, missing []string) bool {
	if want == "" {
		return len(missing) == 0
	}
	for _, m := range missing {
		if strings.Contains(m, want) {
			return true
		}
	}
	return false
}

func (t *Text) holds(s string) bool {
	switch {
	case t.Equals != nil:
		return s == *t.Equals
	case t.Matches != nil:
		return t.Matches.MatchString(s)
	case *t.Contains == "":
		return s == ""
	}
	return strings.Contains(s, *t.Contains)
}

// String returns what the text must be, in words.
func (t *Text) String() string {
	switch {
	case t.Equals != nil:
		return quoteOrNone(*t.Equals)
	case t.Matches != nil:
		return "a match of " + strconv.Quote(t.Matches.String())
	case *t.Contains == "":
		return "none"
	}
	return "one that contains " + strconv.Quote(*t.Contains)
}

// String returns the expectation in words: `Failed, code Aborted, reason X`.
func (e *Expectation) String() string {
	parts := []string{e.Decision.String()}
	if e.Any {
		parts[0] = "any verdict"
	}
	if e.Code != nil {
		parts = append(parts, "code "+e.Code.String())
	}
	if e.Reason != nil {
		parts = append(parts, "reason "+wordOrNone(*e.Reason))
	}
	if e.Cause != nil {
		parts = append(parts, "cause "+e.Cause.String())
	}
	if e.For != nil {
		parts = append(parts, "for "+durationText(*e.For))
	}
	if e.Message != nil {
		parts = append(parts, "message "+e.Message.String())
	}
	if e.Missing != nil {
		parts = append(parts, "missing "+quoteOrNone(*e.Missing))
	}
	if e.Ended != nil {
		parts = append(parts, "ended "+strconv.FormatBool(*e.Ended))
	}
	if e.Disagreements != nil {
		parts = append(parts, "disagreements "+strconv.Itoa(*e.Disagreements))
	}
	return strings.Join(parts, ", ")
}

func codeText(v engine.Verdict) string {
	if v.Decision != engine.Failed {
		return "none"
	}
	return v.Code.String()
}

func missingText(missing []string) string {
	if len(missing) == 0 {
		return "none"
	}
	return strconv.Quote(strings.Join(missing, "; "))
}

func quoteOrNone(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

func wordOrNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func durationText(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	return d.String()
}
