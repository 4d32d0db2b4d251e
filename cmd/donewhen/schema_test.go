package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --schema is for the kinds that the program doesn't know; it knows those of the
// Azure Disk driver.
func TestSchemaFlag(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	azure := write("azure.yaml", `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  done: object.status.stat == 'Created'
`)
	widget := write("widget.yaml", `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: example.com/v1, kind: Widget}
  done: object.status.stat == 'Up'
---
apiVersion: donewhen.dev/v1alpha1
kind: Suite
metadata: {name: s}
spec:
  cases:
  - {name: up, predicate: p, object: {apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, status: {stat: Up}}, expect: Done}
`)
	crd := write("crd.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {state: {type: string}}}}}}
`)
	named := write("named.yaml", `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: named}
spec:
  match: {apiVersion: example.com/v1, kind: Widget, schemaFrom: {file: crd.yaml}}
  done: object.status.stat == 'Up'
`)
	suite := write("suite.yaml", `apiVersion: donewhen.dev/v1alpha1
kind: Suite
metadata: {name: s}
spec:
  predicates: [named.yaml]
  cases:
  - {name: never, predicate: named, absent: never, expect: Pending}
`)
	kind := write("kind.yaml", `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: k}
spec:
  match: {apiVersion: apps/v1, kind: Deploymnt}
  done: object.status.replicas == 1
`)
	version := write("version.yaml", `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: v}
spec:
  match: {apiVersion: app/v1, kind: Deployment}
  done: object.status.replicas == 1
`)
	misspelt := "object.status has no field 'stat'; did you mean 'state'?"
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"lint " + azure, exitLoad, misspelt},
		{"lint " + widget, exitOK, "no schema of example.com/v1 Widget"},
		{"lint --strict " + widget, exitLoad, "no schema of example.com/v1 Widget"},
		{"lint --schema " + crd + " " + widget, exitLoad, misspelt},
		{"lint --schema " + dir + " " + widget, exitLoad, misspelt},
		{"lint --schema " + azure + " " + widget, exitLoad, "--schema: read schemas from"},
		{"test " + widget, exitOK, "passed"},
		{"eval --predicates " + azure + " --predicate p --absent never", exitLoad, misspelt},
		{"lint " + named, exitLoad, misspelt},
		{"test " + suite, exitLoad, misspelt},
		{"eval --predicates " + named + " --predicate named --absent never", exitLoad, misspelt},
		{"lint " + kind, exitOK, `did you mean kind "Deployment"? else name a file`},
		{"lint " + version, exitOK, `did you mean apiVersion "apps/v1"? else name a file`},
		{"test --schema " + crd + " " + widget, exitLoad, misspelt},
	} {
		var out strings.Builder
		code := run(t.Context(), "donewhen", strings.Fields(c.args), streams{out: &out, err: &out})
		if code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: code %d, want %d and %q:\n%s", c.args, code, c.code, c.want, out.String())
		}
	}
}
