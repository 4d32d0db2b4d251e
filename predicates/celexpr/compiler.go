package celexpr

import (
	"fmt"
	"math"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// Limits of an expression's form.
const (
	maxSource  = 16 << 10 // characters
	maxNesting = 4        // comprehensions within one another
)

// interruptEvery is how many steps of loops pass between two looks at the deadline.
const interruptEvery = 10

// Compiler holds what all environments share. It is immutable and safe for
// concurrent use; making one takes some milliseconds.
type Compiler struct {
	base       *cel.Env
	checkers   *checkers
	explaining explaining
	// plans are how the types of typed objects look in JSON.
	plans      *jsonform.Plans
	conditions *conditionPaths
	// unfused: every expression is run by cel-go. Tests compare the two.
	unfused bool
}

// NewCompiler builds the shared base environment: the functions and settings of
// Kubernetes' own CEL environment (without its authorizer), condition() and
// isTrue(), and the variable object.
func NewCompiler() (*Compiler, error) {
	labelSharedErrors.Do(func() {
		types.LabelErrNode(noNode, types.NoSuchOverloadErr())
		types.LabelErrNode(noNode, types.Int(math.MaxInt64).ConvertToType(types.TimestampType))
	})
	libraries, err := cel.NewEnv(libraries()...)
	if err != nil {
		return nil, fmt.Errorf("build the CEL environment: %w", err)
	}
	guards, err := guarded(libraries)
	if err != nil {
		return nil, fmt.Errorf("build the CEL environment: %w", err)
	}
	if libraries, err = libraries.Extend(guards...); err != nil {
		return nil, fmt.Errorf("build the CEL environment: guard functions: %w", err)
	}
	base, err := libraries.Extend(
		cel.CustomTypeProvider(&conditionProvider{Provider: libraries.CELTypeProvider()}),
		conditionFunction(),
		isTrueFunction(),
		cel.Variable(rootObject, cel.DynType),
	)
	if err != nil {
		return nil, fmt.Errorf("build the CEL environment: declare condition and isTrue: %w", err)
	}
	checkers, err := newCheckers(base)
	if err != nil {
		return nil, fmt.Errorf("build the CEL environment: %w", err)
	}
	return &Compiler{base: base, checkers: checkers, plans: jsonform.NewPlans(), conditions: newConditionPaths()}, nil
}

// noNode is the node id of errors that belong to no node.
const noNode = -1

// labelSharedErrors guards process-wide state of cel-go v0.29.2: its evaluator
// writes the failing node's id into error values, two of which ("no such overload"
// and timestamp overflow) are shared by every evaluation of the process. That is a
// data race, and gives later errors a stranger's position. An id that is set stays,
// so they are given one before anything is evaluated.
var labelSharedErrors sync.Once

// libraries are the options of Kubernetes 1.37's environment. The package that
// has them isn't used: it brings a dozen modules of the API server with it.
func libraries() []cel.EnvOption {
	return []cel.EnvOption{
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.HomogeneousAggregateLiterals(),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxSource),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
			cel.ValidateComprehensionNestingLimit(maxNesting),
		),

		cel.OptionalTypes(),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.Lists(ext.ListsVersion(3)),
		ext.TwoVarComprehensions(),
		library.Lists(library.ListsVersion(1)),
		library.URLs(),
		library.Regex(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	}
}

// programOptions build a program that runs without bounds.
func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), optimizeRegexes(), guardPatterns()}
}

// boundedOptions build a program that counts its cost and can be interrupted,
// which makes it several times slower. A limit of 0 is none.
func boundedOptions(costLimit uint64) []cel.ProgramOption {
	if costLimit == 0 {
		costLimit = math.MaxUint64
	}
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), optimizeRegexes(), guardPatterns(),
		cel.CostTracking(&costEstimator{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.CostLimit(costLimit),
		cel.InterruptCheckFrequency(interruptEvery),
	}
}
