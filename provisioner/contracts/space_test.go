package contracts_test

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner"
)

const prefix = "disk.csi.azure.com/"

// recorded is a status.error.
type recorded struct{ code, message string }

func (e recorded) deadline() bool {
	return e.code == "UNKNOWN" && strings.Contains(e.message, "deadline exceeded")
}

// errors that may be recorded; the first of them is none.
var recordings = []*recorded{
	nil,
	{"UNKNOWN", "context deadline exceeded"},
	{"UNKNOWN", "boom"},
	{"RESOURCE_EXHAUSTED", "no room"},
	{"INVALID_ARGUMENT", "no such parameter"},
	{"UNAVAILABLE", "try again"},
	{"INTERNAL", "context deadline exceeded while waiting"},
	{"", "no code"},
}

// volume is a state of an AzVolume that the other side or a CSI call may leave.
type volume struct {
	state           string
	detail          bool
	capacity        int64
	err             *recorded
	terminating     bool
	deleteRequested bool
	recovered       bool
}

// attachment is one of an AzVolumeAttachment.
type attachment struct {
	state           string
	detail          bool
	lun, actual     string // of the detail
	role            string // that is wanted
	err             *recorded
	terminating     bool
	attachRequested bool
	detachRequested bool
	recovered       bool
	foreign         string // "volume" or "node": it is somebody else's
}

// The sizes are other ones than those of the contracts, and so are all names.
const (
	small    = int64(5 << 30)
	required = int64(7<<30 + 1)
)

// volumes returns every combination.
func volumes() []*volume {
	var all []*volume
	for _, state := range []string{"", "Pending", "Creating", "Created", "CreationFailed", "Updating", "Updated", "UpdateFailed", "Deleting", "DeletionFailed", "Deleted", "zz"} {
		for _, capacity := range []int64{0, small, required - 1, required, required + 1<<30} {
			for _, err := range recordings {
				for flags := range 8 {
					v := &volume{
						state: state, detail: capacity > 0, capacity: capacity, err: err,
						terminating: flags&1 != 0, deleteRequested: flags&2 != 0, recovered: flags&4 != 0,
					}
					all = append(all, v)
				}
			}
		}
	}
	return all
}

// reachable reports whether the other side or a CSI call may leave a volume so. The
// verdict on any other is wrong or right by what stands in it only in waits for which
// that is clear: see clear.
func (v *volume) reachable() bool {
	switch v.state {
	case "", "Pending", "Creating", "CreationFailed":
		// The detail is written with Created and stays. A request to delete resets the
		// state to Created, except of a volume that is being created.
		return !v.detail && (!v.deleteRequested || v.state == "Creating" && v.terminating)
	case "Updating", "Updated", "UpdateFailed":
		return v.detail && !v.deleteRequested
	}
	return true
}

func (v *volume) object() *unstructured.Unstructured {
	status := map[string]any{}
	if v.state != "" {
		status["state"] = v.state
	}
	if v.detail {
		status["detail"] = map[string]any{
			"volume_id":      "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/other/providers/Microsoft.Compute/disks/vol-other",
			"capacity_bytes": v.capacity, "node_expansion_required": v.capacity > required,
			"parameters": map[string]any{"skuName": "StandardSSD_LRS", "requestedsizegib": "7"},
		}
	}
	annotation := map[string]any{}
	if v.deleteRequested {
		annotation[prefix+"volume-delete-request"] = "cloud-delete-volume"
	}
	return object("AzVolume", "vol-other", status, annotation, v.err, v.terminating, v.recovered, map[string]any{
		"volumeName": "vol-other", "maxMountReplicaCount": int64(1), "volumeCapability": []any{},
		"capacityRange": map[string]any{"required_bytes": small}, "parameters": map[string]any{"skuName": "StandardSSD_LRS"},
	}, map[string]any{prefix + "apiversion": "v1beta2"}, nil)
}

// attachments returns every combination. Beside the LUN 21 there
// is another one, none, and an empty one.
func attachments() []*attachment {
	var all []*attachment
	type detail struct{ lun, role string }
	details := []detail{{}, {"21", "Primary"}, {"21", "Replica"}, {"8", "Primary"}, {"", "Primary"}, {"", "Replica"}}
	for _, state := range []string{"", "Unknown", "Pending", "Attaching", "Attached", "AttachmentFailed", "Detaching", "Detached", "DetachmentFailed", "ForceDetachPending", "zz"} {
		for _, d := range details {
			for _, role := range []string{"Primary", "Replica"} {
				for _, err := range recordings {
					for flags := range 48 {
						a := &attachment{
							state: state, detail: d.role != "", lun: d.lun, actual: d.role, role: role, err: err,
							terminating: flags&1 != 0, attachRequested: flags&2 == 0, detachRequested: flags&4 != 0, recovered: flags&8 != 0, foreign: []string{"", "volume", "node"}[flags>>4],
						}
						all = append(all, a)
					}
				}
			}
		}
	}
	return all
}

func (a *attachment) reachable() bool {
	switch {
	case a.foreign != "" && (a.err != nil || a.recovered || a.terminating): // one of each is enough
		return false
	case !a.attachRequested && a.state != "" && a.state != "Pending":
		return false // the attach has begun without being asked for
	}
	switch a.state {
	case "", "Pending":
		return !a.detail
	case "Attached":
		return a.detail || a.detachRequested
	case "ForceDetachPending":
		return a.role == "Replica" || a.detachRequested
	case "Detaching", "DetachmentFailed":
		return a.detachRequested || a.terminating
	}
	return true
}

func (a *attachment) object() *unstructured.Unstructured {
	status := map[string]any{}
	if a.state != "" {
		status["state"] = a.state
	}
	if a.detail {
		context := map[string]any{}
		if a.lun != "" {
			context["LUN"] = a.lun
		}
		status["detail"] = map[string]any{"role": a.actual, "publish_context": context}
	}
	annotation := map[string]any{}
	if a.detachRequested {
		annotation[prefix+"volume-detach-request"] = "node-controller"
	}
	annotations := map[string]any{prefix + "apiversion": "v1beta2"}
	if a.attachRequested {
		annotations[prefix+"volume-attach-request"] = "crdProvisioner"
	}
	volumeName := "vol-other"
	nodeName := "machine-12"
	switch a.foreign {
	case "volume":
		volumeName = "vol-foreign"
	case "node":
		nodeName = "machine-1"
	}
	return object("AzVolumeAttachment", "vol-other-machine-12-attachment", status, annotation, a.err, a.terminating, a.recovered, map[string]any{
		"volumeName": volumeName, "volume_id": "/subscriptions/11111111-2222-3333-4444-555555555555/" + volumeName, "nodeName": nodeName,
		"role": a.role, "volume_context": map[string]any{},
	}, annotations, map[string]any{prefix + "node-name": nodeName, prefix + "volume-name": volumeName, prefix + "requested-role": a.role})
}

func object(kind, name string, status, annotation map[string]any, err *recorded, terminating, recovered bool, spec, annotations, labels map[string]any) *unstructured.Unstructured {
	metadata := map[string]any{
		"name": name, "namespace": "disks", "uid": "0b6f2a52-9c7e-4d9e-8e0a-57a6c1f1f0aa", "resourceVersion": "917", "generation": int64(2),
		"creationTimestamp": "2027-11-05T23:01:02Z", "finalizers": []any{prefix + strings.ToLower(kind) + "-finalizer"}, "annotations": annotations,
	}
	if labels != nil {
		metadata["labels"] = labels
	}
	if terminating {
		metadata["deletionTimestamp"] = "2027-11-06T01:02:03Z"
	}
	if recovered {
		annotation[prefix+"recovery"] = "e2f1"
		metadata["generation"] = int64(7)
	}
	if len(annotation) > 0 {
		status["annotation"] = annotation
	}
	if err != nil {
		status["error"] = map[string]any{"code": err.code, "message": err.message}
	}
	o := map[string]any{"apiVersion": "disk.csi.azure.com/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}
	if len(status) > 0 {
		o["status"] = status
	}
	return &unstructured.Unstructured{Object: o}
}

// point is one observation of an operation's object, with what may be said of it.
type point struct {
	observation engine.Observation
	params      int // which of the operation's params
	may         may
}

func (p *point) String() string {
	if p.observation.Object == nil {
		return p.observation.Presence.String()
	}
	o := p.observation.Object.(*unstructured.Unstructured)
	return fmt.Sprintf("status %v, marked %t, annotations %v, spec.role %v", o.Object["status"], o.GetDeletionTimestamp() != nil, o.GetAnnotations(), o.Object["spec"].(map[string]any)["role"])
}

// space is everything that is judged in waits of an operation.
type space struct {
	operation engine.Operation
	params    []engine.Params // that callers give
	points    []point
}

// clear reports whether a wait of the operation is about one thing only, so that how
// it stands can be said of any object, reachable or not.
func clear(operation string) bool {
	switch operation {
	case provisioner.OperationCreateVolume, provisioner.OperationExpandVolume, provisioner.OperationPublishVolume, provisioner.OperationStageVolume:
		return false
	}
	return true
}

// spaces returns that of each operation.
func spaces() map[string]*space {
	all := map[string]*space{}
	vols, atts := volumes(), attachments()
	for _, operation := range provisioner.Operations() {
		s := &space{operation: operation, params: []engine.Params{{}}}
		observe := func(o *unstructured.Unstructured) engine.Observation {
			return engine.Observation{
				Ref: engine.Reference{Resource: operation.Resource, Namespace: o.GetNamespace(), Name: o.GetName()}, Presence: engine.Present,
				Object: o, UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
			}
		}
		switch operation.Name {
		case provisioner.OperationExpandVolume:
			s.params = []engine.Params{{provisioner.ParamRequiredBytes: required}}
		case provisioner.OperationPublishVolume:
			s.params = []engine.Params{{provisioner.ParamVolumeName: "vol-other", provisioner.ParamNodeName: "machine-12"}}
		case provisioner.OperationStageVolume:
			s.params = nil
			for _, lun := range []string{"21", ""} {
				s.params = append(s.params, engine.Params{provisioner.ParamVolumeName: "vol-other", provisioner.ParamNodeName: "machine-12", provisioner.ParamLUN: lun})
			}
		}
		for i, params := range s.params {
			lun, _ := params[provisioner.ParamLUN].(string)
			if operation.Kind == "AzVolume" {
				for _, v := range vols {
					if !v.reachable() && !clear(operation.Name) {
						continue
					}
					s.points = append(s.points, point{observe(v.object()), i, ofVolume(operation.Name, v, required)})
				}
			} else {
				for _, a := range atts {
					if !a.reachable() && (!clear(operation.Name) || a.foreign != "" || a.err != nil && a.err.code != "UNKNOWN" && a.err.code != "RESOURCE_EXHAUSTED") {
						continue
					}
					s.points = append(s.points, point{observe(a.object()), i, ofAttachment(operation.Name, a, lun)})
				}
			}
			for _, presence := range []engine.Presence{engine.NeverExisted, engine.Deleted, engine.Replaced} {
				s.points = append(s.points, point{engine.Observation{Ref: engine.Reference{Resource: operation.Resource, Namespace: "disks", Name: "vol-other"}, Presence: presence}, i, ofAbsence(operation.Name, presence)})
			}
		}
		all[operation.Name] = s
	}
	return all
}

// harm judges every point through the binding, and returns what is wrong with the
// first one that is judged wrongly; empty if none is.
func (s *space) harm(binding *engine.Binding) (what string, wrong int) {
	for i, params := range s.params {
		given := engine.Params{}
		for name, value := range binding.Params {
			given[name] = value
		}
		for name, value := range params {
			given[name] = value
		}
		judge, err := binding.Predicate.Bind(given)
		if err != nil {
			return "it can't be bound: " + err.Error(), 1
		}
		for j := range s.points {
			p := &s.points[j]
			if p.params != i {
				continue
			}
			judgement := judge.Judge(context.Background(), p.observation)
			why := p.may.harm(judgement)
			if why == "" && p.may.must && binding.Timeout > 0 && len(judgement.Holding) > 0 && judgement.Holding[0].For >= binding.Timeout {
				why = "held for longer than the wait"
			}
			if why == "" {
				continue
			}
			if wrong++; what == "" {
				what = fmt.Sprintf("%s: %s: %v", s.operation.Name, why, p)
			}
		}
	}
	return what, wrong
}
