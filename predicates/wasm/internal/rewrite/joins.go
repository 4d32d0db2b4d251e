package rewrite

// joins is what is known of the values that meet where a function's branches join.
type joins struct {
	locals map[uint32]struct{} // that are read
	values uint64              // the most that a block takes and gives
	depth  uint64              // how many loops are in each other at most
}

// read notes that a local is read: the engine makes values meet for no others.
func (j *joins) read(local uint32) {
	if j.locals == nil {
		j.locals = map[uint32]struct{}{}
	}
	j.locals[local] = struct{}{}
}

// ownValues are what meets beside the guest's values: the engine's own, and the
// meter's.
const ownValues = 8

// count is how many values meet at most.
func (j *joins) count() uint64 { return uint64(len(j.locals)) + j.values + ownValues }

// work is how many steps the engine takes at most, about, to find which of the values
// that meet are the same. For each that meets where a branch goes it looks at all others
// there. It begins anew until nothing changes, which takes once for each loop that is in
// another: what is known of a loop is found in the one around it the next time.
func (j *joins) work(branches uint64) uint64 {
	n := j.count()
	return branches * n * n * (j.depth + 2)
}

// maxJoined bounds the sum of the work of all functions: six seconds of compiling at
// most, while nothing can stop it. Without a bound 4 KiB with 250 locals in 250 loops took
// eight seconds, and twice of both more than a minute. A Go program of 3 MB has 178
// million; the largest function seen, of Haskell's runtime, has nine.
const maxJoined = 1 << 31

// maxWalked bounds the sum of the squares of the numbers of branches of all functions,
// each times the values that meet: from each branch to a block's end the engine may walk
// back over all others for each value. That is half a minute at most; 100 KiB of branches
// and 300 locals would take ten. A Go program of 2.3 MB has 900 million.
const maxWalked = 1 << 33

// join adds the function's work.
func (r *rewriter) join(c *coder, index int, f *function, branches uint64) {
	r.joined += f.joins.work(branches)
	r.walked += branches * branches * f.joins.count()
	if r.joined > maxJoined || r.walked > maxWalked {
		c.fail("too much to compile: function %d has about %d blocks, loops and branches, with %d locals that are read and loops that are %d deep in each other, beside what those before it have; split large functions",
			len(r.imported)+index, branches, len(f.joins.locals), f.joins.depth)
	}
}
