package predicates

import "testing"

// BenchmarkLoad1000 loads 1,000 different predicates of one done and one failed
// rule; the second form reloads them with one changed.
func BenchmarkLoad1000(b *testing.B) {
	documents := thousand()
	l, err := NewLoader(catalogue())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.load([]Source{documents}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		set, err := l.load([]Source{documents}, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := l.load([]Source{documents}, set.compiled); err != nil {
				b.Fatal(err)
			}
		}
	})
}
