//go:build integration

package provisioner_test

import (
	"testing"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }
