package enginemetrics

import (
	"sync"
	"sync/atomic"
)

// most is how many values a label takes before the rest is "other".
const most = 500

// bounded keeps a label's values few, whatever a user loads over time. The zero
// value is ready.
type bounded struct {
	known sync.Map // string → struct{}
	count atomic.Int64
}

// name returns the value to show for a name.
func (b *bounded) name(name string) string {
	if _, ok := b.known.Load(name); ok {
		return name
	}
	if b.count.Add(1) > most {
		b.count.Add(-1)
		return "other"
	}
	if _, again := b.known.LoadOrStore(name, struct{}{}); again {
		b.count.Add(-1)
	}
	return name
}
