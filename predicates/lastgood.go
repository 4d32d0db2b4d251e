package predicates

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// LastGood keeps the sources of the last good set beyond the end of the program.
type LastGood interface {
	// Load returns what Save was given last; nothing if that was never. What has
	// been damaged since is an error.
	Load() ([]Source, error)
	// Save keeps the sources. Load returns either all of them or those from before.
	Save(sources []Source) error
}

// WithLastGood has the store save what is in force, and fall back on it: if the
// first content of the sources is wrong, the last good set of the run before comes
// into force, on top of the defaults of now and through the gate of now.
func WithLastGood(keep LastGood) StoreOption {
	return func(s *Store) { s.lastGood = keep }
}

// recall makes the set that the run before had saved; nil if there is none.
func (s *Store) recall(defaults Source) (*Set, error) {
	saved, err := s.lastGood.Load()
	if err != nil || len(saved) == 0 {
		return nil, err
	}
	for _, source := range saved {
		if s.declared && s.index(source.Name) < 0 && len(source.Files) > 0 {
			return nil, fmt.Errorf("the last good predicates are of a program with other sources: %s is none of this one's", source.Name)
		}
	}
	set, _, err := s.load(append([]Source{defaults}, saved...), s.set.Load().compiled)
	if err != nil {
		return nil, fmt.Errorf("the last good predicates of the run before can't be used any more: %w", err)
	}
	return set, nil
}

// save keeps what is in force, if that isn't kept already.
func (s *Store) save(config []Source) error {
	if s.lastGood == nil {
		return nil
	}
	d := digestOf(config)
	if d == s.saved {
		return nil
	}
	if err := s.lastGood.Save(config); err != nil {
		return err
	}
	s.saved = d
	return nil
}

// digestOf identifies the names and contents of sources, in their order.
func digestOf(sources []Source) string {
	h := sha256.New()
	for _, source := range sources {
		fmt.Fprintf(h, "%d %s %s ", len(source.Name), source.Name, source.digest())
	}
	return hex.EncodeToString(h.Sum(nil))
}
