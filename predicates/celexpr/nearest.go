package celexpr

// didYouMean returns "did you mean 'x'?" for the candidate nearest to name, or ""
// if none is near enough.
func didYouMean(name string, candidates []string) string {
	const longest = 64 // of a name that anybody would mistype
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", min(2+len(name)/3, len(name))
	for _, c := range candidates {
		if d := distance(name, c); c != name && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean '" + best + "'?"
}

// distance is the number of single-character edits between a and b, with a swap
// of neighbours as one.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	rows := make([][]int, len(ra)+1)
	for i := range rows {
		rows[i] = make([]int, len(rb)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(ra); i++ {
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(ra)][len(rb)]
}
