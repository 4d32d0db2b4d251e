//go:build soak

package wasm

import (
	"math/rand/v2"
	"testing"
)

// TestSoakK62_Reloads loads 20,000 modules.
func TestSoakK62_Reloads(t *testing.T) { reloads(t, 10_000) }

// TestSoakResetIsLikeNew runs other programs each time, for some minutes.
func TestSoakResetIsLikeNew(t *testing.T) {
	for range 400 {
		resetIsLikeNew(t, rand.Uint64(), 150)
	}
}
