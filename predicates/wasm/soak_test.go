//go:build soak

package wasm

import "testing"

// TestSoakK62_Reloads loads 20,000 modules.
func TestSoakK62_Reloads(t *testing.T) { reloads(t, 10_000) }
