package document

import (
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// octal is a number that YAML 1.1 reads with base 8, and people don't.
var octal = regexp.MustCompile(`^[-+]?0[0-7_]+$`)

// OctalNumber is a number with a leading zero.
type OctalNumber struct {
	Path          []any
	Message, Hint string
}

// OctalNumbers returns the numbers that are read with base 8 because of a
// leading zero, in the order of the text.
func (d *Document) OctalNumbers() []OctalNumber {
	var out []OctalNumber
	var visit func(n *yaml.Node, path []any)
	visit = func(n *yaml.Node, path []any) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				visit(n.Content[i+1], append(slices.Clip(path), n.Content[i].Value))
			}
		case yaml.SequenceNode:
			for i, e := range n.Content {
				visit(e, append(slices.Clip(path), i))
			}
		case yaml.ScalarNode:
			if n.Tag != "!!int" || !octal.MatchString(n.Value) {
				return
			}
			var i int64
			if n.Decode(&i) != nil {
				return
			}
			out = append(out, OctalNumber{
				Path:    path,
				Message: n.Value + " is " + strconv.FormatInt(i, 10) + ": a leading zero makes it octal",
				Hint:    "leave out the zero, or quote it if it is a text",
			})
		}
	}
	visit(d.root, nil)
	return out
}
