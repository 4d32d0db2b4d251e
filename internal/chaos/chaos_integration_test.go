//go:build integration

package chaos_test

import (
	"testing"
	"time"

	"github.com/donewhen/donewhen/internal/controlplane"
)

// TestChaos runs what a short run can show. The parts share a server, because a start takes seconds, and run one after
// the other: each of them breaks it, or measures.
func TestChaos(t *testing.T) {
	server := newServer(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *controlplane.Server)
	}{
		{"ServerKilled", func(t *testing.T, s *controlplane.Server) { outage(t, s, killed, 0) }},
		{"Refused", refused},
		{"WatchesCut", func(t *testing.T, s *controlplane.Server) { watchesCut(t, s, time.Second, 8*time.Second) }},
		{"BlackHole", func(t *testing.T, s *controlplane.Server) { gap(t, s, resumed) }},
		{"410Gone", func(t *testing.T, s *controlplane.Server) { gap(t, s, expired) }},
		{"Delayed", func(t *testing.T, s *controlplane.Server) { delayed(t, s, 300*time.Millisecond) }},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, server) })
	}
}
