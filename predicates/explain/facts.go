package explain

import (
	"fmt"
	"strings"
)

// facts says what the node's simple operands are: `state is "Creating"`.
func (n *Node) facts() string {
	var out []string
	if n.Outcome == Value {
		out = append(out, "is "+n.Value)
	}
	if n.Note != "" {
		out = append(out, n.Note)
	}
	for _, o := range n.Operands {
		if n.logical() || !o.simple() {
			continue
		}
		name := o.Expression
		if len(n.Operands) == 1 {
			name = o.shortName()
		}
		if fact := o.fact(name); fact != "" {
			out = append(out, fact)
		}
	}
	return strings.Join(out, ", ")
}

// logical reports whether the node's parts are conditions, each with a line of its
// own.
func (n *Node) logical() bool { return n.Operator == "&&" || n.Operator == "||" || n.Operator == "?:" }

// fact says what a simple node is.
func (n *Node) fact(name string) string {
	switch {
	case n.Outcome == Value && n.Note != "":
		return name + " is " + n.Value + " (" + n.Note + ")"
	case n.Note != "":
		return n.Note
	case n.Outcome == Value:
		return name + " is " + n.Value
	case n.Outcome == True, n.Outcome == False:
		return name + " is " + string(n.Outcome)
	}
	return ""
}

// simple reports whether the node is said beside the one that it is a part of,
// and not on a line of its own.
func (n *Node) simple() bool { return len(n.Operands) == 0 && n.Elements == nil }

// shortName is the last part of a path.
func (n *Node) shortName() string {
	name := n.Expression
	if before, _, ok := strings.Cut(name, ".orValue("); ok && strings.HasSuffix(name, ")") {
		name = before
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = strings.TrimPrefix(name[i+1:], "?")
	}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return n.Expression
	}
	return name
}

// sayElements says what a macro found.
func (e *Elements) say(operator string, outcome Outcome) string {
	if e.Hidden {
		return fmt.Sprintf("its %s are hidden", "elements")
	}
	if e.Count == 0 {
		return "there are no elements"
	}
	of := fmt.Sprintf("of %d %s", e.Count, plural(e.Count, "element"))
	switch operator {
	case "map", "transformList", "transformMap", "transformMapEntry":
		return of
	case "filter":
		return fmt.Sprintf("true for %s %s", number(e.True), of)
	}
	failed := ""
	if e.Failed > 0 {
		failed = fmt.Sprintf(", %d could not be evaluated", e.Failed)
	}
	if operator == "all" && outcome != True && e.False > 0 {
		return fmt.Sprintf("false for %d %s%s", e.False, of, failed)
	}
	return fmt.Sprintf("true for %s %s%s", number(e.True), of, failed)
}

func number(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// Reasons returns the parts that made the node what it is, each with its values,
// on one line: `object.status.state == 'Ready' (state is "Creating")`. There are
// no more than limit; more says how many others there are. A condition that is a
// variable is followed by that variable's reasons, if it is among the given ones.
func (n *Node) Reasons(limit int, variables ...Variable) (reasons []string, more int) {
	n.reasons(&reasons, variables)
	if len(reasons) > limit {
		reasons, more = reasons[:limit], len(reasons)-limit
	}
	return reasons, more
}

func (n *Node) reasons(out *[]string, variables []Variable) {
	descended := false
	if n.logical() {
		for _, o := range n.Operands {
			if o.Decides {
				o.reasons(out, variables)
				descended = true
			}
		}
	}
	if descended {
		return
	}
	text := n.Expression
	if n.Outcome == True {
		text += " is true"
	}
	var facts []string
	if n.Elements != nil {
		facts = append(facts, n.Elements.say(n.Operator, n.Outcome))
		for _, e := range n.Elements.Shown[:min(len(n.Elements.Shown), 2)] {
			if inner, more := e.Body.Reasons(1, variables...); len(inner) > 0 && more == 0 {
				facts = append(facts, e.label()+" "+inner[0])
			}
		}
	} else {
		n.collect(&facts)
	}
	for i, v := range variables {
		if n.Expression != "variables."+v.Name || v.Value.simple() {
			continue
		}
		inner, more := v.Value.Reasons(2, variables[:i]...) // it sees those before it
		if facts = append(facts, inner...); more > 0 {
			facts = append(facts, fmt.Sprintf("and %d more", more))
		}
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	*out = append(*out, text)
}

// collect gathers what is to be said about the values in the node.
func (n *Node) collect(facts *[]string) {
	if n.Elements != nil {
		*facts = append(*facts, n.Elements.say(n.Operator, n.Outcome))
		return
	}
	if n.Note != "" {
		*facts = append(*facts, n.Note)
	}
	for _, o := range n.Operands {
		switch {
		case o.Outcome == Value, o.simple():
			name := o.Expression
			if len(n.Operands) == 1 {
				name = o.shortName()
			}
			if f := o.fact(name); f != "" {
				*facts = append(*facts, f)
			}
		default:
			o.collect(facts)
		}
	}
}

func (e *Element) label() string {
	if e.Index != nil {
		return fmt.Sprintf("[%d]", *e.Index)
	}
	if e.Key == "" {
		return "[…]"
	}
	return "[" + e.Key + "]"
}
