package engine

import "time"

// unseenInterval is how often the store is looked at again for waiters that wait
// for the cache to catch up with their floor. An object that was created and
// deleted within one gap of the watch never causes an event.
const unseenInterval = time.Second

// quietTicks is how many ticks without a delivery stand in for the comparison of
// versions that can't be compared.
const quietTicks = 2

// block notes why a sighting was not judged; object.mu is held.
func (w *Waiter) block(s *sighting, a admission) {
	if !w.last.valid && (w.barrier.written || w.barrier.floor != (level{})) {
		b := w.isBlocked()
		b.seen, b.store = s.version, !s.present()
	}
	if s.fromStore() {
		w.setUnseen(a == unseen)
	}
}

// isBlocked returns what is noted of why nothing is judged, for writing.
func (w *Waiter) isBlocked() *blocked {
	if w.blocked == nil {
		w.blocked = &blocked{}
	}
	return w.blocked
}

// unseen reports whether the waiter waits for the cache to catch up.
func (w *Waiter) unseen() bool { return w.blocked != nil && w.blocked.unseen }

// unblock says that something was judged, or that it is to be found out anew.
func (w *Waiter) unblock() {
	if w.blocked != nil {
		w.setUnseen(false)
		w.blocked = nil
	}
}

// setUnseen keeps the books of who waits for the cache to catch up.
func (w *Waiter) setUnseen(unseen bool) {
	o := w.object
	switch {
	case unseen == w.unseen():
		return
	case unseen:
		if o.unseen++; o.unseen == 1 {
			o.source.addUnseen(o)
		}
	default:
		w.blocked.quiet = 0
		if o.unseen--; o.unseen == 0 {
			o.source.removeUnseen(o)
		}
	}
	w.isBlocked().unseen = unseen
}

func (s *source) addUnseen(o *object) {
	s.unseenMu.Lock()
	defer s.unseenMu.Unlock()
	if s.unseen == nil {
		s.unseen = map[*object]struct{}{}
	}
	s.unseen[o] = struct{}{}
	s.unseenCount.Store(int64(len(s.unseen)))
	if s.unseenTimer == nil {
		s.unseenTimer = s.engine.afterFunc(unseenInterval, s.tick)
	}
}

func (s *source) removeUnseen(o *object) {
	s.unseenMu.Lock()
	defer s.unseenMu.Unlock()
	delete(s.unseen, o)
	s.unseenCount.Store(int64(len(s.unseen)))
	if len(s.unseen) == 0 && s.unseenTimer != nil {
		s.unseenTimer.Stop()
		s.unseenTimer, s.unseen = nil, nil
	}
}

// unseenObjects returns the objects with waiters that wait for the cache.
func (s *source) unseenObjects() []*object {
	s.unseenMu.Lock()
	defer s.unseenMu.Unlock()
	objects := make([]*object, 0, len(s.unseen))
	for o := range s.unseen {
		objects = append(objects, o)
	}
	return objects
}

// tick looks at the store again for everyone who waits for the cache.
func (s *source) tick() {
	s.unseenMu.Lock()
	if s.unseenTimer != nil {
		s.unseenTimer.Stop() // another, made after this tick was due
		s.unseenTimer = nil
	}
	if len(s.unseen) > 0 {
		s.unseenTimer = s.engine.afterFunc(unseenInterval, s.tick)
	}
	s.unseenMu.Unlock()

	version, listed := s.version(), ""
	if i, ok := s.informer.(interface{ LastSyncResourceVersion() string }); ok {
		listed = i.LastSyncResourceVersion()
	}
	stored, received := rank(version), rank(listed)
	for _, o := range s.unseenObjects() {
		o.mu.Lock()
		for w := range o.all() {
			if w.unseen() && w.barrier.order(&stored) == unknown {
				w.tickUnordered(&received)
			}
		}
		o.look = true
		o.scheduleLocked()
		o.mu.Unlock()
	}
}

// tickUnordered counts the floor as reached where versions can't be compared and
// no delivery has come for two ticks, unless the informer itself is known to be
// behind (listed is the version that it has received, not yet stored).
func (w *Waiter) tickUnordered(listed *ranked) {
	if w.barrier.order(listed) == below {
		w.blocked.quiet = 0
		return
	}
	if w.blocked.quiet++; w.blocked.quiet >= quietTicks {
		w.barrier.reached = true
	}
}

// sweep has the store looked at for those whose floor it has reached. Every
// event of the informer asks for it while there are any.
func (s *source) sweep() {
	if s.sweeping.CompareAndSwap(false, true) {
		s.engine.dispatch.add(s)
	}
}

// process does what sweep asked for.
func (s *source) process(*worker) {
	s.sweeping.Store(false)
	version := rank(s.version())
	for _, o := range s.unseenObjects() {
		o.mu.Lock()
		for w := range o.all() {
			if w.unseen() && w.barrier.order(&version) >= at {
				o.look = true
				o.scheduleLocked()
				break
			}
		}
		o.mu.Unlock()
	}
}
