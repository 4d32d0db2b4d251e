package predicates

import (
	"fmt"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// ParseParam reads a declared param's value from text, as a command line has it:
// a string as it is, numbers, bools, durations (30s) and quantities (10Gi) as they
// are written, lists and maps as YAML ([a, b], {k: v}). The error names the param,
// its type and what to write; it doesn't show a sensitive value.
func (p *Predicate) ParseParam(name, text string) (any, error) {
	declared := p.param(name)
	if declared == nil {
		var names []string
		for i := range p.params {
			names = append(names, p.params[i].Name)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("predicate %s has no params", p.id.Name)
		}
		return nil, fmt.Errorf("predicate %s has no param %q; %s", p.id.Name, name, nearest.Hint(name, "params", names))
	}
	v, err := declared.parse(text)
	if err == nil {
		v, err = declared.check(v)
	}
	if err != nil {
		return nil, fmt.Errorf("param %s %w", name, err)
	}
	return v, nil
}

// parse reads the value from text.
func (p *param) parse(text string) (any, error) {
	shown := strconv.Quote(text)
	if p.Sensitive {
		shown = "the given value"
	}
	unreadable := func(example string) error {
		return fmt.Errorf("must be %s, %s can't be read as one; write it like %s", p.typ, shown, example)
	}
	switch p.typ.name {
	case "int":
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		return nil, unreadable("3")
	case "double":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, nil
		}
		return nil, unreadable("0.5")
	case "bool":
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, unreadable("true or false")
	case "list", "map":
		example := "[a, b]"
		if p.typ.name == "map" {
			example = "{k: v}"
		}
		data, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			return nil, unreadable(example)
		}
		var v any
		if err := utiljson.Unmarshal(data, &v); err != nil || v == nil {
			return nil, unreadable(example)
		}
		return v, nil
	}
	return text, nil // and durations and quantities are read by their type
}
