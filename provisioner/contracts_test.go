package provisioner_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

// theGate is one for all tests: reading the contracts takes longer than judging by
// them.
var theGate = sync.OnceValues(func() (*suite.Gate, error) {
	return suite.NewGateOf(provisioner.Operations(), provisioner.Contracts())
})

// gated returns a store of the default set with the gate before it, which reports
// to the function.
func gated(t *testing.T, report func(predicates.Report)) *predicates.Store {
	t.Helper()
	gate, err := theGate()
	if err != nil {
		t.Fatal(err)
	}
	name, data := provisioner.Defaults()
	store, err := predicates.NewStore(provisioner.Operations(),
		predicates.Source{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}},
		predicates.WithGate(func(set *predicates.Set, sources []predicates.Source) []predicates.Problem {
			return gate.Check(t.Context(), set, sources)
		}), predicates.WithObserver(report))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func config(document string) predicates.Source {
	return predicates.Source{Name: "config", Files: []predicates.File{{Name: "p.yaml", Data: []byte(document)}}}
}

// heads begin the documents of the table below: a predicate of that name in place
// of the default set's, with its params.
var heads = map[string]string{
	"volume-created":     volumeHead + "  expect: Present\n",
	"volume-deleted":     volumeHead + "  expect: Gone\n",
	"volume-settled":     volumeHead + "  expect: Present\n",
	"volume-expanded":    volumeHead + "  params: {requiredBytes: int}\n  expect: Present\n",
	"attachment-ready":   attachmentHead + "  params:\n    volumeName: string\n    nodeName: string\n    until: {type: string, enum: [LUN, Attached]}\n    mayRequest: {type: bool, default: true}\n    lun: {type: string, default: \"\"}\n  expect: Present\n",
	"attachment-gone":    attachmentHead + "  expect: Gone\n",
	"attachment-settled": attachmentHead + "  expect: Present\n",
}

const (
	documentHead   = "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: %s}\nspec:\n"
	volumeHead     = documentHead + "  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}\n"
	attachmentHead = documentHead + "  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolumeAttachment}\n"
)

// own is what the default set says of attachments that are somebody else's or on
// their way out: predicates about the rest keep it.
const own = `
  aborted:
  - expression: |-
      object.spec.volumeName != params.volumeName || object.spec.nodeName != params.nodeName
    code: Internal
    reason: ForeignAttachment
  - expression: |-
      object.?status.?annotation[?'disk.csi.azure.com/volume-detach-request'].hasValue() ||
      object.?status.?state.orValue('') in ['Detaching', 'Detached', 'DetachmentFailed', 'ForceDetachPending']
  - expression: object.spec.role != 'Primary'
`

// ready is a minimal predicate for both ends of an attach.
const ready = own + `
  done:
  - expression: |-
      object.status.state == 'Attached' && object.status.detail.role == 'Primary' &&
      object.status.detail.publish_context.LUN != '' &&
      (params.lun == '' || params.lun == object.status.detail.publish_context.LUN)
  - expression: |-
      params.until == 'LUN' && object.status.state == 'Attaching' && object.status.detail.publish_context.LUN != ''
`

// A predicate that lies about a disk doesn't come into force, and the refusal
// names the case and says why.
func TestGateRefusesWhatLies(t *testing.T) {
	for _, row := range []struct{ name, predicate, body, want string }{
		{"always done", "volume-created", "  done: \"true\"", `"create-volume/C1 nothing has happened yet" (InProgress) predicate volume-created says Done by done[0]`},
		{"done by a negation", "volume-created", "  done: |-\n    object.?status.?state.orValue('') != 'Creating'", "create-volume/C1 nothing"},
		{"done in the wrong state", "volume-created", "  done: |-\n    object.status.state == 'Creating'", "create-volume/the creation/the cloud works"},
		{"done without a result", "volume-created", "  done: |-\n    object.status.state in ['Created', 'Updated']", "created without detail"},
		{"done though it leaves", "volume-created", "  done: |-\n    object.status.detail.volume_id != ''", "C15 a delete has begun"},
		{"done though it is marked", "volume-created", "  onTerminating: Judge\n  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''", "C15 marked for deletion"},
		{"never done", "volume-created", "  done: \"false\"", `"create-volume/the volume/C1 created" (Done) predicate volume-created says Pending`},
		{"a misspelt path", "volume-created", "  done: |-\n    object.status.detail.volumeId != ''", "the operation has succeeded here, and the wait must end"},
		{"failed while it is created", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  failed:\n  - expression: |-\n      object.status.state == 'Creating'\n    code: Unavailable", "nothing has failed here"},
		{"failed by an old error", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  failed: has(object.status.error)", "C24 an old error in Pending"},
		{"failed after a time", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  failed:\n  - expression: |-\n      object.status.state == 'Creating'\n    for: 10m\n    code: Unavailable", "Failed with code Unavailable by failed[0]"},
		{"a final code while it leaves", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  aborted:\n  - expression: |-\n      object.status.state in ['Deleting', 'DeletionFailed']\n    code: NotFound", "code NotFound would be final"},
		{"a final code at the cloud's deadline", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  failed:\n  - expression: |-\n      object.status.state == 'CreationFailed'\n    codeExpression: |-\n      object.status.error.code\n    code: Unknown", "C26 the cloud call ran into its deadline"},
		{"a final code for an expanded volume", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  failed:\n  - expression: |-\n      object.status.state == 'Updated'", "C13 expanded before"},
		{"absent means done", "volume-created", "  onAbsent: Done\n  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''", "not in the cache yet"},
		{"absent means failed", "volume-created", "  onAbsent: Failed\n  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''", "Failed with code NotFound"},
		{"deleted means done", "volume-created", "  onDelete: Done\n  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''", "C19 deleted under the call"},
		{"it breaks", "volume-created", "  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n  failed: |-\n    object.status.state == 'Creating' && 1 / object.spec.maxMountReplicaCount == 1", "the predicate itself breaks here"},

		{"gone while it is there", "volume-deleted", "  onTerminating: Done", "D1 held by its finalizer"},
		{"gone means failed", "volume-deleted", "  onDelete: Failed", "delete-volume/D1 gone"},
		{"never there is final", "volume-deleted", "  onAbsent: {verdict: Failed, code: NotFound}", "D3 never there"},
		{"any error fails a delete", "volume-deleted", "  failed: has(object.status.error)", "status.error counts only beside DeletionFailed"},

		{"settled while it is created", "volume-settled", "  onDelete: Done\n  done: \"true\"", "D6 being created"},
		{"settled only when created", "volume-settled", "  onDelete: Done\n  done: object.status.state == 'Created'", "D9 expanded"},

		{"expanded by state", "volume-expanded", "  done: object.status.state in ['Created', 'Updated']", "E1 just asked for"},
		{"expanded by the state alone", "volume-expanded", "  done: object.status.state == 'Updated'", "E2 expanded before and too small again"},
		{"the size to the byte", "volume-expanded", "  done: object.status.detail.capacity_bytes == params.requiredBytes", "E13 expanded and rounded up"},
		{"smaller will do", "volume-expanded", "  done: object.status.detail.capacity_bytes > params.requiredBytes - 1073741824", "one byte is missing"},

		{"published without a LUN", "attachment-ready", own + "  done: object.status.state == 'Attached'", "N14 attached without a LUN"},
		{"published by the LUN of a failed attach", "attachment-ready", own + "  done: object.status.detail.publish_context.LUN != ''", "S11 the LUN stays"},
		{"somebody else's disk", "attachment-ready", strings.Replace(ready, "object.spec.volumeName != params.volumeName || ", "", 1), "P23 of another volume"},
		{"a dying attachment", "attachment-ready", strings.Replace(ready, "object.?status.?annotation[?'disk.csi.azure.com/volume-detach-request'].hasValue() ||", "", 1), "P16 a detach is requested"},
		{"a replica", "attachment-ready", strings.Replace(ready, "  - expression: object.spec.role != 'Primary'\n", "", 1), "demoted meanwhile"},
		{"staged at the promise", "attachment-ready", strings.Replace(ready, "params.until == 'LUN' && ", "", 1), "N2 the LUN is promised"},
		{"staged at another LUN", "attachment-ready", strings.Replace(ready, "(params.lun == '' || params.lun == object.status.detail.publish_context.LUN)", "true", 1), "N15 at another LUN"},
		{"a reset attach fails again", "attachment-ready", ready + "  failed: |-\n    has(object.status.error)", "P10 an old error in Pending"},

		{"detached by state", "attachment-settled", "  onDelete: Done\n  done: |-\n    object.status.state in ['Attaching', 'Attached', 'AttachmentFailed']", "U7 attaching"},
		{"the error of a failed attach", "attachment-gone", "  failed: |-\n    object.status.state in ['AttachmentFailed', 'DetachmentFailed']", "U6 the attach failed before"},
	} {
		t.Run(row.name, func(t *testing.T) {
			store := gated(t, func(predicates.Report) {})
			before := store.Set().Digest()
			document := fmt.Sprintf(heads[row.predicate], row.predicate) + row.body + "\n"
			err := store.Update(config(document))
			load, ok := errors.AsType[*predicates.LoadError](err)
			if !ok || !load.Refused {
				t.Fatalf("error %v, want a refusal", err)
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("the refusal doesn't say %q:\n%v", row.want, err)
			}
			if p := load.Problems[0]; p.Source != "config" || p.File != "p.yaml" || p.Line < 2 || p.Excerpt == "" {
				t.Errorf("no position: %v", p)
			}
			if store.Set().Digest() != before {
				t.Error("the refused set is in force")
			}
		})
	}
}

// A binding can lie as well: its constants, or a predicate that is about
// something else. It is refused at its own place.
func TestGateRefusesBindings(t *testing.T) {
	for _, row := range []struct{ name, spec, line, want string }{
		{"stage may request", "{operation: NodeStageVolume, predicate: attachment-ready, params: {until: LUN}}", "p.yaml:4:47", "N2 the LUN is promised"},
		{"settled as created", "{operation: CreateVolume, predicate: volume-settled}", "p.yaml:4:44", "C1 nothing has happened yet"},
		{"created as deleted", "{operation: DeleteVolume, predicate: volume-settled}", "p.yaml:4:44", "the disk is still there"},
		{"no time at all", "{operation: CreateVolume, predicate: volume-created, timeout: 1ns}", "p.yaml:4:69", `in case "create-volume/the volume/C1 created" (Done) the wait must end as Done, and nobody can see that within 1ns`},
		{"no time for a delete", "{operation: DeleteVolume, predicate: volume-deleted, timeout: 99ms}", "p.yaml:4:69", "nobody can see that within 99ms"},
		{"detached as settled", "{operation: ControllerUnpublishVolume, predicate: attachment-settled}", "p.yaml:4:57", "U15 marked for deletion"},
	} {
		store := gated(t, func(predicates.Report) {})
		err := store.Update(config("apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: mine}\nspec: " + row.spec + "\n"))
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), row.line) {
			t.Errorf("%s: error %v, want %q at %s in it", row.name, err, row.want, row.line)
		}
	}
}

// What is only stricter, or says it otherwise, is the author's choice.
func TestGateLetsPass(t *testing.T) {
	_, data := provisioner.Defaults()
	edited := func(predicate string, edits ...string) string {
		for _, document := range strings.Split(string(data), "\n---\n") {
			if strings.Contains(document, "kind: Predicate") && strings.Contains(document, "name: "+predicate+"\n") {
				for _, edit := range edits {
					find, with, _ := strings.Cut(edit, " => ")
					if !strings.Contains(document, find) {
						t.Fatalf("%s has no %q", predicate, find)
					}
					document = strings.Replace(document, find, with, 1)
				}
				return document + "\n"
			}
		}
		t.Fatalf("no predicate %s", predicate)
		return ""
	}
	for _, row := range []struct{ name, document, warning string }{
		{"nothing", "", ""},
		{"stricter by state", edited("volume-created", "['Created', 'Updating', 'Updated', 'UpdateFailed'] => ['Created']"), `"the volume/C13 expanded before": Pending, usually Done`},
		{"stricter by a field", edited("volume-created", "object.status.detail.volume_id != '' => object.status.detail.volume_id != '' && object.status.detail.capacity_bytes > 0"), ""},
		{"stricter expand", edited("volume-expanded", "object.status.detail.capacity_bytes >= params.requiredBytes => object.status.detail.capacity_bytes >= params.requiredBytes && object.status.state == 'Updated'"), "large enough from the start"},
		{"another code", edited("volume-created", "      object.status.error.code\n    code: Unknown => \n      'DATA_LOSS'\n    code: Unknown"), `"the creation/C2 the cloud has refused": Failed, code DataLoss, usually Failed, code ResourceExhausted`},
		{"another code that isn't final", edited("attachment-ready", "    reason: DetachRequested =>     code: Unavailable\n    reason: DetachRequested"), "code Unavailable, usually Failed, code Aborted"},
		{"another message", edited("volume-created", "message: the cloud is creating the disk => message: Azure is at it"), ""},
		{"a hold time", edited("attachment-gone", "    for: 30s =>     for: 2m"), ""},
		{"stable for a time", edited("volume-created", "  expect: Present =>   expect: Present\n  stableFor: 5s"), ""},
		{"failures only at the deadline", fmt.Sprintf(heads["volume-created"], "volume-created") + "  aborted: object.status.state in ['Deleting', 'DeletionFailed', 'Deleted']\n  done: |-\n    object.status.state == 'Created' && object.status.detail.volume_id != ''\n", "C2 the cloud has refused"},
		{"a minimal attach", fmt.Sprintf(heads["attachment-ready"], "attachment-ready") + ready, ""},
		{"S1 publish waits for itself", edited("attachment-ready", "params.until == 'LUN' && variables.state in ['Attaching', 'Attached'] => params.until == 'LUN' && variables.state in ['Attached']"), "publish would wait for itself"},
		{"a longer timeout", "apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: mine}\nspec: {operation: CreateVolume, predicate: volume-created, timeout: 1h, inFlight: Pin}\n", ""},
		{"a short timeout", "apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: mine}\nspec: {operation: CreateVolume, predicate: volume-created, timeout: 500ms}\n", "a wait of 500ms ends before anything can happen"},
		{"an absurd timeout", "apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: mine}\nspec: {operation: CreateVolume, predicate: volume-created, timeout: 100000h}\n", "no caller waits for 100000h0m0s"},
		{"a shadow decides nothing", "apiVersion: donewhen.dev/v1alpha1\nkind: Binding\nmetadata: {name: mine}\nspec: {operation: CreateVolume, predicate: volume-settled, action: Shadow}\n", ""},
		{"bound to nothing", fmt.Sprintf(volumeHead, "mine") + "  done: \"true\"\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var last predicates.Report
			store := gated(t, func(r predicates.Report) { last = r })
			if err := store.Update(config(row.document)); err != nil {
				t.Fatal(err)
			}
			// That nobody gives the loader schemas here is no matter of the gate.
			warnings := fmt.Sprint(slices.DeleteFunc(last.Warnings, func(p predicates.Problem) bool { return strings.Contains(p.Message, "no schema of") }))
			if row.warning != "" && !strings.Contains(warnings, row.warning) {
				t.Errorf("no warning %q: %s", row.warning, warnings)
			}
			if row.name == "nothing" && warnings != "[]" {
				t.Errorf("the default set: %s", warnings)
			}
		})
	}
}

// Every operation has a contract with both kinds of rows.
func TestContractsCoverTheCatalogue(t *testing.T) {
	contracts, err := suite.ParseContracts(provisioner.Contracts())
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, c := range contracts {
		rows[c.Operation] += c.Rows()
	}
	var operations []string
	for _, operation := range provisioner.Operations() {
		operations = append(operations, operation.Name)
		if rows[operation.Name] < 10 {
			t.Errorf("%s has %d rows", operation.Name, rows[operation.Name])
		}
	}
	slices.Sort(operations)
	if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, operations) {
		t.Errorf("contracts of %v, operations %v", got, operations)
	}
}
