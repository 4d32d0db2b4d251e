package celexpr

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// Names whose type is the same wherever Kubernetes' conventions are kept. Without
// a schema they are all there is to go by.
var (
	numberName = regexp.MustCompile(`^(generation|observedGeneration|replicas|\w+Replicas|\w+Seconds|\w+Bytes|\w+_bytes|restartCount|port|nodePort|exitCode|parallelism|completions|backoffLimit|desiredNumberScheduled|currentNumberScheduled|number\w+|active|succeeded)$`)
	stringName = regexp.MustCompile(`^(resourceVersion|name|namespace|uid|kind|apiVersion|phase|state|reason|message|status)$`)
	timeName   = regexp.MustCompile(`(Timestamp|Time)$|^timestamp$`)
)

// compared looks at a comparison of x with y for values that never have the same
// type: such a comparison is always false, or has no value.
func (l *linter) compared(e, x, y ast.Expr) {
	path := l.env.path(x)
	name := path.last()
	if d, ok := l.defaultOf(x); ok {
		if v, ok := literal(y); ok && kindOf(v) != kindOf(d) && kindOf(v) != "null" && kindOf(d) != "null" {
			l.warn(e, fmt.Sprintf("the default of orValue is a %s, the comparison is with a %s", kindOf(d), kindOf(v)), "they must be of one type")
			return
		}
	}
	v, ok := literal(y)
	if name == "" || !ok {
		return
	}
	switch v := v.(type) {
	case types.Bool:
		if isStatus(path) {
			l.warn(e, "a condition's status is a text, never a bool", fmt.Sprintf("write '%s'", title(strconv.FormatBool(bool(v)))))
		} else if stringName.MatchString(name) {
			l.warn(e, fmt.Sprintf("%s is a text, the comparison is with a bool", path), "")
		}
	case types.String:
		switch lower := strings.ToLower(string(v)); {
		case isStatus(path) && (lower == "true" || lower == "false" || lower == "unknown") && title(lower) != string(v):
			l.warn(e, fmt.Sprintf("a condition's status is never '%s'", string(v)), fmt.Sprintf("write '%s'", title(lower)))
		case numberName.MatchString(name) && path.root != "" && !inMetadataMap(path):
			l.warn(e, fmt.Sprintf("%s is a number, the comparison is with a text", path), "write the number without quotes")
		}
	case types.Int, types.Uint, types.Double:
		if stringName.MatchString(name) && !inMetadataMap(path) && name != "status" && name != "state" {
			l.warn(e, fmt.Sprintf("%s is a text, the comparison is with a number", path), "quote the number, or convert with int(…)")
		}
	}
}

// defaultOf returns the literal that x falls back to.
func (l *linter) defaultOf(x ast.Expr) (v interface{ Value() any }, ok bool) {
	_, value, ok := l.env.fallback(x)
	if !ok {
		return nil, false
	}
	return literal(value)
}

// kindOf puts all numbers into one kind: they compare with each other.
func kindOf(v interface{ Value() any }) string {
	switch v.(type) {
	case types.Bool:
		return "bool"
	case types.String:
		return "text"
	case types.Int, types.Uint, types.Double:
		return "number"
	}
	return "null"
}

// isStatus reports whether a path ends in a condition's status, rather than being
// the object's.
func isStatus(c chain) bool {
	return c.last() == "status" && !inMetadataMap(c) && (c.root != rootObject || len(c.parts) > 1)
}

// inMetadataMap reports whether a path is that of a label or annotation, whose
// keys are anybody's.
func inMetadataMap(c chain) bool {
	for _, p := range c.parts {
		if p.value == "labels" || p.value == "annotations" {
			return true
		}
	}
	return false
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// truth looks at an expression that must be a bool for a status used as one.
func (l *linter) truth(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return
		}
	case ast.CallKind:
		if name := e.AsCall().FunctionName(); name != "_[_]" && name != "orValue" {
			return
		}
	default:
		return
	}
	if isStatus(l.env.path(e)) {
		l.warn(e, "a condition's status is a text, never a bool", "compare it: … == 'True'")
	}
}

// times looks at comparisons and sums of points in time.
func (l *linter) times(e ast.Expr, operator string) {
	args := e.AsCall().Args()
	isTime := func(x ast.Expr) (chain, bool) {
		c := l.env.path(x)
		kind := l.ast.GetType(x.ID()).Kind()
		return c, timeName.MatchString(c.last()) && !inMetadataMap(c) && kind != types.TimestampKind && kind != types.DurationKind
	}
	typed := func(x ast.Expr) bool {
		kind := l.ast.GetType(x.ID()).Kind()
		return kind == types.TimestampKind || kind == types.DurationKind
	}
	for i := range 2 {
		c, ok := isTime(args[i])
		if !ok {
			continue
		}
		_, other := isTime(args[1-i])
		v, _ := literal(args[1-i])
		date, text := v.(types.String)
		switch {
		case typed(args[1-i]):
			l.warn(e, fmt.Sprintf("%s is a text, not a timestamp", c), fmt.Sprintf("write timestamp(%s)", c))
		case operator == "_==_" || operator == "_!=_" || operator == "_+_":
			continue
		case other, text && date != "":
			l.warn(e, fmt.Sprintf("%s is compared as a text", c), "convert both sides with timestamp(…)")
		default:
			continue
		}
		return
	}
}
