package suite

import (
	"fmt"
	"strings"
)

// fieldPath is the way to a field: names of map keys from the object's root.
type fieldPath []string

// parsePath reads "status.state"; a name that holds dots or slashes stands in
// brackets: "metadata.annotations['example.com/key']".
func parsePath(s string) (fieldPath, error) {
	var path fieldPath
	for rest := s; ; {
		if after, ok := strings.CutPrefix(rest, "["); ok {
			name, tail, ok := quoted(after)
			if !ok || len(path) == 0 {
				return nil, fmt.Errorf("%q: a name in brackets is written ['name'], behind another name", s)
			}
			path, rest = append(path, name), tail
		} else {
			if len(path) > 0 {
				rest = strings.TrimPrefix(rest, ".")
			}
			end := strings.IndexAny(rest, ".[]'")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, fmt.Errorf("%q: a name is missing; write it like status.state", s)
			}
			path, rest = append(path, rest[:end]), rest[end:]
		}
		if rest == "" {
			return path, nil
		}
		if rest[0] != '.' && rest[0] != '[' {
			return nil, fmt.Errorf("%q: %q isn't part of a path; write it like status.state", s, rest)
		}
	}
}

func quoted(s string) (name, tail string, ok bool) {
	s, ok = strings.CutPrefix(s, "'")
	if !ok {
		return "", "", false
	}
	name, tail, ok = strings.Cut(s, "']")
	return name, tail, ok && name != ""
}

// set returns a copy of the object with the field set; a nil value removes it.
// It is an error if something on the way is there and no map.
func (p fieldPath) set(object map[string]any, value any) (map[string]any, error) {
	for i, at := 0, any(object); i < len(p) && at != nil; i++ {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s holds no fields", strings.Join(p[:i], "."))
		}
		at = fields[p[i]]
	}
	patch := value
	for i := len(p) - 1; i >= 0; i-- {
		patch = map[string]any{p[i]: patch}
	}
	if value == nil && !p.present(object) {
		return object, nil
	}
	return merge(object, patch).(map[string]any), nil
}

func (p fieldPath) present(object map[string]any) bool {
	at := any(object)
	for _, name := range p {
		fields, _ := at.(map[string]any)
		value, ok := fields[name]
		if !ok {
			return false
		}
		at = value
	}
	return true
}
