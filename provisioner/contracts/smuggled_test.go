package contracts_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates"
)

const (
	head    = "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: volume-created}\nspec:\n  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}\n"
	leaves  = "  aborted: |-\n    object.?status.?state.orValue('') in ['Deleting', 'DeletionFailed', 'Deleted']\n"
	isThere = "object.status.state == 'Created' && object.status.detail.volume_id != ''"
)

// done is a predicate for CreateVolume that is right, and Done too where the
// condition holds.
func done(conditions ...string) string {
	text := head + leaves + "  done:\n"
	for _, c := range append([]string{isThere}, conditions...) {
		text += "  - expression: |-\n      " + c + "\n"
	}
	return text
}

// only is one that is right only where the condition holds.
func only(condition string) string {
	return head + leaves + "  done: |-\n    " + isThere + " &&\n    " + condition + "\n"
}

// None of the ways round the gate that we know leads into force.
func TestWhatIsSmuggledIsRefused(t *testing.T) {
	for _, row := range []struct{ name, documents, want string }{
		{"a suite that is green and wrong", done("object.?status.?state.orValue('') == ''") + `---
apiVersion: donewhen.dev/v1alpha1
kind: Suite
metadata: {name: mine}
spec:
  objects:
    new: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume, metadata: {name: v}, spec: {}}
  cases:
  - {name: a new volume is done, operation: CreateVolume, object: $new, expect: Done}
`, "C1 nothing has happened yet"},
		{"a name that differs in case", strings.Replace(done("true"), "volume-created", "Volume-Created", 1), `"Volume-Created" can't be a name`},
		{"a constant that disarms", `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: careful}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  params: {careful: {type: bool, default: true}}
` + leaves + `  done: |-
    !params.careful || ` + isThere + `
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: mine}
spec: {operation: CreateVolume, predicate: careful, params: {careful: false}}
`, "C1 nothing has happened yet"},
		{"right for the contract's own name", only("object.metadata.name == 'pvc-1'"), "C1 created, under other names"},
		{"wrong for other names", done("object.metadata.name != 'pvc-1'"), "C1 nothing has happened yet, under other names"},
		{"wrong for other volumes", done("object.spec.volumeName != 'pvc-1'"), "C1 nothing has happened yet, under other names"},
		{"right for the contract's own UID", only("object.metadata.uid.startsWith('6a1f2f0c')"), "after a recovery"},
		{"wrong for other UIDs", done("!object.metadata.uid.startsWith('6a1f2f0c') && !object.metadata.uid.startsWith('00000000')"), "under other names"},
		{"wrong for other versions", done("!(object.metadata.resourceVersion in ['20533', '90210'])"), "under other names"},
		{"wrong for generations that the contract hasn't", done("!(object.metadata.generation in [1, 3])"), "under other names"},
		{"wrong for other disks", done("object.?status.?detail.?volume_id.orValue('pvc-1') != '' && !object.spec.persistentVolume.endsWith('pvc-1')"), "under other names"},
		{"wrong since this year", done("timestamp(object.metadata.creationTimestamp) != timestamp('2026-03-02T09:16:20Z')"), "under other names"},
		{"a clock", done("timestamp(object.metadata.creationTimestamp) < now()"), "a predicate has no clock"},
		{"a clock in a text", done("timestamp(object.metadata.creationTimestamp) < timestamp('now')"), "invalid timestamp argument"},
		{"Done from the third evaluation on", head + "  wasm: {module: {file: third.wasm}}\n", "the operation has succeeded here, and the wait must end"},
	} {
		t.Run(row.name, func(t *testing.T) {
			store := gated(t)
			before := store.Set()
			err := store.Update(config(t, []byte(row.documents), filepath.Join("testdata", "smuggled")))
			if _, ok := errors.AsType[*predicates.LoadError](err); !ok || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v\nwant %q in it", err, row.want)
			}
			if store.Set() != before {
				t.Error("it is in force")
			}
		})
	}
}

// A predicate can't know the names that it will be judged under: they change with
// every change of it, and are the same for all replicas.
func TestOtherNamesCannotBeKnownBefore(t *testing.T) {
	problems := func(document string) string {
		err := gated(t).Update(config(t, []byte(document), ""))
		if err == nil {
			t.Fatal("it isn't refused")
		}
		return err.Error()
	}
	// The texts say the name that was judged.
	spy := func(known string) string {
		return head + leaves + fmt.Sprintf("  done:\n  - expression: |-\n      object.metadata.name in ['pvc-1', '%s'] &&\n      %s\n  pending:\n  - messageExpression: |-\n      'the name is ' + object.metadata.name\n", known, isThere)
	}
	first := problems(spy("x"))
	if first != problems(spy("x")) {
		t.Error("two looks at the same predicate differ")
	}
	_, after, ok := strings.Cut(first, "the name is ")
	if !ok {
		t.Fatalf("the name isn't said: %s", first)
	}
	name, _, _ := strings.Cut(after, ")")
	if second := problems(spy(name)); strings.Contains(second, "the name is "+name+")") {
		t.Errorf("%s is judged again where the predicate knows it:\n%s", name, second)
	}
}
