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

// ranked is a version that is compared with many others. A comparison parses both,
// and the waiters of an object mostly have the same floor: the last one is kept.
type ranked struct {
	version    string
	comparable bool
	other      string
	order      order // relative to other
	compared   bool
}

func rank(version string) ranked {
	return ranked{version: version, comparable: comparableVersion(version)}
}

// to orders the version relative to other.
func (r *ranked) to(other string) order {
	if !r.compared || r.other != other {
		r.other, r.order, r.compared = other, compareVersions(r.version, other), true
	}
	return r.order
}
