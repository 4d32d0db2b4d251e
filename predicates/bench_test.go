package predicates

import (
	"fmt"
	"testing"
)

// BenchmarkLoad1000 loads 1,000 different predicates of one done and one failed
// rule; the second form reloads them with one changed.
func BenchmarkLoad1000(b *testing.B) {
	documents := make([]string, 1000)
	for i := range documents {
		documents[i] = predicate(fmt.Sprintf("p%d", i), fmt.Sprintf(`  done: |-
    object.status.state == 'S%d' && object.status.detail.volume_id != ''
  failed:
  - expression: object.status.state == 'F%d'
    reason: Failed
    messageExpression: object.status.error.message`, i, i))
	}
	l, err := NewLoader(catalogue())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.load([]Source{source("s", documents...)}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		set, err := l.load([]Source{source("s", documents...)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.load([]Source{source("s", documents...)}, set.compiled); err != nil {
				b.Fatal(err)
			}
		}
	})
}
