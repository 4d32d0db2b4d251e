//go:build soak

package engine_test

import "testing"

// TestSoakRandom_AgainstTheOracle plays a million histories.
func TestSoakRandom_AgainstTheOracle(t *testing.T) { playHistories(t, 1_000_000) }
