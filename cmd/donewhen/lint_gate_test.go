package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lint --gate says what donewhen-driver would: the violated case and why, or that
// it would load.
func TestLintGate(t *testing.T) {
	const (
		lieHead   = "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: volume-created}\nspec:\n  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}\n"
		lie       = lieHead + "  done: \"true\"\n"
		wellSuite = "apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {name: mine}\nspec:\n  cases:\n  - {name: gone, operation: DeleteVolume, absent: deleted, expect: Done}\n"
		suite     = "apiVersion: donewhen.dev/v1alpha1\nkind: Suite\nmetadata: {name: mine}\nspec:\n  cases:\n  - {name: gone, operation: DeleteVolume, absent: deleted, expect: Pending}\n"
		strict    = lieHead + "  aborted: |-\n    object.?status.?state.orValue('') in ['Deleting', 'DeletionFailed', 'Deleted']\n  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n---\n" + wellSuite
		unbound   = "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: mine}\nspec:\n  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}\n  done: |-\n    object.status.state == 'Created'\n"
		shadow    = "apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: mine}\nspec: {operation: DeleteVolume, predicate: volume-deleted, action: Shadow}\n"
	)
	for _, row := range []struct {
		name, content string
		args          []string
		code          int
		want          string
	}{
		{"without the gate", lie, nil, exitOK, "can be loaded"},
		{"a lie", lie, []string{"--gate"}, exitLoad, `p.yaml:6:9: Predicate volume-created: the contract of CreateVolume forbids it: in case "create-volume/C1 nothing has happened yet" (InProgress) predicate volume-created says Done by done[0]`},
		{"a lie in JSON", lie, []string{"--gate", "-o", "json"}, exitLoad, `"column": 9,`},
		{"a suite that fails", shadow + "---\n" + suite, []string{"--gate"}, exitLoad, `p.yaml:11:5: Suite mine: case "gone" fails: verdict: want Pending, got Done`},
		{"a suite alone", suite, []string{"--gate"}, exitLoad, `case "gone" fails`},
		{"all is well", strict, []string{"--gate"}, exitOK, "the gate has judged 1 operation of these documents (CreateVolume) in "},
		{"all is well, in JSON", strict, []string{"--gate", "-o", "json"}, exitOK, `"own": true`},
		{"nothing is bound", unbound, []string{"--gate"}, exitOK, "warning: the contracts of operations say nothing of these documents"},
		{"nothing is bound, said", unbound, []string{"--gate"}, exitOK, "the gate has judged 0 operations of these documents, and 0 suite checks\n1 predicate and 0 bindings can be loaded: 0 errors, 1 warning"},
		{"nothing is bound, strictly", unbound, []string{"--gate", "--strict"}, exitLoad, "0 errors, 1 warning"},
		{"a shadow decides nothing", shadow, []string{"--gate"}, exitOK, "0 predicates and 1 binding can be loaded: 0 errors, 1 warning"},
		{"not both", shadow, []string{"--gate", "--alone"}, exitLoad, "none of the others can be"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(row.content), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := execute(t.Context(), append([]string{"lint", dir}, row.args...)...)
		if code != row.code || !strings.Contains(out+errs, row.want) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", row.name, code, row.code, row.want, out, errs)
		}
	}
	// The default set with its suites, whose objects stand in files beside them.
	if code, out, errs := execute(t.Context(), "lint", "--gate", defaultsDir); code != exitOK || !strings.Contains(out, "come with no ConfigMap") {
		t.Errorf("the default set: exit code %d:\n%s%s", code, out, errs)
	}
}
