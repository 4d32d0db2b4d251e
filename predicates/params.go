package predicates

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// Param describes a declared param of a predicate.
type Param struct {
	Name string
	// Type is string, int, double, bool, duration, quantity, list(T) or map(string, T).
	Type string
	// Enum lists the only values allowed; nil allows all.
	Enum []any
	// Default is the value where nobody gives one; nil if somebody must.
	Default any
	// Sensitive values must not be shown.
	Sensitive bool
}

// param is a Param with its parsed type.
type param struct {
	Param
	typ *paramType
}

// identifier matches what may follow "params." and "variables." in CEL.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are the words that CEL's grammar refuses as field names.
var reserved = []string{"true", "false", "null", "in"}

// nameProblem returns what keeps a name from being used in expressions, or "".
func nameProblem(name string) string {
	switch {
	case !identifier.MatchString(name):
		return "must be letters, digits and underscores and not begin with a digit, so that expressions can use it"
	case slices.Contains(reserved, name):
		return "is a word of CEL itself"
	}
	return ""
}

// declare checks the declared params and returns them sorted by name. Types and
// defaults are put into canonical form in the document's own copy.
func declare(e *entry, declared map[string]v1alpha1.Param) []param {
	var params []param
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		path := []any{"spec", "params", name}
		if problem := nameProblem(name); problem != "" {
			e.key(path, "", "param name %q %s", name, problem)
			continue
		}
		d := declared[name]
		if !e.required(d.Type, append(path, "type")...) {
			continue
		}
		typ, err := parseType(d.Type)
		if err != nil {
			e.at(append(path, "type"), "", "param %s: %v", name, err)
			continue
		}
		p := param{Param{Name: name, Type: typ.String(), Sensitive: d.Sensitive}, typ}
		d.Type = p.Type
		if d.Enum != nil && len(d.Enum) == 0 {
			e.at(append(path, "enum"), "list the values, or remove it", "param %s: enum allows no value", name)
		}
		for i := range d.Enum {
			value, err := typ.convert(d.Enum[i])
			if err != nil {
				e.at(append(path, "enum", i), "", "param %s: enum value %v", name, err)
				continue
			}
			p.Enum = append(p.Enum, value)
			d.Enum[i] = plain(value)
		}
		if d.Default != nil {
			if p.Default, err = p.check(d.Default); err != nil {
				e.at(append(path, "default"), "", "param %s: default %v", name, err)
				continue
			}
			d.Default = plain(p.Default)
		}
		declared[name] = d
		params = append(params, p)
	}
	return params
}

// check converts a value and holds it against the enum.
func (p *param) check(value any) (any, error) {
	v, err := p.typ.convert(value)
	if err != nil || len(p.Enum) == 0 {
		return v, err
	}
	for _, allowed := range p.Enum {
		if reflect.DeepEqual(plain(allowed), plain(v)) {
			return v, nil
		}
	}
	if p.Sensitive {
		return nil, fmt.Errorf("isn't one of the allowed values")
	}
	words := make([]string, len(p.Enum))
	for i, allowed := range p.Enum {
		words[i] = fmt.Sprint(plain(allowed))
	}
	return nil, fmt.Errorf("is %v, allowed: %s", plain(v), strings.Join(words, ", "))
}

// complete returns every declared param's value, from given or from its default.
func complete(params []param, given engine.Params) (map[string]any, error) {
	values := make(map[string]any, len(params))
	for i := range params {
		p := &params[i]
		value, ok := given[p.Name]
		if !ok {
			if p.Default == nil {
				if near := unknownNear(params, given, p.Name); near != "" {
					return nil, fmt.Errorf("param %s (%s) is missing, and has no default; %q was given: did you mean %q?", p.Name, p.Type, near, p.Name)
				}
				return nil, fmt.Errorf("param %s (%s) is missing, and has no default", p.Name, p.Type)
			}
			values[p.Name] = p.Default
			continue
		}
		v, err := p.check(value)
		if err != nil {
			return nil, fmt.Errorf("param %s %w", p.Name, err)
		}
		values[p.Name] = v
	}
	return values, nil
}

// unknownNear returns a name that was given, isn't declared and is nearly the
// missing one; empty if there is none.
func unknownNear(params []param, given engine.Params, missing string) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !containsParam(params, name) && nearest.Name(name, []string{missing}) != "" {
			return name
		}
	}
	return ""
}

// paramsKey returns a text that is the same for equal values and doesn't show
// them: some are sensitive, and keys are logged.
func paramsKey(values map[string]any) string {
	if len(values) == 0 {
		return ""
	}
	return digest(plain(values))[:32]
}
