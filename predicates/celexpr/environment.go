package celexpr

// Param declares one param of a predicate.
type Param struct {
	Name string
	// Type is string, int, double, bool, duration, quantity, list(T) or map(string, T).
	Type string
}

// Compiler holds what all environments share. It is immutable and safe for
// concurrent use; making one takes some milliseconds.
type Compiler struct{}

// NewCompiler builds the shared base environment.
func NewCompiler() (*Compiler, error) { return &Compiler{}, nil }

// Option changes how NewEnvironment works.
type Option func(*options)

type options struct{ compiler *Compiler }

// WithCompiler makes NewEnvironment share a compiler's base environment rather
// than build one of its own. Give it whenever there is more than one environment.
func WithCompiler(c *Compiler) Option { return func(o *options) { o.compiler = c } }

// Environment is what the expressions of one predicate see.
type Environment struct{}

// NewEnvironment declares object and the params. The error names the first param
// whose name or type can't be declared.
func NewEnvironment(params []Param, opts ...Option) (*Environment, error) {
	return &Environment{}, nil
}

// AddVariable declares variables.name as the expression's value, with its checked
// type. It sees the variables added before it.
func (e *Environment) AddVariable(name, expression string) []Issue { return nil }

// Output is the type that an expression must have.
type Output int

const (
	// OutputBool: a condition.
	OutputBool Output = iota
	// OutputString: a message, reason or code.
	OutputString
)

// Issue is one thing wrong with an expression. Line and Column are 1-based and
// count within the expression's own text; columns count characters.
type Issue struct {
	Line, Column  int
	Message, Hint string
}

// Program is a compiled expression.
type Program struct{}

// Compile checks the expression and returns all issues, or a program.
func (e *Environment) Compile(expression string, want Output) (*Program, []Issue) {
	return &Program{}, nil
}
