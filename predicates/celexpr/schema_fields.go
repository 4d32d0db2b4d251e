package celexpr

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// shownFields is how many fields a hint lists.
const shownFields = 10

// noField explains the selection of a field that its object doesn't have. It
// reports false if the object isn't of the schema.
func (k *kindCheck) noField(f *finding, node ast.Expr, field string) bool {
	operand, tested := selection(node)
	if operand == nil {
		return false
	}
	o, ok := k.objectOf(operand)
	if !ok {
		return false
	}
	f.field, f.tested = true, tested
	if node.Kind() == ast.SelectKind && tested {
		// The position is that of has(.
		if from := position(k.ast, operand.ID()); from.Line == f.Line {
			f.Column = from.Column + skippedTo(k.source.Content(), from, field)
		}
	}
	f.skip(k.source, ".?['\"` ")
	f.Message = fmt.Sprintf("%s has no field '%s'", k.describe(operand), field)
	f.Hint = k.fieldHint(o, field)
	return true
}

// selection returns what a node selects a field of, and whether it asks for it.
func selection(node ast.Expr) (operand ast.Expr, tested bool) {
	switch node.Kind() {
	case ast.SelectKind:
		return node.AsSelect().Operand(), node.AsSelect().IsTestOnly()
	case ast.CallKind:
		if args := node.AsCall().Args(); node.AsCall().FunctionName() == "_?._" && len(args) == 2 {
			return args[0], true
		}
	}
	return nil, false
}

// objectOf returns the type with fields that an expression, or the value of an
// optional, is of.
func (k *kindCheck) objectOf(e ast.Expr) (*kindObject, bool) {
	t := k.ast.GetType(e.ID())
	if t.TypeName() == "optional_type" && len(t.Parameters()) == 1 {
		t = t.Parameters()[0]
	}
	return k.scope.kindTypes.object(t.TypeName())
}

// describe names what an expression selects.
func (k *kindCheck) describe(e ast.Expr) string {
	if c := chainOf(e); c.root != "" {
		return c.upTo(len(c.parts))
	}
	return "this object"
}

// fieldHint says which field may be meant.
func (k *kindCheck) fieldHint(o *kindObject, field string) string {
	names := o.fieldNames()
	if plain, ok := apiservercel.Unescape(field); ok && plain != field && slices.Contains(names, plain) {
		return "names aren't escaped here: write ['" + plain + "']"
	}
	for _, name := range names {
		if plainName(name) == plainName(field) {
			return "did you mean '" + name + "'?"
		}
	}
	path := pathOf(k.scope.schema.Root, field)
	if path != "" {
		path = "did you mean " + rootObject + path + "?"
	}
	if path != "" && o.typ == k.scope.schema.Root {
		return path
	}
	if near := didYouMean(field, names); near != "" {
		return near
	}
	if path != "" {
		return path
	}
	if len(names) > shownFields {
		names = append(names[:shownFields:shownFields], "…")
	}
	return "fields: " + strings.Join(names, ", ")
}

// plainName is what names that are written in another way have in common.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// pathOf returns where an object's spec or status has the field, "" if nowhere
// near the top.
func pathOf(root *schemas.Type, field string) string {
	type place struct {
		path string
		typ  *schemas.Type
	}
	level := []place{{"", root}}
	for range 3 {
		var next []place
		for _, p := range level {
			if p.typ.Form != schemas.Object {
				continue
			}
			if _, ok := p.typ.Fields[field]; ok {
				return p.path + "." + field
			}
			for _, name := range p.typ.Names() {
				if checkIdentifier(name) == nil {
					next = append(next, place{p.path + "." + name, p.typ.Fields[name]})
				}
			}
		}
		level = next
	}
	return ""
}

// skip moves an issue over the characters that stand between an operator's
// position and the name that it is about.
func (f *finding) skip(source common.Source, characters string) {
	f.Column += skipped(source.Content(), f.Issue, characters)
}

// skipped counts the characters at an issue's place.
func skipped(content string, at Issue, characters string) int {
	line := lineFrom(content, at)
	n := len(line) - len(strings.TrimLeft(line, characters))
	if n == len(line) {
		return 0 // the name is on the next line
	}
	return n
}

// skippedTo counts the characters between an issue's place and the selection of a
// field; 0 if it isn't on the line.
func skippedTo(content string, at Issue, field string) int {
	line := lineFrom(content, at)
	for from := 0; ; {
		i := strings.Index(line[from:], "."+field)
		if i < 0 {
			return 0
		}
		from += i + 1 + len(field)
		if checkIdentifier("x"+line[from:min(from+1, len(line))]) != nil || from == len(line) {
			return utf8.RuneCountInString(line[:from]) - utf8.RuneCountInString(field) - 1
		}
	}
}

// lineFrom returns the rest of the line at an issue's place.
func lineFrom(content string, at Issue) string {
	for range at.Line - 1 {
		_, content, _ = strings.Cut(content, "\n")
	}
	line, _, _ := strings.Cut(content, "\n")
	for range at.Column - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return line
}

// enumOf returns the texts that an expression's value may be, nil if any.
func (k *kindCheck) enumOf(e ast.Expr) []string {
	switch e.Kind() {
	case ast.IdentKind:
		if s, ok := k.scope.env.slots[e.AsIdent()]; ok && s.kind == slotVariable {
			return k.scope.enums[s.index]
		}
	case ast.SelectKind:
		if sel := e.AsSelect(); !sel.IsTestOnly() {
			return k.fieldEnum(sel.Operand(), sel.FieldName())
		}
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case "_?._":
			if name, ok := constant(args[1]).(string); ok {
				return k.fieldEnum(args[0], name)
			}
		case "orValue":
			values := k.enumOf(call.Target())
			if other, ok := constant(args[0]).(string); ok && values != nil {
				return append(slices.Clip(values), other)
			}
		case "value":
			if call.IsMemberFunction() {
				return k.enumOf(call.Target())
			}
		}
	}
	return nil
}

func (k *kindCheck) fieldEnum(operand ast.Expr, field string) []string {
	o, ok := k.objectOf(operand)
	if !ok {
		return nil
	}
	t, ok := o.typ.Fields[field]
	if !ok || t.Form != schemas.String {
		return nil
	}
	return t.Enum
}

// foreignValues warns where a field is compared with a text that it can't be.
// It is a warning only: another version of the kind may add values.
func (k *kindCheck) foreignValues() []finding {
	var out []finding
	compare := func(values []string, with ast.Expr, what ast.Expr) {
		text, ok := constant(with).(string)
		if !ok || values == nil || slices.Contains(values, text) {
			return
		}
		f := finding{Issue: position(k.ast, with.ID()), warning: true}
		f.Message = fmt.Sprintf("%s is never '%s'", k.describeValue(what), text)
		if f.Hint = didYouMean(text, values); f.Hint == "" {
			f.Hint = "the schema allows: " + strings.Join(values, ", ")
		}
		out = append(out, f)
	}
	ast.PreOrderVisit(k.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		a, b := e.AsCall().Args()[0], e.AsCall().Args()[1]
		switch e.AsCall().FunctionName() {
		case "_==_", "_!=_":
			compare(k.enumOf(a), b, a)
			compare(k.enumOf(b), a, b)
		case "@in":
			if b.Kind() != ast.ListKind {
				return
			}
			values := k.enumOf(a)
			for _, element := range b.AsList().Elements() {
				compare(values, element, a)
			}
		}
	}))
	return out
}

// describeValue names a field, through the default that it may have.
func (k *kindCheck) describeValue(e ast.Expr) string {
	if e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() {
		e = e.AsCall().Target()
	}
	if c := chainOf(e); c.root != "" {
		return c.upTo(len(c.parts))
	}
	return "the field"
}
