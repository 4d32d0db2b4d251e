package engine

// version returns the version that the store has reached. If it is older than
// one seen before, the server was restored from a backup: what the engine knows
// of versions is void, and every floor of this informer is dropped. No lock is
// held by the caller.
func (s *source) version() string {
	s.versionMu.Lock()
	version := s.store.LastStoreSyncResourceVersion()
	before, back := s.highest, false
	switch compareVersions(version, s.highest) {
	case below:
		back = true
		s.highest = version
		s.rolledBack.Store(true)
	case above:
		s.highest = version
	case unknown:
		if comparableVersion(version) {
			s.highest = version
		}
	case at:
	}
	s.versionMu.Unlock()
	if back {
		s.engine.logger.Info("Warning: the server's resource versions went back (restored from a backup?): waits on this resource go on without their barriers",
			"resource", s.gvr.GroupResource().String(), "namespace", s.namespace, "from", before, "to", version)
		if s.engine.observer != nil {
			s.engine.observer.VersionsWentBack(s.gvr)
		}
		s.dropFloors()
	}
	return version
}

// checkVersion looks whether the server's versions went back.
func (s *source) checkVersion() { s.version() }

// dropFloors has every waiter judge anew, whatever the version.
func (s *source) dropFloors() {
	for _, o := range s.all() {
		o.mu.Lock()
		for w := range o.all() {
			w.barrier.dropFloor()
			w.forget()
			w.epoch++
		}
		o.look = true
		o.scheduleLocked()
		o.mu.Unlock()
	}
}

// fromBefore reports whether an event is from before the server's versions went
// back: it is newer than the store, which is otherwise never behind its events.
func (s *source) fromBefore(seen *sighting) bool {
	return s.rolledBack.Load() && !seen.fromStore() && compareVersions(seen.version, s.version()) == above
}

// warnUncomparable warns, once, that versions of this informer can't be compared.
func (s *source) warnUncomparable(version string) {
	if s.warned.CompareAndSwap(false, true) {
		s.engine.logger.Info("Warning: resource versions can't be compared: a wait counts as past its own write at the first delivery after it",
			"resource", s.gvr.GroupResource().String(), "namespace", s.namespace, "resourceVersion", version,
			"hint", "fake clients give none; client-go's AtomicFIFO feature must be on")
	}
}
