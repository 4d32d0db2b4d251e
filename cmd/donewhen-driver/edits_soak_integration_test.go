//go:build integration && soak

package main

import "testing"

// The long forms: a thousand edits, each loaded, and a thousand in one burst.
func TestSoakAThousandEditsUnderLoad(t *testing.T) { editUnderLoad(t, 1000, true) }

func TestSoakABurstOfAThousandEditsUnderLoad(t *testing.T) { editUnderLoad(t, 1000, false) }
