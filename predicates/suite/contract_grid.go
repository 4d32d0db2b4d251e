package suite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// maxGrid bounds the combinations of a grid.
const maxGrid = 100_000

// buildGrid takes rows in which every three changes of three axes come together.
// Tables are for what people know; a grid leaves no gap between them for a predicate
// that is wrong about a combination.
func (b *contractBuilder) buildGrid(c contractCaseDocument, named map[string]axis, base check) {
	at := append(slices.Clip(base.at), "grid")
	if c.Is == nil || !slices.Contains(standings, c.Is.Standing) || c.Is.Usually != nil {
		b.fail(append(slices.Clip(base.at), "is"), "one of the standings", "a grid says how the operation stands, and nothing of what is usual")
		return
	}
	if base.presence != engine.Present {
		b.fail(at, "", "a grid changes an object")
		return
	}
	axes, sizes, all := make([]axis, len(c.Grid)), make([]int, len(c.Grid)), 1
	names := make([][]string, len(c.Grid))
	for i, written := range c.Grid {
		var ok bool
		if axes[i], ok = b.axis(written, named, append(slices.Clip(at), i)); !ok {
			return
		}
		if err := checkAxis(base.object, axes[i]); err != nil {
			b.fail(append(slices.Clip(at), i), "", "%v", err)
			return
		}
		names[i] = slices.Sorted(maps.Keys(axes[i]))
		sizes[i] = len(names[i])
		if all *= sizes[i]; all == 0 || all > maxGrid {
			b.fail(at, "", "the grid has %d combinations, at most %d are allowed", all, maxGrid)
			return
		}
	}
	for _, combination := range covering(sizes) {
		row, label := base, []string{}
		for i, j := range combination {
			name := names[i][j]
			if name != "" {
				label = append(label, name)
			}
			row.object, _ = merge(row.object, axes[i][name]).(map[string]any)
		}
		row.name = base.name + "/" + strings.Join(label, ", ")
		if b.names[row.name] {
			b.fail(at, "", "there are two rows %q", row.name)
			return
		}
		b.names[row.name] = true
		b.beside = append(b.beside, contractRow{check: row, is: standing(c.Is.Standing), because: c.Is.Because, beside: true})
	}
}

// checkAxis puts the changes into their JSON form, and looks at what each of them
// makes of the object.
func checkAxis(object map[string]any, a axis) error {
	for name, written := range a {
		fields, err := jsonForm(written)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		a[name] = fields
		changed, _ := merge(object, fields).(map[string]any)
		if err := checkObject(changed); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// axis returns an axis of a grid: one of the contract's by its name, or written out.
func (b *contractBuilder) axis(written any, named map[string]axis, at []any) (axis, bool) {
	switch w := written.(type) {
	case string:
		a, ok := named[w]
		if !ok {
			b.fail(at, nearest.Hint(w, "axes", slices.Collect(maps.Keys(named))), "axis %q isn't known", w)
		}
		return a, ok
	case map[string]any:
		a := axis{}
		for name, merge := range w {
			fields, ok := merge.(map[string]any)
			if !ok {
				b.fail(append(slices.Clip(at), name), "{} changes nothing", "it merges %v, which is no object", merge)
				return nil, false
			}
			a[name] = fields
		}
		return a, true
	}
	b.fail(at, "the name of one of spec.axes, or changes by their names", "an axis isn't %s", fmt.Sprintf("%T", written))
	return nil, false
}
