package engine

import (
	"strings"
	"testing"
)

// A kept version is what was kept, and orders as the versions themselves do,
// whether it is kept as a number or as a text.
func TestVersion_KeptOrdersAsTheTextsDo(t *testing.T) {
	versions := []string{
		"", "0", "1", "9", "10", "11", "01", "+1", "-1", "1.0", " 1", "abc", "1a", "१",
		strings.Repeat("9", 19), "1" + strings.Repeat("0", 19), "18446744073709551615", "18446744073709551616",
		strings.Repeat("9", 20), strings.Repeat("9", 40), "1" + strings.Repeat("0", 40),
	}
	for _, a := range versions {
		if got := levelOf(a).String(); got != a {
			t.Errorf("%q is kept as %q", a, got)
		}
		ranked := rank(a)
		if ranked.level() != levelOf(a) && ranked.number != 0 {
			t.Errorf("%q: two levels", a)
		}
		if ranked.comparable != comparableVersion(a) {
			t.Errorf("%q: comparable %t", a, ranked.comparable)
		}
		for _, b := range versions {
			if got, want := ranked.to(levelOf(b)), compareVersions(a, b); got != want {
				t.Errorf("%q to %q: %d, want %d", a, b, got, want)
			}
		}
	}
}
