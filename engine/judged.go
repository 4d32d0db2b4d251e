package engine

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// judged is the newest sighting that a waiter was judged on, and what came of it.
type judged struct {
	object  metav1.Object
	uid     types.UID
	version string
	at      time.Duration // when it had reached the engine, since the engine was made
	// judgement is nil for a pending verdict without texts, the ordinary one.
	judgement *Judgement
	presence  Presence
	valid     bool
}

// same reports whether the sighting, judged as p, would be judged as before: the
// same object at the same version (a resync), or still absent in the same way.
// newer says that its version is above all that were judged.
func (j *judged) same(s *sighting, version *ranked, p Presence, newer bool) bool {
	switch {
	case !j.valid || j.presence != p:
		return false
	case !s.present():
		return true
	case newer || j.uid != s.uid:
		return false
	}
	return j.object == s.object || compareVersions(version.version, j.version) == at
}

// verdict returns the verdict by the judgement alone, without hold times.
func (j *judged) verdict(id PredicateID) Verdict {
	if j.judgement == nil {
		return Verdict{Predicate: id}
	}
	return j.judgement.Verdict
}

// observation is what the judge was given, for Describe.
func (j *judged) observation(ref Reference, pin types.UID) *Observation {
	return observationOf(ref, j.presence, &sighting{object: j.object, uid: j.uid, version: j.version}, pin)
}

// observationOf makes what a judge sees of a sighting.
func observationOf(ref Reference, p Presence, s *sighting, pin types.UID) *Observation {
	o := &Observation{Ref: ref, Presence: p, UID: s.uid, ResourceVersion: s.version}
	switch p {
	case Present:
		o.Object = s.object
	case Deleted, Replaced:
		o.UID = pin // the object that is gone
	case NeverExisted:
		o.UID = ""
	}
	return o
}

// blocked says what keeps a waiter, which has judged nothing yet, before its barrier.
type blocked struct {
	seen   string // the version that the cache shows
	store  bool   // it is the store's version, not the object's
	unseen bool   // looked at again by the unseen timer
	quiet  int    // ticks of that timer without news, where versions can't be compared
}

func (b *blocked) message(floor string) string {
	switch {
	case !comparableVersion(floor):
		return "the caller's own write has not been delivered yet (its resourceVersion can't be compared)"
	case b.store:
		return fmt.Sprintf("the cache is at resourceVersion %s, waiting for %s", orUnknown(b.seen), floor)
	}
	return fmt.Sprintf("the cache shows the object at resourceVersion %s, waiting for %s", orUnknown(b.seen), floor)
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}
