package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// undeclared finds a param of the case that its predicate doesn't have. Callers'
// params may be more than a predicate needs; a case's are there to be used.
func (c *check) undeclared(predicate engine.Predicate) *prepareError {
	p, ok := predicate.(describer)
	if !ok {
		return nil
	}
	var declared []string
	for _, param := range p.Params() {
		declared = append(declared, param.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.params)) {
		if at := c.paramsAt[name]; !slices.Contains(declared, name) && !isDefault(at) {
			return &prepareError{
				at: at, hint: nearest.Hint(name, "params", declared),
				message: fmt.Sprintf("%s has no param %s", predicate.ID().Name, name),
			}
		}
	}
	return nil
}

// filled returns the params with a value for each that the predicate needs and
// nobody gives. That is right for absences only: they never reach an expression,
// so a case about one needn't invent params.
func filled(params engine.Params, predicate engine.Predicate) engine.Params {
	p, ok := predicate.(describer)
	if !ok {
		return params
	}
	all := maps.Clone(params)
	for _, param := range p.Params() {
		if _, given := all[param.Name]; given || param.Default != nil {
			continue
		}
		all[param.Name] = anyValue(param)
	}
	return all
}

func anyValue(param predicates.Param) any {
	if len(param.Enum) > 0 {
		return param.Enum[0]
	}
	switch kind, _, _ := strings.Cut(param.Type, "("); kind {
	case "int":
		return int64(0)
	case "double":
		return 0.0
	case "bool":
		return false
	case "duration":
		return time.Duration(0)
	case "quantity":
		return "0"
	case "list":
		return []any{}
	case "map":
		return map[string]any{}
	}
	return ""
}

// describer is what predicates say of themselves beyond engine.Predicate.
type describer interface {
	Kind() string
	Params() []predicates.Param
}

// isDefault reports whether a param is given in spec.defaults.
func isDefault(at []any) bool { return len(at) > 1 && at[1] == "defaults" }
