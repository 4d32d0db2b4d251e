package predicates

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/schemas"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// Fields of PredicateSpec that hold rules.
const (
	fieldAborted = "aborted"
	fieldDone    = "done"
	fieldFailed  = "failed"
	fieldPending = "pending"
)

// expressions checks and compiles variables and rules.
func (b *builder) expressions(spec *judge.Spec, params []param, kinds []*schemas.Schema, shared *interned) {
	key := environmentKey(params, b.spec.Variables, kinds)
	if b.environment = shared.find(key); b.environment != nil {
		b.sharedVariables()
	} else if !b.declare(params, kinds, func(e *celexpr.Environment) *celexpr.Environment { return shared.keep(key, e) }) {
		return
	}
	spec.Environment = b.environment

	s := b.spec
	if s.Wasm != nil {
		return // it judges instead of rules
	}
	if spec.ExpectsGone {
		if len(s.Done) > 0 {
			b.key([]any{"spec", "done"}, "remove it: only absence is Done", "spec.done is refused with expect: Gone")
		}
	} else if len(s.Done) == 0 && b.sound {
		b.at([]any{"spec"}, "", "spec.done is missing; a predicate with expect: Present needs it")
	}
	if s.StableFor != nil {
		b.stableFor()
	}
	spec.Aborted = b.rules(fieldAborted, s.Aborted, codes.Aborted)
	spec.Done = b.rules(fieldDone, s.Done, codes.OK)
	spec.Failed = b.rules(fieldFailed, s.Failed, codes.Internal)
	spec.Pending = b.rules(fieldPending, s.Pending, codes.OK)
}

// declare makes the environment. It is shared if nothing is wrong with it.
func (b *builder) declare(params []param, kinds []*schemas.Schema, share func(*celexpr.Environment) *celexpr.Environment) bool {
	declared := make([]celexpr.Param, len(params))
	var sensitive []string
	for i, p := range params {
		declared[i] = celexpr.Param{Name: p.Name, Type: p.Type}
		if p.Sensitive {
			sensitive = append(sensitive, p.Name)
		}
	}
	environment, err := celexpr.NewEnvironment(declared, celexpr.WithCompiler(b.compiler),
		celexpr.WithRedaction(b.redaction, sensitive...), celexpr.WithSchemas(kinds...))
	if err != nil {
		b.at([]any{"spec", "params"}, "", "%v", err)
		return false
	}
	b.environment = environment
	before := len(b.problems.list)
	if b.variables(); len(b.problems.list) == before && b.sound {
		b.environment = share(environment)
		b.compiled = nil
		b.sharedVariables()
	}
	return true
}

// sharedVariables notes the variables of an environment that is complete.
func (b *builder) sharedVariables() {
	for i, v := range b.spec.Variables {
		if program := b.environment.Variable(v.Name); program != nil {
			b.compiled = append(b.compiled, compiled{[]any{"spec", "variables", i, "expression"}, program})
		}
	}
}

func (b *builder) variables() {
	lines := map[string]int{}
	for i, v := range b.spec.Variables {
		path := []any{"spec", "variables", i}
		name, expression := append(path, "name"), append(slices.Clip(path), "expression")
		if !b.required(v.Name, name...) {
			continue
		}
		if problem := nameProblem(v.Name); problem != "" {
			b.at(name, "", "variable name %q %s", v.Name, problem)
			continue
		}
		if line, ok := lines[v.Name]; ok {
			b.at(name, "rename one of them", "variable %q is declared twice, first on line %d", v.Name, line)
			continue
		}
		lines[v.Name], _ = b.Position(name...)
		if b.required(strings.TrimSpace(v.Expression), expression...) {
			b.issues(b.laterVariables(i, b.environment.AddVariable(v.Name, v.Expression)), v.Expression, expression)
			if program := b.environment.Variable(v.Name); program != nil {
				b.compiled = append(b.compiled, compiled{expression, program})
			}
		}
	}
}

// laterVariables puts a better hint on issues of variable i that are about one
// that comes later.
func (b *builder) laterVariables(i int, issues []celexpr.Issue) []celexpr.Issue {
	for _, later := range b.spec.Variables[i:] {
		for j := range issues {
			if strings.HasSuffix(issues[j].Message, "variables has no '"+later.Name+"'") {
				issues[j].Hint = "a variable sees only the ones before it"
			}
		}
	}
	return issues
}

// stableFor gives done rules their time.
func (b *builder) stableFor() {
	path := []any{"spec", "stableFor"}
	if b.spec.StableFor.Duration <= 0 {
		if b.sound {
			b.at(path, "write it like 10s", "spec.stableFor must be more than 0")
		}
		return
	}
	if b.spec.Expect == v1alpha1.ExpectGone {
		b.key(path, "remove it", "spec.stableFor is for done rules, there are none with expect: Gone")
	}
	for i, rule := range b.spec.Done {
		if rule.For != nil {
			b.key([]any{"spec", "done", i, "for"}, "remove one of them", "spec.done[%d] has a for, and spec.stableFor is that of all done rules", i)
		}
	}
}

// rules checks and compiles the rules of a field. OK as the default code means
// that its rules have no codes.
func (b *builder) rules(field string, written []v1alpha1.Rule, code codes.Code) []judge.Rule {
	rules := make([]judge.Rule, len(written))
	for i := range written {
		rules[i] = b.rule(field, i, &written[i], code)
	}
	return rules
}

func (b *builder) rule(field string, i int, w *v1alpha1.Rule, code codes.Code) judge.Rule {
	path := []any{"spec", field, i}
	at := func(name string) []any { return append(slices.Clip(path), name) }
	rule := judge.Rule{
		Name: fmt.Sprintf("%s[%d]", field, i),
		Code: code, Reason: w.Reason, Message: w.Message,
	}
	if strings.TrimSpace(w.Expression) != "" || field != fieldPending && b.required("", at("expression")...) {
		rule.When = b.compile(w.Expression, celexpr.OutputBool, at("expression"))
	}
	rule.For = b.hold(field, w, at("for"))
	if code == codes.OK {
		b.withoutCode(field, w, at)
	} else {
		if w.Code != "" {
			rule.Code = b.code(w.Code, at("code"))
		}
		rule.CodeExpression = b.compile(w.CodeExpression, celexpr.OutputString, at("codeExpression"))
		rule.CodeMap = b.codeMap(w, at("codeMap"))
	}
	if w.Reason != "" && !reasonForm.MatchString(w.Reason) {
		b.reasonProblem(at("reason"), w.Reason)
	}
	rule.ReasonExpression = b.compile(w.ReasonExpression, celexpr.OutputString, at("reasonExpression"))
	rule.MessageExpression = b.compile(w.MessageExpression, celexpr.OutputString, at("messageExpression"))
	return rule
}

// hold returns how long the rule must hold.
func (b *builder) hold(field string, w *v1alpha1.Rule, path []any) time.Duration {
	switch {
	case field == fieldPending && w.For != nil:
		b.key(path, "remove it", "a pending rule has no for: it decides nothing")
	case w.For != nil && w.For.Duration <= 0 && b.sound:
		b.at(path, "write it like 30s", "%s must be more than 0", document.Path(path...))
	case w.For != nil:
		return w.For.Duration
	case field == fieldDone && b.spec.StableFor != nil:
		return b.spec.StableFor.Duration
	}
	return 0
}

// withoutCode refuses codes where there is no failure.
func (b *builder) withoutCode(field string, w *v1alpha1.Rule, at func(string) []any) {
	for name, written := range map[string]bool{
		"code": w.Code != "", "codeExpression": w.CodeExpression != "", "codeMap": w.CodeMap != nil,
	} {
		if written {
			b.key(at(name), "remove it", "a %s rule has no %s: only failures have one", field, name)
		}
	}
}

func (b *builder) codeMap(w *v1alpha1.Rule, path []any) map[string]codes.Code {
	if w.CodeMap == nil {
		return nil
	}
	if w.CodeExpression == "" && b.sound {
		b.key(path, "add codeExpression, or remove it", "codeMap has no codeExpression whose results it could translate")
	}
	m := make(map[string]codes.Code, len(w.CodeMap))
	spellings := make(map[string]string, len(w.CodeMap))
	for _, from := range slices.Sorted(maps.Keys(w.CodeMap)) {
		normal := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(from, "_", ""), "-", ""))
		if other, ok := spellings[normal]; ok {
			b.key(append(slices.Clip(path), from), "remove one of them", "codeMap has %q and %q, which are the same: case, '_' and '-' don't count", other, from)
		}
		spellings[normal] = from
		m[from] = b.code(w.CodeMap[from], append(slices.Clip(path), from))
	}
	return m
}

// compile compiles an expression; nil if it is empty or has issues.
func (b *builder) compile(expression string, want celexpr.Output, path []any) *celexpr.Program {
	if strings.TrimSpace(expression) == "" {
		return nil // whether it may be is known elsewhere
	}
	program, issues := b.environment.Compile(expression, want)
	if b.issues(issues, expression, path); len(issues) > 0 {
		return nil
	}
	b.compiled = append(b.compiled, compiled{path, program})
	return program
}

// issues reports what is wrong with the expression at the path, at its place in
// the file.
func (b *builder) issues(issues []celexpr.Issue, expression string, path []any) {
	for _, name := range b.undeclared {
		if strings.Contains(expression, "params."+name) {
			return
		}
	}
	for _, issue := range issues {
		hint := issue.Hint
		if b.CutByComment(path...) {
			hint = "' #' starts a YAML comment, what follows is no part of the expression; " + document.BlockScalar
		}
		line, column := b.Within(issue.Line, issue.Column, path...)
		b.report(line, column, document.Path(path...)+": "+issue.Message, hint)
	}
}

func (e *entry) reasonProblem(path []any, reason string) {
	e.at(path, "write one word of letters and digits, like AttachFailed", "%q can't be a reason", reason)
}

func (e *entry) codeProblem(path []any, code string) {
	if strings.EqualFold(code, "OK") {
		e.at(path, "use done rules for success", "OK is no code of a failure")
		return
	}
	names := make([]string, 0, 16)
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		names = append(names, c.String())
	}
	e.at(path, nearest.Hint(code, "codes", names), "%q is no gRPC code", code)
}
