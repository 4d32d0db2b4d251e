package suite

import (
	"testing"
)

// The format's reference sets are ordinary kinds written by other hands: what the
// suites say of them must hold, all of it.
func TestReference(t *testing.T) {
	report := NewRunner(nil).Files(t.Context(), "testdata/reference")
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	passed, failed := report.Count()
	t.Logf("%d checks passed, %d failed", passed, failed)
	// Reading fewer cases than there are must not look like success.
	if want := 42; passed != want {
		t.Errorf("%d checks passed, want %d", passed, want)
	}
}
