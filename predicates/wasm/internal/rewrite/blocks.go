package rewrite

// Into how many blocks the engine divides what is in a function, about.
const (
	blocksOfBlock  = 2 // its content, and what follows
	blocksOfCheck  = 2 // of a meter: the trap, and what follows
	blocksOfLength = 5 // a check, and a loop of the engine's own
)

// maxSquares bounds the sum of the squares of the numbers of blocks of all functions.
// That is how long the engine compiles, as for each block it goes through all that come
// before it: ten seconds at most, while nothing can stop it. Without a bound 64 KiB of
// empty loops took minutes. A Go program of 1.9 MB has 40 million, and 1,545 blocks in
// its largest function; a single function may have 23,000.
const maxSquares = 1 << 29

// divide counts the function's blocks, and what meets where they join.
func (r *rewriter) divide(c *coder, index int, f *function) {
	n := f.blocks + blocksOfCheck*uint64(len(f.regions))
	r.join(c, index, f, n)
	if r.squares += n * n; r.squares > maxSquares {
		c.fail("too much to compile: function %d has about %d blocks, loops and branches, beside what those before it have; split large functions", len(r.imported)+index, n)
	}
}
