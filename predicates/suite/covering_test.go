package suite

import (
	"fmt"
	"slices"
	"testing"
)

// Every three values of three axes come together, in a part of all combinations.
func TestCovering(t *testing.T) {
	for _, row := range []struct {
		sizes  []int
		atMost int
	}{
		{nil, 1},
		{[]int{3}, 3},
		{[]int{3, 4}, 12},
		{[]int{3, 4, 2}, 24},
		{[]int{2, 2, 2, 2, 2, 2, 2}, 24},
		{[]int{7, 4, 2, 2, 2, 6}, 250},
		{[]int{1, 1, 1, 1}, 1},
		{[]int{8, 8, 8, 8}, 900},
	} {
		chosen := covering(row.sizes)
		if len(chosen) > row.atMost {
			t.Errorf("%v: %d combinations, want %d at most", row.sizes, len(chosen), row.atMost)
		}
		seen, want := map[string]bool{}, 0
		for i := range row.sizes {
			for j := range i {
				for k := range j {
					want += row.sizes[i] * row.sizes[j] * row.sizes[k]
					for _, c := range chosen {
						seen[fmt.Sprint(i, j, k, c[i], c[j], c[k])] = true
					}
				}
			}
		}
		if len(seen) != want {
			t.Errorf("%v: %d triples, want %d", row.sizes, len(seen), want)
		}
		if again := covering(row.sizes); !slices.EqualFunc(chosen, again, slices.Equal) {
			t.Errorf("%v: another choice the second time", row.sizes)
		}
	}
}
