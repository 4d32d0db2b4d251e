//go:build integration && soak

package chaos_test

import (
	"testing"
	"time"
)

// A minute without a server: by then the informers try only twice a minute, so it takes as long again to recover.
func TestSoakNoServer(t *testing.T) {
	outage(t, newServer(t), killed, time.Minute)
}

func TestSoakServerStopped(t *testing.T) {
	outage(t, newServer(t), stopped, 0)
}

func TestSoakWatchesCut(t *testing.T) {
	server := newServer(t)
	t.Run("every second", func(t *testing.T) { watchesCut(t, server, time.Second, time.Minute) })
	t.Run("every 100 ms", func(t *testing.T) { watchesCut(t, server, 100*time.Millisecond, time.Minute) })
}

// Nobody cuts the silent connections: the client's own pings find out after 30 to 45 s.
func TestSoakBlackHoleIsNoticed(t *testing.T) {
	gap(t, newServer(t), doubtful)
}

func TestSoakGaps(t *testing.T) {
	server := newServer(t)
	for range 10 {
		t.Run("410 Gone", func(t *testing.T) { gap(t, server, expired) })
	}
}
