package redact

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestHidden: which places of an object are hidden.
func TestHidden(t *testing.T) {
	policy, err := New("object.spec.users[*].pin", "metadata.annotations['example.com/x']", "spec.settings.*.value", "spec.plain")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(`
data: {user: x}
metadata:
  annotations: {example.com/x: x, example.com/y: ok, kubectl.kubernetes.io/last-applied-configuration: '{}'}
spec:
  secrets: {a: x}
  users: [{name: a, pin: x}, {name: b}]
  settings: {one: {value: x, other: ok}}
  plain: x
  env: [{name: DB_PASSWORD, value: x}, {name: LEVEL, value: ok}, {key: apiKey, value: x}]
  dbPassword: x
  nested: {deep: {client-secret: x}}
  secretName: ok
  imagePullSecrets: [{name: ok}]
`), &object); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	var walk func(c Cursor, v any, path string)
	walk = func(c Cursor, v any, path string) {
		if c.Hidden() {
			shown[path] = false
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for k, child := range v {
				walk(c.Child(v, k), child, path+"/"+k)
			}
		case []any:
			for _, child := range v {
				walk(c, child, path)
			}
		case string:
			if v == "x" || v == "{}" {
				t.Errorf("%s is shown", path)
			}
			shown[path] = true
		default:
			t.Errorf("%s is %v", path, v)
		}
	}
	walk(policy.Object(object), object, "")
	for path, want := range map[string]bool{
		"/spec/secretName": true, "/spec/imagePullSecrets/name": true, "/metadata/annotations/example.com/y": true,
		"/spec/settings/one/other": true, "/spec/users/name": true, "/spec/env/name": true,
		"/data": false, "/spec/secrets": false, "/spec/nested/deep/client-secret": false,
	} {
		if got, ok := shown[path]; !ok || got != want {
			t.Errorf("%s: shown %v (seen %v), want %v", path, got, ok, want)
		}
	}
	budget := 1000
	if !policy.Object(object).Contains(object, &budget) {
		t.Error("the object has nothing hidden")
	}
	budget = 1000
	if (Cursor{}).Contains(map[string]any{"a": []any{map[string]any{"name": "LEVEL", "value": "x"}}}, &budget) {
		t.Error("something is hidden where nothing is")
	}
	if budget = 1; !(Cursor{}).Contains([]any{"a", "b", "c"}, &budget) {
		t.Error("what lies beyond the budget counts as shown")
	}
	if c := policy.Object(object).Child(nil, "spec").Any(); !c.Hidden() {
		t.Error("an unknown key of spec could be one that is hidden")
	}
}

func TestSuspicious(t *testing.T) {
	for key, want := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "db-passwd": true, "adminPassword2": true, "passwordHash": true, "token": true,
		"sasToken": true, "API_KEY": true, "apiKey": true, "client_secret": true, "secrets": true, "tls.key": true, ".dockerconfigjson": true,
		"DB_PASS": true, "dbPass": true, "pass": true, "connectionString": true,
		"secretName": false, "passwordSecretRef": false, "secretKeyRef": false, "imagePullSecrets": false, "compass": false,
		"tokenExpirationSeconds": false, "state": false, "key": false, "volume_id": false, "": false, "automountServiceAccountToken": false,
		"passwordPolicy": false, strings.Repeat("a", 300) + "token": false,
	} {
		if got := Suspicious(key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

func TestBadPaths(t *testing.T) {
	for path, want := range map[string]string{
		"":             `redact path "": it names no field; write it like spec.auth.pin or spec.users[*].pin`,
		"object":       "",
		"spec..a":      `redact path "spec..a": a field's name is empty`,
		"spec[a]":      `redact path "spec[a]": [a] is neither an element nor a key; write a key in quotes, like ['a/b']`,
		"spec['a]":     `redact path "spec['a]": "['a]" lacks its closing ']`,
		"spec[0":       `redact path "spec[0": "[0" lacks its closing ]`,
		"spec[0]a":     `redact path "spec[0]a": "a" must begin with '.' or '['`,
		"spec.a*":      `redact path "spec.a*": "a*" is no field's name; write names with such characters in brackets, like ['a/b']`,
		"[*]":          `redact path "[*]": it names no field; write it like spec.auth.pin or spec.users[*].pin`,
		`spec["a.b"]`:  "",
		"spec[0].pin":  "",
		"*.pin":        "",
		"object.spec":  "",
		"spec.a[*][1]": "",
	} {
		_, err := New(path)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s\nwant %s", path, got, want)
		}
	}
}

func TestPolicy_DataOfConfigMapsIsShown(t *testing.T) {
	policy, err := New("data.private")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		apiVersion, kind, key string
		hidden                bool
	}{
		{"v1", "ConfigMap", "why", false},
		{"v1", "ConfigMap", "private", true},
		{"v1", "ConfigMap", "password", true},
		{"v1", "Secret", "why", true},
		{"example.com/v1", "ConfigMap", "why", true},
		{"example.com/v1", "Vault", "why", true},
	} {
		object := map[string]any{"apiVersion": tc.apiVersion, "kind": tc.kind}
		if c := policy.Object(object).Child(object, "data").Child(nil, tc.key); c.Hidden() != tc.hidden {
			t.Errorf("%s %s, data.%s: hidden %v, want %v", tc.apiVersion, tc.kind, tc.key, c.Hidden(), tc.hidden)
		}
	}
}
