package suite

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
)

// standing is how an operation stands: what a predicate may say of an
// observation without lying about it.
type standing string

const (
	// inProgress: nothing has failed, and it isn't done. The wait must go on.
	inProgress standing = "InProgress"
	// finished: the operation has succeeded. The wait must end.
	finished standing = "Done"
	// withdrawn: it isn't done, and it won't be unless it is asked for again.
	withdrawn standing = "Withdrawn"
	// failed: it has failed, so it isn't done. All else is the author's choice.
	failed standing = "Failed"
	// undecided: an author may well call it done, but nothing has failed.
	undecided standing = "Undecided"
)

var standings = []string{string(inProgress), string(finished), string(withdrawn), string(failed), string(undecided)}

// passing reports whether a code tells a caller that the operation may still be
// running, so that it makes the same call again and cleans nothing up.
func passing(code codes.Code) bool {
	switch code {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Aborted:
		return true
	}
	return false
}

// violation says why a predicate that judges so is wrong, in a wait of at most so
// long (0: without end); empty if it isn't.
func (s standing) violation(j engine.Judgement, timeout time.Duration) (engine.Verdict, string) {
	ends := []engine.Verdict{j.Verdict}
	for _, h := range j.Holding {
		ends = append(ends, h.Verdict)
	}
	for _, v := range ends {
		if why := s.refuses(v); why != "" {
			return v, why
		}
	}
	switch first, hold := firstEnd(j); {
	case s != finished:
	case first.Decision != engine.Done:
		return first, "the operation has succeeded here, and the wait must end"
	case timeout > 0 && hold >= timeout:
		return first, fmt.Sprintf("the operation has succeeded here, and the wait never ends so: that must hold for %v, and the binding gives up after %v", hold, timeout)
	}
	return engine.Verdict{}, ""
}

// refuses says why a verdict that may end the wait is wrong.
func (s standing) refuses(v engine.Verdict) string {
	switch v.Decision {
	case engine.Done:
		switch s {
		case inProgress:
			return "the operation isn't done here, the wait must go on"
		case withdrawn:
			return "the operation isn't done here, and won't be"
		case failed:
			return "the operation has failed here, it must not end as Done"
		}
	case engine.Failed:
		switch {
		case v.Cause == engine.CauseJudge && s != failed:
			return "the predicate itself breaks here"
		case s == inProgress, s == finished:
			return "nothing has failed here"
		case (s == withdrawn || s == undecided) && !passing(v.Code):
			return fmt.Sprintf("nothing has failed here, and code %s would be final for the caller; only Canceled, DeadlineExceeded, Unavailable and Aborted are not", v.Code)
		}
	}
	return ""
}

// firstEnd returns the verdict that would end a wait first if nothing changed, and
// after what time; a Pending verdict if none would.
func firstEnd(j engine.Judgement) (engine.Verdict, time.Duration) {
	if j.Verdict.Decisive() || len(j.Holding) == 0 {
		return j.Verdict, 0
	}
	first := j.Holding[0]
	for _, h := range j.Holding[1:] {
		if h.For < first.For {
			first = h
		}
	}
	return first.Verdict, first.For
}
