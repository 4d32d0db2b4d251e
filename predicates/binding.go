package predicates

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// operation is a declared operation with its params' types.
type operation struct {
	engine.Operation
	params map[string]*paramType
}

// operationsByName checks the embedding program's declarations.
func operationsByName(operations []engine.Operation) (map[string]*operation, error) {
	byName := make(map[string]*operation, len(operations))
	for _, o := range operations {
		if _, ok := byName[o.Name]; ok || o.Name == "" {
			return nil, fmt.Errorf("operation %q is declared twice or has no name", o.Name)
		}
		op := &operation{Operation: o, params: make(map[string]*paramType, len(o.Params))}
		for _, p := range o.Params {
			t, err := parseType(p.Type)
			if err != nil {
				return nil, fmt.Errorf("operation %s: param %s: %w", o.Name, p.Name, err)
			}
			op.params[p.Name] = t
		}
		byName[o.Name] = op
	}
	return byName, nil
}

// boundKey identifies a binding: the enforced one of an operation, or one shadow.
type boundKey struct {
	operation, action string
	shadow            string // digest of a shadow, of which there may be many
}

// prepare fills in a binding's defaults, checks what can be checked by itself,
// and returns what identifies it.
func prepare(e *entry) boundKey {
	s := &e.binding.Spec
	e.name()
	e.required(s.Operation, "spec", "operation")
	e.required(s.Predicate, "spec", "predicate")
	e.oneOf(&s.Action, []any{"spec", "action"}, v1alpha1.ActionEnforce, v1alpha1.ActionShadow)
	e.oneOf(&s.InFlight, []any{"spec", "inFlight"}, v1alpha1.InFlightMove, v1alpha1.InFlightPin)
	if s.Timeout != nil && s.Timeout.Duration <= 0 && e.sound {
		e.at([]any{"spec", "timeout"}, "write it like 10m, or remove it", "spec.timeout must be more than 0")
	}
	key := boundKey{operation: s.Operation, action: s.Action}
	if s.Action == v1alpha1.ActionShadow {
		key.shadow = digest([]any{s.Predicate, s.Params})
	}
	return key
}

// resolver checks bindings against the merged predicates.
type resolver struct {
	operations map[string]*operation
	entries    map[string]*entry     // the winning predicate documents, broken ones too
	predicates map[string]*Predicate // those without problems
}

// resolve returns the binding that an entry says; nil if it can't be used, with
// its problems reported.
func (r *resolver) resolve(e *entry) *engine.Binding {
	s := e.binding.Spec
	op, known := r.operations[s.Operation]
	if !known && s.Operation != "" {
		e.at([]any{"spec", "operation"}, nearest.Hint(s.Operation, "operations", slices.Collect(maps.Keys(r.operations))),
			"unknown operation %q", s.Operation)
	}
	if _, ok := r.entries[s.Predicate]; !ok && s.Predicate != "" {
		e.at([]any{"spec", "predicate"}, nearest.Hint(s.Predicate, "predicates", slices.Collect(maps.Keys(r.entries))),
			"unknown predicate %q", s.Predicate)
	}
	p := r.predicates[s.Predicate]
	if p == nil || !known {
		return nil // reported above, or with the predicate's own document
	}
	if p.kind != op.Kind || !slices.Contains(p.resources, op.Resource) {
		e.at([]any{"spec", "predicate"}, "", "operation %s is about %s, predicate %s (%s) is about %s",
			op.Name, describe(op.Kind, op.Resource), s.Predicate, r.entries[s.Predicate].origin(), describe(p.kind, p.resources...))
		return nil
	}
	constants := r.params(e, op, p)
	if err := p.validate(constants); err != nil {
		e.at([]any{"spec", "predicate"}, "", "predicate %s: %s: %v", s.Predicate, wasm.ReasonOf(err), err)
	}
	binding := &engine.Binding{
		Name: e.Name, Operation: s.Operation, Resource: op.Resource, Predicate: p, Params: constants,
		Action: engine.Action(s.Action), InFlight: engine.InFlight(s.InFlight),
	}
	if s.Timeout != nil {
		binding.Timeout = s.Timeout.Duration
		e.lintTimeout()
	}
	return binding
}

// params checks the constants and what the operation's callers give against the
// predicate's declarations, and returns the constants converted.
func (r *resolver) params(e *entry, op *operation, p *Predicate) engine.Params {
	at := r.entries[p.id.Name].origin()
	names := make([]string, len(p.params))
	for i := range p.params {
		names[i] = p.params[i].Name
	}
	constants := engine.Params{}
	for _, name := range slices.Sorted(maps.Keys(e.binding.Spec.Params)) {
		path := []any{"spec", "params", name}
		_, fromCaller := op.params[name]
		declared := p.param(name)
		switch {
		case fromCaller:
			e.key(path, "remove the constant", "param %s is given by the callers of operation %s", name, op.Name)
		case declared == nil:
			e.key(path, nearest.Hint(name, "params", names), "predicate %s (%s) declares no param %q", p.id.Name, at, name)
		default:
			value, err := declared.check(e.binding.Spec.Params[name])
			if err != nil {
				e.at(path, "", "param %s %v", name, err)
				continue
			}
			constants[name] = value
		}
	}
	for i := range p.params {
		declared := &p.params[i]
		given, fromCaller := op.params[declared.Name]
		_, constant := e.binding.Spec.Params[declared.Name]
		switch {
		case fromCaller && !declared.typ.accepts(given):
			e.at([]any{"spec", "predicate"}, "declare it as "+given.String(), "predicate %s (%s) declares param %s as %s, the callers of operation %s give %s",
				p.id.Name, at, declared.Name, declared.Type, op.Name, given)
		case !fromCaller && !constant && declared.Default == nil:
			e.at([]any{"spec", "params"}, fmt.Sprintf("give it under spec.params (type %s)", declared.Type),
				"nobody gives param %s of predicate %s (%s)", declared.Name, p.id.Name, at)
		}
	}
	return constants
}

// describe names a kind for people: "disk.csi.azure.com/v1beta2 AzVolume".
func describe(kind string, resources ...schema.GroupVersionResource) string {
	versions := make([]string, len(resources))
	for i, r := range resources {
		versions[i] = r.GroupVersion().String()
	}
	text := strings.Join(versions, ", ") + " " + kind
	if len(resources) == 1 {
		text += " (" + resources[0].Resource + ")"
	}
	return text
}

// bindingDigest identifies what a binding says.
func bindingDigest(b *engine.Binding) string {
	return digest([]any{
		b.Operation, b.Predicate.ID().Digest, plain(map[string]any(b.Params)),
		b.Timeout.String(), b.Action, b.InFlight,
	})
}
