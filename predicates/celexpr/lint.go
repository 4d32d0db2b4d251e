package celexpr

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
)

// Lint returns what is allowed in the expression but probably isn't meant, in the
// order of the text. decides says that a verdict depends on it: then a condition
// that is true where data is absent counts too. It is for the goroutine that
// builds the environment.
func (p *Program) Lint(decides bool) []Issue {
	l := linter{env: p.env, ast: p.ast, steps: maxSteps}
	root := l.ast.Expr()
	ast.PreOrderVisit(root, ast.NewExprVisitor(l.node))
	if p.want == OutputBool {
		l.truth(root)
	}
	if decides && (p.want == OutputBool || p.celType.IsExactType(cel.BoolType)) {
		l.absent(root, true, nil, nil)
	}
	slices.SortStableFunc(l.issues, func(a, b Issue) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(l.issues)
}

// linter looks at one checked expression.
type linter struct {
	env    *Environment
	ast    *ast.AST
	issues []Issue
	// steps are left for looking into variables, which may double each other.
	steps int
}

// maxSteps bounds how much of variables is looked at for one condition.
const maxSteps = 10_000

// spent counts a step and reports whether there are no more.
func (l *linter) spent() bool {
	l.steps--
	return l.steps < 0
}

func (l *linter) warn(at ast.Expr, message, hint string) {
	issue := startOf(l.ast, at)
	issue.Message, issue.Hint = message, hint
	l.issues = append(l.issues, issue)
}

// startOf returns where the text of an expression begins: of a call with a
// target or an operator's operands, that is where the first of them begins.
// cel-go's own position of a call is that of its parenthesis, and of a dotted
// name that of the dot.
func startOf(a *ast.AST, e ast.Expr) Issue {
	first := position(a, e.ID())
	for {
		before := ""
		var inner ast.Expr
		switch e.Kind() {
		case ast.IdentKind:
			before, _, _ = strings.Cut(e.AsIdent(), ".")
			if before == e.AsIdent() {
				before = ""
			}
		case ast.SelectKind:
			inner = e.AsSelect().Operand()
		case ast.ComprehensionKind:
			inner = e.AsComprehension().IterRange()
		case ast.CallKind:
			call := e.AsCall()
			_, operator := operatorSign(call.FunctionName())
			switch {
			case call.IsMemberFunction():
				inner = call.Target()
			case operator && len(call.Args()) > 1, strings.HasPrefix(call.FunctionName(), "_"):
				inner = call.Args()[0]
			case !operator:
				before = call.FunctionName()
			}
		}
		at := position(a, e.ID())
		at.Column = max(at.Column-len(before), 1)
		if at.Line < first.Line || at.Line == first.Line && at.Column < first.Column {
			first = at
		}
		if inner == nil {
			return first
		}
		e = inner
	}
}

// node looks at one node by itself.
func (l *linter) node(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		l.escapes(e)
	case ast.ComprehensionKind:
		l.shadows(e)
	case ast.CallKind:
		call := e.AsCall()
		switch name := call.FunctionName(); name {
		case "_==_", "_!=_":
			l.compared(e, call.Args()[0], call.Args()[1])
			l.compared(e, call.Args()[1], call.Args()[0])
			l.times(e, name)
		case "_<_", "_<=_", "_>_", "_>=_":
			l.compared(e, call.Args()[0], call.Args()[1])
			l.compared(e, call.Args()[1], call.Args()[0])
			l.times(e, name)
		case "_+_", "_-_":
			l.times(e, name)
		case "!_":
			l.truth(call.Args()[0])
		case "_&&_", "_||_":
			l.truth(call.Args()[0])
			l.truth(call.Args()[1])
		case "_?_:_":
			l.truth(call.Args()[0])
		}
	}
}

// escapes finds names written as in the rules of a CRD, where reserved words and
// special characters are escaped.
func (l *linter) escapes(e ast.Expr) {
	name := e.AsSelect().FieldName()
	plain := unescape(name)
	if plain == name {
		return
	}
	hint := "write ." + plain
	if checkIdentifier(plain) != nil {
		hint = "write ['" + plain + "']"
	}
	l.warn(e, "'"+name+"' is how a CRD's own rules spell '"+plain+"'; here no such field exists", hint)
}

// unescape undoes the escapes of CRD rules.
func unescape(name string) string {
	if !strings.Contains(name, "__") {
		return name
	}
	if inner, ok := strings.CutPrefix(name, "__"); ok {
		if inner, ok = strings.CutSuffix(inner, "__"); ok && slices.Contains(reserved, inner) {
			return inner
		}
	}
	return strings.NewReplacer("__underscores__", "__", "__dot__", ".", "__dash__", "-", "__slash__", "/").Replace(name)
}

// reserved are the words that CRD rules must escape.
var reserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
	"import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
}

// shadows finds loop variables that hide a root variable.
func (l *linter) shadows(e ast.Expr) {
	c := e.AsComprehension()
	for _, name := range []string{c.IterVar(), c.IterVar2()} {
		switch name {
		case rootObject, rootParams, rootVariables:
			l.warn(e, "the loop variable '"+name+"' hides the root variable of that name", "give it another name, such as x")
		}
	}
}

// Variable returns the program of variables.name, nil if there is none or it
// didn't compile.
func (e *Environment) Variable(name string) *Program {
	for i := range e.variables {
		if e.variables[i].name == name {
			return e.variables[i].program
		}
	}
	return nil
}

// Reads returns the names of the params and variables that the expression uses
// itself, each once.
func (p *Program) Reads() (params, variables []string) {
	ast.PreOrderVisit(p.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.IdentKind {
			return
		}
		root, name, _ := strings.Cut(e.AsIdent(), ".")
		switch {
		case root == rootParams && name != "" && !slices.Contains(params, name):
			params = append(params, name)
		case root == rootVariables && name != "" && !slices.Contains(variables, name):
			variables = append(variables, name)
		}
	}))
	return params, variables
}

// Costly reports whether the expression loops within a loop over lists that
// aren't written out, or applies a regular expression in a loop.
func (p *Program) Costly() bool {
	costly := false
	var visit func(e ast.Expr, loops int)
	visit = func(e ast.Expr, loops int) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			if c := e.AsComprehension(); c.IterRange().Kind() != ast.ListKind && c.IterRange().Kind() != ast.MapKind {
				visit(c.IterRange(), loops)
				visit(c.LoopStep(), loops+1)
				costly = costly || loops > 0
				return
			}
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case "matches", "find", "findAll":
				costly = costly || loops > 0
			}
		}
		for _, child := range children(e) {
			visit(child, loops)
		}
	}
	visit(p.ast.Expr(), 0)
	return costly
}
