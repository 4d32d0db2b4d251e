package engine

// hand has the judgements that are at hand, of jobs that are not alike, by their
// judges' keys. The job of the last find is tried first: mostly all are alike.
type hand struct {
	last  *job
	byKey map[string][]*job
}

// find returns a job that is alike, nil if there is none.
func (h *hand) find(j *job) *job {
	if h.last != nil && h.last.alike(j) {
		return h.last
	}
	for _, other := range h.byKey[j.judge.Key()] {
		if other.alike(j) {
			h.last = other
			return other
		}
	}
	return nil
}

func (h *hand) add(j *job) {
	if h.find(j) != nil {
		return
	}
	if h.last == nil {
		h.last = j
		return
	}
	if h.byKey == nil {
		h.byKey = map[string][]*job{h.last.judge.Key(): {h.last}}
	}
	h.byKey[j.judge.Key()] = append(h.byKey[j.judge.Key()], j)
	h.last = j
}

// alike reports whether the two jobs' judgements are equal: equal judges and
// observations.
func (j *job) alike(other *job) bool {
	a, b := j.observation, other.observation
	return (a == b || a.Presence == b.Presence && a.UID == b.UID && a.ResourceVersion == b.ResourceVersion && a.Object == b.Object) &&
		j.judge.Key() == other.judge.Key()
}
