package celexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// path returns an expression of a value, mostly one that is there, and the value.
// It ends in an optional if it has an optional part.
func (r *random) path() (expression string, value any, optional bool) {
	expression, value = "object", r.object
	switch r.IntN(12) {
	case 0:
		roots := []string{"params.role", "params.count", "params.ratio", "params.force", "params.names", "params.limits", "variables.state", "variables.detail", "variables.list", "variables.ready", "variables.broken", "variables.absent", "variables.meta", "variables.r0", "variables.r1", "variables.r2", "variables.r3", "variables.r4"}
		expression = roots[r.IntN(len(roots))]
		value = map[string]any{"state": "x", "conditions": []any{}, "status": "x", "name": "x"}
		if r.IntN(2) == 0 {
			return expression, nil, false
		}
	case 1, 2, 3, 4:
		if len(r.locals) > 0 {
			l := r.locals[r.IntN(len(r.locals))]
			expression, value = l.name, l.value
		}
	}
	for steps := r.IntN(5); steps > 0; steps-- {
		question := ""
		if r.IntN(8) == 0 {
			question, optional = "?", true
		}
		if r.IntN(25) == 0 {
			expression, value = fmt.Sprintf("%s[%s%s]", expression, question, indexes[r.IntN(len(indexes))]), nil
			continue
		}
		switch v := value.(type) {
		case []any:
			i := r.IntN(len(v) + 1)
			if r.IntN(15) == 0 {
				expression, value = expression+".a", nil // no such thing in a list
				continue
			}
			expression += fmt.Sprintf("[%s%d]", question, i)
			value = nil
			if i < len(v) {
				value = v[i]
			}
		default:
			m, _ := value.(map[string]any)
			if m == nil && r.IntN(4) == 0 || r.IntN(20) == 0 {
				expression, value = fmt.Sprintf("%s[%s%d]", expression, question, r.IntN(2)), nil // of no list
				continue
			}
			name := r.key(m)
			value = m[name]
			if checkIdentifier(name) == nil && r.IntN(6) > 0 {
				expression += "." + question + name
			} else {
				expression += fmt.Sprintf("[%s'%s']", question, name)
			}
		}
	}
	return expression, value, optional
}

// key returns a key of the map, or sometimes not.
func (r *random) key(m map[string]any) string {
	if len(m) == 0 || r.IntN(6) == 0 {
		return append(words1, "status", "spec", "state", "metadata", "nope", "type", "kind")[r.IntN(len(words1)+7)]
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	// Sorted, so that a seed gives the same expression again.
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			if names[j] < names[i] {
				names[i], names[j] = names[j], names[i]
			}
		}
	}
	return names[r.IntN(len(names))]
}

// odd are literals at the edges of their types, and such as nobody compares with.
var odd = []string{
	"9223372036854775807", "-9223372036854775808", "9007199254740992", "9007199254740993", "9007199254740992.0", "9223372036854775808.0",
	"1e300", "-0.0", "0.0", "18446744073709551615u", "0u", "double('NaN')", "double('Infinity')", "b'a'", "'\\ufffd'", "'😀'", "'\\x00'",
	"duration('1h')", "quantity('1')", "type('a')", "timestamp('2026-01-01T00:00:00Z')", "optional.none()", "optional.of('a')", "{1: 'a'}", "{'a': null}", "[null, 1]",
}

// indexes are keys of lists and maps that aren't plain ones.
var indexes = []string{
	"-1", "0u", "1u", "0.0", "1.0", "true", "9223372036854775807", "4294967296", "'\\ufffd'", "params.count", "params.role", "variables.state",
	"int('1')", "'a' + ''", "string(1)", "dyn(0)", "size(params.names) - 2", "0 + 0",
}

func (r *random) literal() string {
	literals := []string{"1.0", "0.5", "true", "false", "null", "-1", "2u", "[]", "['a', 'b']", "{'a': 1}", "''", "''"}
	switch i := r.IntN(24); {
	case i < len(literals):
		return literals[i]
	case i < 16:
		return strconv.Itoa(r.IntN(4))
	case i < 18:
		return odd[r.IntN(len(odd))]
	}
	return "'" + r.word() + "'"
}

// like returns a literal that the value may well be equal to.
func (r *random) like(value any) string {
	if r.IntN(3) > 0 {
		switch v := value.(type) {
		case string:
			return strconv.Quote(v)
		case int64:
			return strconv.FormatInt(v, 10)
		case bool:
			return strconv.FormatBool(v)
		case nil:
			return "null"
		}
	}
	return r.literal()
}

// value returns an expression of any type.
func (r *random) value(depth int) (expression string, value any) {
	switch r.IntN(14) {
	case 0:
		return r.literal(), nil
	case 1:
		return fmt.Sprintf("condition(object, '%s').%s", r.word(), []string{"present", "status", "reason", "message", "observedGeneration", "current"}[r.IntN(6)]), nil
	case 2:
		e, _, _ := r.path()
		return fmt.Sprintf([]string{"size(%s)", "%s.size()", "string(%s)", "int(%s)", "double(%s)", "type(%s)", "dyn(%s)"}[r.IntN(7)], e), nil
	case 3:
		if depth > 0 {
			a, _ := r.value(depth - 1)
			b, _ := r.value(depth - 1)
			return fmt.Sprintf("(%s %s %s)", a, []string{"+", "-", "*", "/", "%"}[r.IntN(5)], b), nil
		}
	case 4:
		if depth > 0 {
			a, _ := r.value(depth - 1)
			b, _ := r.value(depth - 1)
			return fmt.Sprintf("(%s ? %s : %s)", r.condition(depth-1), a, b), nil
		}
	}
	e, v, optional := r.path()
	if optional {
		switch r.IntN(8) {
		case 0:
			return e + ".value()", v
		case 1:
			other, _, isOptional := r.path()
			if !isOptional {
				other = "optional.of(" + other + ")"
			}
			return fmt.Sprintf("%s.or(%s).orValue(%s)", e, other, r.like(v)), v
		case 2:
			return fmt.Sprintf("%s.optMap(o, o).orValue(%s)", e, r.like(v)), v
		case 3:
			return fmt.Sprintf("%s.optFlatMap(o, o.?%s).orValue(%s)", e, []string{"a", "status", "type"}[r.IntN(3)], r.like(v)), v
		case 4:
			return fmt.Sprintf("{'a': %s, ?'b': %s}", r.like(v), e), v
		case 5:
			return fmt.Sprintf("[?%s, %s]", e, r.like(v)), v
		}
		return fmt.Sprintf("%s.orValue(%s)", e, r.like(v)), v
	}
	return e, v
}

// condition returns an expression of type bool, or what may be one.
func (r *random) condition(depth int) string {
	if depth <= 0 {
		e, v := r.value(0)
		return fmt.Sprintf("%s == %s", e, r.like(v))
	}
	switch r.IntN(23) {
	case 19:
		same := r.condition(depth - 1)
		return fmt.Sprintf("(%s %s %s)", same, []string{"&&", "||", "==", "!="}[r.IntN(4)], same)
	case 20:
		e, v := r.value(depth - 1)
		return fmt.Sprintf("%s in [%s, %s, %s, %s]", e, r.like(v), r.literal(), r.literal(), r.literal())
	case 21:
		e, v := r.value(depth - 1)
		in := []string{"params.names", "params.limits", "variables.list", "{'a': 1, 'Ready': 2}", "{1: 'a', 2: 'b'}", "[1, 1.0, 'a', true, null]", "[[1], {}]", "variables.r0", "variables.r1"}
		_ = v
		return fmt.Sprintf("%s in %s", e, in[r.IntN(len(in))])
	case 22:
		names := []string{"params.role", "params.limits.a", "params.limits.b", "params.names", "variables.state", "variables.detail.state", "variables.absent.a", "variables.broken.a", "variables.meta.name", "variables.ready.status", "object.metadata", "variables.r0.a", "variables.r1.a", "variables.r2.state"}
		return fmt.Sprintf("has(%s)", names[r.IntN(len(names))])
	case 0, 1, 2:
		return fmt.Sprintf("(%s && %s)", r.condition(depth-1), r.condition(depth-1))
	case 3, 4:
		return fmt.Sprintf("(%s || %s)", r.condition(depth-1), r.condition(depth-1))
	case 5:
		return "!(" + r.condition(depth-1) + ")"
	case 6:
		return fmt.Sprintf("(%s ? %s : %s)", r.condition(depth-1), r.condition(depth-1), r.condition(depth-1))
	case 7, 8, 9:
		e, v, optional := r.path()
		if optional {
			return e + ".hasValue()"
		}
		m, _ := v.(map[string]any)
		name := r.key(m)
		if checkIdentifier(name) != nil {
			name = "`" + name + "`"
			if name == "``" || name == "`ä€`" {
				name = "b"
			}
		}
		return fmt.Sprintf("has(%s.%s)", e, name)
	case 10:
		e, v := r.value(depth - 1)
		return fmt.Sprintf("%s in [%s, %s]", e, r.like(v), r.like(v))
	case 11:
		e, v := r.value(depth - 1)
		in, c, _ := r.path()
		if l, ok := c.([]any); ok && len(l) > 0 && r.IntN(2) == 0 {
			e, v = r.like(l[0]), nil
		}
		_ = v
		return fmt.Sprintf("%s in %s", e, in)
	case 12:
		e, _ := r.value(0)
		return e
	case 13:
		return fmt.Sprintf("isTrue(object, '%s')", r.word())
	case 14:
		a, _ := r.value(0)
		return fmt.Sprintf([]string{"%s.startsWith('%s')", "%s.endsWith('%s')", "%s.contains('%s')", "%s.matches('%s')", "string(%s).matches('^%s')"}[r.IntN(5)], a, r.word())
	case 15, 16:
		if len(r.locals) < 2 {
			return r.loop(depth)
		}
	}
	e, v := r.value(depth - 1)
	other := r.like(v)
	if r.IntN(3) == 0 {
		other, _ = r.value(depth - 1)
	}
	return fmt.Sprintf("%s %s %s", e, []string{"==", "==", "!=", "<", "<=", ">", ">="}[r.IntN(7)], other)
}

func (r *random) loop(depth int) string {
	e, v, _ := r.path()
	for range 5 {
		if _, ok := v.([]any); ok {
			break
		}
		e, v, _ = r.path()
	}
	l := local{name: []string{"c", "d", "object", "x", "params", "variables", "condition", "c"}[r.IntN(8)]}
	if list, ok := v.([]any); ok && len(list) > 0 {
		l.value = list[r.IntN(len(list))]
	}
	if _, ok := v.(map[string]any); ok || strings.HasPrefix(e, "variables.r") {
		// In which order a map is gone through must not matter.
		return fmt.Sprintf("%s.exists(%s, %s == '%s')", e, l.name, l.name, r.word())
	}
	if r.IntN(10) == 0 {
		r.locals = append(r.locals, l)
		body := r.condition(depth - 1)
		r.locals = r.locals[:len(r.locals)-1]
		return fmt.Sprintf([]string{"%s.exists(i, %s, %s)", "%s.all(i, %s, %s)", "%s.existsOne(i, %s, %s)", "%s.transformList(i, %s, %s)[0]", "%s.exists(i, %s, i > 0 && %s)"}[r.IntN(5)], e, l.name, body)
	}
	r.locals = append(r.locals, l)
	body := r.condition(depth - 1)
	r.locals = r.locals[:len(r.locals)-1]
	return fmt.Sprintf([]string{"%s.exists(%s, %s)", "%s.exists(%s, %s)", "%s.all(%s, %s)", "%s.all(%s, %s)", "%s.filter(%s, %s).size() > 0", "%s.exists_one(%s, %s)", "%s.map(%s, %s)[0]"}[r.IntN(7)], e, l.name, body)
}
