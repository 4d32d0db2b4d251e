// Package redact says which parts of an object must not be shown: a walk over the
// object carries a Cursor along, which knows whether the place is hidden.
//
//	policy, err := redact.New("spec.connection.string", "spec.users[*].pin")
//	c := policy.Object(object).Child(object, "spec")
//	if c.Hidden() { … redact.Mark … }
package redact

import (
	"fmt"
	"strings"
)

// Mark stands where a value is hidden.
const Mark = "•••"

// builtIn returns the paths hidden in objects of every kind: what the custom
// resources carry of Secrets, and the copy that kubectl apply makes of the whole
// manifest.
func builtIn() []string {
	return []string{"spec.secrets", "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']"}
}

// secretData returns the paths of what Secrets hold. Other kinds than ConfigMap
// that have such fields hold secrets too.
func secretData() []string { return []string{"data", "stringData", "binaryData"} }

// Policy is a set of hidden paths. It is immutable and safe for concurrent use.
type Policy struct {
	root      *place
	configMap *place // the same for ConfigMaps, whose data is to be seen
}

// place is a node of the tree of hidden paths.
type place struct {
	hidden   bool
	children map[string]*place
	any      *place // whatever the key
}

// New returns the policy that hides the built-in paths, keys that look like
// passwords or tokens, and the given paths. A path is written as in expressions,
// with or without "object." in front: spec.auth.pin, spec.users[*].pin,
// metadata.annotations['example.com/pin'], spec.settings.*.value. Lists are
// looked through, with or without [*]. The error names the path and its fault.
func New(paths ...string) (*Policy, error) {
	p := &Policy{root: &place{}, configMap: &place{}}
	for _, path := range append(builtIn(), paths...) {
		segments, err := parse(path)
		if err != nil {
			return nil, fmt.Errorf("redact path %q: %w", path, err)
		}
		p.root.add(segments)
		p.configMap.add(segments)
	}
	for _, path := range secretData() {
		segments, err := parse(path)
		if err != nil {
			return nil, fmt.Errorf("redact path %q: %w", path, err)
		}
		p.root.add(segments)
	}
	return p, nil
}

func (n *place) add(segments []segment) {
	for _, s := range segments {
		next := n.any
		if !s.any {
			next = n.children[s.key]
		}
		if next == nil {
			next = &place{}
			if s.any {
				n.any = next
			} else {
				if n.children == nil {
					n.children = map[string]*place{}
				}
				n.children[s.key] = next
			}
		}
		n = next
	}
	n.hidden = true
}

// Cursor is a place in an object. The zero Cursor is a place that no path leads
// to; keys that look like passwords are hidden below it too.
type Cursor struct {
	hidden bool
	at     []*place
}

// Object returns the cursor of the whole object, given in JSON form.
func (p *Policy) Object(object any) Cursor {
	switch {
	case p == nil:
		return Cursor{}
	case isConfigMap(object):
		return Cursor{at: []*place{p.configMap}}
	}
	return Cursor{at: []*place{p.root}}
}

func isConfigMap(object any) bool {
	m, ok := object.(map[string]any)
	return ok && m["kind"] == "ConfigMap" && m["apiVersion"] == "v1"
}

// Hidden reports whether the value here, and so all of it, is hidden.
func (c Cursor) Hidden() bool { return c.hidden }

// Child returns the cursor of a key's value. parent is the value that has the
// key, if there is one: in {name: DB_PASSWORD, value: x} the value is hidden
// because of the name beside it.
func (c Cursor) Child(parent any, key string) Cursor {
	if c.hidden || Suspicious(key) || key == "value" && namesSecret(parent) {
		return Cursor{hidden: true}
	}
	if len(c.at) == 0 {
		return Cursor{}
	}
	var out Cursor
	for _, n := range c.at {
		for _, next := range [...]*place{n.children[key], n.any} {
			if next != nil {
				out.at = append(out.at, next)
				out.hidden = out.hidden || next.hidden
			}
		}
	}
	return out
}

// Any returns the cursor of a value whose key isn't known: it is hidden if that of
// any key could be.
func (c Cursor) Any() Cursor {
	out := Cursor{hidden: c.hidden}
	for _, n := range c.at {
		for _, next := range n.children {
			out.at = append(out.at, next)
			out.hidden = out.hidden || next.hidden
		}
		if n.any != nil {
			out.at = append(out.at, n.any)
			out.hidden = out.hidden || n.any.hidden
		}
	}
	return out
}

// namesSecret reports whether a map is an entry {name: …, value: …} or {key: …,
// value: …} whose name looks like a password's.
func namesSecret(parent any) bool {
	m, ok := parent.(map[string]any)
	if !ok {
		return false
	}
	for _, field := range [...]string{"name", "key"} {
		if s, ok := m[field].(string); ok && Suspicious(s) {
			return true
		}
	}
	return false
}

// suspicious are how names of passwords, tokens and keys end, in normal form.
var suspicious = []string{
	"password", "passwords", "passwd", "passphrase", "pwd", "pass",
	"token", "tokens", "secret", "secrets",
	"apikey", "apikeys", "accesskey", "secretkey", "privatekey", "accountkey", "sharedkey", "encryptionkey", "tlskey", "sshkey",
	"credential", "credentials", "connectionstring", "authorization", "idrsa",
	"kubeconfig", "dockercfg", "dockerconfigjson",
}

// Suspicious reports whether a key looks like that of a password, token or key.
// References to such things don't: secretName, passwordSecretRef, imagePullSecrets.
func Suspicious(key string) bool {
	const longest = 253 // nobody means a longer one as a name
	if len(key) > longest {
		return false
	}
	var buffer [longest]byte
	name := normal(buffer[:0], key)
	if len(name) < 3 {
		return false
	}
	switch string(name) {
	case "imagepullsecrets", "automountserviceaccounttoken", "bypass":
		return false
	}
	for _, ending := range suspicious {
		if len(name) >= len(ending) && string(name[len(name)-len(ending):]) == ending {
			return ending != "pass" || len(name) == len(ending) || ending == "pass" && separated(key)
		}
	}
	return strings.Contains(string(name), "password") && !isReference(string(name))
}

// normal appends the key in lower case, without separators and without digits at
// the end.
func normal(out []byte, key string) []byte {
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
			out = append(out, c)
		}
	}
	for len(out) > 0 && out[len(out)-1] >= '0' && out[len(out)-1] <= '9' {
		out = out[:len(out)-1]
	}
	return out
}

// separated reports whether "pass" is a word of its own at the end of the key:
// DB_PASS and dbPass, but not compass.
func separated(key string) bool {
	key = strings.TrimRight(key, "0123456789")
	if len(key) < 5 {
		return true
	}
	before, first := key[len(key)-5], key[len(key)-4]
	return before == '_' || before == '-' || before == '.' || first == 'P' && before >= 'a' && before <= 'z'
}

// isReference reports whether a name is that of a reference, a policy or the like.
func isReference(name string) bool {
	for _, ending := range []string{"ref", "refs", "name", "names", "policy", "expired", "required"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// Contains reports whether a value in JSON form has anything hidden in it, seen
// from the cursor. It looks at no more than *budget values, and beyond them takes
// it that there is.
func (c Cursor) Contains(value any, budget *int) bool {
	if c.hidden {
		return true
	}
	if *budget--; *budget < 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if c.Child(v, key).Contains(child, budget) {
				return true
			}
		}
	case []any:
		for _, child := range v {
			if c.Contains(child, budget) {
				return true
			}
		}
	}
	return false
}
