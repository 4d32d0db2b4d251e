package celexpr

import (
	"encoding/json"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// ObjectPath is a path of fields that Go code reads of every object, such as
// metadata.generation. It is safe for concurrent use.
type ObjectPath struct {
	parts []string
	typed *jsonform.Path
}

// NewObjectPath returns the path of those fields.
func NewObjectPath(parts ...string) *ObjectPath {
	return &ObjectPath{parts: parts, typed: jsonform.NewPath(parts...)}
}

// Text returns the text at the path, "" if there is none.
func (ev *Evaluation) Text(p *ObjectPath) string {
	if ev.typed {
		return words(p.typed, ev.root.v)
	}
	s, _ := ev.native(p).(string)
	return s
}

// Texts returns the texts in the list at the path.
func (ev *Evaluation) Texts(p *ObjectPath) []string {
	var out []string
	if ev.typed {
		list, missing := p.typed.Find(ev.root.v)
		if missing >= 0 {
			return nil
		}
		for v := range list.Elements() {
			if v.Kind() == jsonform.String {
				out = append(out, v.Text())
			}
		}
		return out
	}
	list, _ := ev.native(p).([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Number returns the number at the path, cut to a whole one, false if there is none.
// Objects from an API server have int64; what other programs put into an informer
// is read as well.
func (ev *Evaluation) Number(p *ObjectPath) (int64, bool) {
	if ev.typed {
		v, missing := p.typed.Find(ev.root.v)
		switch {
		case missing >= 0:
			return 0, false
		case v.Kind() == jsonform.Double:
			return int64(v.Double()), true
		}
		return v.Int(), v.Kind() == jsonform.Int
	}
	switch n := ev.native(p).(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	case float64:
		return int64(n), true
	}
	return 0, false
}

// native follows the path through an object in JSON form; nil if it ends.
func (ev *Evaluation) native(p *ObjectPath) any {
	var v any = ev.object
	for _, part := range p.parts {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[part]
	}
	return v
}
