package judge

import (
	"strings"

	"google.golang.org/grpc/codes"
)

// ParseCode returns the gRPC code of that name, ignoring case, '_' and '-'.
// "OK" and "" are no codes, as nothing fails with them.
func ParseCode(s string) (codes.Code, bool) {
	name := normal(s)
	if name == "cancelled" { // both spellings are in use
		return codes.Canceled, true
	}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if normal(c.String()) == name {
			return c, true
		}
	}
	return codes.OK, false
}

// normal is the form in which names of codes are compared.
func normal(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(s, "_", ""), "-", ""))
}

// normalMap returns the map with its keys in normal form.
func normalMap(m map[string]codes.Code) map[string]codes.Code {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]codes.Code, len(m))
	for k, c := range m {
		out[normal(k)] = c
	}
	return out
}
