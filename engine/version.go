package engine

import "k8s.io/apimachinery/pkg/util/resourceversion"

// order says where a version stands relative to a floor.
type order int

const (
	unknown order = iota // they can't be compared
	below
	at
	above
)

// compareVersions orders a relative to b, versions of one resource.
func compareVersions(a, b string) order {
	c, err := resourceversion.CompareResourceVersion(a, b)
	switch {
	case err != nil:
		return unknown
	case c < 0:
		return below
	case c == 0:
		return at
	}
	return above
}

// comparable reports whether the version can be ordered: not empty, not "0", a number.
func comparableVersion(v string) bool { return compareVersions(v, "1") != unknown }

// newerVersion returns the newer of two versions; a version that can't be
// ordered never replaces one that can.
func newerVersion(a, b string) string {
	if !comparableVersion(a) || compareVersions(b, a) == above {
		return b
	}
	return a
}
