package celexpr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/donewhen/donewhen/predicates/internal/jsonform"
)

// pathRoot is where a path begins.
type pathRoot uint8

const (
	rootedInObject pathRoot = iota
	rootedInParam
	rootedInVariable
	rootedInLocal // a loop's variable
)

// path is object.a.b, params.x, variables.x['y'], c.type or the like, also with
// optional parts, and has() of such.
type path struct {
	program *Program
	root    pathRoot
	slot    int // of a param, variable or local
	parts   []pathPart
	// names are the parts before the first index, to be followed at once.
	names *jsonform.Path
	lead  int // how many those are
	// optional is the number of the first part that needn't be there; the ones
	// behind it needn't either. It is len(parts) if all must be.
	optional int
	presence bool // the path is that of has()
	inLoop   bool // within a loop's body
	node     int64
}

// pathPart is a field's name or an element's number.
type pathPart struct {
	name    string
	index   int
	isIndex bool
	// missing is the error if this part isn't there.
	missing *Error
}

func (p *path) isOptional() bool { return p.optional < len(p.parts) }

// path fuses a path, or returns nil.
func (f *fuser) path(e ast.Expr) *path {
	p := &path{program: f.program, node: e.ID(), inLoop: len(f.locals) > 0}
	optional := []bool{}
	if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
		p.presence = true
	}
	for at := e; ; {
		next, part, isOptional, ok := pathStep(at)
		if !ok || at != e && at.Kind() == ast.SelectKind && at.AsSelect().IsTestOnly() {
			return nil
		}
		if next == nil {
			if !f.begin(p, at) {
				return nil
			}
			break
		}
		p.parts = append(p.parts, part)
		optional = append(optional, isOptional)
		at = next
	}
	slices.Reverse(p.parts)
	slices.Reverse(optional)
	p.optional = len(p.parts)
	if i := slices.Index(optional, true); i >= 0 {
		p.optional = i
	}
	if p.presence && p.isOptional() {
		return nil
	}
	p.prepare()
	return p
}

// pathStep takes the last part off a path; next is nil at its root.
func pathStep(e ast.Expr) (next ast.Expr, part pathPart, optional, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, part, false, true
	case ast.SelectKind:
		return e.AsSelect().Operand(), pathPart{name: e.AsSelect().FieldName()}, false, true
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.OptIndex:
			optional = true
		case operators.Index:
		default:
			return nil, part, false, false
		}
		if len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, part, false, false
		}
		switch key := call.Args()[1].AsLiteral().(type) {
		case types.String:
			return call.Args()[0], pathPart{name: string(key)}, optional, true
		case types.Int:
			if key >= 0 && key < 1<<31 {
				return call.Args()[0], pathPart{index: int(key), isIndex: true}, optional, true
			}
		}
	}
	return nil, part, false, false
}

// begin finds the root of a path.
func (f *fuser) begin(p *path, ident ast.Expr) bool {
	name := ident.AsIdent()
	if i := slices.Index(f.locals, name); i >= 0 {
		p.root, p.slot = rootedInLocal, i
		return slices.Index(f.locals[i+1:], name) < 0 // it hides none
	}
	if strings.HasPrefix(name, ".") {
		return false
	}
	if name == rootObject {
		return true
	}
	s, ok := f.program.env.slots[name]
	if !ok {
		return false
	}
	p.root, p.slot = rootedInParam, s.index
	if s.kind == slotVariable {
		p.root = rootedInVariable
		return f.program.env.variables[s.index].program != nil
	}
	return true
}

// prepare makes what following the path needs.
func (p *path) prepare() {
	var names []string
	for i := range p.parts {
		part := &p.parts[i]
		if !part.isIndex && len(names) == i {
			names = append(names, part.name)
		}
		message := "no such key: " + part.name
		if part.isIndex {
			message = "no such element: " + strconv.Itoa(part.index)
		}
		part.missing = &Error{Kind: MissingData, Message: message, program: p.program, node: p.node}
	}
	p.names, p.lead = jsonform.NewPath(names...), len(names)
}

// fusedValue is a value on a path: a decoded JSON value, or one of a typed object.
type fusedValue struct {
	native any
	view   jsonform.Value
	typed  bool
}

// find follows the path. The outcome is yes if all of it is there, no if an optional
// part isn't, or the last one of has(); else fault or unsure.
func (p *path) find(ev *Evaluation, at *fusedValue) (outcome, *Error) {
	missing, known := -1, true
	switch {
	case p.root == rootedInObject && ev.typed:
		missing, known = p.findTyped(&ev.root.v, at)
	case p.root == rootedInObject:
		at.native, missing, known = p.findNative(ev.object)
	case p.root == rootedInLocal && ev.locals[p.slot].typed:
		missing, known = p.findTyped(&ev.locals[p.slot].view, at)
	case p.root == rootedInLocal:
		at.native, missing, known = p.findNative(ev.locals[p.slot].native)
	default:
		begin := p.beginValue
		if p.root == rootedInVariable {
			begin = p.beginVariable
		}
		var from fusedValue
		if result, err := begin(ev, &from); result != yes {
			return result, err
		}
		if from.typed {
			missing, known = p.findTyped(&from.view, at)
		} else {
			at.native, missing, known = p.findNative(from.native)
		}
	}
	return p.outcome(missing, known)
}

// outcome is what became of the path whose part of that number is missing.
func (p *path) outcome(missing int, known bool) (outcome, *Error) {
	switch {
	case !known:
		return unsure, nil
	case missing < 0:
		return yes, nil
	case missing >= p.optional, p.presence && missing == len(p.parts)-1:
		return no, nil
	}
	return fault, p.parts[missing].missing
}

// findNative follows the path through decoded JSON; missing is the number of the
// part that isn't there, or -1. It doesn't know what cel-go has its own rules for.
func (p *path) findNative(v any) (found any, missing int, known bool) {
	for i := range p.parts {
		part := &p.parts[i]
		switch container := v.(type) {
		case map[string]any:
			if part.isIndex {
				return nil, 0, false
			}
			next, ok := container[part.name]
			if !ok {
				return nil, i, true
			}
			v = next
		case []any:
			if !part.isIndex {
				return nil, 0, false
			}
			if part.index >= len(container) {
				return nil, i, true
			}
			v = container[part.index]
		case nil, string, int64, bool, float64:
			return nil, i, !part.isIndex
		default:
			return nil, 0, false
		}
	}
	return v, -1, true
}

// findTyped does the same through a typed object.
func (p *path) findTyped(from *jsonform.Value, at *fusedValue) (missing int, known bool) {
	at.typed = true
	if missing = p.names.FindIn(from, &at.view); missing >= 0 {
		kind := at.view.Kind()
		return missing, kind != jsonform.List && kind != jsonform.Invalid
	}
	for i := p.lead; i < len(p.parts); i++ {
		part := &p.parts[i]
		switch kind := at.view.Kind(); {
		case kind == jsonform.List && part.isIndex:
			next := at.view.Index(part.index)
			if next.Kind() == jsonform.Absent {
				return i, true
			}
			at.view = next
		case kind == jsonform.List || kind == jsonform.Invalid || part.isIndex:
			return 0, false
		default:
			next := at.view.Field(part.name)
			if next.Kind() == jsonform.Absent {
				return i, true
			}
			at.view = next
		}
	}
	return -1, at.view.Kind() != jsonform.Invalid
}

// operand implements source. In a loop, long texts count: reading them again and
// again takes long, whatever is done with them.
func (p *path) operand(ev *Evaluation) (operand, outcome, *Error) {
	o, result, err := p.read(ev)
	if p.inLoop && len(o.text) > shortText && !ev.affords(uint64(len(o.text))/charactersPerUnit) {
		return operand{}, unsure, nil
	}
	return o, result, err
}

// shortText is how long texts are that don't count.
const shortText = 256

func (p *path) read(ev *Evaluation) (operand, outcome, *Error) {
	if len(p.parts) == 0 && (p.root == rootedInParam || p.root == rootedInVariable) {
		if p.root == rootedInVariable {
			if o, result, err := p.variable(ev); result != unsure {
				return o, result, err
			}
		}
		v, result, err := p.value(ev)
		if result != yes {
			return operand{}, result, err
		}
		return valueOperand(v), yes, nil
	}
	if p.root == rootedInVariable && len(p.parts) == 1 {
		v, result, err := p.value(ev)
		if result != yes {
			return operand{}, result, err
		}
		if c, ok := v.(*condition); ok {
			return c.operand(p.parts[0].name)
		}
	}
	if p.root == rootedInObject && !ev.typed {
		v, missing, known := p.findNative(ev.object)
		switch {
		case !known:
			return operand{}, unsure, nil
		case missing >= 0 && missing < p.optional:
			return operand{}, fault, p.parts[missing].missing
		case missing >= 0:
			return operand{}, no, nil
		}
		return nativeOperand(v), yes, nil
	}
	return p.elsewhere(ev)
}

// elsewhere is operand, of what isn't in an unstructured object.
func (p *path) elsewhere(ev *Evaluation) (operand, outcome, *Error) {
	var at fusedValue
	result, err := p.find(ev, &at)
	if result != yes {
		return operand{}, result, err
	}
	return at.operand(), yes, nil
}

// length is the number of a list's elements, 0 of others.
func (s *fusedValue) length() int {
	if s.typed {
		if s.view.Kind() == jsonform.List {
			return s.view.Len()
		}
		return 0
	}
	l, _ := s.native.([]any)
	return len(l)
}

// size is the number of a list's elements or a map's entries.
func (s *fusedValue) size() int {
	if s.typed {
		return s.view.Len()
	}
	if m, ok := s.native.(map[string]any); ok {
		return len(m)
	}
	return s.length()
}

func (s *fusedValue) operand() operand {
	if s.typed {
		return viewOperand(&s.view)
	}
	return nativeOperand(s.native)
}
