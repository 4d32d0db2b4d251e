package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// excerptWidth is how many characters of a line an excerpt shows.
const excerptWidth = 120

// Text is a file's text, with its lines as YAML counts them. It is immutable.
type Text struct {
	data   string
	starts []int // byte offsets of the lines
}

// NewText returns the text of a file, without a byte order mark.
func NewText(data []byte) *Text {
	t := &Text{data: strings.TrimPrefix(string(data), "\uFEFF"), starts: []int{0}}
	for i := 0; i < len(t.data); {
		n := lineBreak(t.data[i:])
		if n > 0 && i+n < len(t.data) {
			t.starts = append(t.starts, i+n)
		}
		i += max(n, 1)
	}
	return t
}

// lineBreak returns the length of the line break that s begins with, or 0. The
// YAML reader counts Unicode's line breaks too.
func lineBreak(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"), strings.HasPrefix(s, "\u0085"):
		return 2
	case s[0] == '\n', s[0] == '\r':
		return 1
	case strings.HasPrefix(s, "\u2028"), strings.HasPrefix(s, "\u2029"):
		return 3
	}
	return 0
}

// lines returns the number of lines.
func (t *Text) lines() int { return len(t.starts) }

// line returns line n, counted from 1, without its break; "" beyond the end.
func (t *Text) line(n int) string {
	if n < 1 || n > len(t.starts) {
		return ""
	}
	return strings.TrimRight(t.data[t.offset(n):t.offset(n+1)], "\r\n\u0085\u2028\u2029")
}

// offset returns the byte offset of line n; beyond the last line, of the end.
func (t *Text) offset(n int) int {
	if n > len(t.starts) {
		return len(t.data)
	}
	return t.starts[n-1]
}

// at returns the byte offset of a position; columns count characters.
func (t *Text) at(line, column int) int {
	i := t.offset(line)
	for ; column > 1 && i < len(t.data); column-- {
		_, size := utf8.DecodeRuneInString(t.data[i:])
		i += size
	}
	return i
}

// Excerpt returns the line with a caret below the column, both indented by four
// spaces; "" if there is no such line. Long lines are cut around the column.
func (t *Text) Excerpt(line, column int) string {
	if line < 1 || line > t.lines() {
		return ""
	}
	runes := []rune(t.line(line))
	column = min(max(column, 1), len(runes)+1)
	start, end := 0, len(runes)
	if end > excerptWidth {
		start = max(0, min(column-1-excerptWidth/2, end-excerptWidth))
		end = start + excerptWidth
	}
	var shown, caret strings.Builder
	if start > 0 {
		shown.WriteString("…")
		caret.WriteString(" ")
	}
	for i := start; i < end; i++ {
		r, blank := runes[i], ' '
		switch {
		case r == '\t':
			blank = '\t' // so that the caret stands right at any tab width
		case !unicode.IsPrint(r):
			r = unicode.ReplacementChar
		}
		shown.WriteRune(r)
		if i < column-1 {
			caret.WriteRune(blank)
		}
	}
	if end < len(runes) {
		shown.WriteString("…")
	}
	return "    " + shown.String() + "\n    " + caret.String() + "^"
}
