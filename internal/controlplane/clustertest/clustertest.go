// Package clustertest gives the integration tests of a package a real API server that they share. The tests of one
// process share a server; under with-cluster those of all packages do.
//
//	func TestMain(m *testing.M) { clustertest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cluster := clustertest.Shared(t)
//		cluster.InstallCRDs(t, crdYAML)
//		client := kubernetes.NewForConfigOrDie(cluster.Config())
//		namespace := cluster.Namespace(t)
//		…
//	}
//
// A test that stops or kills its server needs one of its own: see Own.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/donewhen/donewhen/internal/controlplane"
)

const (
	// KubeconfigEnv names the environment variable that holds the path of an administrator's kubeconfig. If it is set, the
	// tests use that server and start none.
	KubeconfigEnv = "DONEWHEN_TEST_KUBECONFIG"
	// DirEnv names the environment variable that holds the directory of the server of KubeconfigEnv, if with-cluster
	// started it. The other users' kubeconfigs are there.
	DirEnv = "DONEWHEN_TEST_DIR"
)

// Cluster is an API server with an administrator's access to it. It is safe for concurrent use.
type Cluster struct {
	config     *rest.Config
	kubeconfig string
	dir        string               // empty: unknown, a server that isn't ours
	server     *controlplane.Server // nil: started by another process
}

// shared is the server of this test process. Package level, because TestMain and the tests have no other common place.
var shared struct {
	sync.Mutex
	underMain bool // Main runs, so that somebody will stop the server
	cluster   *Cluster
	err       error
}

// Main runs the tests, then stops the server that Shared started, if any, and exits. Call it from TestMain.
func Main(m *testing.M) {
	shared.Lock()
	shared.underMain = true
	shared.Unlock()
	code := m.Run()
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func closeShared() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil || shared.cluster.server == nil {
		return nil
	}
	return shared.cluster.server.Close()
}

// Shared returns the cluster that all tests share: that of KubeconfigEnv, or else one that it starts at the first call.
// The first call ever on a machine builds the server, which takes some minutes; "go test -timeout" must allow for that.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = open(shared.underMain)
	}
	if shared.err != nil {
		tb.Fatalf("shared cluster: %v", shared.err)
	}
	return shared.cluster
}

func open(underMain bool) (*Cluster, error) {
	if kubeconfig := os.Getenv(KubeconfigEnv); kubeconfig != "" {
		config, err := controlplane.LoadConfig(kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", KubeconfigEnv, err)
		}
		return &Cluster{config: config, kubeconfig: kubeconfig, dir: os.Getenv(DirEnv)}, nil
	}
	if !underMain {
		return nil, errors.New("nobody would stop the server: call clustertest.Main in the package's TestMain, or set " + KubeconfigEnv)
	}
	// Not a test's context: the server outlives the test.
	return start(context.Background(), controlplane.Options{})
}

func start(ctx context.Context, opts controlplane.Options) (*Cluster, error) {
	binary, err := controlplane.Build(ctx, controlplane.BuildOptions{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	opts.Binary = binary
	server, err := controlplane.Start(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &Cluster{config: server.Config(), kubeconfig: server.KubeconfigPath(), dir: server.Dir(), server: server}, nil
}

// Own starts a server for this test alone, which may stop, kill and restart it, and closes it when the test ends. Empty
// Binary and Dir are filled in.
func Own(tb testing.TB, opts controlplane.Options) *controlplane.Server {
	tb.Helper()
	cluster, err := start(tb.Context(), opts)
	if err != nil {
		tb.Fatalf("own cluster: %v", err)
	}
	tb.Cleanup(func() {
		if err := cluster.server.Close(); err != nil {
			tb.Errorf("close own cluster: %v", err)
		}
	})
	return cluster.server
}

// Config is a new client configuration for the administrator, without client-side throttling.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// KubeconfigPath is the administrator's kubeconfig, for programs that the test starts.
func (c *Cluster) KubeconfigPath() string { return c.kubeconfig }

// KubeconfigPathFor is another user's kubeconfig (controlplane.Driver and so on). The test fails if the server isn't
// ours and so has no such users.
func (c *Cluster) KubeconfigPathFor(tb testing.TB, user string) string {
	tb.Helper()
	if c.dir == "" {
		tb.Fatalf("kubeconfig of user %s: the server of %s wasn't started by with-cluster (%s is not set), so its users are unknown", user, KubeconfigEnv, DirEnv)
	}
	path := controlplane.KubeconfigIn(c.dir, user)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("kubeconfig of user %s (are the users of %s others?): %v", user, filepath.Base(c.dir), err)
	}
	return path
}

// ConfigFor is like Config for another user. On a server that isn't ours the administrator impersonates that user, which
// RBAC judges in the same way.
func (c *Cluster) ConfigFor(tb testing.TB, user string) *rest.Config {
	tb.Helper()
	if c.dir == "" {
		config := c.Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		return config
	}
	config, err := controlplane.LoadConfig(c.KubeconfigPathFor(tb, user))
	if err != nil {
		tb.Fatal(err)
	}
	return config
}

// InstallCRDs is controlplane.InstallCRDs on this cluster. The first call for a CRD takes about two seconds, later ones, of
// other packages too, some milliseconds.
func (c *Cluster) InstallCRDs(tb testing.TB, crdYAML ...[]byte) {
	tb.Helper()
	if err := controlplane.InstallCRDs(tb.Context(), c.config, crdYAML...); err != nil {
		tb.Fatalf("install CRDs: %v", err)
	}
}
