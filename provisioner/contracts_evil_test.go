package provisioner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates"
)

// created, expanded and settled are right, and the tests below add one rule to them.
const (
	created       = "  aborted: |-\n    object.?status.?state.orValue('') in ['Deleting', 'DeletionFailed']\n"
	detail        = "object.status.state == 'Created' && object.status.detail.volume_id != ''"
	deadline      = "  failed:\n  - expression: |-\n      object.status.error.message.contains('deadline exceeded')\n    code: DeadlineExceeded\n"
	anyAnnotation = "has(object.status.annotation)"
)

func doneBy(terms ...string) string {
	list := "  done:\n"
	for _, term := range terms {
		list += "  - expression: |-\n      " + term + "\n"
	}
	return list
}

// What lies beside an object's state and means nothing must decide nothing: an
// error from before with whatever code, the mark of a recovery, an error that
// wasn't recorded. None of these sets breaks a row that is about something else.
func TestGateRefusesWhatListensToTheWrongThing(t *testing.T) {
	for _, row := range []struct{ name, predicate, body, want string }{
		{"created by an annotation", "volume-created", created + doneBy(detail, anyAnnotation), "after a recovery"},
		{"created failed by an annotation", "volume-created", created + doneBy(detail) + "  failed: " + anyAnnotation + "\n", "after a recovery"},
		{"created failed by an old deadline", "volume-created", created + doneBy(detail) + deadline, "with an old UNKNOWN"},
		{"created by a status without a state", "volume-created", created + doneBy(detail, "has(object.status) && !has(object.status.state)"), "C1 nothing has happened yet, after a recovery"},
		{"created where no error was recorded", "volume-created", created + doneBy(detail, "object.status.state == 'CreationFailed' && !has(object.status.error)"), "without a recorded error"},
		{"deleted fails by a code", "volume-deleted", "  failed: object.status.error.code == 'UNKNOWN'\n", "with an old UNKNOWN"},
		{"deleted fails while it is expanded", "volume-deleted", "  failed: object.status.state == 'Updating'\n", "a state that says nothing of the deletion/Updating"},
		{"expanded without a detail", "volume-expanded", doneBy("object.status.detail.capacity_bytes >= params.requiredBytes", "has(object.status) && !has(object.status.detail)"), "no status, after a recovery"},
		{"expanded by a code", "volume-expanded", doneBy("object.status.detail.capacity_bytes >= params.requiredBytes", "object.status.error.code == 'RESOURCE_EXHAUSTED'"), "with an old RESOURCE_EXHAUSTED"},
		{"expand fails by an old deadline", "volume-expanded", doneBy("object.status.detail.capacity_bytes >= params.requiredBytes") + deadline, "with an old UNKNOWN"},
		{"attach fails by an old deadline", "attachment-ready", ready + strings.TrimPrefix(deadline, "\n"), "with an old UNKNOWN"},
		{"attach fails by an old dangling attach", "attachment-ready", ready + "  failed: has(object.status.error.parameters.currentNode)\n", "with an old DANGLING_ATTACH"},
		{"attached where no error was recorded", "attachment-ready", ready + "  - expression: |-\n      object.status.state == 'AttachmentFailed' && !has(object.status.error)\n", "without a recorded error"},
		{"detach fails by an old deadline", "attachment-gone", deadline, "with an old UNKNOWN"},
		{"detach fails by a state before it", "attachment-gone", "  failed: object.status.state == 'Attaching'\n", "U9 still attaching"},
		{"detach fails by a forced detach", "attachment-gone", "  failed: object.status.state == 'ForceDetachPending' && object.spec.role == 'Replica'\n", "replica-detached/a state that says nothing of the detach/ForceDetachPending"},
		{"settled by an annotation", "attachment-settled", "  onDelete: Done\n" + doneBy("object.status.state in ['Attached', 'AttachmentFailed']", anyAnnotation), "after a recovery"},
		{"settled by a role", "attachment-settled", "  onDelete: Done\n" + doneBy("object.status.state in ['Attached', 'AttachmentFailed']", "object.status.detail.role == 'Replica'"), "attaching as a replica"},
		{"behaves for one UID", "volume-created", created + doneBy(detail, "object.metadata.uid != '6a1f2f0c-0f2e-4a61-8d8f-3b5a4c1e0303'"), "after a recovery"},
		{"behaves at generation 1", "volume-created", created + doneBy(detail, "object.metadata.generation > 1"), "after a recovery"},
		{"longer than the wait", "volume-created", "  stableFor: 10m\n" + created + doneBy(detail), "that must hold for 10m0s, and the binding gives up after 10m0s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			store := gated(t, func(predicates.Report) {})
			err := store.Update(config(fmt.Sprintf(heads[row.predicate], row.predicate) + row.body))
			load, ok := errors.AsType[*predicates.LoadError](err)
			if !ok || !load.Refused {
				t.Fatalf("error %v, want a refusal", err)
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("the refusal doesn't say %q:\n%v", row.want, err)
			}
		})
	}
}
