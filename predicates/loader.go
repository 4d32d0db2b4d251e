package predicates

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/redact"
	"github.com/donewhen/donewhen/predicates/schemas"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// Schemas knows the schemas of kinds. Schema returns nil where it knows none; the
// same schema, not an equal one, as long as it stays the same. It must be safe for
// concurrent use.
type Schemas interface {
	Schema(kind schema.GroupVersionKind) (*schemas.Schema, error)
}

// Loader makes sets of sources, for one program's operations. It is safe for
// concurrent use.
type Loader struct {
	operations map[string]*operation
	reader     *document.Reader
	compiler   *celexpr.Compiler
	schemas    []Schemas
	files      schemaFiles
	strict     bool
	redact     []string
	redaction  *redact.Policy
	wasm       *wasm.Runtime
}

// LoaderOption changes how a Loader works.
type LoaderOption func(*Loader)

// WithSchemas has expressions checked against the schemas of the kinds that they
// are about: a field that a kind doesn't have is then an error. The first of the
// places, in the order given, that knows a kind is asked; a document's own
// match.schemaFrom comes before all. Schemas only refuse, they change no verdict.
func WithSchemas(places ...Schemas) LoaderOption {
	return func(l *Loader) { l.schemas = append(l.schemas, places...) }
}

// Strict makes what would be a warning an error.
func Strict() LoaderOption { return func(l *Loader) { l.strict = true } }

// WithRedact hides further fields of objects in messages and explanations, beside
// what Secrets have and keys that look like passwords and tokens. A path is written
// as in expressions: spec.auth.pin, spec.users[*].pin, spec.settings.*.value,
// metadata.annotations['example.com/pin'].
func WithRedact(paths ...string) LoaderOption {
	return func(l *Loader) { l.redact = append(l.redact, paths...) }
}

// WithWasm has predicates judged by WebAssembly modules where their documents say
// so. The runtime must be closed later than the last of the loader's sets is used.
func WithWasm(runtime *wasm.Runtime) LoaderOption {
	return func(l *Loader) { l.wasm = runtime }
}

// NewLoader returns a loader for the operations that bindings may name. The error
// says which operation is declared wrongly, or which path to redact.
func NewLoader(operations []engine.Operation, opts ...LoaderOption) (*Loader, error) {
	byName, err := operationsByName(operations)
	if err != nil {
		return nil, err
	}
	compiler, err := celexpr.NewCompiler()
	if err != nil {
		return nil, fmt.Errorf("set up the CEL environment: %w", err)
	}
	l := &Loader{operations: byName, reader: document.NewReader(), compiler: compiler}
	for _, opt := range opts {
		opt(l)
	}
	if l.redaction, err = redact.New(l.redact...); err != nil {
		return nil, err
	}
	return l, nil
}

// Load loads the sources in order and checks their bindings against the
// operations. Predicates of a later source override those of the same name, its
// enforced bindings those of the same operation; shadow bindings add up. The
// error is a *LoadError with everything that is wrong in all sources.
func (l *Loader) Load(sources ...Source) (*Set, error) { return l.load(sources, nil) }

// NewStore returns a store that has the defaults in force. They must be right:
// the error is what Load says of them.
func (l *Loader) NewStore(defaults Source, opts ...StoreOption) (*Store, error) {
	s := &Store{
		loader: l, observe: func(Report) {},
		sources: []Source{defaults}, digests: map[string]string{defaults.Name: defaults.digest()}, changed: map[string]bool{},
	}
	for _, opt := range opts {
		opt(s)
	}
	set, _, err := s.load(s.sources, nil)
	if err != nil {
		return nil, err
	}
	s.set.Store(set)
	return s, nil
}

// schema returns the schema of a kind from the first place that has one. Where a
// place can't say, the next ones are asked; the errors tell why there is none.
func (l *Loader) schema(kind schema.GroupVersionKind) (*schemas.Schema, error) {
	var failed []error
	for _, place := range l.schemas {
		s, err := place.Schema(kind)
		if s != nil && err == nil {
			return s, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}
