//go:build integration

package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	typed "github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned/typed/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/csi"
)

const patience = time.Minute

// site is a namespace on a real API server, and the arguments of a driver in it.
type site struct {
	t         *testing.T
	namespace string
	dir       string
	disks     typed.AzureDiskV1beta2Interface
	core      kubernetes.Interface
	args      []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	cluster := clustertest.Shared(t)
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	cluster.InstallCRDs(t, manifests...)
	disks, err := versioned.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	core, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, namespace: cluster.Namespace(t), dir: t.TempDir(), disks: disks.AzureDiskV1beta2(), core: core}
	s.args = []string{
		"--kubeconfig", cluster.KubeconfigPath(), "--namespace", s.namespace, "--node-id", "node-1",
		"--endpoint", "unix://" + s.socket(), "--metrics-address-file", s.addressFile(),
	}
	return s
}

func (s *site) socket() string      { return filepath.Join(s.dir, "csi.sock") }
func (s *site) addressFile() string { return filepath.Join(s.dir, "metrics") }

// configure puts the ConfigMap of predicates.
func (s *site) configure(documents string) {
	s.t.Helper()
	_, err := s.core.CoreV1().ConfigMaps(s.namespace).Create(s.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "donewhen-predicates"}, Data: map[string]string{"p.yaml": documents},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

// start runs the driver until stop is called, which returns its error.
func (s *site) start() (stop func() error) {
	s.t.Helper()
	return s.startLogging(s.t.Output())
}

// startLogging is start, with the log elsewhere.
func (s *site) startLogging(log io.Writer) (stop func() error) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := newCommand(log)
	command.SetArgs(s.args)
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	s.t.Cleanup(func() { _ = stop() }) // if the test fails before it does
	eventually(s.t, "the driver is ready", func() bool {
		select {
		case err := <-ended:
			ended <- err
			s.t.Fatalf("the driver ended: %v", err)
		default:
		}
		return s.get("/readyz") == "ok\n"
	})
	return stop
}

// get returns what the driver answers to a request for the path, if it does.
func (s *site) get(path string) string {
	address, err := os.ReadFile(s.addressFile())
	if err != nil {
		return ""
	}
	response, err := http.Get("http://" + strings.TrimSpace(string(address)) + path)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(body)
}

func (s *site) dial() *grpc.ClientConn {
	s.t.Helper()
	connection, err := grpc.NewClient("unix://"+s.socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { connection.Close() })
	return connection
}

// volumeStatus has the other side write a status once the AzVolume exists.
func (s *site) volumeStatus(name string, status v1beta2.AzVolumeStatus) {
	s.t.Helper()
	eventually(s.t, name+" exists", func() bool {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			volume, err := s.disks.AzVolumes(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			volume.Status = status
			_, err = s.disks.AzVolumes(s.namespace).UpdateStatus(s.t.Context(), volume, metav1.UpdateOptions{})
			return err
		})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		return err == nil
	})
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(patience)
	for !condition() {
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("still not after %s: %s", patience, what)
		}
	}
}

func createRequest(name string) *csipb.CreateVolumeRequest {
	return &csipb.CreateVolumeRequest{
		Name: name,
		VolumeCapabilities: []*csipb.VolumeCapability{{
			AccessType: &csipb.VolumeCapability_Mount{Mount: &csipb.VolumeCapability_MountVolume{}},
			AccessMode: &csipb.VolumeCapability_AccessMode{Mode: csipb.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		}},
	}
}

// The ConfigMap doesn't parse: the driver's own predicates serve, and that is
// reported. A call that waits when the driver is told to end is answered.
func TestDriverFromStartToEnd(t *testing.T) {
	s := newSite(t)
	s.configure("apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: volume-created}\nspec: {doone: x}\n")
	stop := s.start()
	controller := csipb.NewControllerClient(s.dial())

	type answer struct {
		volume *csipb.CreateVolumeResponse
		err    error
	}
	create := func(name string) <-chan answer {
		answers := make(chan answer, 1)
		go func() {
			volume, err := controller.CreateVolume(context.Background(), createRequest(name))
			answers <- answer{volume, err}
		}()
		return answers
	}
	first := create("vol")
	s.volumeStatus("vol", v1beta2.AzVolumeStatus{
		State: v1beta2.VolumeCreated, Detail: &v1beta2.AzVolumeStatusDetail{VolumeID: "id", CapacityBytes: 1 << 30},
	})
	if a := <-first; a.err != nil || a.volume.GetVolume().GetVolumeId() != "id" {
		t.Fatalf("CreateVolume: %v, %v", a.volume, a.err)
	}
	node, err := s.disks.AzDriverNodes(s.namespace).Get(t.Context(), "node-1", metav1.GetOptions{})
	if err != nil || node.Status.LastHeartbeatTime == nil || node.Status.ReadyForVolumeAllocation == nil || !*node.Status.ReadyForVolumeAllocation {
		t.Errorf("AzDriverNode %+v, %v", node, err)
	}
	metrics := s.get("/metrics")
	for _, want := range []string{
		`donewhen_api_requests_total{resource="azvolumes",verb="CREATE"} 1`,
		`donewhen_config_reload_failures_total 1`,
		`donewhen_csi_call_seconds_count{code="OK",method="CreateVolume"} 1`,
		`donewhen_engine_share_seconds_count{operation="CreateVolume"} 1`,
		`donewhen_waiters{operation="CreateVolume"} 0`,
		`donewhen_set_info{digest="`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	for _, line := range strings.Split(metrics, "\n") {
		if strings.HasPrefix(line, "donewhen_api_requests_total") && strings.Contains(line, `verb="GET"`) && !strings.Contains(line, `"discovery"`) && !strings.Contains(line, `"configmaps"`) {
			t.Errorf("a request that nothing asked for: %s", line)
		}
	}

	second := create("waiting")
	s.volumeStatus("waiting", v1beta2.AzVolumeStatus{State: v1beta2.VolumeCreating})
	eventually(t, "/waits says what hangs", func() bool {
		list := s.get("/waits")
		return strings.Contains(list, s.namespace+"/waiting") && strings.Contains(list, `"reason": "Creating"`) && strings.Contains(list, "the predicates can't be loaded")
	})
	if err := stop(); err != nil {
		t.Errorf("the driver ended with %v", err)
	}
	if a := <-second; status.Code(a.err) != codes.Unavailable {
		t.Errorf("the waiting call: %v", a.err)
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSocketInUse(t *testing.T) {
	s := newSite(t)
	listener, err := csi.Listen(t.Context(), s.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	command := newCommand(t.Output())
	command.SetArgs(s.args)
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error %v", err)
	}
	if nodes, err := s.disks.AzDriverNodes(s.namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) != 0 {
		t.Errorf("left behind: %v, %v", nodes.Items, err)
	}
}
