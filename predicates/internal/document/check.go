package document

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// check finds what YAML allows and this format doesn't, in the order of the text.
func (d *Document) check() []Finding {
	c := checker{d: d}
	c.node(d.root, 1)
	return c.findings
}

type checker struct {
	d        *Document
	findings []Finding
}

// maxFindings bounds what is said of one document: nobody reads on.
const maxFindings = 1000

func (c *checker) report(n *yaml.Node, hint, format string, args ...any) {
	if len(c.findings) >= maxFindings {
		return
	}
	c.findings = append(c.findings, Finding{n.Line, n.Column, fmt.Sprintf(format, args...), hint})
}

func (c *checker) node(n *yaml.Node, depth int) {
	if depth > MaxDepth {
		c.report(n, "", "nested deeper than %d levels", MaxDepth)
		return
	}
	if n.Kind == yaml.AliasNode {
		c.report(n, "write the value out", "aliases (*%s) aren't supported", n.Value)
		return
	}
	if n.Anchor != "" {
		c.report(n, "write the value out where it is used", "anchors (&%s) aren't supported", n.Anchor)
	}
	c.tag(n)
	if n.Kind != yaml.MappingNode {
		for _, child := range n.Content {
			c.node(child, depth+1)
		}
		return
	}
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if c.key(key) {
			if line, ok := lines[key.Value]; ok {
				c.report(key, "remove one of them", "duplicate key %q, first on line %d", key.Value, line)
			} else {
				lines[key.Value] = key.Line
			}
		}
		c.node(n.Content[i+1], depth+1)
	}
}

// key reports whether the node is a plain string, and finds fault if it isn't.
func (c *checker) key(n *yaml.Node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		c.report(n, "write the value out", "aliases (*%s) aren't supported", n.Value)
		return false
	case n.Kind != yaml.ScalarNode:
		c.report(n, "", "a key must be a string")
		return false
	case n.Anchor != "":
		c.report(n, "write the value out where it is used", "anchors (&%s) aren't supported", n.Anchor)
	}
	c.tag(n)
	switch {
	case n.Tag == "!!merge":
		c.report(n, "write the fields out", "merge keys (<<) aren't supported")
	case n.Style == 0 && oldBoolean(n.Value):
		c.report(n, fmt.Sprintf("quote it: '%s'", n.Value), "key %s is a boolean in YAML 1.1", n.Value)
	case n.Tag == "!!str" || n.Style&yaml.TaggedStyle != 0:
		return true
	case n.Value == "":
		c.report(n, "", "a key is missing")
	default:
		c.report(n, fmt.Sprintf("quote it: '%s'", n.Value), "key %s is no string but %s", n.Value, typeOf(n))
	}
	return false
}

// oldBoolean reports whether YAML 1.1 reads the word as a boolean: other tools
// would make "true" or "false" of it.
func oldBoolean(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return true
	}
	return false
}

// tag refuses tags other than YAML's own. An expression that begins with ! is
// one: !has(x) is the tag "!has(x)" and no value, and "! has(x)" is the value
// has(x), with nothing left to show that it was negated.
func (c *checker) tag(n *yaml.Node) {
	if foreignTag(n) {
		c.report(n, BlockScalar, "%s is a YAML tag, not a value", n.Tag)
		return
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return
	}
	if i := c.d.text.at(n.Line, n.Column); i < len(c.d.text.data) && c.d.text.data[i] == '!' {
		c.report(n, BlockScalar, "! is a YAML tag here, it is no part of the value")
	}
}

// foreignTag reports whether the node has a tag that isn't YAML's own.
func foreignTag(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return false
	}
	switch n.Tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!map", "!!seq":
		return false
	}
	return true
}

// typeOf names a node's type for people.
func typeOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!str":
		return "a string"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "empty"
	case "!!timestamp":
		return "a date"
	}
	return n.Tag
}
