package celexpr

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
)

// cel-go reports what is wrong in the words of its grammar and checker. The
// functions here put the usual mistakes into words of predicates; what they don't
// know they pass on. They read cel-go's messages, so a test pins each of them.

// syntaxIssues translates the parser's errors.
func syntaxIssues(source string, errs []*common.Error) []Issue {
	var out []Issue
	for _, err := range sorted(errs) {
		issue := located(err)
		issue.Message, issue.Hint = syntaxMessage(source, strings.TrimPrefix(err.Message, "Syntax error: "))
		if atEnd(source, issue) && strings.HasPrefix(issue.Message, "unexpected ") {
			issue.Message = endsEarly
		}
		if issue.Message == endsEarly && len(out) > 0 {
			continue // it follows from the error before
		}
		out = append(out, issue)
		if issue.Message == yamlComment {
			break // the rest is about the comment's text
		}
	}
	return out
}

// Messages that are compared.
const (
	endsEarly   = "the expression ends too early"
	yamlComment = "unexpected '#'"
)

// atEnd reports whether an issue is behind the last character.
func atEnd(source string, i Issue) bool {
	lines := strings.Split(source, "\n")
	return i.Line == len(lines) && i.Column > utf8.RuneCountInString(lines[len(lines)-1])
}

func syntaxMessage(source, message string) (text, hint string) {
	if token, ok := quoted(badToken, message); ok {
		switch {
		case strings.HasPrefix(token, "="):
			return "unexpected '='", "compare with '=='"
		case strings.HasPrefix(token, "#"):
			return yamlComment, "CEL comments start with //"
		case strings.HasPrefix(token, "&"):
			return "unexpected '&'", "write '&&'"
		case strings.HasPrefix(token, "|"):
			return "unexpected '|'", "write '||'"
		case strings.ContainsAny(token, "‘’“”„"):
			return fmt.Sprintf("unexpected %q", token), "write straight quotes: ' or \""
		case strings.HasPrefix(token, "'"), strings.HasPrefix(token, `"`):
			return "unterminated string", "close the quote; outside a block scalar (|-) ' #' starts a YAML comment"
		}
		return fmt.Sprintf("unexpected %q", token), ""
	}
	if token, ok := quoted(missingToken, message); ok {
		return fmt.Sprintf("%q is missing", token), ""
	}
	if token, ok := quoted(badInput, message); ok {
		switch token {
		case "<EOF>":
			return endsEarly, ""
		case "and", "AND":
			return fmt.Sprintf("unexpected %q", token), "write '&&'"
		case "or", "OR":
			return fmt.Sprintf("unexpected %q", token), "write '||'"
		}
		if strings.HasPrefix(source, "not ") {
			return fmt.Sprintf("unexpected %q", token), "write '!' for not"
		}
		return fmt.Sprintf("unexpected %q", token), ""
	}
	if name, ok := strings.CutPrefix(message, "reserved identifier: "); ok {
		return fmt.Sprintf("%q is a reserved word", name), "the root variable is object: object." + name
	}
	if message == "invalid argument to has() macro" {
		if bare := bareHas.FindStringSubmatch(source); bare != nil && bare[1] != rootObject {
			return "has() needs a field", "the root variable is object: has(object." + bare[1] + ")"
		}
		if key := keyedHas.FindStringSubmatch(source); key != nil && !strings.Contains(key[3], "`") {
			return "has() takes a field, not a key in brackets",
				fmt.Sprintf("write has(%s.`%s`) with back-quotes, or %[1]s[?'%s'].hasValue()", key[1], key[3], key[3])
		}
		return "has() needs a field, like has(object.status)", "for a key use [?'key'].hasValue()"
	}
	return message, ""
}

// What is read out of cel-go's messages and, bareHas, out of an expression: has()
// of a name without a root.
var (
	badToken       = regexp.MustCompile(`(?s)^token recognition error at: '(.*)'$`)
	badInput       = regexp.MustCompile(`(?s)\binput '(.*?)'(?: expecting .*)?$`)
	missingToken   = regexp.MustCompile(`^missing '(.*)' at `)
	undeclared     = regexp.MustCompile(`^undeclared reference to '(.*)' \(in container`)
	undefinedField = regexp.MustCompile(`^undefined field '(.*)'$`)
	keyedHas       = regexp.MustCompile(`\bhas\(\s*([A-Za-z_][\w.]*)\[\s*(['"])([^'"]*)['"]\s*\]\s*\)`)
	noSelection    = regexp.MustCompile(`^type '(.*)' does not support field selection$`)
	noRange        = regexp.MustCompile(`^expression of type '(.*)' cannot be range`)
	objectName     = regexp.MustCompile(objectMark + `[0-9]+`)
	bareHas        = regexp.MustCompile(`\bhas\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*\)`)
)

// checkIssues translates the checker's errors.
func (e *Environment) checkIssues(parsed *ast.AST, errs []*common.Error) []Issue {
	nodes := nodesOf(parsed)
	out := make([]Issue, 0, len(errs))
	for _, err := range sorted(errs) {
		issue := located(err)
		issue.Message, issue.Hint = e.checkMessage(nodes[err.ExprID], err.Message)
		out = append(out, issue)
	}
	return out
}

func (e *Environment) checkMessage(node ast.NavigableExpr, message string) (text, hint string) {
	if name, ok := quoted(undeclared, message); ok {
		switch {
		case node != nil && node.Kind() == ast.CallKind:
			return noFunction(e.compiler.base, name)
		case name == rootParams || name == rootVariables:
			return e.noMember(node, name)
		}
		return e.noRoot(name)
	}
	if field, ok := quoted(undefinedField, message); ok {
		return fmt.Sprintf("no field '%s'", field), didYouMean(field, conditionFieldNames())
	}
	if rest, ok := strings.CutPrefix(message, "found no matching overload for '"); ok {
		if name, args, ok := strings.Cut(rest, "' applied to '"); ok {
			return noOverload(name, strings.TrimSuffix(args, "'"))
		}
	}
	if message == "comprehension exceeds nesting limit" {
		return fmt.Sprintf("more than %d loops within one another", maxNesting), "move an inner list into a variable"
	}
	return message, ""
}

// noMember explains a use of params or variables that names none of them.
func (e *Environment) noMember(node ast.NavigableExpr, root string) (text, hint string) {
	names := e.names(root)
	member, plain := memberOf(node)
	if member == "" {
		if len(names) == 0 {
			return fmt.Sprintf("the predicate has no %s", root), "declare them under spec." + root
		}
		return fmt.Sprintf("%s can't be used as a whole", root), fmt.Sprintf("name one of them: %s.%s", root, names[0])
	}
	for _, name := range names {
		if name == member && !plain {
			return fmt.Sprintf("%s.%s can only be used as it is, without has(), '?' or brackets", root, member), "it always has a value"
		}
	}
	hint = didYouMean(member, names)
	if hint == "" {
		hint = "declare it under spec." + root
	}
	return fmt.Sprintf("%s has no '%s'", root, member), hint
}

// memberOf returns the name that the parent of an identifier selects of it, and
// whether by a plain dot.
func memberOf(node ast.NavigableExpr) (name string, plain bool) {
	if node == nil {
		return "", false
	}
	parent, ok := node.Parent()
	if !ok {
		return "", false
	}
	switch parent.Kind() {
	case ast.SelectKind:
		sel := parent.AsSelect()
		return sel.FieldName(), !sel.IsTestOnly()
	case ast.CallKind:
		if args := parent.AsCall().Args(); len(args) == 2 && args[1].Kind() == ast.LiteralKind {
			s, _ := args[1].AsLiteral().Value().(string)
			return s, false
		}
	}
	return "", false
}

// noRoot explains an unknown name.
func (e *Environment) noRoot(name string) (text, hint string) {
	text = fmt.Sprintf("undeclared reference to '%s'", name)
	for _, root := range []string{rootParams, rootVariables} {
		for _, known := range e.names(root) {
			if known == name {
				return text, fmt.Sprintf("write %s.%s", root, name)
			}
		}
	}
	switch name {
	case "self", "this", "obj", "resource", "oldSelf":
		return text, "the root variable is object"
	case "oldObject", "deleted", "operation", "request":
		return text, "a predicate sees one observation of one object only"
	case "True", "TRUE", "False", "FALSE":
		lower := strings.ToLower(name)
		return text, fmt.Sprintf("write %s; a condition's status is the text '%s'", lower, strings.ToUpper(lower[:1])+lower[1:])
	case "now", "time":
		return text, "a predicate has no clock; use 'for' on a rule, or stableFor"
	}
	if near := didYouMean(name, []string{rootObject, rootParams, rootVariables}); near != "" {
		return text, near
	}
	return text, "the root variable is object: object." + name
}

func noFunction(env *cel.Env, name string) (text, hint string) {
	text = fmt.Sprintf("no function '%s'", name)
	switch name {
	case "exists", "all", "exists_one", "map", "filter":
		return fmt.Sprintf("%s() needs a name for the element and an expression", name),
			fmt.Sprintf("for example object.spec.items.%s(x, x.name != '')", name)
	case "now", "time", "today":
		return text, "a predicate has no clock; use 'for' on a rule, or stableFor"
	case "has":
		return "has() takes one field", "for example has(object.status)"
	}
	var names []string
	for known := range env.Functions() {
		if !strings.ContainsAny(known, "_@!") {
			names = append(names, known)
		}
	}
	for _, macro := range env.Macros() {
		names = append(names, macro.Function())
	}
	sort.Strings(names)
	return text, didYouMean(name, names)
}

// noOverload explains operands of the wrong types; args is cel-go's signature,
// "(string, int)" or "string.(int)".
func noOverload(name, args string) (text, hint string) {
	args = strings.ReplaceAll(args, conditionTypeName, "condition")
	args = strings.ReplaceAll(args, "optional_type", "optional")
	if op, ok := operatorSign(name); ok {
		text = fmt.Sprintf("'%s' can't be applied to %s", op, args)
	} else {
		text = fmt.Sprintf("%s() can't be applied to %s", name, args)
	}
	switch {
	case strings.Contains(args, "optional"):
		hint = "say what an absent value means with .orValue(…)"
	case args == "(string, bool)" || args == "(bool, string)":
		hint = "a text isn't a bool: a condition's status is 'True' or 'False', in quotes"
	case strings.Contains(args, "string") && (strings.Contains(args, "int") || strings.Contains(args, "double")):
		hint = "convert with int(…), double(…) or string(…)"
	case name == "_?_:_":
		hint = "both results of ?: must be of one type"
	}
	return text, hint
}

func operatorSign(name string) (string, bool) {
	switch name {
	case "@in":
		return "in", true
	case "_?_:_":
		return "?:", true
	case "_[_]":
		return "[]", true
	}
	if sign := strings.Trim(name, "_"); sign != name || sign == "!" || sign == "-" {
		return sign, true
	}
	return "", false
}

// nodesOf returns the nodes of an expression by id.
func nodesOf(a *ast.AST) map[int64]ast.NavigableExpr {
	nodes := map[int64]ast.NavigableExpr{}
	for _, n := range ast.MatchDescendants(ast.NavigateAST(a), ast.AllMatcher()) {
		nodes[n.ID()] = n
	}
	return nodes
}

func located(err *common.Error) Issue {
	return Issue{Line: max(err.Location.Line(), 1), Column: max(err.Location.Column()+1, 1)}
}

func sorted(errs []*common.Error) []*common.Error {
	out := append([]*common.Error(nil), errs...)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Location, out[j].Location
		if a.Line() != b.Line() {
			return a.Line() < b.Line()
		}
		return a.Column() < b.Column()
	})
	return out
}

// quoted returns what the pattern's first group matches in the message.
func quoted(pattern *regexp.Regexp, message string) (string, bool) {
	m := pattern.FindStringSubmatch(message)
	if m == nil {
		return "", false
	}
	return m[1], true
}
