//go:build integration

package main

import (
	"strings"
	"testing"
)

// A call that runs under a binding that pins keeps its predicate when another comes
// into force, and calls that come later have the new one.
func TestK33_APinnedCallKeepsItsPredicate(t *testing.T) {
	const pin = `---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: pinned}
spec: {operation: CreateVolume, predicate: volume-created, inFlight: Pin}
`
	s := newSite(t)
	s.configure(createdBy("volume-created", "UltraSSD_LRS", "old") + pin)
	stop := s.start()
	pinned := s.createVolume("pinned")
	s.volumeStatus("pinned", created("StandardSSD_LRS"))
	s.waitFor(`donewhen_waiters{operation="CreateVolume"}`, "1")
	s.edit(createdBy("volume-created", "StandardSSD_LRS", "new") + pin)
	s.waitFor("donewhen_config_reloads_total", "2")
	later := s.createVolume("later")
	s.volumeStatus("later", created("StandardSSD_LRS"))
	if err := <-later; err != nil {
		t.Error(err)
	}
	select {
	case err := <-pinned:
		t.Fatalf("the pinned call has moved: %v", err)
	default:
	}
	s.volumeStatus("pinned", created("UltraSSD_LRS")) // as its own predicate wants it
	if err := <-pinned; err != nil {
		t.Error(err)
	}
	for _, version := range []string{"old", "new"} {
		if got := s.metric(`donewhen_waits_total{operation="CreateVolume",outcome="Done",predicate="volume-created",version="` + version + `"}`); got != "1" {
			t.Errorf("%s has ended %s calls, want 1:\n%s", version, got, strings.TrimSpace(s.get("/metrics")))
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
