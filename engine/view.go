package engine

// inView says how the barrier's presence counts where the informer shows only
// some of the objects: one that isn't there may be one that doesn't match, so
// its absence is no deletion. That another UID has its name still says it is gone.
func (s *source) inView(p Presence, seen *sighting) Presence {
	if !s.filtered || seen.present() {
		return p
	}
	if p == NeverExisted || p == Deleted {
		return outOfView
	}
	return p
}

// outOfView is what is said of an object that the informer doesn't show.
func (o *object) outOfView(id PredicateID) *Judgement {
	return &Judgement{Verdict: Verdict{
		Predicate: id,
		Reason:    ReasonOutOfView,
		Message:   "the informer of " + o.source.gvr.GroupResource().String() + " shows only some of the objects, and not this one: it may have been deleted, or not match its selector",
	}}
}
