//go:build integration

package deploy

import (
	"testing"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }
