package celexpr

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/donewhen/donewhen/predicates/explain"
	"github.com/donewhen/donewhen/predicates/internal/redact"
)

// Explainer explains programs on one object. It is for one goroutine, and ends
// with its evaluation.
type Explainer struct {
	ev    *Evaluation
	veil  *veil
	used  []bool // variables
	nodes int
}

// maxNodes bounds one explanation.
const maxNodes = 2000

// Explainer returns an explainer for the programs of the evaluation's environment.
// It stays within the evaluation's deadline, which begins to run now if it hasn't.
func (ev *Evaluation) Explainer() *Explainer {
	return &Explainer{
		ev: ev, veil: newVeil(&ev.env.redaction, ev.json()),
		used: make([]bool, len(ev.env.variables)),
	}
}

// Explain returns what each part of the program is. It always returns a node; what
// keeps an expression from being explained is its note.
func (x *Explainer) Explain(p *Program) *explain.Node {
	second, err := p.second()
	if err != nil {
		return &explain.Node{Expression: shortened(p.source, maxExpression), Outcome: explain.Error, Note: err.Error()}
	}
	r, err := second.run(x.ev.bounded(), (*activation)(x.ev))
	if r == nil {
		return &explain.Node{Expression: second.root.text, Outcome: explain.Error, Note: err.Error()}
	}
	root := r.stack[0]
	n := x.node(second.root, root.values, root.loops)
	if err != nil {
		n.Outcome, n.Note = explain.Error, err.Error()
	}
	return n
}

// Variables explains the variables that were used by what was explained, and those
// that they use, in the order of their declaration.
func (x *Explainer) Variables() []explain.Variable {
	var out []explain.Variable
	for i := len(x.used) - 1; i >= 0; i-- { // each sees the ones before it
		v := x.ev.env.variables[i]
		if x.used[i] && v.program != nil {
			out = append(out, explain.Variable{Name: v.name, Value: x.Explain(v.program)})
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// Params returns the params' values, the sensitive ones hidden.
func (x *Explainer) Params() []explain.Param {
	var out []explain.Param
	for i, p := range x.ev.env.params {
		value := redact.Mark
		if !x.ev.env.redaction.sensitive[p.name] {
			value = valueText(x.ev.params.values[i], nil)
		}
		out = append(out, explain.Param{Name: p.name, Value: value})
	}
	return out
}

// node says what a piece is, with the values of one frame.
func (x *Explainer) node(p *piece, values []ref.Val, loops map[int]*looped) *explain.Node {
	n := &explain.Node{Expression: p.text, Operator: p.operator}
	if x.nodes++; x.nodes > maxNodes {
		n.Outcome, n.Note = explain.Skipped, "more than can be shown"
		return n
	}
	if p.variable > 0 {
		x.used[p.variable-1] = true
	}
	if p.loop != nil {
		x.loop(n, p, values, loops)
	} else {
		x.operands(n, p, values, loops)
	}
	x.outcome(n, p, values[p.place.slot])
	decide(n)
	return n
}

func (x *Explainer) operands(n *explain.Node, p *piece, values []ref.Val, loops map[int]*looped) {
	if len(p.operands) == 0 {
		return
	}
	n.Operands = make([]*explain.Node, 0, len(p.operands))
	for i, o := range p.operands {
		if p.operator == "?:" && len(p.operands) == 3 && i > 0 {
			// The branch that wasn't taken says nothing.
			if condition := values[p.operands[0].place.slot]; i == 1 && condition != types.True || i == 2 && condition != types.False {
				continue
			}
		}
		if !o.literal {
			n.Operands = append(n.Operands, x.node(o, values, loops))
		}
	}
}

// outcome fills in what the piece's value is.
func (x *Explainer) outcome(n *explain.Node, p *piece, v ref.Val) {
	switch value := v.(type) {
	case nil:
		n.Outcome = explain.Skipped
		return
	case *types.Err:
		x.failed(n, p, value)
		return
	case types.Bool:
		if !p.boolean && x.veil.covers(&p.flow) {
			n.Outcome, n.Value = explain.Value, redact.Mark
			return
		}
		n.Outcome = explain.False
		if value {
			n.Outcome = explain.True
		}
		switch {
		case p.operator == "has" && !bool(value):
			n.Note = x.absence(&p.tests)
		case p.conditionType != "":
			n.Note = x.condition(p)
		}
		return
	}
	n.Outcome = explain.Value
	if p.conditionType != "" && p.operator == "" {
		if c := x.find(p.conditionType); !c.present {
			n.Note = "the condition is absent"
		}
	}
	if x.veil.covers(&p.flow) {
		n.Value = redact.Mark
		return
	}
	n.Value = valueText(v, x.veil.cursors(&p.flow))
}

// failed says why a piece has no value; where a part of it has none, the reason
// stands there.
func (x *Explainer) failed(n *explain.Node, p *piece, err *types.Err) {
	failure := newError(x.ev.ctx, x.ev, nil, err)
	n.Outcome = explain.Error
	if failure.Kind == MissingData {
		n.Outcome = explain.Missing
	}
	for _, o := range n.Operands {
		if o.Outcome == explain.Missing || o.Outcome == explain.Error {
			return
		}
	}
	if n.Elements != nil && n.Elements.Failed > 0 {
		return
	}
	if failure.Kind == MissingData {
		f := &p.flow
		if p.operator == "has" {
			f = &p.tests
		}
		if n.Note = x.absence(f); n.Note != "" {
			return
		}
	}
	n.Note = failure.Error()
	if x.veil.touches(&p.reads) {
		n.Note = "can't be evaluated; why is hidden"
		if failure.Kind == MissingData {
			n.Note = "data is missing; which is hidden"
		}
	}
}

// absence names the first thing that isn't there on the way to the one place that
// a value comes from: `object.status has no 'detail'`.
func (x *Explainer) absence(f *flow) string {
	if len(f.direct) != 1 || f.secret {
		return ""
	}
	at := x.firstAbsent(f.direct[0])
	if at == nil || at.parent == nil {
		return ""
	}
	spots, ok := x.veil.spots(at.parent)
	if !ok || len(spots) != 1 || at.kind == trailAny {
		return ""
	}
	parent := at.parent.String()
	if x.veil.hides(at.parent) {
		if at.kind == trailKey {
			return parent + " has no '" + at.key + "'"
		}
		return ""
	}
	switch value := spots[0].value.(type) {
	case nil:
		return parent + " is null"
	case []any:
		if at.kind == trailIndex {
			return parent + " has " + counted(len(value), "element")
		}
		return parent + " is a list"
	case map[string]any:
		var keys []string
		for key := range value {
			if len(keys) < maxNodes {
				keys = append(keys, key)
			}
		}
		text := parent + " has no '" + at.key + "'"
		if hint := didYouMean(at.key, keys); hint != "" {
			text += "; " + hint
		}
		return text
	}
	return parent + " is no object"
}

// firstAbsent returns the first place on a trail that isn't there; nil if all are.
func (x *Explainer) firstAbsent(t *trail) *trail {
	if t.parent == nil {
		return nil
	}
	if before := x.firstAbsent(t.parent); before != nil {
		return before
	}
	spots, ok := x.veil.spots(t)
	if !ok || len(spots) != 1 || spots[0].exists {
		return nil
	}
	return t
}

// find reads a condition of the object.
func (x *Explainer) find(conditionType string) condition {
	return findCondition(types.DefaultTypeAdapter.NativeToValue(x.ev.json()), conditionType)
}

// condition says what isTrue() found, or a bool of condition() is about.
func (x *Explainer) condition(p *piece) string {
	c := x.find(p.conditionType)
	if !c.present {
		return "the condition is absent"
	}
	if x.veil.touches(&p.flow) {
		return ""
	}
	text := "status is " + valueText(c.status, nil)
	if c.reason != "" {
		text += ", reason is " + valueText(c.reason, nil)
	}
	if !c.current {
		text += ", about an older generation"
	}
	return text
}

// loop says what a macro found, element by element.
func (x *Explainer) loop(n *explain.Node, p *piece, values []ref.Val, loops map[int]*looped) {
	l := p.loop
	over := x.node(l.over, values, loops)
	if !l.over.literal && over.Outcome != explain.Skipped && (over.Outcome != explain.Value || len(over.Operands) > 0 || over.Elements != nil) {
		n.Operands = append(n.Operands, over)
	}
	switch values[l.over.place.slot].(type) {
	case traits.Lister, traits.Mapper:
	default:
		return // there is nothing to go over
	}
	n.Elements = &explain.Elements{}
	if x.veil.covers(&l.over.flow) || l.condition != nil && x.veil.covers(&l.condition.flow) || l.result != nil && x.veil.covers(&l.result.flow) {
		n.Elements.Hidden = true
		return
	}
	record := loops[l.scope]
	if record == nil {
		return
	}
	e := n.Elements
	e.Count, e.True, e.False, e.Failed = record.count, record.counts[classTrue], record.counts[classFalse], record.counts[classFailed]
	decided := 0
	for _, class := range deciding(p.operator, values[p.place.slot], record) {
		decided += record.counts[class]
		for i := range record.kept[class] {
			if len(e.Shown) == maxKeptOf {
				break
			}
			e.Shown = append(e.Shown, x.element(l, &record.kept[class][i], class, record.keyed))
		}
	}
	e.More = decided - len(e.Shown)
}

// deciding returns which elements made the loop's value what it is.
func deciding(operator string, v ref.Val, record *looped) []int {
	switch {
	case operator == "all" && v == types.False:
		return []int{classFalse}
	case operator == "exists" && v == types.True, operator == "all" && v == types.True:
		return []int{classTrue}
	case types.IsError(v):
		return []int{classFailed}
	case operator == "exists":
		return []int{classFailed, classFalse}
	case record.counts[classTrue] > 0:
		return []int{classTrue}
	}
	return []int{classFalse}
}

func (x *Explainer) element(l *macroLoop, e *element, class int, keyed bool) explain.Element {
	body := l.condition
	if l.result != nil && class == classTrue {
		body = l.result
	}
	out := explain.Element{Body: x.node(body, e.values, e.loops)}
	if keyed {
		out.Key = shortened(e.key, maxString)
		if l.hasKey && x.veil.covers(&l.elements) {
			out.Key = redact.Mark
		}
	} else {
		out.Index = &e.index
	}
	return out
}

// decide marks the operands that make the node what it is.
func decide(n *explain.Node) {
	want := n.Outcome
	switch n.Operator {
	case "?:", "!":
		for _, o := range n.Operands {
			o.Decides = true
		}
		return
	case "&&", "||":
	default:
		return
	}
	for _, o := range n.Operands {
		switch want {
		case explain.Missing, explain.Error:
			o.Decides = o.Outcome == explain.Missing || o.Outcome == explain.Error
		default:
			o.Decides = o.Outcome == want
		}
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strings.Join([]string{valueText(int64(n), nil), what + "s"}, " ")
}

// Spent returns what the evaluation has cost so far, in CEL's units: of programs
// that count it.
func (ev *Evaluation) Spent() uint64 { return ev.spent }

// Counted is Spent with what texts have cost, which have a budget of their own.
func (ev *Evaluation) Counted() uint64 { return ev.spent + ev.texts.spent }

// Shortened cuts a text to about n bytes, on whole characters, and says how long it
// was.
func Shortened(s string, n int) string { return shortened(s, n) }
