package celexpr

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// maxPatternSteps bounds one call with a regular expression: the text's length
// times the pattern's size. It takes some tenths of a second at worst; without it
// a text of 1.5 MB took 14 s, in one call that nothing can interrupt.
const maxPatternSteps = 32 << 20

// optimizeRegexes compiles constant patterns once. They take the place of
// cel-go's and Kubernetes' own optimizations, which don't look at the text's
// length: what is found by the overload comes before what is found by the name.
func optimizeRegexes() cel.ProgramOption {
	var all []*interpreter.RegexOptimization
	for overload, function := range map[string]string{
		"matches": "matches", "matches_string": "matches",
		"string_find_string":     "find",
		"string_find_all_string": "findAll", "string_find_all_string_int": "findAll",
	} {
		all = append(all, &interpreter.RegexOptimization{
			Function: function, OverloadID: overload, RegexIndex: 1, Factory: constantPattern,
		})
	}
	return cel.OptimizeRegex(all...)
}

// constantPattern returns the call with its pattern compiled.
func constantPattern(call interpreter.InterpretableCall, pattern string) (interpreter.InterpretableCall, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	size := patternSize(pattern)
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		text, ok := args[0].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[0])
		}
		if err := patternSteps(len(text), size); err != nil {
			return types.NewErr("%w", err)
		}
		switch call.Function() {
		case "matches":
			return types.Bool(re.MatchString(string(text)))
		case "find":
			return types.String(re.FindString(string(text)))
		}
		most := types.Int(-1)
		if len(args) > 2 {
			if most, ok = args[2].(types.Int); !ok {
				return types.MaybeNoSuchOverloadErr(args[2])
			}
		}
		return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(string(text), int(most)))
	}), nil
}

// guardPatterns looks at the arguments of matches() with a pattern that isn't
// constant. It can't be done as with other functions: cel-go gives matches one
// implementation for all overloads, which can't be replaced.
func guardPatterns() cel.ProgramOption {
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || call.Function() != "matches" || len(call.Args()) != 2 {
			return i, nil
		}
		if _, constant := call.Args()[1].(interpreter.InterpretableConst); constant {
			return i, nil
		}
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
			text, ok := args[0].(traits.Matcher)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			if err := matched(args); err != nil {
				return types.NewErr("%w", err)
			}
			return text.Match(args[1])
		}), nil
	})
}

// matched is about text.matches(pattern), find and findAll with a pattern from a param.
func matched(args []ref.Val) *Error {
	text, _ := args[0].(types.String)
	pattern, _ := args[1].(types.String)
	size := patternSize(string(pattern))
	if size > maxPattern {
		return &Error{Kind: LimitExceeded, node: noNode, Message: fmt.Sprintf("a regular expression has some %d steps, more than %d", size, maxPattern)}
	}
	return patternSteps(len(text), size)
}

func patternSteps(text, size int) *Error {
	if text*max(size, 1) <= maxPatternSteps {
		return nil
	}
	return &Error{
		Kind: LimitExceeded, node: noNode,
		Message: fmt.Sprintf("a regular expression of some %d steps on a text of %d bytes is more than one call may do", size, text),
	}
}
