package celexpr

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
)

// maxExpression is how much of a sub-expression's text is shown, in bytes.
const maxExpression = 200

// expressionText writes a sub-expression as its author would, macros included.
func expressionText(e ast.Expr, info *ast.SourceInfo) string {
	text, err := parser.Unparse(e, info, parser.WrapOnColumn(1<<20))
	if err != nil {
		return "…"
	}
	return shortened(singleQuotes(strings.Join(strings.Fields(text), " ")), maxExpression)
}

// singleQuotes writes texts as the documents do: cel-go only knows double quotes.
// Those with quotes or escapes in them are left as they are.
func singleQuotes(text string) string {
	if !strings.Contains(text, `"`) {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, `"`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(rest))
		quote := "'"
		if strings.ContainsAny(rest[:end], `'\`) {
			quote = `"`
		}
		b.WriteString(quote + rest[:end] + quote)
		text = rest[min(end+1, len(rest)):]
	}
}
