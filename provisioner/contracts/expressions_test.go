package contracts_test

import (
	"slices"
	"testing"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// texts are what a text in an expression may be mistaken for: those of a group for
// one another.
var texts = [][]string{
	{"", "Pending", "Creating", "Created", "CreationFailed", "Updating", "Updated", "UpdateFailed", "Deleting", "DeletionFailed", "Deleted"},
	{"", "Attaching", "Attached", "AttachmentFailed", "Detaching", "Detached", "DetachmentFailed", "ForceDetachPending"},
	{"Primary", "Replica"},
	{"LUN", "Attached"},
	{"UNKNOWN", "RESOURCE_EXHAUSTED", "OK"},
	{"deadline exceeded", "no room", ""},
	{prefix + "volume-attach-request", prefix + "volume-detach-request", prefix + "recovery"},
}

// fields are mistaken for one another too.
var fields = map[string][]string{
	"state": {"stat"}, "detail": {"error"}, "error": {"detail"}, "code": {"message"}, "message": {"code"},
	"volume_id": {"parameters"}, "capacity_bytes": {"node_expansion_required"}, "role": {"previous_role"},
	"volumeName": {"nodeName"}, "nodeName": {"volumeName"}, "spec": {"status"}, "publish_context": {"annotation"},
	"annotations": {"labels"}, "annotation": {"annotations"}, "deletionTimestamp": {"creationTimestamp"},
	"status": {"spec"}, "attached": {"unrequested"}, "unrequested": {"attached"}, "lun": {"state", "until"}, "mayRequest": {"until"},
}

// swapped are the operators that stand for one another.
var swapped = map[string][]string{
	operators.LogicalAnd: {operators.LogicalOr}, operators.LogicalOr: {operators.LogicalAnd},
	operators.Equals: {operators.NotEquals}, operators.NotEquals: {operators.Equals},
	operators.GreaterEquals: {operators.Greater, operators.LessEquals, operators.Less, operators.Equals, operators.NotEquals},
}

// expressions returns an expression with one thing changed, for every thing and
// every change.
func expressions(t testing.TB, text string) []string {
	t.Helper()
	p, err := parser.NewParser(parser.EnableOptionalSyntax(true), parser.Macros(parser.AllMacros...))
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := p.Parse(common.NewTextSource(text))
	if len(issues.GetErrors()) > 0 {
		t.Fatalf("%s: %s", text, issues.ToDisplayString())
	}
	made := ast.NewExprFactory()
	var all []string
	add := func(id int64, with ast.Expr) {
		changed, done := ast.Copy(parsed), false
		ast.PreOrderVisit(changed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if e.ID() == id && !done {
				done = true // what comes in its place may hold it
				e.SetKindCase(with)
			}
		}))
		s, err := parser.Unparse(changed.Expr(), changed.SourceInfo())
		if err == nil && s != text && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	not := func(e ast.Expr) ast.Expr { return made.NewCall(e.ID()+1000, operators.LogicalNot, made.CopyExpr(e)) }
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			call := e.AsCall()
			for _, operator := range swapped[call.FunctionName()] {
				add(e.ID(), made.NewCall(e.ID(), operator, call.Args()...))
			}
			switch call.FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr:
				for _, one := range call.Args() {
					add(e.ID(), one) // the other one is dropped
					add(one.ID(), not(one))
				}
			case operators.LogicalNot:
				add(e.ID(), call.Args()[0])
			case operators.Equals, operators.NotEquals, operators.GreaterEquals, operators.In:
				add(e.ID(), not(e))
			}
		case ast.ListKind:
			elements := e.AsList().Elements()
			for i := range elements {
				add(e.ID(), made.NewList(e.ID(), slices.Delete(slices.Clone(elements), i, i+1), nil))
			}
			for _, other := range others(elements) {
				add(e.ID(), made.NewList(e.ID(), append(slices.Clone(elements), made.NewLiteral(e.ID()+2000, types.String(other))), nil))
			}
		case ast.LiteralKind:
			if s, ok := e.AsLiteral().(types.String); ok {
				for _, group := range texts {
					if slices.Contains(group, string(s)) {
						for _, other := range group {
							add(e.ID(), made.NewLiteral(e.ID(), types.String(other)))
						}
					}
				}
			}
		case ast.SelectKind:
			sel := e.AsSelect()
			for _, other := range fields[sel.FieldName()] {
				if sel.IsTestOnly() {
					add(e.ID(), made.NewPresenceTest(e.ID(), sel.Operand(), other))
				} else {
					add(e.ID(), made.NewSelect(e.ID(), sel.Operand(), other))
				}
			}
		}
	}))
	return append(all, "true", "false", "!("+text+")")
}

// others returns the texts that a list of texts doesn't have.
func others(elements []ast.Expr) []string {
	has := map[string]bool{}
	for _, e := range elements {
		if e.Kind() != ast.LiteralKind {
			return nil
		}
		if s, ok := e.AsLiteral().(types.String); ok {
			has[string(s)] = true
		}
	}
	for _, group := range texts {
		if !slices.ContainsFunc(group, func(s string) bool { return has[s] && s != "" }) {
			continue
		}
		return slices.DeleteFunc(slices.Clone(group), func(s string) bool { return has[s] })
	}
	return nil
}
