package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Marks at the beginning of a line.
const (
	markTrue    = "✓"
	markFalse   = "✗"
	markMissing = "?"
	markError   = "!"
	markOther   = "·"
)

// WriteText writes the explanation for people: the verdict, what the policies
// said, and each rule as a tree, with the parts that decided first.
func (x *Explanation) WriteText(w io.Writer) error {
	p := &printer{}
	p.verdict(x)
	for _, policy := range x.Policies {
		mark := markOther
		if policy.Decided {
			mark = markFalse
			if x.Verdict.Verdict == "Done" {
				mark = markTrue
			}
		}
		p.line(0, "%s %s: %s", mark, policy.Name, policy.Says)
	}
	for i := range x.Rules {
		if r := &x.Rules[i]; r.Outcome != Skipped {
			p.rule(r)
		} else if i == 0 || x.Rules[i-1].Outcome != Skipped || x.Rules[i-1].Note != r.Note {
			p.skipped(x.Rules[i:])
		}
	}
	p.named("variables", len(x.Variables))
	for _, v := range x.Variables {
		p.variable(v)
	}
	p.named("params", len(x.Params))
	for _, param := range x.Params {
		p.line(1, "%s params.%s is %s", markOther, param.Name, param.Value)
	}
	if x.Cost != nil {
		p.line(0, "cost: %d of %d", x.Cost.Spent, x.Cost.Limit)
	}
	_, err := w.Write(p.b.Bytes())
	return err
}

type printer struct{ b bytes.Buffer }

// line writes one line; what has line breaks is folded.
func (p *printer) line(depth int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.ContainsAny(text, "\r\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	p.b.WriteString(strings.Repeat("  ", depth))
	p.b.WriteString(strings.TrimRight(text, " "))
	p.b.WriteByte('\n')
}

func (p *printer) named(what string, n int) {
	if n > 0 {
		p.line(0, "%s:", what)
	}
}

func (p *printer) verdict(x *Explanation) {
	p.line(0, "%s%s", x.subject(), x.Verdict.summary())
	by := x.Predicate.Name
	if x.Predicate.Version != "" {
		by += " (version " + x.Predicate.Version + ")"
	}
	if x.Verdict.Rule != "" {
		by += ", rule " + x.Verdict.Rule
	}
	p.line(1, "by       %s", by)
	if x.Verdict.Message != "" {
		p.line(1, "message  %s", x.Verdict.Message)
	}
	for i, m := range x.Verdict.Missing {
		label := "missing "
		if i > 0 {
			label = "        "
		}
		p.line(1, "%s %s", label, m)
	}
}

// subject names the object, with a colon behind.
func (x *Explanation) subject() string {
	if x.Object == nil {
		return ""
	}
	name := x.Object.Name
	if x.Object.Namespace != "" {
		name = x.Object.Namespace + "/" + name
	}
	if name == "" {
		return x.Object.Kind + ": "
	}
	return x.Object.Kind + " " + name + ": "
}

// summary is the verdict without its texts.
func (v *Verdict) summary() string {
	parts := []string{v.Verdict}
	if v.Code != "" {
		parts = append(parts, "code "+v.Code)
	}
	if v.Reason != "" {
		parts = append(parts, "reason "+v.Reason)
	}
	if v.Cause == "Judge" {
		parts = append(parts, "the predicate itself broke")
	}
	if v.For != "" {
		parts = append(parts, "once it has held for "+v.For)
	}
	return strings.Join(parts, ", ")
}

// Line returns the verdict on one line: what, why, and by which rule.
func (x *Explanation) Line() string {
	text := x.subject() + x.Verdict.summary()
	if x.Verdict.Rule != "" {
		text += ", rule " + x.Verdict.Rule
	}
	if x.Verdict.Message != "" {
		text += ": " + x.Verdict.Message
	}
	if len(x.Verdict.Missing) > 0 {
		if missing := strings.Join(x.Verdict.Missing, "; "); !strings.Contains(x.Verdict.Message, missing) {
			text += " (missing " + missing + ")"
		}
	}
	if x.Verdict.Explanation != "" && x.Verdict.Message == "" {
		text += ": " + x.Verdict.Explanation
	}
	if strings.ContainsAny(text, "\r\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	return text
}

// skipped writes one line for the first rules, which were skipped for one reason.
func (p *printer) skipped(rules []Rule) {
	var names []string
	for i := range rules {
		if rules[i].Outcome != Skipped || rules[i].Note != rules[0].Note {
			break
		}
		names = append(names, rules[i].Name)
	}
	p.line(0, "%s %s: %s", markOther, strings.Join(names, ", "), rules[0].Note)
}

func (p *printer) rule(r *Rule) {
	head := r.Outcome.mark() + " " + r.Name
	var tail []string
	switch {
	case r.Decided && strings.HasPrefix(r.Name, "pending"):
		tail = append(tail, "says why it is pending")
	case r.Decided:
		tail = append(tail, "decided")
	}
	if r.For != "" {
		tail = append(tail, "must hold for "+r.For)
	}
	if r.Cost > 0 {
		tail = append(tail, fmt.Sprintf("cost %d", r.Cost))
	}
	if len(tail) > 0 {
		head += " (" + strings.Join(tail, ", ") + ")"
	}
	if r.Condition == nil {
		if r.Note == "" {
			r.Note = "has no condition"
		}
		p.line(0, "%s: %s", head, r.Note)
		return
	}
	if r.Note != "" && !r.Condition.says(r.Note) {
		p.line(0, "%s: %s", head, r.Note)
	} else {
		p.line(0, "%s:", head)
	}
	p.node(1, "", r.Condition)
}

// says reports whether the note stands somewhere in the tree.
func (n *Node) says(note string) bool {
	if n.Note == note {
		return true
	}
	for _, o := range n.Operands {
		if o.says(note) {
			return true
		}
	}
	return false
}

func (p *printer) variable(v Variable) {
	n := v.Value
	fact := n.fact("variables." + v.Name)
	if fact == "" {
		fact = "variables." + v.Name
	} else if n.Note != "" {
		fact = "variables." + v.Name + ": " + fact
	}
	text := n.Expression
	if n.Outcome != Value {
		if facts := n.facts(); facts != "" && n.Note == "" {
			text += "   " + facts
		}
	}
	p.line(1, "%s %s   = %s", n.Outcome.mark(), fact, text)
	p.below(2, n)
}

// node writes a node and what is below it. label stands before the expression.
func (p *printer) node(depth int, label string, n *Node) {
	text := n.Expression
	switch n.Operator {
	case "&&":
		text = "all of"
	case "||":
		text = "any of"
	}
	if label != "" {
		text = label + " " + text
	}
	var note string
	if n.Elements != nil {
		note = n.Elements.say(n.Operator, n.Outcome)
		if n.Outcome == Value {
			note = "is " + n.Value + ", " + note
		}
		if n.Note != "" {
			note = n.Note
		}
	} else {
		note = n.facts()
	}
	if note != "" {
		text += "   " + note
	}
	p.line(depth, "%s %s", n.Outcome.mark(), text)
	p.below(depth+1, n)
}

// rank orders the parts of a condition: those that decide, those that have no
// value, the others.
func (n *Node) rank() int {
	switch {
	case n.Decides:
		return 0
	case n.Outcome == Missing, n.Outcome == Error:
		return 1
	}
	return 2
}

// below writes what a node consists of, the parts that decide first.
func (p *printer) below(depth int, n *Node) {
	parts := n.Operands
	if n.logical() {
		parts = slices.Clone(parts)
		slices.SortStableFunc(parts, func(a, b *Node) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	for _, o := range parts {
		if n.logical() || !o.simple() {
			p.node(depth, "", o)
		}
	}
	if n.Elements == nil {
		return
	}
	for i := range n.Elements.Shown {
		e := &n.Elements.Shown[i]
		p.node(depth, e.label(), e.Body)
	}
	if n.Elements.More > 0 {
		p.line(depth, "… and %d more", n.Elements.More)
	}
}

func (o Outcome) mark() string {
	switch o {
	case True, Holding:
		return markTrue
	case False:
		return markFalse
	case Missing:
		return markMissing
	case Error:
		return markError
	}
	return markOther
}
