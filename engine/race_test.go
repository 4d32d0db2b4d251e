//go:build race

package engine_test

// historiesByDefault is smaller under the race detector, which makes each of them
// several times slower: about ten seconds' worth.
const historiesByDefault = 2_000
