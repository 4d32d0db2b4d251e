package judge

import (
	"slices"
	"strings"

	"github.com/donewhen/donewhen/predicates/celexpr"
)

// hidden says why a text isn't there.
const hidden = "why is hidden, as it was computed from values that must not be shown"

// text evaluates a text of a rule. One that would show something hidden counts as
// one that can't be evaluated: the static text stands in for it.
func (p *pass) text(program *celexpr.Program) string {
	if program == nil {
		return ""
	}
	s, err := program.Text(p.ev)
	if err != nil || s == "" || program.Discloses(p.ev) {
		return ""
	}
	return s
}

// says is the text of an error, without what must not be shown.
func (p *pass) says(err *celexpr.Error) string {
	if err.Discloses(p.ev) {
		return err.Place(p.ev) + " can't be evaluated: " + hidden
	}
	return err.Error()
}

// lacks says what data an expression lacked. A key that the expression itself
// names may be shown, one that it computes from hidden values may not.
func (p *pass) lacks(err *celexpr.Error) string {
	place := err.Place(p.ev)
	computed := strings.Contains(place, "[…]") || !strings.Contains(place, ".") && !strings.Contains(place, "[")
	if computed && err.Discloses(p.ev) {
		return place + " (" + hidden + ")"
	}
	return err.Missing(p.ev)
}

// note remembers what data a rule lacked.
func (p *pass) note(err *celexpr.Error) {
	if text := p.lacks(err); !slices.Contains(p.missing, text) {
		p.missing = append(p.missing, text)
	}
}
