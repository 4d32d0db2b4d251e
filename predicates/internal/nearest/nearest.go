// Package nearest finds the name that somebody probably meant.
//
//	nearest.Name("Done", []string{"done", "failed"}) // "done"
package nearest

import (
	"slices"
	"strings"
)

// Name returns the candidate nearest to name, or "" if none is near: at most a
// third of the letters may differ, and one does in names of up to three. Case
// counts for nothing, ties go to the first in sorted order.
func Name(name string, candidates []string) string {
	if len(name) > 100 {
		return ""
	}
	best, bestDistance := "", limit(name)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := Distance(strings.ToLower(name), strings.ToLower(c), bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Hint returns "did you mean "x"?", or else what there is to choose from: "known
// things: a, b, c", cut after ten.
func Hint(name, things string, candidates []string) string {
	if n := Name(name, candidates); n != "" {
		return "did you mean \"" + n + "\"?"
	}
	if len(candidates) == 0 {
		return "there are no " + things
	}
	sorted := slices.Sorted(slices.Values(candidates))
	end := ""
	if len(sorted) > 10 {
		sorted, end = sorted[:10], ", …"
	}
	return things + ": " + strings.Join(sorted, ", ") + end
}

func limit(name string) int {
	if len(name) <= 3 {
		return 1
	}
	return min(len(name)/3, 5)
}

// Distance is the number of single insertions, deletions, substitutions and
// swaps of neighbours between a and b, or atLeast if it is that or more.
func Distance(a, b string, atLeast int) int {
	if len(a)-len(b) >= atLeast || len(b)-len(a) >= atLeast {
		return atLeast
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		lowest := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			lowest = min(lowest, row[j])
		}
		if lowest >= atLeast {
			return atLeast
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
