//go:build soak

package contracts_test

import "testing"

// Every mutant of the default set.
func TestSoakSweepOfChangedSets(t *testing.T) {
	s := newSweep(t)
	passed, refused := s.run(t, mutants(t))
	s.report(t, passed, refused)
}
