package engine

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

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

// numberOf returns the version as a number, 0 if it can't be ordered or is so long
// that only its text can.
func numberOf(v string) uint64 {
	const surely = 19 // digits fit
	if len(v) > surely || v == "" || v[0] == '0' {
		return 0
	}
	var n uint64
	for i := range len(v) {
		digit := v[i] - '0'
		if digit > 9 {
			return 0
		}
		n = 10*n + uint64(digit)
	}
	return n
}

// level is a version that is kept, mostly as a number: its text would be one more
// place in memory that every event has to go to.
type level struct {
	number uint64
	text   *string // of one without a number; nil: there is none
}

func levelOf(v string) level {
	if n := numberOf(v); n != 0 || v == "" {
		return level{number: n}
	}
	return level{text: &v}
}

// String returns the version as the server wrote it, empty if there is none.
func (l level) String() string {
	switch {
	case l.number != 0:
		return strconv.FormatUint(l.number, 10)
	case l.text != nil:
		return *l.text
	}
	return ""
}

// ranked is a version that is compared with many others.
type ranked struct {
	version    string
	number     uint64
	comparable bool
}

func rank(version string) ranked {
	n := numberOf(version)
	return ranked{version: version, number: n, comparable: n != 0 || comparableVersion(version)}
}

// level returns the version to be kept.
func (r *ranked) level() level {
	if r.number != 0 {
		return level{number: r.number}
	}
	return levelOf(r.version)
}

// to orders the version relative to other.
func (r *ranked) to(other level) order {
	switch {
	case r.number == 0 || other.number == 0:
		return compareVersions(r.version, other.String())
	case r.number < other.number:
		return below
	case r.number == other.number:
		return at
	}
	return above
}
