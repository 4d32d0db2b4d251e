package celexpr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/donewhen/donewhen/predicates/internal/redact"
)

// How much of a value is shown.
const (
	maxValue    = 160 // bytes of the whole
	maxString   = 80  // bytes of one text in it
	maxElements = 8   // of one list or map
	maxDepth    = 4
)

// valueText writes a value as expressions do. cursors say where in the object it
// is, if it is in it: what is hidden there is shown as a mark. It looks at no more
// than it shows, except for the keys of a map, which are sorted.
func valueText(v any, cursors []redact.Cursor) string {
	w := &valueWriter{}
	w.write(v, cursors, 0)
	return w.b.String()
}

type valueWriter struct{ b strings.Builder }

func (w *valueWriter) full() bool { return w.b.Len() >= maxValue }

func (w *valueWriter) write(v any, cursors []redact.Cursor, depth int) {
	for _, c := range cursors {
		if c.Hidden() {
			w.b.WriteString(redact.Mark)
			return
		}
	}
	switch x := v.(type) {
	case nil:
		w.b.WriteString("null")
	case string:
		w.text(x)
	case types.String:
		w.text(string(x))
	case bool:
		w.b.WriteString(strconv.FormatBool(x))
	case types.Bool:
		w.b.WriteString(strconv.FormatBool(bool(x)))
	case int64:
		w.b.WriteString(strconv.FormatInt(x, 10))
	case types.Int:
		w.b.WriteString(strconv.FormatInt(int64(x), 10))
	case float64:
		w.double(x)
	case types.Double:
		w.double(float64(x))
	case types.Null:
		w.b.WriteString("null")
	case types.Bytes:
		fmt.Fprintf(&w.b, "%d bytes", len(x))
	case types.Duration:
		fmt.Fprintf(&w.b, "duration('%s')", x.Duration)
	case types.Timestamp:
		fmt.Fprintf(&w.b, "timestamp('%s')", x.Time.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"))
	case *condition:
		w.condition(x, cursors)
	case *types.Optional:
		if !x.HasValue() {
			w.b.WriteString("none")
			return
		}
		w.write(x.GetValue(), cursors, depth)
	case *types.Err:
		w.b.WriteString("error")
	case map[string]any:
		w.object(x, cursors, depth)
	case []any:
		w.list(len(x), func(i int) any { return x[i] }, cursors, depth)
	case ref.Val:
		w.other(x, cursors, depth)
	default:
		w.cut(fmt.Sprint(x))
	}
}

// other writes a CEL value of a type that isn't known here.
func (w *valueWriter) other(v ref.Val, cursors []redact.Cursor, depth int) {
	switch native := v.Value().(type) {
	case map[string]any:
		w.object(native, cursors, depth)
		return
	case []any:
		w.list(len(native), func(i int) any { return native[i] }, cursors, depth)
		return
	}
	switch x := v.(type) {
	case traits.Mapper:
		w.mapper(x, cursors, depth)
	case traits.Lister:
		w.list(int(size(x)), func(i int) any { return x.Get(types.Int(i)) }, cursors, depth)
	default:
		native := v.Value()
		if s, ok := native.(fmt.Stringer); ok {
			w.text(s.String())
			return
		}
		w.cut(fmt.Sprint(native))
	}
}

func (w *valueWriter) double(f float64) {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Trim(text, "0123456789-") == "" {
		text += ".0"
	}
	w.b.WriteString(text)
}

// text writes a text in quotes, its middle left out if it is long.
func (w *valueWriter) text(s string) {
	w.b.WriteString(strconv.Quote(shortened(s, maxString)))
}

// cut writes what isn't a text of the object, as far as there is room.
func (w *valueWriter) cut(s string) { w.b.WriteString(shortened(s, maxString)) }

// shortened cuts a text to n bytes, on whole characters, and says how long it was.
func shortened(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "�")
	}
	end := n
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.ToValidUTF8(s[:end], "�") + fmt.Sprintf("… (%d bytes)", len(s))
}

func (w *valueWriter) condition(c *condition, cursors []redact.Cursor) {
	if !c.present {
		w.b.WriteString("{present: false}")
		return
	}
	m := map[string]any{"status": c.status}
	if c.reason != "" {
		m["reason"] = c.reason
	}
	if c.message != "" {
		m["message"] = c.message
	}
	if !c.current {
		m["current"] = false
	}
	w.object(m, cursors, maxDepth-1)
}

func (w *valueWriter) object(m map[string]any, cursors []redact.Cursor, depth int) {
	if len(m) > 0 && depth >= maxDepth {
		w.b.WriteString("{…}")
		return
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	w.b.WriteByte('{')
	for i, key := range keys {
		if w.separate(i, len(keys)) {
			break
		}
		w.b.WriteString(shortened(key, maxString) + ": ")
		var below []redact.Cursor
		for _, c := range cursors {
			below = append(below, c.Child(m, key))
		}
		w.write(m[key], below, depth+1)
	}
	w.b.WriteByte('}')
}

// mapper writes a map that isn't a Go map.
func (w *valueWriter) mapper(m traits.Mapper, cursors []redact.Cursor, depth int) {
	n := int(size(m))
	if n > 0 && depth >= maxDepth {
		w.b.WriteString("{…}")
		return
	}
	type entry struct {
		text, key string
		value     ref.Val
	}
	var entries []entry
	const enough = 1000 // keys that are sorted
	for it := m.Iterator(); it.HasNext() == types.True && len(entries) < enough; {
		key := it.Next()
		entries = append(entries, entry{valueText(key, nil), fmt.Sprint(key.Value()), m.Get(key)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	named := map[string]any{} // what hides the value beside it
	for _, field := range [...]string{"name", "key"} {
		if v, ok := m.Find(types.String(field)); ok {
			named[field] = v.Value()
		}
	}
	w.b.WriteByte('{')
	for i, e := range entries {
		if w.separate(i, n) {
			break
		}
		w.b.WriteString(e.text + ": ")
		var below []redact.Cursor
		for _, c := range cursors {
			below = append(below, c.Child(named, e.key))
		}
		w.write(e.value, below, depth+1)
	}
	w.b.WriteByte('}')
}

func (w *valueWriter) list(n int, get func(int) any, cursors []redact.Cursor, depth int) {
	if n > 0 && depth >= maxDepth {
		w.b.WriteString("[…]")
		return
	}
	w.b.WriteByte('[')
	for i := range n {
		if w.separate(i, n) {
			break
		}
		w.write(get(i), cursors, depth+1)
	}
	w.b.WriteByte(']')
}

// separate writes what stands before element i of n, and reports whether the rest
// is left out.
func (w *valueWriter) separate(i, n int) bool {
	if i > 0 {
		w.b.WriteString(", ")
	}
	if i < maxElements && !w.full() {
		return false
	}
	fmt.Fprintf(&w.b, "… %d more", n-i)
	return true
}
