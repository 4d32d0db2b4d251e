package celexpr

import "github.com/donewhen/donewhen/predicates/internal/redact"

// redaction is what an environment's expressions must not show.
type redaction struct {
	policy    *redact.Policy
	sensitive map[string]bool // params
}

// WithRedaction hides the policy's places of the object, and the sensitive params,
// in all that explains a value. Without it nothing is hidden.
func WithRedaction(policy *redact.Policy, sensitive ...string) Option {
	return func(o *options) {
		o.redaction = redaction{policy: policy, sensitive: map[string]bool{}}
		for _, name := range sensitive {
			o.redaction.sensitive[name] = true
		}
	}
}

// on reports whether anything may be hidden at all.
func (r *redaction) on() bool { return r.policy != nil || len(r.sensitive) > 0 }

// maxLookedAt bounds how much of an object is searched for hidden values.
const maxLookedAt = 200_000

// veil finds out what of one object must not be shown.
type veil struct {
	redaction *redaction
	object    any // in JSON form
	budget    int
	// known are answers for places, as the same ones come up again and again.
	hiddenAt, holdsAt map[*trail]bool
}

func newVeil(r *redaction, object any) *veil {
	return &veil{redaction: r, object: object, budget: maxLookedAt, hiddenAt: map[*trail]bool{}, holdsAt: map[*trail]bool{}}
}

// spot is a value in the object with its cursor.
type spot struct {
	value  any
	exists bool
	cursor redact.Cursor
}

// maxSpots bounds how many places one trail is followed to.
const maxSpots = 20_000

// spots follows a trail to the places that it may lead to. ok is false if they
// are too many.
func (v *veil) spots(t *trail) (spots []spot, ok bool) {
	if t.kind == trailRoot {
		return []spot{{value: v.object, exists: true, cursor: v.redaction.policy.Object(v.object)}}, true
	}
	from, ok := v.spots(t.parent)
	if !ok {
		return nil, false
	}
	for _, s := range from {
		switch t.kind {
		case trailKey:
			next, exists := step(s.value, t.key)
			spots = append(spots, spot{next, exists, s.cursor.Child(s.value, t.key)})
		case trailIndex:
			next, exists := step(s.value, int64(t.index))
			spots = append(spots, spot{next, exists, s.cursor})
		case trailAny:
			switch value := s.value.(type) {
			case []any:
				for _, next := range value {
					spots = append(spots, spot{next, true, s.cursor})
				}
			case map[string]any:
				for key, next := range value {
					spots = append(spots, spot{next, true, s.cursor.Child(value, key)})
				}
			default:
				spots = append(spots, spot{nil, false, s.cursor.Any()})
			}
		}
		if len(spots) > maxSpots {
			return nil, false
		}
	}
	return spots, true
}

// hides reports whether the place itself is hidden.
func (v *veil) hides(t *trail) bool {
	if known, ok := v.hiddenAt[t]; ok {
		return known
	}
	spots, ok := v.spots(t)
	hidden := !ok
	for _, s := range spots {
		hidden = hidden || s.cursor.Hidden()
	}
	v.hiddenAt[t] = hidden
	return hidden
}

// holds reports whether anything at the place is hidden.
func (v *veil) holds(t *trail) bool {
	if known, ok := v.holdsAt[t]; ok {
		return known
	}
	spots, ok := v.spots(t)
	holds := !ok
	for _, s := range spots {
		if holds {
			break
		}
		holds = s.cursor.Hidden() || s.exists && s.cursor.Contains(s.value, &v.budget)
	}
	v.holdsAt[t] = holds
	return holds
}

// covers reports whether a value of that flow must not be shown at all.
func (v *veil) covers(f *flow) bool {
	if !v.redaction.on() {
		return false
	}
	if f.secret || v.object == nil { // what can't be looked at may have anything in it
		return true
	}
	for _, t := range f.derived {
		if v.holds(t) {
			return true
		}
	}
	for _, list := range [...][]*trail{f.direct, f.shape} {
		for _, t := range list {
			if v.hides(t) {
				return true
			}
		}
	}
	return false
}

// touches reports whether anything of that flow is hidden: then nothing computed
// from it may be shown.
func (v *veil) touches(f *flow) bool {
	if !v.redaction.on() {
		return false
	}
	if v.covers(f) {
		return true
	}
	for _, t := range f.direct {
		if v.holds(t) {
			return true
		}
	}
	return false
}

// cursors are those that a value of the flow is shown with.
func (v *veil) cursors(f *flow) []redact.Cursor {
	if !v.redaction.on() {
		return nil
	}
	var cursors []redact.Cursor
	for _, t := range f.direct {
		spots, _ := v.spots(t)
		for i, s := range spots {
			if i == maxCursors {
				break
			}
			cursors = append(cursors, s.cursor)
		}
	}
	return cursors
}

// maxCursors is enough: elements of one list have equal cursors.
const maxCursors = 8

// Discloses reports whether a text that the program gives would show something
// hidden. The value of the expression decides: whatever it is computed from.
func (p *Program) Discloses(ev *Evaluation) bool {
	if !ev.env.redaction.on() {
		return false
	}
	f := p.flow()
	return newVeil(&ev.env.redaction, ev.json()).touches(&f)
}

// Discloses reports whether the error's text could show something hidden: the
// values that an expression works on are in some texts.
func (e *Error) Discloses(ev *Evaluation) bool {
	if !ev.env.redaction.on() || e.program == nil || e.Kind == LimitExceeded {
		return false
	}
	reads := e.program.reads(e.node)
	return newVeil(&ev.env.redaction, ev.json()).touches(&reads)
}

// Place returns what the error is about without the values that are in its text:
// the variable that failed, and the path, as far as the expression names it.
func (e *Error) Place(ev *Evaluation) string {
	if path := e.path(ev); path != "" {
		return path
	}
	if e.program != nil && e.program.variable != "" {
		return rootVariables + "." + e.program.variable
	}
	return "the expression"
}

// json returns the object in JSON form.
func (ev *Evaluation) json() any {
	if !ev.typed {
		return ev.object
	}
	object, err := ev.root.v.Any()
	if err != nil {
		return nil // then the expressions that read it say so
	}
	return object
}
