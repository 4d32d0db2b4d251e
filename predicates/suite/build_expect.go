package suite

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// buildExpect returns the expectation, nil if something is wrong with it. owner
// is the place of the case or row, at that of its expect.
func (b *builder) buildExpect(spec *expectSpec, owner, at []any) *Expectation {
	before := len(b.findings)
	field := func(name string) []any { return append(slices.Clip(at), name) }
	if spec == nil {
		b.fail(owner, "say at least expect: Pending, Done or Failed", "nothing is expected")
		return nil
	}
	if spec.Ended != nil || spec.Disagreements != nil {
		b.fail(at, "remove it", "ended and disagreements are about waits; this case only judges")
	}
	if spec.Verdict == "" {
		b.fail(at, "verdict: Pending, Done or Failed", "no verdict is expected")
		return nil
	}
	e := b.buildFields(spec, at, field)
	if len(b.findings) > before {
		return nil
	}
	return e
}

// buildStepExpect returns what a step of events expects, nil if something is
// wrong with it. What a waiter sees may be left open in part.
func (b *builder) buildStepExpect(spec *expectSpec, at []any) *Expectation {
	before := len(b.findings)
	field := func(name string) []any { return append(slices.Clip(at), name) }
	if *spec == (expectSpec{}) {
		b.fail(at, "say a verdict, or ended: true or false", "nothing is expected")
		return nil
	}
	e := b.buildFields(spec, at, field)
	if n := spec.Disagreements; n != nil && *n < 0 {
		b.fail(field("disagreements"), "count from 0", "disagreements: %d is no number of them", *n)
	}
	if len(b.findings) > before {
		return nil
	}
	e.Ended, e.Disagreements = spec.Ended, spec.Disagreements
	return e
}

// buildFields fills in what all expectations have.
func (b *builder) buildFields(spec *expectSpec, at []any, field func(string) []any) *Expectation {
	e := &Expectation{Reason: spec.Reason, Missing: spec.Missing, Any: spec.Verdict == ""}
	if !e.Any && !b.buildVerdict(spec, e, field) {
		return nil
	}
	if spec.Code != nil {
		code, ok := judge.ParseCode(*spec.Code)
		switch {
		case !ok:
			b.fail(field("code"), nearest.Hint(*spec.Code, "codes", codeNames()), "code %q isn't a gRPC code of a failure", *spec.Code)
		case !e.Any && e.Decision != engine.Failed && (e.Decision != engine.Pending || spec.Ended == nil || !*spec.Ended):
			b.fail(field("code"), "remove it", "only a Failed verdict has a code")
		default:
			e.Code = &code
		}
	}
	if spec.Cause != nil {
		switch *spec.Cause {
		case engine.CauseOperation.String():
			e.Cause = new(engine.CauseOperation)
		case engine.CauseJudge.String():
			e.Cause = new(engine.CauseJudge)
		default:
			b.fail(field("cause"), nearest.Hint(*spec.Cause, "causes", []string{"Operation", "Judge"}), "cause %q isn't known", *spec.Cause)
		}
	}
	if spec.For != nil {
		b.buildFor(*spec.For, e, field("for"))
	}
	if spec.Message != nil {
		b.buildText(spec.Message, e, field("message"))
	}
	return e
}

func (b *builder) buildVerdict(spec *expectSpec, e *Expectation, field func(string) []any) bool {
	decisions := []engine.Decision{engine.Pending, engine.Done, engine.Failed}
	var words []string
	for _, d := range decisions {
		if spec.Verdict == d.String() {
			e.Decision = d
			return true
		}
		words = append(words, d.String())
	}
	b.fail(field("verdict"), nearest.Hint(spec.Verdict, "verdicts", words), "verdict %q isn't known", spec.Verdict)
	return false
}

func (b *builder) buildFor(text string, e *Expectation, at []any) {
	if text == "" {
		e.For = new(time.Duration)
		return
	}
	hold, err := time.ParseDuration(text)
	if err != nil || hold <= 0 {
		b.fail(at, "write it like 30s; '' means none", "for: %q is no time that a rule could have to hold", text)
		return
	}
	e.For = &hold
}

func (b *builder) buildText(spec *textSpec, e *Expectation, at []any) {
	given := 0
	for _, text := range []*string{spec.Contains, spec.Equals, spec.Matches} {
		if text != nil {
			given++
		}
	}
	if given != 1 {
		b.fail(at, "give one of contains, equals, matches", "message says %d things", given)
		return
	}
	e.Message = &Text{Contains: spec.Contains, Equals: spec.Equals}
	if spec.Matches != nil {
		expression, err := regexp.Compile(*spec.Matches)
		if err != nil {
			b.fail(append(slices.Clip(at), "matches"), "", "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			return
		}
		e.Message.Matches = expression
	}
}

func codeNames() []string {
	var names []string
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		names = append(names, code.String())
	}
	return names
}
