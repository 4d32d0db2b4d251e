package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// checkTimeout bounds the first contact with the API server.
const checkTimeout = 15 * time.Second

// cluster has the clients, which share one connection and one counter.
type cluster struct {
	config *rest.Config
	core   kubernetes.Interface
	// served asks which resources of a group version the API server has.
	served resourceLister
	close  func()
}

// openCluster loads the configuration and makes the clients; it makes no request.
func openCluster(opts options, count func(http.RoundTripper) http.RoundTripper) (*cluster, error) {
	config, err := loadConfig(opts.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = opts.kubeAPIQPS
	config.Burst = max(1, int(2*opts.kubeAPIQPS))
	rest.AddUserAgent(config, "donewhen-driver")
	config.Wrap(count)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server %s: %w", config.Host, err)
	}
	core, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server %s: %w", config.Host, err)
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server %s: %w", config.Host, err)
	}
	return &cluster{config: config, core: core, served: served, close: httpClient.CloseIdleConnections}, nil
}

// disks makes the client of the custom resources, whose requests go through wrap.
func (c *cluster) disks(wrap func(http.RoundTripper) http.RoundTripper) (versioned.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.Wrap(wrap)
	disks, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server %s: %w", config.Host, err)
	}
	return disks, nil
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("no --kubeconfig was given and this isn't a pod: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load the kubeconfig %s: %w; give --kubeconfig a file that kubectl accepts", kubeconfig, err)
	}
	return config, nil
}

// resourceLister is what checkCRDs needs of *discovery.DiscoveryClient.
type resourceLister interface {
	ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
}

// checkCRDs finds out whether the API server answers and serves the custom
// resources, so that their absence is an error at the start and not a driver
// that hangs.
func checkCRDs(ctx context.Context, client resourceLister) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	group := v1beta2.SchemeGroupVersion.String()
	list, err := client.ServerResourcesForGroupVersionWithContext(ctx, group)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the API server doesn't serve %s: install the CRDs (kubectl apply -f provisioner/azuredisk/crds)", group)
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return fmt.Errorf("ask the API server for its resources of %s: %w; check the kubeconfig's user", group, err)
	case err != nil:
		return fmt.Errorf("ask the API server for its resources of %s: %w; is it running, and is this its kubeconfig?", group, err)
	}
	served := map[string]bool{}
	for _, resource := range list.APIResources {
		served[resource.Name] = true
	}
	var missing []string
	for _, want := range []schema.GroupVersionResource{v1beta2.AzVolumes(), v1beta2.AzVolumeAttachments(), v1beta2.AzDriverNodes()} {
		for _, resource := range []string{want.Resource, want.Resource + "/status"} {
			if !served[resource] {
				missing = append(missing, resource)
			}
		}
	}
	if len(missing) != 0 {
		return fmt.Errorf("the API server doesn't serve %s of %s: install the CRDs (kubectl apply -f provisioner/azuredisk/crds)", strings.Join(missing, ", "), group)
	}
	return nil
}
