package document

import (
	"regexp"
	"sort"
	"strings"
)

// BlockScalar is the hint for expressions that YAML reads as something else.
const BlockScalar = "put the expression in a block scalar (|-)"

// maxSearched is how long a line may be for the column to be looked for.
const maxSearched = 10_000

var (
	yamlPrefix    = regexp.MustCompile(`^yaml: (line \d+: )?`)
	keyLine       = regexp.MustCompile(`^[\s-]*([A-Za-z]+)\s*:(.*)$`)
	expressionKey = regexp.MustCompile(`^(\w*[eE]xpression|aborted|done|failed|pending)$`)
	flowRule      = regexp.MustCompile(`[{,]\s*(\w*[eE]xpression|done)\s*:`)
)

// problem is the text of a YAML error without a line: the reader reports the
// line where the enclosing mapping began, which is of no use.
func problem(err error) string { return yamlPrefix.ReplaceAllString(err.Error(), "") }

// locate finds where a chunk stops being YAML: at the end of the shortest
// beginning that fails in the same way.
func (c chunk) locate(t *Text, err error) Finding {
	want, start := problem(err), t.offset(c.first)
	fails := func(end int) bool {
		_, err := parse(t.data[start:end])
		return err != nil && problem(err) == want
	}
	lines := sort.Search(c.end-c.first-1, func(i int) bool { return fails(t.offset(c.first + i + 1)) })
	line := c.first + lines
	runes := []rune(t.line(line))
	if len(runes) > maxSearched {
		return Finding{line, 1, "not valid YAML: " + want, c.hint(t, line, 1)}
	}
	column := sort.Search(len(runes), func(i int) bool {
		return fails(t.offset(line) + len(string(runes[:i+1])))
	}) + 1
	column = min(column, max(len(runes), 1))
	return Finding{line, column, "not valid YAML: " + want, c.hint(t, line, column)}
}

// hint says what to do about a line that isn't YAML.
func (c chunk) hint(t *Text, line, column int) string {
	if hint := c.indentHint(t, line, column); hint != "" {
		return hint
	}
	if strings.HasPrefix(strings.TrimLeft(t.line(line), " "), "\t") {
		return "indent with spaces, YAML allows no tabs there"
	}
	if flowRule.MatchString(t.line(line)) {
		return BlockScalar
	}
	for n := line; n >= c.first && n > line-20; n-- {
		if m := keyLine.FindStringSubmatch(t.line(n)); m != nil {
			if expressionKey.MatchString(m[1]) && (n < line || strings.TrimSpace(m[2]) != "") {
				return BlockScalar
			}
			break
		}
	}
	return ""
}

// indentHint is the hint for a line that begins in the wrong column, empty if that
// isn't what is wrong.
func (c chunk) indentHint(t *Text, line, column int) string {
	text := t.line(line)
	trimmed := strings.TrimLeft(text, " ")
	if trimmed == "" || strings.HasPrefix(trimmed, "\t") {
		return ""
	}
	const neighbours = "indent it like its neighbours"
	key := keyLine.FindStringSubmatch(text)
	if column > len(text)-len(trimmed)+1 {
		if key != nil && !expressionKey.MatchString(key[1]) && column == strings.Index(text, ":")+1 {
			return neighbours // the key was read as the end of the value before
		}
		return ""
	}
	item := key != nil || strings.HasPrefix(trimmed, "- ")
	for n := line - 1; n >= c.first && n > line-20; n-- {
		m := keyLine.FindStringSubmatch(t.line(n))
		if m == nil {
			continue
		}
		if value := strings.TrimSpace(m[2]); strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
			if !item || n == line-1 {
				return "indent the expression deeper than its key, all its lines alike"
			}
		}
		break
	}
	if item {
		return neighbours
	}
	return ""
}
