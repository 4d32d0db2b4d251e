package suite

// covering returns combinations of axes of these sizes, an index for each axis, in
// which every three values of three axes come together at least once: a small part
// of all combinations, and all of them if there are no more than three axes. It is
// the same part every time.
func covering(sizes []int) [][]int {
	all := 1
	for _, size := range sizes {
		all *= size
	}
	triples := triplesOf(len(sizes))
	covered := make([]map[[3]int]bool, len(triples))
	for i := range covered {
		covered[i] = map[[3]int]bool{}
	}
	// gain is how many triples a combination has that no other one has yet.
	gain := func(c []int) (n int) {
		for i, t := range triples {
			if !covered[i][at(c, t)] {
				n++
			}
		}
		return n
	}
	var chosen [][]int
	step := stride(all)
	// The ones that add most come first.
	for least := len(triples); least > 0; least = min(least-1, least*2/3) {
		for i, n := 0, 0; i < all; i, n = i+1, (n+step)%all {
			c := combination(sizes, n)
			if gain(c) < least {
				continue
			}
			for i, t := range triples {
				covered[i][at(c, t)] = true
			}
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// triplesOf returns every three of n axes; of fewer than three axes all, with -1
// for those that there aren't.
func triplesOf(n int) [][3]int {
	if n < 3 {
		t := [3]int{-1, -1, -1}
		for i := range n {
			t[i] = i
		}
		return [][3]int{t}
	}
	var all [][3]int
	for i := range n {
		for j := range i {
			for k := range j {
				all = append(all, [3]int{k, j, i})
			}
		}
	}
	return all
}

// at returns the values of three axes.
func at(c []int, t [3]int) (values [3]int) {
	for i, axis := range t {
		if axis >= 0 {
			values[i] = c[axis]
		}
	}
	return values
}

// combination returns the n-th one.
func combination(sizes []int, n int) []int {
	c := make([]int, len(sizes))
	for i := len(sizes) - 1; i >= 0; i-- {
		c[i], n = n%sizes[i], n/sizes[i]
	}
	return c
}

// stride is coprime to n: steps of it come by everything below n, far apart.
func stride(n int) int {
	s := n*5/8 | 1
	for gcd(s, n) != 1 {
		s += 2
	}
	return s
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
