package controlplane

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// KubeconfigIn is the path of the named user's kubeconfig in a server's directory.
func KubeconfigIn(dir, user string) string {
	if user == Admin {
		return filepath.Join(dir, "kubeconfig")
	}
	return filepath.Join(dir, user+".kubeconfig")
}

// LoadConfig reads a kubeconfig into a client configuration without client-side throttling.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	// Not BuildConfigFromFlags: that falls back to in-cluster configuration for an empty path.
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	cfg.QPS = -1
	return cfg, nil
}
