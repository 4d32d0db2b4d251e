package celexpr

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/donewhen/donewhen/predicates/schemas"
)

// Names of the root variables. A param or variable is declared as a dotted root
// of its own ("params.role"), never as a field of a map or an object: with
// cel-go v0.29.2 variables.detail.?x would then always be empty.
const (
	rootObject    = "object"
	rootParams    = "params"
	rootVariables = "variables"
)

// Param declares one param of a predicate.
type Param struct {
	Name string
	// Type is string, int, double, bool, duration, quantity, list(T) or map(string, T).
	Type string
}

// Option changes how NewEnvironment works.
type Option func(*options)

type options struct {
	compiler  *Compiler
	redaction redaction
	schemas   []*schemas.Schema
}

// WithCompiler makes NewEnvironment share a compiler's base environment rather
// than build one of its own. Give it whenever there is more than one environment.
func WithCompiler(c *Compiler) Option { return func(o *options) { o.compiler = c } }

// Environment is what the expressions of one predicate see: object, its params
// and its variables. NewEnvironment and AddVariable build it and are for one
// goroutine; after that it is immutable, and Compile, Evaluation and BindParams are
// safe for concurrent use.
type Environment struct {
	compiler  *Compiler
	params    []paramDecl
	variables []variable
	// slots says where a dotted root's value is, by its whole name.
	slots map[string]slot
	// kinds are the schemas of object.
	kinds []*kindScope
	// programs are what Compile returned, so that equal expressions share one.
	programs sync.Map // *Program by programKey
	pool     sync.Pool

	redaction redaction
}

type paramDecl struct {
	name string
	typ  *paramType
}

type variable struct {
	name string
	typ  *cel.Type
	// program is nil if the expression didn't compile.
	program *Program
}

type slotKind int

const (
	slotParam slotKind = iota
	slotVariable
)

type slot struct {
	kind  slotKind
	index int
}

// NewEnvironment declares object and the params. The error names the first param
// whose name or type can't be declared.
func NewEnvironment(params []Param, opts ...Option) (*Environment, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.compiler == nil {
		c, err := NewCompiler()
		if err != nil {
			return nil, err
		}
		o.compiler = c
	}
	e := &Environment{
		compiler:  o.compiler,
		redaction: o.redaction,
		params:    make([]paramDecl, 0, len(params)),
		slots:     make(map[string]slot, len(params)),
	}
	e.pool.New = func() any { return &Evaluation{} }
	for _, s := range o.schemas {
		e.kinds = append(e.kinds, &kindScope{kindTypes: typesOf(s), env: e})
	}
	for _, p := range params {
		typ, err := parseType(p.Type)
		if err != nil {
			return nil, fmt.Errorf("param %q: %w", p.Name, err)
		}
		if err := e.declare(rootParams, p.Name, slot{slotParam, len(e.params)}); err != nil {
			return nil, fmt.Errorf("param %q: %w", p.Name, err)
		}
		e.params = append(e.params, paramDecl{p.Name, typ})
	}
	return e, nil
}

// AddVariable declares variables.name as the expression's value, with its checked
// type. It sees the variables added before it. A variable with issues is declared
// all the same, of any type, so that its uses give no further issues.
func (e *Environment) AddVariable(name, expression string) []Issue {
	program, schema, issues := e.compile(expression, outputAny, true)
	typ := cel.DynType
	if program != nil {
		typ = program.celType
	}
	if err := e.declare(rootVariables, name, slot{slotVariable, len(e.variables)}); err != nil {
		return append([]Issue{{Line: 1, Column: 1, Message: err.Error()}}, issues...)
	}
	if program != nil {
		program.variable = name
	}
	e.variables = append(e.variables, variable{name, typ, program})
	for i, k := range e.kinds {
		t, enum, value := cel.DynType, []string(nil), (*schemas.Type)(nil)
		if len(schema.types) > 0 {
			t, enum, value = schema.types[i], schema.enums[i], schema.values[i]
		}
		k.variables, k.enums, k.values = append(k.variables, t), append(k.enums, enum), append(k.values, value)
	}
	return issues
}

// declare gives root.name its slot.
func (e *Environment) declare(root, name string, s slot) error {
	if err := checkIdentifier(name); err != nil {
		return err
	}
	full := root + "." + name
	if _, ok := e.slots[full]; ok {
		return fmt.Errorf("%s is declared twice", full)
	}
	e.slots[full] = s
	return nil
}

// typeOf implements names: object, and params and variables as declared so far.
func (e *Environment) typeOf(name string) (*cel.Type, bool) {
	if name == rootObject {
		return cel.DynType, true
	}
	s, ok := e.slots[name]
	switch {
	case !ok:
		return nil, false
	case s.kind == slotParam:
		return e.params[s.index].typ.cel, true
	}
	return e.variables[s.index].typ, true
}

// object implements names: there is none without a schema.
func (e *Environment) object(string) (objectType, bool) { return nil, false }

// names returns the names declared under root, in order.
func (e *Environment) names(root string) []string {
	var out []string
	switch root {
	case rootParams:
		for _, p := range e.params {
			out = append(out, p.name)
		}
	case rootVariables:
		for _, v := range e.variables {
			out = append(out, v.name)
		}
	}
	return out
}

func checkIdentifier(name string) error {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return fmt.Errorf("%q can't be used in expressions: a name has letters, digits and '_', and doesn't begin with a digit", name)
		}
	}
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	// The words that CEL's grammar itself uses; its other reserved words are
	// accepted after a dot.
	switch name {
	case "true", "false", "null", "in":
		return fmt.Errorf("%q is a word of the expression language: choose another name", name)
	}
	return nil
}
