package document

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// Decode fills the struct that into points to, strictly: names are those of the
// json tags and case counts, unknown fields and wrong types are findings, and so
// is a field without a value. Two more tags say what may be written shorter: a
// struct with a `form:"short"` field may be that field's value alone, a slice
// with `form:"many"` may be one element. A string with `form:"nonempty"` that is
// written but blank is a finding. Forms are joined by commas.
//
// Fields may be structs, pointers, slices, maps with string keys, strings,
// booleans, integers, floats, metav1.Duration, resource.Quantity and any (what
// JSON would give, with integers as int64). On findings the struct holds what
// could be read.
func (d *Document) Decode(into any) []Finding {
	findings := d.check()
	dec := decoder{checker{d: d}}
	dec.value(d.root, reflect.ValueOf(into).Elem(), "", nil)
	return append(findings, dec.findings...)
}

type decoder struct{ checker }

var (
	// integer matches what only its size keeps from being an integer.
	integer      = regexp.MustCompile(`^[-+]?[0-9]+$`)
	durationType = reflect.TypeFor[metav1.Duration]()
	quantityType = reflect.TypeFor[resource.Quantity]()
)

func (d *decoder) value(n *yaml.Node, v reflect.Value, form reflect.StructTag, path []any) {
	if len(path) > MaxDepth || n.Kind == yaml.AliasNode {
		return // check has found it
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), form, path)
		return
	}
	if v.Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(&[]any{d.any(n, path)}).Elem().Index(0))
		return
	}
	switch v.Type() {
	case durationType:
		if s, ok := d.scalar(n, path, "!!str"); ok {
			t, err := time.ParseDuration(s)
			if err != nil {
				d.report(n, "", "%s: %q is no duration such as 30s or 10m", Path(path...), s)
			}
			v.Set(reflect.ValueOf(metav1.Duration{Duration: t}))
		} else if n.Tag == "!!int" {
			d.findings[len(d.findings)-1].Hint = "write it with its unit: " + n.Value + "s"
		}
		return
	case quantityType:
		if s, ok := d.scalar(n, path, "!!str", "!!int", "!!float"); ok {
			q, err := ParseQuantity(s)
			if err != nil {
				d.report(n, "", "%s: %q is no quantity such as 8Mi or 20M", Path(path...), s)
			}
			v.Set(reflect.ValueOf(q))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(n, v, path)
	case reflect.Slice:
		elements := n.Content
		if n.Kind != yaml.SequenceNode {
			if !has(form, "many") {
				d.wrong(n, path, "a list")
				return
			}
			elements = []*yaml.Node{n}
		}
		v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
		for i, e := range elements {
			d.value(e, v.Index(i), "", append(slices.Clip(path), i))
		}
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			d.wrong(n, path, "a mapping")
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for i := 0; i+1 < len(n.Content); i += 2 {
			e := reflect.New(v.Type().Elem()).Elem()
			d.value(n.Content[i+1], e, "", append(slices.Clip(path), n.Content[i].Value))
			v.SetMapIndex(reflect.ValueOf(n.Content[i].Value).Convert(v.Type().Key()), e)
		}
	case reflect.String:
		if s, ok := d.scalar(n, path, "!!str", "!!timestamp"); ok {
			v.SetString(s)
			if has(form, "nonempty") && strings.TrimSpace(s) == "" && !foreignTag(n) {
				d.report(n, "give it a value or remove it", "%s is empty", where(path))
			}
		} else if n.Kind == yaml.ScalarNode && n.Value != "" && n.Style&yaml.TaggedStyle == 0 {
			d.findings[len(d.findings)-1].Hint = fmt.Sprintf("quote it: '%s'", n.Value)
		}
	case reflect.Bool:
		if _, ok := d.scalar(n, path, "!!bool"); ok {
			d.native(n, v, path)
		}
	case reflect.Int, reflect.Int64, reflect.Int32:
		if _, ok := d.scalar(n, path, "!!int"); ok {
			d.native(n, v, path)
		}
	case reflect.Float64:
		if _, ok := d.scalar(n, path, "!!int", "!!float"); ok {
			d.native(n, v, path)
		}
	default:
		panic("document: can't decode into " + v.Type().String())
	}
}

// scalar returns the text of a scalar of one of the types.
func (d *decoder) scalar(n *yaml.Node, path []any, tags ...string) (string, bool) {
	if n.Kind == yaml.ScalarNode && slices.Contains(tags, n.Tag) {
		return n.Value, true
	}
	d.wrong(n, path, map[string]string{"!!str": "a string", "!!bool": "true or false", "!!int": "a whole number"}[tags[0]])
	return "", false
}

// wrong reports a value of another type than wanted.
func (d *decoder) wrong(n *yaml.Node, path []any, want string) {
	hint := ""
	if last, _ := lastName(path); expressionKey.MatchString(last) && n.Kind != yaml.ScalarNode {
		hint = BlockScalar // a flow mapping or list at the start of an expression
	}
	switch {
	case foreignTag(n):
		// check has found the tag
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null" && n.Value == "":
		d.report(n, "give it a value or remove it", "%s is empty", where(path))
	default:
		d.report(n, hint, "%s must be %s, it is %s", where(path), want, typeOf(n))
	}
}

// has reports whether a field's form tag has the word.
func has(tag reflect.StructTag, word string) bool {
	return slices.Contains(strings.Split(tag.Get("form"), ","), word)
}

func where(path []any) string {
	if len(path) == 0 {
		return "the document"
	}
	return Path(path...)
}

func lastName(path []any) (string, bool) {
	for i := len(path) - 1; i >= 0; i-- {
		if s, ok := path[i].(string); ok {
			return s, true
		}
	}
	return "", false
}

// native lets the YAML reader convert a scalar whose type is known to be right.
func (d *decoder) native(n *yaml.Node, v reflect.Value, path []any) {
	if err := n.Decode(v.Addr().Interface()); err != nil {
		d.report(n, "", "%s: %s can't be read or is out of range", Path(path...), n.Value)
	}
}

// fields decodes a mapping, or the short form, into a struct.
func (d *decoder) fields(n *yaml.Node, v reflect.Value, path []any) {
	form := d.d.forms.of(v.Type())
	fields, short := form.fields, form.short
	if n.Kind != yaml.MappingNode {
		if short == nil || n.Kind != yaml.ScalarNode {
			d.wrong(n, path, map[bool]string{true: "a mapping", false: "a string or a mapping"}[short == nil])
			return
		}
		d.value(n, v.FieldByIndex(short.Index), short.Tag, path)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, ok := fields[key.Value]
		if !ok {
			if !oldBoolean(key.Value) && key.Tag == "!!str" { // else check has found it
				d.report(key, nearest.Hint(key.Value, "fields", slices.Collect(maps.Keys(fields))),
					"unknown field %q%s", key.Value, inside(path))
			}
			continue
		}
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Style&yaml.TaggedStyle == 0 {
			d.report(value, "give it a value or remove it", "%s is empty", Path(append(slices.Clip(path), key.Value)...))
			continue
		}
		d.value(value, v.FieldByIndex(f.Index), f.Tag, append(slices.Clip(path), key.Value))
	}
}

func inside(path []any) string {
	if len(path) == 0 {
		return ""
	}
	return " in " + Path(path...)
}

// any returns a value as JSON would have it, with integers as int64.
func (d *decoder) any(n *yaml.Node, path []any) any {
	if len(path) > MaxDepth {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = d.any(n.Content[i+1], append(slices.Clip(path), n.Content[i].Value))
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, e := range n.Content {
			l[i] = d.any(e, append(slices.Clip(path), i))
		}
		return l
	case yaml.AliasNode:
		return nil
	}
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		d.native(n, reflect.ValueOf(&b).Elem(), path)
		return b
	case "!!int":
		var i int64
		d.native(n, reflect.ValueOf(&i).Elem(), path)
		return i
	case "!!float":
		var f float64
		d.native(n, reflect.ValueOf(&f).Elem(), path)
		if integer.MatchString(n.Value) {
			d.report(n, "", "%s: %s is out of range", Path(path...), n.Value)
		} else if math.IsInf(f, 0) || math.IsNaN(f) {
			d.report(n, "", "%s: %s isn't a finite number", Path(path...), n.Value)
			f = 0 // what is returned is JSON all the same
		}
		return f
	}
	return n.Value
}
