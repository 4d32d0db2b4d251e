package celexpr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// keyIssues returns the indexes that can be no key or number: object.a[null]. cel-go
// accepts them on values of any type, and then can't make a program of the whole
// expression, whatever its other terms say.
func keyIssues(parsed *ast.AST) []Issue {
	var issues []Issue
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex:
		default:
			return
		}
		if len(call.Args()) != 2 {
			return
		}
		what := ""
		switch key := call.Args()[1]; key.Kind() {
		case ast.ListKind:
			what = "a list"
		case ast.MapKind, ast.StructKind:
			what = "a map"
		case ast.LiteralKind:
			switch key.AsLiteral().(type) {
			case types.Null:
				what = "null"
			case types.Bytes:
				what = "bytes"
			}
		}
		if what != "" {
			issue := startOf(parsed, call.Args()[1])
			issue.Message = what + " is neither a key nor a number of an element"
			issue.Hint = "write ['key'] or [0]"
			issues = append(issues, issue)
		}
	}))
	return issues
}
