package contracts_test

import (
	"google.golang.org/grpc/codes"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/provisioner"
)

// may is what a verdict may be without lying about a disk.
type may struct {
	done  bool // Done
	fail  bool // Failed with a code after which the caller comes again
	final bool // Failed with any other
	must  bool // it must be Done: the end of a normal operation
}

// What the state machine of the other side says of a wait. It is written from its
// facts and the scenarios, and knows nothing of the contracts.
var (
	goesOn    = may{}
	succeeded = may{done: true, must: true}
	either    = may{done: true, fail: true}
	leaving   = may{fail: true}
	broken    = may{fail: true, final: true}
	smallEnd  = may{done: true, fail: true, final: true}
)

// ofVolume is what may be said of a volume in a wait of the operation. required is
// the size that the caller of an expand needs.
func ofVolume(operation string, v *volume, required int64) may {
	leaves := v.terminating || v.state == "Deleting" || v.state == "DeletionFailed" || v.state == "Deleted"
	strange := v.state == "zz"
	switch operation {
	case provisioner.OperationCreateVolume:
		switch {
		case leaves || strange:
			return leaving
		case v.state == "CreationFailed":
			return failedBy(v.err)
		case v.deleteRequested: // between the request of a delete and the delete
			return may{done: v.detail && v.state != "Creating", fail: true}
		case !v.detail:
			return goesOn
		case v.state == "Created":
			return succeeded
		default: // an expansion runs, ended or failed: the volume exists
			return either
		}
	case provisioner.OperationDeleteVolume:
		switch {
		case v.state == "DeletionFailed":
			return broken
		case v.state == "Deleted" || strange:
			return leaving
		}
		return goesOn // what is there isn't gone
	case provisioner.OperationVolumeSettled:
		working := v.state == "Creating" || v.state == "Updating"
		ended := v.state == "Created" || v.state == "Updated" || v.state == "UpdateFailed" || v.state == "CreationFailed"
		switch {
		case working && !v.terminating:
			return goesOn
		case ended && !v.terminating && !v.deleteRequested:
			return succeeded
		}
		return either
	case provisioner.OperationExpandVolume:
		large := v.detail && v.capacity >= required
		switch {
		case leaves || strange || v.deleteRequested:
			return may{done: large, fail: true}
		case v.state == "UpdateFailed" && large: // somebody else's expansion, to an even larger size
			return smallEnd
		case v.state == "UpdateFailed" || v.state == "CreationFailed":
			return broken
		case large && v.state == "Updated":
			return succeeded
		case large:
			return either
		}
		return goesOn
	}
	panic("no such operation: " + operation)
}

// failedBy is what may be said where an operation has failed with that error: the
// cloud call's own deadline doesn't say that the cloud has stopped.
func failedBy(e *recorded) may {
	if e != nil && e.deadline() {
		return leaving
	}
	return broken
}

// ofAttachment is what may be said of an attachment. lun is what the caller of a
// stage was given.
func ofAttachment(operation string, a *attachment, lun string) may {
	leaves := a.terminating || a.detachRequested || a.state == "Detaching" || a.state == "Detached" || a.state == "DetachmentFailed" || a.state == "ForceDetachPending"
	strange := a.state == "zz" || a.state == "Unknown"
	unrequested := (a.state == "" || a.state == "Pending") && !a.attachRequested
	switch operation {
	case provisioner.OperationPublishVolume, provisioner.OperationStageVolume:
		stage := operation == provisioner.OperationStageVolume
		switch {
		case a.foreign != "":
			return broken
		case leaves || strange || a.role != "Primary":
			return leaving
		case a.state == "AttachmentFailed":
			return failedBy(a.err)
		case unrequested:
			return broken
		case a.state == "Attached" && a.lun == "":
			return broken // it is complete, and there is nothing to return
		case a.state != "Attached" && a.state != "Attaching" || a.lun == "":
			return goesOn
		case a.state == "Attached" && a.actual == "Primary":
			if stage && lun != "" && lun != a.lun {
				return goesOn
			}
			return succeeded
		case stage:
			return goesOn
		}
		return either // the LUN is promised
	case provisioner.OperationUnpublishVolume, provisioner.OperationReplicaDetached:
		switch {
		case a.state == "DetachmentFailed":
			return broken
		case a.state == "Detached" || strange:
			return leaving
		}
		return goesOn
	case provisioner.OperationAttachSettled:
		switch {
		case a.state == "Attaching" && !a.terminating:
			return goesOn
		case (a.state == "Attached" || a.state == "AttachmentFailed") && !a.terminating:
			return succeeded
		}
		return either
	}
	panic("no such operation: " + operation)
}

// ofAbsence is what may be said where there is no object.
func ofAbsence(operation string, presence engine.Presence) may {
	switch operation {
	case provisioner.OperationDeleteVolume, provisioner.OperationVolumeSettled, provisioner.OperationUnpublishVolume,
		provisioner.OperationAttachSettled, provisioner.OperationReplicaDetached:
		if presence == engine.NeverExisted {
			return either
		}
		return succeeded
	case provisioner.OperationExpandVolume:
		if presence != engine.NeverExisted {
			return broken
		}
	default:
		if presence != engine.NeverExisted {
			return leaving
		}
	}
	return goesOn // it isn't in the cache yet
}

// harm says how a judgement lies; empty if it doesn't.
func (m may) harm(j engine.Judgement) string {
	done := false
	for _, v := range verdicts(j) {
		switch v.Decision {
		case engine.Done:
			done = true
			if !m.done {
				return "Done"
			}
		case engine.Failed:
			switch {
			case !m.fail:
				return "Failed where nothing has failed"
			case !m.final && !passing(v.Code):
				return "Failed with a final code"
			}
		}
	}
	if first := firstOf(j); m.must && !(done && first.Decision == engine.Done) {
		return "not Done at the end"
	}
	return ""
}

// verdicts returns all that may end a wait which stays on this observation.
func verdicts(j engine.Judgement) []engine.Verdict {
	all := []engine.Verdict{j.Verdict}
	for _, h := range j.Holding {
		all = append(all, h.Verdict)
	}
	return all
}

// firstOf returns the one that does.
func firstOf(j engine.Judgement) engine.Verdict {
	if j.Verdict.Decision != engine.Pending || len(j.Holding) == 0 {
		return j.Verdict
	}
	first := j.Holding[0]
	for _, h := range j.Holding {
		if h.For < first.For {
			first = h
		}
	}
	return first.Verdict
}

func passing(c codes.Code) bool {
	return c == codes.Canceled || c == codes.DeadlineExceeded || c == codes.Unavailable || c == codes.Aborted
}
