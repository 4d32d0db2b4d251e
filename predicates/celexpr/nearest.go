package celexpr

import "github.com/donewhen/donewhen/predicates/internal/nearest"

// didYouMean returns "did you mean 'x'?" for the candidate nearest to name, or ""
// if none is near enough.
func didYouMean(name string, candidates []string) string {
	const longest = 64 // of a name that anybody would mistype
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", min(2+len(name)/3, len(name))
	for _, c := range candidates {
		if d := nearest.Distance(name, c, bestDistance); c != name && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean '" + best + "'?"
}
