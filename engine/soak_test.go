//go:build soak

package engine_test

import (
	"math/rand/v2"
	"testing"
)

// TestSoakRandom_AgainstTheOracle plays a million histories, or DONEWHEN_RUNS.
func TestSoakRandom_AgainstTheOracle(t *testing.T) {
	runs, seed := setting(t, "DONEWHEN_RUNS", 1_000_000), setting(t, "DONEWHEN_SEED", rand.Uint64N(1<<40))
	t.Logf("%d histories from DONEWHEN_SEED=%d on", runs, seed)
	playHistories(t, seed, runs)
}
