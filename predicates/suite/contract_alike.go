package suite

import (
	"slices"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// buildAlike checks what is to change nothing in any row.
func (b *contractBuilder) buildAlike(list []alikeDocument) {
	for i, alike := range list {
		at := []any{"spec", "alike", i}
		if alike.Name == "" || len(alike.Merge) == 0 {
			b.fail(at, "", "it has no name, or merges nothing")
			continue
		}
		for j, standing := range alike.Standings {
			if !slices.Contains(standings, standing) {
				b.fail(append(slices.Clip(at), "standings", j), nearest.Hint(standing, "standings", standings), "standing %q isn't known", standing)
			}
		}
		b.alike = append(b.alike, alike)
	}
}

// rowsAlike takes a row once more with each change that changes nothing. Rows are
// single observations, and a predicate that is wrong about others than these would
// pass: so what may lie beside any of them is written once.
func (b *contractBuilder) rowsAlike(c check, is *standingDocument) {
	if c.presence != engine.Present {
		return
	}
	for i, alike := range b.alike {
		if len(alike.Standings) > 0 && !slices.Contains(alike.Standings, is.Standing) {
			continue
		}
		object, err := change(c.object, alike.Merge)
		if err != nil {
			b.fail([]any{"spec", "alike", i, "merge"}, "", "%v", err)
			continue
		}
		r := c
		r.object, r.name = object, c.name+", "+alike.Name
		row := contractRow{check: r, is: standing(is.Standing), because: alike.Because, beside: true}
		if alike.Because == "" {
			row.because = is.Because
		}
		b.beside = append(b.beside, row)
	}
}
