package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
)

// contactTimeout bounds the first contact with a cluster.
const contactTimeout = 15 * time.Second

// cluster is where the demo happens.
type cluster struct {
	server    *controlplane.Server // nil: somebody else's cluster
	config    *rest.Config
	core      kubernetes.Interface
	disks     versioned.Interface
	dynamic   dynamic.Interface
	namespace string

	// What the demo has made in somebody else's cluster.
	madeCRDs      []string
	madeNamespace bool
	madeConfigMap bool
}

// openCluster connects to the cluster of the options, or starts one.
func openCluster(ctx context.Context, opts Options, say func(string, ...any)) (*cluster, error) {
	c := &cluster{namespace: opts.Namespace}
	var err error
	switch {
	case opts.InCluster:
		if c.config, err = rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("--in-cluster: %w", err)
		}
		c.config.QPS = -1
	case opts.Kubeconfig != "":
		if c.config, err = controlplane.LoadConfig(opts.Kubeconfig); err != nil {
			return nil, err
		}
	default:
		if c.server, err = startServer(ctx, opts, say); err != nil {
			return nil, err
		}
		c.config = c.server.Config()
	}
	rest.AddUserAgent(c.config, "donewhen-demo")
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func startServer(ctx context.Context, opts Options, say func(string, ...any)) (*controlplane.Server, error) {
	binary, err := controlplane.Build(ctx, controlplane.BuildOptions{Progress: opts.Err})
	if err != nil {
		return nil, err
	}
	say("starting a control plane (kube-apiserver %s and etcd)", controlplane.Version)
	return controlplane.Start(ctx, controlplane.Options{Binary: binary, Detached: opts.Keep})
}

// stop stops the control plane if the demo has started it.
func (c *cluster) stop() error {
	if c.server == nil {
		return nil
	}
	return c.server.Close()
}

func (c *cluster) connect(ctx context.Context) error {
	httpClient, err := rest.HTTPClientFor(c.config)
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", c.config.Host, err)
	}
	core, err := kubernetes.NewForConfigAndClient(c.config, httpClient)
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", c.config.Host, err)
	}
	disks, err := versioned.NewForConfigAndClient(c.config, httpClient)
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", c.config.Host, err)
	}
	c.dynamic, err = dynamic.NewForConfigAndClient(c.config, httpClient)
	if err != nil {
		return fmt.Errorf("make a client of %s: %w", c.config.Host, err)
	}
	c.core, c.disks = core, disks
	ctx, cancel := context.WithTimeout(ctx, contactTimeout)
	defer cancel()
	_, err = core.CoreV1().Namespaces().Get(ctx, c.namespace, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reach the cluster at %s: %w; is it running, and may the kubeconfig's user do this?", c.config.Host, err)
	}
	return nil
}

// prepare installs the CRDs that are missing and makes the namespace with the
// ConfigMap. It refuses a namespace in which it would meddle.
func (c *cluster) prepare(ctx context.Context) error {
	if err := c.installCRDs(ctx); err != nil {
		return err
	}
	if err := c.makeNamespace(ctx); err != nil {
		return err
	}
	left, err := c.objects(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("namespace %s holds %d AzVolumes and AzVolumeAttachments already (%s), which the simulator would take for its own: give another --namespace",
			c.namespace, len(left), left[0])
	}
	_, err = c.core.CoreV1().ConfigMaps(c.namespace).Create(ctx, configMap(predicateYAML), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("namespace %s has a ConfigMap %s already: give another --namespace", c.namespace, configMapName)
	}
	if err != nil {
		return fmt.Errorf("create the ConfigMap %s/%s: %w", c.namespace, configMapName, err)
	}
	c.madeConfigMap = true
	if c.server != nil {
		return c.allow(ctx)
	}
	return nil
}

func configMap(predicate string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: configMapName},
		Data:       map[string]string{configMapKey: predicate},
	}
}

func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

func (c *cluster) installCRDs(ctx context.Context) error {
	manifests, err := crds.All()
	if err != nil {
		return err
	}
	var missing [][]byte
	for _, manifest := range manifests {
		var crd struct {
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal(manifest, &crd); err != nil {
			return fmt.Errorf("read an embedded CRD: %w", err)
		}
		_, err := c.dynamic.Resource(crdResource()).Get(ctx, crd.Metadata.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, manifest)
			c.madeCRDs = append(c.madeCRDs, crd.Metadata.Name)
		case err != nil:
			return fmt.Errorf("look for the CRD %s: %w", crd.Metadata.Name, err)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return controlplane.InstallCRDs(ctx, c.config, missing...)
}

func (c *cluster) makeNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	_, err := c.core.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	switch {
	case err == nil:
		c.madeNamespace = true
		return nil
	case apierrors.IsAlreadyExists(err):
		return nil
	}
	return fmt.Errorf("create the namespace %s: %w", c.namespace, err)
}

// editConfigMap puts the predicate into the ConfigMap.
func (c *cluster) editConfigMap(ctx context.Context, predicate string) error {
	if _, err := c.core.CoreV1().ConfigMaps(c.namespace).Update(ctx, configMap(predicate), metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("edit the ConfigMap %s/%s: %w", c.namespace, configMapName, err)
	}
	return nil
}

// objects lists what there is of AzVolumes and AzVolumeAttachments.
func (c *cluster) objects(ctx context.Context) ([]string, error) {
	var names []string
	volumes, err := c.disks.AzureDiskV1beta2().AzVolumes(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the AzVolumes in namespace %s: %w", c.namespace, err)
	}
	for _, volume := range volumes.Items {
		names = append(names, "AzVolume "+volume.Name)
	}
	attachments, err := c.disks.AzureDiskV1beta2().AzVolumeAttachments(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the AzVolumeAttachments in namespace %s: %w", c.namespace, err)
	}
	for _, attachment := range attachments.Items {
		names = append(names, "AzVolumeAttachment "+attachment.Name)
	}
	return names, nil
}

// kubeconfigs returns the flags by which the driver and the simulator reach the
// cluster: on a control plane of the demo's own each is a user of its own.
func (c *cluster) kubeconfigs(opts Options) (driver, simulator []string) {
	switch {
	case c.server != nil:
		return []string{"--kubeconfig", c.server.KubeconfigPathFor(controlplane.Driver)},
			[]string{"--kubeconfig", c.server.KubeconfigPathFor(controlplane.Simulator)}
	case opts.InCluster:
		return nil, nil
	}
	return []string{"--kubeconfig", opts.Kubeconfig}, []string{"--kubeconfig", opts.Kubeconfig}
}
