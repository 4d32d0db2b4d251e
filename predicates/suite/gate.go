package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// Gate decides whether a set may come into force: the suites that come with a
// config must pass, and what is bound to an operation must keep the contracts of
// that operation. It remembers what it has found right, and is safe for concurrent
// use.
type Gate struct {
	runner    *Runner
	contracts []*Contract
	beside    ReadFile // nil: none
	perCase   time.Duration
	inAll     time.Duration

	mu   sync.Mutex
	last map[*Contract]remembered // of bindings that kept it
}

// GateOption changes how a Gate works.
type GateOption func(*Gate)

// WithObjects reads what suites name as objects and their source doesn't have, for
// who looks at a config before it is packed; each is warned about, for the config
// as it stands doesn't come with it.
func WithObjects(read ReadFile) GateOption {
	return func(g *Gate) { g.beside = read }
}

// Bounds of one look of a Gate: see WithTimes.
const (
	DefaultCaseTime = 5 * time.Second
	DefaultGateTime = 30 * time.Second
)

// WithTimes bounds the judging of one case, of a contract or a suite, and a look
// at a set in all. What isn't judged by then refuses the set. A judge that doesn't
// come back is left behind with its goroutine. The defaults are DefaultCaseTime and
// DefaultGateTime: a thousand times what judging takes.
func WithTimes(perCase, inAll time.Duration) GateOption {
	return func(g *Gate) { g.perCase, g.inAll = perCase, inAll }
}

// maxRefused is how many violated rows of one contract are reported: a predicate
// that is wrong altogether violates most of them.
const maxRefused = 8

// NewGate returns the gate of a program with these operations and contracts. It is
// an error if a contract is about no operation, or doesn't give the params that
// the operation's callers give.
func NewGate(operations []engine.Operation, contracts []*Contract, opts ...GateOption) (*Gate, error) {
	for _, c := range contracts {
		i := slices.IndexFunc(operations, func(o engine.Operation) bool { return o.Name == c.Operation })
		if i < 0 {
			return nil, fmt.Errorf("contract %s (%s) is about operation %q, which isn't declared", c.Name, c.File, c.Operation)
		}
		for _, row := range c.rows {
			for _, param := range operations[i].Params {
				if _, ok := row.params[param.Name]; !ok && row.presence == engine.Present {
					return nil, fmt.Errorf("contract %s (%s), case %q: the callers of %s give %s, and the case doesn't", c.Name, c.File, row.name, c.Operation, param.Name)
				}
			}
		}
	}
	g := &Gate{runner: NewRunner(operations), contracts: contracts, perCase: DefaultCaseTime, inAll: DefaultGateTime, last: map[*Contract]remembered{}}
	for _, opt := range opts {
		opt(g)
	}
	return g, nil
}

// NewGateOf is NewGate with the contracts of a file system: see ParseContracts.
func NewGateOf(operations []engine.Operation, contracts fs.FS, opts ...GateOption) (*Gate, error) {
	parsed, err := ParseContracts(contracts)
	if err != nil {
		return nil, fmt.Errorf("load the contracts of the operations: %w", err)
	}
	return NewGate(operations, parsed, opts...)
}

// GateReport is what a look at a set has shown.
type GateReport struct {
	// Problems keep the set from coming into force, unless they are warnings.
	Problems []predicates.Problem
	// Judged is what was judged by contracts, in the order of the contracts.
	Judged []Judged
	// Checks is how many checks of the suites that come with the config have run.
	Checks int
}

// Judged is what was judged by the contracts of one operation.
type Judged struct {
	Operation string
	Predicate engine.PredicateID
	// Cases is how many cases were judged.
	Cases int
	// Configured: the binding or its predicate comes with a config, and isn't the
	// program's own.
	Configured bool
}

// Check returns what keeps the set from coming into force, and warnings about what
// doesn't: the problems of Look. It is what a predicates.Gate is to do.
func (g *Gate) Check(ctx context.Context, set *predicates.Set, sources []predicates.Source) []predicates.Problem {
	return g.Look(ctx, set, sources).Problems
}

// Look judges what the set binds, and runs the suites among the sources that the
// set was made of. It comes back within the gate's times, or when ctx ends, which
// refuses the set.
func (g *Gate) Look(ctx context.Context, set *predicates.Set, sources []predicates.Source) *GateReport {
	ctx, cancel := context.WithTimeoutCause(ctx, g.inAll, errLate)
	defer cancel()
	look := &look{Gate: g, set: set, places: &places{set: set, sources: sources}, report: &GateReport{}}
	err := look.contracts(ctx)
	if err == nil {
		err = look.suites(ctx, sources)
	}
	if err != nil {
		look.add(look.unjudged(err))
	}
	return look.report
}

// look is one look of a gate at a set.
type look struct {
	*Gate
	set    *predicates.Set
	places *places
	report *GateReport
	// at is what is being judged: what didn't come to an end, if there is an error.
	at predicates.Problem
}

func (l *look) add(problems ...predicates.Problem) {
	l.report.Problems = append(l.report.Problems, problems...)
}

// unjudged is the problem that not everything could be judged.
func (l *look) unjudged(err error) predicates.Problem {
	p := l.at
	switch broke, panicked := errors.AsType[*panicError](err); {
	case panicked:
		p.Message = fmt.Sprintf("the gate couldn't judge %s: %v", p.Message, broke)
		p.Hint = "this is a mistake of the program or of the predicate's back end, please report it"
	case !errors.Is(err, errLate):
		p.Message = fmt.Sprintf("the gate was interrupted at %s: %v", p.Message, err)
		p.Hint = ""
	default:
		p.Message = fmt.Sprintf("the gate ran out of time at %s: a case may take %v, all of them %v", p.Message, l.perCase, l.inAll)
		p.Hint = "what isn't judged doesn't come into force; make the predicate or the suite quicker"
	}
	return p
}
