package celexpr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// Output is the type that an expression must have.
type Output int

const (
	// OutputBool: a condition.
	OutputBool Output = iota
	// OutputString: a message, reason or code.
	OutputString

	outputAny Output = -1 // a variable
)

// Issue is one thing wrong with an expression. Line and Column are 1-based and
// count within the expression's own text; columns count characters.
type Issue struct {
	Line, Column  int
	Message, Hint string
}

// Compile checks the expression and returns all issues, or a program. A value of
// type dyn is accepted here and checked when it is evaluated.
func (e *Environment) Compile(expression string, want Output) (*Program, []Issue) {
	key := programKey{expression, want, len(e.variables)}
	if known, ok := e.programs.Load(key); ok {
		return known.(*Program), nil
	}
	program, _, issues := e.compile(expression, want, false)
	if program == nil {
		return nil, issues
	}
	first, _ := e.programs.LoadOrStore(key, program)
	return first.(*Program), nil
}

// programKey identifies an expression of an environment. Those compiled before a
// variable was added saw less.
type programKey struct {
	expression string
	want       Output
	variables  int
}

func (e *Environment) compile(expression string, want Output, isVariable bool) (program *Program, schema schemaCheck, issues []Issue) {
	defer func() {
		// Loading a document must not end the process, whatever is in it.
		if r := recover(); r != nil {
			program, schema, issues = nil, schemaCheck{}, []Issue{{
				Line: 1, Column: 1,
				Message: fmt.Sprintf("checking the expression failed: panic: %v", r),
				Hint:    "this is a fault of the checker, not of yours: write the expression in another way, and report it",
			}}
		}
	}()
	if strings.TrimSpace(expression) == "" {
		return nil, schemaCheck{}, []Issue{{Line: 1, Column: 1, Message: "the expression is empty"}}
	}
	if n := utf8.RuneCountInString(expression); n > maxSource {
		return nil, schemaCheck{}, []Issue{{
			Line: 1, Column: 1,
			Message: fmt.Sprintf("the expression has %d characters, more than %d", n, maxSource),
			Hint:    "split it into variables",
		}}
	}
	parsed, source, errs := e.compiler.checkers.parse(expression)
	if len(errs) > 0 {
		return nil, schemaCheck{}, syntaxIssues(expression, errs)
	}
	if issues := append(e.limitIssues(parsed), keyIssues(parsed)...); len(issues) > 0 {
		return nil, schemaCheck{}, issues
	}
	if len(e.kinds) > 0 {
		schema = e.checkSchemas(parsed, source, want, isVariable) // first: the check below changes what was parsed
	}
	program, issues = e.checked(parsed, source, want, isVariable)
	if issues = withSchema(issues, schema.issues); len(issues) > 0 {
		return nil, schema, issues
	}
	program.warnings, program.estimate = schema.warnings, schema.estimate
	return program, schema, nil
}

// withSchema adds what a schema says in other places.
func withSchema(issues, schema []Issue) []Issue {
	without := len(issues)
	for _, s := range schema {
		if !slices.ContainsFunc(issues[:without], func(i Issue) bool { return i.Line == s.Line && i.Column == s.Column }) {
			issues = append(issues, s)
		}
	}
	sortIssues(issues)
	return issues
}

// checked makes the program of a parsed expression, without a schema.
func (e *Environment) checked(parsed *ast.AST, source common.Source, want Output, isVariable bool) (*Program, []Issue) {
	c := e.compiler.checkers
	checked, errs := c.check(parsed, source, e)
	if len(errs) == 0 {
		errs = c.validate(checked, source)
	}
	if len(errs) > 0 {
		return nil, e.checkIssues(parsed, errs)
	}
	if issue := outputIssue(checked, want); issue != nil {
		return nil, []Issue{*issue}
	}
	p := &Program{
		env: e, cel: e.compiler.base, ast: checked, source: source.Content(), want: want, celType: outputType(checked),
		bounded: needsBounds(checked, isVariable),
	}
	if mayNotPlan(checked) {
		if _, err := p.cel.PlanProgram(checked, programOptions()...); err != nil {
			return nil, []Issue{programIssue(checked, err)}
		}
	}
	return p, nil
}

// outputType returns the type of an expression's value.
func outputType(checked *ast.AST) *cel.Type { return checked.GetType(checked.Expr().ID()) }

// outputIssue says what is wrong with the type of an expression's value, if
// anything is.
func outputIssue(checked *ast.AST, want Output) *Issue {
	var wanted *cel.Type
	var word, convert string
	switch want {
	case OutputBool:
		wanted, word, convert = cel.BoolType, "bool", "write a comparison"
	case OutputString:
		wanted, word, convert = cel.StringType, "string", "convert it with string(…)"
	default:
		return nil
	}
	got := outputType(checked)
	if got.IsExactType(wanted) || got.Kind() == types.DynKind || got.Kind() == types.AnyKind {
		return nil
	}
	at := position(checked, checked.Expr().ID())
	at.Message = fmt.Sprintf("the expression's value is of type %s, want %s", typeName(got), word)
	at.Hint = convert
	if got.Kind() == types.OpaqueKind && got.TypeName() == "optional_type" {
		at.Hint = "say what an absent value means, for example .orValue(false)"
		if want == OutputString {
			at.Hint = "say what an absent value means, for example .orValue('')"
		}
	}
	return &at
}

// mayNotPlan reports whether planning may find an error: it folds conversions of
// constants and compiles constant regular expressions. Other programs are planned
// when they first run, as that takes as long as checking them, and most memory.
func mayNotPlan(a *ast.AST) bool {
	found := false
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		switch name := e.AsCall().FunctionName(); {
		case overloads.IsTypeConversionFunction(name), name == "matches", name == "find", name == "findAll":
			found = true
		}
	}))
	return found
}

// programIssue gives an error of planning, which comes from folding a constant,
// the position of that constant.
func programIssue(checked *ast.AST, err error) Issue {
	issue := Issue{Line: 1, Column: 1}
	var celErr *types.Err
	if errors.As(err, &celErr) && celErr.NodeID() > 0 {
		issue = position(checked, celErr.NodeID())
	} else if id, ok := badPattern(checked); ok {
		issue = position(checked, id)
	}
	issue.Message = err.Error()
	return issue
}

// badPattern finds a constant regular expression that doesn't parse: Kubernetes'
// functions report it without a position.
func badPattern(checked *ast.AST) (id int64, found bool) {
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if found || e.Kind() != ast.CallKind {
			return
		}
		switch e.AsCall().FunctionName() {
		case "find", "findAll":
			for _, arg := range e.AsCall().Args() {
				pattern, ok := constant(arg).(string)
				if !ok {
					continue
				}
				if _, err := regexp.Compile(pattern); err != nil {
					id, found = arg.ID(), true
				}
			}
		}
	}))
	return id, found
}

// position returns where the node begins.
func position(a *ast.AST, id int64) Issue {
	loc := a.SourceInfo().GetStartLocation(id)
	return Issue{Line: max(loc.Line(), 1), Column: max(loc.Column()+1, 1)}
}

// typeName returns a type as the documents spell it.
func typeName(t *cel.Type) string {
	switch {
	case t.TypeName() == conditionTypeName:
		return "condition"
	case t.Kind() == types.OpaqueKind && t.TypeName() == "optional_type":
		return "optional"
	case t.Kind() == types.NullTypeKind:
		return "null"
	case t.Kind() == types.DurationKind:
		return "duration"
	case t.Kind() == types.TimestampKind:
		return "timestamp"
	}
	return plainObjects(t.String())
}
