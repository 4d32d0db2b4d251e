package document

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Position returns where the value at the path stands: field names and list
// indices, for example "spec", "failed", 0, "code". Of what isn't there it
// returns the nearest part that is; where one element or one string stands for a
// list or a struct, its parts stand where it does.
func (d *Document) Position(path ...any) (line, column int) {
	n := d.find(path)
	return n.Line, n.Column
}

// KeyPosition is Position, but of the name of the path's last field.
func (d *Document) KeyPosition(path ...any) (line, column int) {
	parent := d.find(path[:len(path)-1])
	if name, ok := path[len(path)-1].(string); ok && parent.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(parent.Content); i += 2 {
			if parent.Content[i].Value == name {
				return parent.Content[i].Line, parent.Content[i].Column
			}
		}
	}
	return parent.Line, parent.Column
}

// Within returns where a line and column of the text of the scalar at the path
// stand in the file: exactly in literal block scalars and in strings on one line,
// as well as can be in folded ones.
func (d *Document) Within(line, column int, path ...any) (fileLine, fileColumn int) {
	n := d.find(path)
	if n.Kind != yaml.ScalarNode || line < 1 || column < 1 {
		return n.Line, n.Column
	}
	if n.Style&yaml.LiteralStyle != 0 {
		lines := strings.Split(n.Value, "\n")
		if line > len(lines) {
			return n.Line, n.Column
		}
		written := d.text.line(n.Line + line)
		indent := max(0, utf8.RuneCountInString(written)-utf8.RuneCountInString(lines[line-1]))
		return n.Line + line, indent + column
	}
	return d.align(n, line, column)
}

// CutByComment reports whether YAML ended the plain scalar at the path at a
// " #", which began a comment.
func (d *Document) CutByComment(path ...any) bool {
	n := d.find(path)
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.LineComment != ""
}

// InBlockScalar reports whether the value at the path is a block scalar.
func (d *Document) InBlockScalar(path ...any) bool {
	return d.find(path).Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// Excerpt shows a line of the document's file: see Text.Excerpt.
func (d *Document) Excerpt(line, column int) string { return d.text.Excerpt(line, column) }

// align walks over a scalar's value and its source side by side up to a line and
// column of the value. Runs of white space match each other, so folding needs no
// more than this. Where the two differ it gives up: the scalar's start.
func (d *Document) align(n *yaml.Node, line, column int) (int, int) {
	s := d.text.data
	i := d.text.at(n.Line, n.Column)
	switch {
	case n.Style&yaml.FoldedStyle != 0:
		i = d.text.offset(n.Line + 1)
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		i++
	}
	atLine, atColumn := 1, 1
	for v := n.Value; ; {
		i = skipSpace(s, i, v)
		if atLine == line && atColumn == column || v == "" {
			return d.text.position(i)
		}
		r, size := utf8.DecodeRuneInString(v)
		v = v[size:]
		if atColumn++; r == '\n' {
			atLine, atColumn = atLine+1, 1
			if atLine > line {
				return d.text.position(i)
			}
		}
		switch {
		case unicode.IsSpace(r) && (i >= len(s) || s[i] != '\\'):
			// The source's white space is skipped before the next character.
		case n.Style&yaml.DoubleQuotedStyle != 0 && i < len(s) && s[i] == '\\':
			i += escapeLength(s[i:])
		case n.Style&yaml.SingleQuotedStyle != 0 && strings.HasPrefix(s[i:], "''"):
			i += 2
		case strings.HasPrefix(s[i:], string(r)):
			i += size
		default:
			return n.Line, n.Column
		}
	}
}

// skipSpace returns the first offset at or after i with no white space and no
// escaped line break, if the value goes on with none either.
func skipSpace(s string, i int, value string) int {
	if r, _ := utf8.DecodeRuneInString(value); value != "" && unicode.IsSpace(r) {
		return i
	}
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '\\' && i+1 < len(s) && (s[i+1] == '\n' || s[i+1] == '\r') {
			size = 2 // a backslash before a break stands in double quotes only
		} else if !unicode.IsSpace(r) {
			break
		}
		i += size
	}
	return i
}

// escapeLength returns the length of a double-quoted scalar's escape sequence.
func escapeLength(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case 'x':
		return min(4, len(s))
	case 'u':
		return min(6, len(s))
	case 'U':
		return min(10, len(s))
	}
	return 2
}

// position returns the line and column of a byte offset.
func (t *Text) position(offset int) (line, column int) {
	low, high := 0, len(t.starts)
	for low+1 < high {
		if middle := (low + high) / 2; t.starts[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	return low + 1, utf8.RuneCountInString(t.data[t.starts[low]:min(offset, len(t.data))]) + 1
}

// find returns the node at the path, or the last one on the way.
func (d *Document) find(path []any) *yaml.Node {
	n := d.root
	for _, step := range path {
		next := child(n, step)
		if next == nil {
			if i, ok := step.(int); ok && i == 0 {
				continue // one element in place of a list
			}
			return n
		}
		n = next
	}
	return n
}

func child(n *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case string:
		if n.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					return n.Content[i+1]
				}
			}
		}
	case int:
		if n.Kind == yaml.SequenceNode && step >= 0 && step < len(n.Content) {
			return n.Content[step]
		}
	}
	return nil
}

// str returns the string at the path, "" if there is none.
func (d *Document) str(path ...any) string {
	n := d.root
	for _, step := range path {
		if n = child(n, step); n == nil {
			return ""
		}
	}
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Path renders a path: spec.failed[0].code.
func Path(path ...any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		}
	}
	return b.String()
}
