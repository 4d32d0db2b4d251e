package redact

import (
	"errors"
	"fmt"
	"strings"
)

// segment is one step of a path.
type segment struct {
	key string
	any bool // whatever the key
}

// parse reads a path; steps into lists are left out of what it returns.
func parse(path string) ([]segment, error) {
	rest := strings.TrimPrefix(strings.TrimSpace(path), "object.")
	var out []segment
	for first := true; rest != ""; first = false {
		if strings.HasPrefix(rest, "[") {
			key, quoted, after, err := bracket(rest)
			if err != nil {
				return nil, err
			}
			if quoted {
				out = append(out, segment{key: key})
			}
			rest = after
			continue
		}
		if !first {
			if rest[0] != '.' {
				return nil, fmt.Errorf("%q must begin with '.' or '['", rest)
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = rest[end:]
		switch {
		case word == "":
			return nil, errors.New("a field's name is empty")
		case word == "*":
			out = append(out, segment{any: true})
		case strings.ContainsAny(word, "*]'\"` "):
			return nil, fmt.Errorf("%q is no field's name; write names with such characters in brackets, like ['a/b']", word)
		default:
			out = append(out, segment{key: word})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it names no field; write it like spec.auth.pin or spec.users[*].pin")
	}
	return out, nil
}

// bracket reads [*], [3], ['key'] or ["key"] at the beginning of a text.
func bracket(text string) (key string, quoted bool, rest string, err error) {
	if len(text) > 1 && (text[1] == '\'' || text[1] == '"') {
		end := strings.Index(text[2:], text[1:2]+"]")
		if end < 0 {
			return "", false, "", fmt.Errorf("%q lacks its closing %s]", text, text[1:2])
		}
		return text[2 : 2+end], true, text[2+end+2:], nil
	}
	end := strings.Index(text, "]")
	if end < 0 {
		return "", false, "", fmt.Errorf("%q lacks its closing ]", text)
	}
	inside := text[1:end]
	if inside != "*" && (inside == "" || strings.Trim(inside, "0123456789") != "") {
		return "", false, "", fmt.Errorf("[%s] is neither an element nor a key; write a key in quotes, like ['a/b']", inside)
	}
	return "", false, text[end+1:], nil
}
