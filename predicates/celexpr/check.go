package celexpr

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// checkers type-check expressions of many environments. cel-go's own way, an
// environment extended by each declaration, copies all functions and settings
// each time; here the declarations are looked up while an expression is checked,
// and one checker serves all.
type checkers struct {
	base       *cel.Env
	validators []cel.ASTValidator
	config     validatorConfig
	pool       sync.Pool // of *check
}

// newCheckers makes the checkers of what base declares.
func newCheckers(base *cel.Env) (*checkers, error) {
	c := &checkers{base: base, validators: base.Validators(), config: validatorConfig{}}
	c.config[cel.HomogeneousAggregateLiteralExemptFunctions] = []string{}
	for _, v := range c.validators {
		if configurer, ok := v.(cel.ASTValidatorConfigurer); ok {
			if err := configurer.Configure(c.config); err != nil {
				return nil, fmt.Errorf("configure %s: %w", v.Name(), err)
			}
		}
	}
	declared, err := checker.NewEnv(base.Container, base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	for _, v := range base.Variables() {
		if v.Name() == rootObject {
			continue // it depends on the schema
		}
		if err := declared.AddIdents(v); err != nil {
			return nil, err
		}
	}
	for _, f := range base.Functions() {
		if f.IsDeclarationDisabled() {
			continue
		}
		if err := declared.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	newCheck := func() (*check, error) {
		one := &check{scope: scope{Provider: base.CELTypeProvider()}}
		env, err := checker.NewEnv(base.Container, &one.scope,
			checker.ValidatedDeclarations(declared), checker.CrossTypeNumericComparisons(true))
		one.env = env
		return one, err
	}
	first, err := newCheck()
	if err != nil {
		return nil, err
	}
	c.pool.New = func() any {
		one, _ := newCheck() // what could fail has just worked
		return one
	}
	c.pool.Put(first)
	return c, nil
}

// check is one checker. It is for one goroutine at a time.
type check struct {
	env   *checker.Env
	scope scope
}

// names are the declarations that an expression is checked with.
type names interface {
	// typeOf returns the type of a dotted root, or of object.
	typeOf(name string) (*cel.Type, bool)
	// object returns a type with fields, by its name.
	object(name string) (objectType, bool)
}

// objectType is a type with fields.
type objectType interface {
	celType() *cel.Type
	field(name string) (*cel.Type, bool)
	fieldNames() []string
}

// scope is the type provider of a check. The checker asks it for the type of a
// name that isn't declared as a variable, which is how the environment's params
// and variables are found.
type scope struct {
	types.Provider
	names names
}

// FindStructType implements types.Provider.
func (s *scope) FindStructType(name string) (*types.Type, bool) {
	if t, ok := s.names.typeOf(name); ok {
		return t, true
	}
	if o, ok := s.names.object(name); ok {
		return types.NewTypeTypeWithParam(o.celType()), true
	}
	return s.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (s *scope) FindStructFieldNames(name string) ([]string, bool) {
	if o, ok := s.names.object(name); ok {
		return o.fieldNames(), true
	}
	return s.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (s *scope) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if o, ok := s.names.object(name); ok {
		t, ok := o.field(field)
		return &types.FieldType{Type: t}, ok
	}
	return s.Provider.FindStructFieldType(name, field)
}

// check type-checks a parsed expression, which it changes.
func (c *checkers) check(parsed *ast.AST, source common.Source, n names) (*ast.AST, []*common.Error) {
	one := c.pool.Get().(*check)
	one.scope.names = n
	checked, errs := checker.Check(parsed, source, one.env)
	one.scope.names = nil
	c.pool.Put(one) // not one that has panicked
	return checked, errs.GetErrors()
}

// validate looks at the constants and the nesting of a checked expression.
func (c *checkers) validate(checked *ast.AST, source common.Source) []*common.Error {
	if !validatable(checked) {
		return nil
	}
	issues := cel.NewIssuesWithSourceInfo(common.NewErrors(source), checked.SourceInfo())
	for _, v := range c.validators {
		if v.Name() == homogeneous && optionalOfAnyType(checked) {
			continue
		}
		v.Validate(c.base, c.config, checked, issues)
	}
	return issues.Errors()
}

// homogeneous is the name of cel-go's check for lists and maps of one type.
const homogeneous = "cel.validator.homogeneous_literals"

// optionalOfAnyType reports whether a list or map that is written out has an optional
// entry of type dyn: cel-go's check for one type, which has nothing to say of such,
// then panics.
func optionalOfAnyType(a *ast.AST) bool {
	found := false
	look := func(e ast.Expr) {
		t := a.GetType(e.ID())
		found = found || len(t.Parameters()) == 0
	}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind:
			for _, i := range e.AsList().OptionalIndices() {
				look(e.AsList().Elements()[i])
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				if entry.AsMapEntry().IsOptional() {
					look(entry.AsMapEntry().Value())
				}
			}
		}
	}))
	return found
}

// validatable reports whether a validator may have anything to say: each takes
// its own walk over the expression, and most expressions are compared fields.
func validatable(a *ast.AST) bool {
	found := false
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind, ast.MapKind:
			found = true
		case ast.ListKind:
			found = found || len(e.AsList().Elements()) > 1
		case ast.CallKind:
			switch name := e.AsCall().FunctionName(); name {
			case "orValue", "hasValue", "condition", "isTrue", "size", "contains", "startsWith", "endsWith":
			default:
				if _, operator := operatorSign(name); !operator {
					found = true
				}
			}
		}
	}))
	return found
}

// validatorConfig implements cel-go's validator configuration.
type validatorConfig map[string]any

// GetOrDefault implements cel.ValidatorConfig.
func (c validatorConfig) GetOrDefault(name string, value any) any {
	if v, ok := c[name]; ok {
		return v
	}
	return value
}

// Set implements cel.MutableValidatorConfig.
func (c validatorConfig) Set(name string, value any) error {
	c[name] = value
	return nil
}

// parse parses an expression.
func (c *checkers) parse(expression string) (*ast.AST, common.Source, []*common.Error) {
	parsed, issues := c.base.Parse(expression)
	if issues.Err() != nil {
		return nil, nil, issues.Errors()
	}
	return parsed.NativeRep(), parsed.Source(), nil
}
