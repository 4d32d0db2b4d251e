//go:build integration

package chaos_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer starts a server that tests may stop and kill.
func newServer(t *testing.T) *controlplane.Server {
	t.Helper()
	server := clustertest.Own(t, controlplane.Options{})
	manifests, err := crds.All()
	must(t, err)
	must(t, server.InstallCRDs(t.Context(), manifests...))
	return server
}
