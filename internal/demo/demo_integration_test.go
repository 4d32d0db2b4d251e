//go:build integration

package demo_test

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// world is a cluster with the CRDs, and a namespace in it.
type world struct {
	t         *testing.T
	namespace string
	core      kubernetes.Interface
	disks     versioned.Interface
	programs  string // their directory
	temp      string // their TMPDIR
}

// TestDemo runs the programs as a user does; they are built once.
func TestDemo(t *testing.T) {
	programs := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", programs, "./cmd/donewhen", "./cmd/donewhen-driver")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, output)
	}
	for name, test := range map[string]func(*world){
		"Completes":             completes,
		"Interrupted":           interrupted,
		"Keeps":                 keeps,
		"RefusesNamespaceInUse": refusesNamespaceInUse,
	} {
		t.Run(name, func(t *testing.T) { test(newWorld(t, programs)) })
	}
}

func newWorld(t *testing.T, programs string) *world {
	t.Helper()
	cluster := clustertest.Shared(t)
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	cluster.InstallCRDs(t, manifests...)
	return &world{
		t: t, namespace: cluster.Namespace(t), temp: t.TempDir(), programs: programs,
		core:  kubernetes.NewForConfigOrDie(cluster.Config()),
		disks: versioned.NewForConfigOrDie(cluster.Config()),
	}
}

// demo prepares a run of the program on the cluster.
func (w *world) demo(args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.programs, "donewhen"), append([]string{
		"demo", "--kubeconfig", clustertest.Shared(w.t).KubeconfigPath(), "--namespace", w.namespace,
	}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+w.temp)
	return cmd
}

// expectNothingLeft looks for what the demo may have left in the cluster and
// among the temporary files.
func (w *world) expectNothingLeft() {
	w.t.Helper()
	ctx := w.t.Context()
	disks := w.disks.AzureDiskV1beta2()
	if list, err := disks.AzVolumes(w.namespace).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		w.t.Errorf("%d AzVolumes left, error %v", len(list.Items), err)
	}
	if list, err := disks.AzVolumeAttachments(w.namespace).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		w.t.Errorf("%d AzVolumeAttachments left, error %v", len(list.Items), err)
	}
	if list, err := disks.AzDriverNodes(w.namespace).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		w.t.Errorf("%d AzDriverNodes left, error %v", len(list.Items), err)
	}
	if list, err := w.core.CoreV1().ConfigMaps(w.namespace).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		w.t.Errorf("%d ConfigMaps left, error %v", len(list.Items), err)
	}
	if files, err := os.ReadDir(w.temp); err != nil || len(files) > 0 {
		w.t.Errorf("temporary files left: %v, error %v", files, err)
	}
}

// completes: every volume goes through, and nothing is left.
func completes(w *world) {
	t := w.t
	var out, messages bytes.Buffer
	cmd := w.demo("--volumes", "3", "--parallel", "2", "--latency-scale", "0.01")
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), messages.String())
	}
	for _, want := range []string{
		"3 volumes, 2 at a time",
		"volume-expanded version 1",
		"volume-expanded version 2-updated",
		`state is "Created", capacity 10737418240, want 10737418240`,
		"0 had other reasons",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report doesn't say %q:\n%s", want, out.String())
		}
	}
	for _, call := range []string{"CreateVolume", "ControllerPublishVolume", "NodeStageVolume", "ControllerExpandVolume", "ControllerUnpublishVolume", "DeleteVolume"} {
		for line := range strings.Lines(out.String()) {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == call && (fields[1] != "3" || fields[2] != "0") {
				t.Errorf("want 3 calls of %s and no failure: %s", call, line)
			}
		}
	}
	w.expectNothingLeft()
}

// keeps: with --keep everything goes on, and ends by the command that it prints.
func keeps(w *world) {
	t := w.t
	output, err := w.demo("--volumes", "1", "--latency-scale", "0", "--keep").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	kept := map[string]string{}
	for line := range strings.Lines(string(output)) {
		for _, key := range []string{"CSI socket", "to stop it"} {
			if value, found := strings.CutPrefix(strings.TrimSpace(line), key); found {
				kept[key] = strings.TrimSpace(value)
			}
		}
	}
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "unix", kept["CSI socket"])
	if err != nil {
		t.Errorf("the driver no longer serves: %v", err)
	} else {
		connection.Close()
	}
	if output, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", kept["to stop it"]).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", kept["to stop it"], err, output)
	}
	if files, err := os.ReadDir(w.temp); err != nil || len(files) > 0 {
		t.Errorf("temporary files left: %v, error %v", files, err)
	}
}

// interrupted: an interrupt in the middle of it ends everything and takes away what was made.
func interrupted(w *world) {
	t := w.t
	cmd := w.demo("--volumes", "100", "--parallel", "10", "--latency-scale", "0.2")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	var last string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		last = lines.Text()
		for _, word := range strings.Split(last, "(process ")[1:] {
			if pid, err := strconv.Atoi(word[:strings.Index(word, ")")]); err == nil {
				pids = append(pids, pid)
			}
		}
		if strings.Contains(last, " create ") { // volumes are on their way
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.HasSuffix(last, "interrupted; everything was removed") {
		t.Errorf("%v, last words %q; want exit code 1 and that it was interrupted", err, last)
	}
	if len(pids) != 2 {
		t.Errorf("processes %v, want two", pids)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	w.expectNothingLeft()
}

// refusesNamespaceInUse: in a namespace that isn't free the demo does nothing.
func refusesNamespaceInUse(w *world) {
	t := w.t
	refused := func(want string) {
		t.Helper()
		output, err := w.demo("--volumes", "1").CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%v, want exit code 2", err)
		}
		if text := strings.TrimSpace(string(output)); !strings.Contains(text, want) || strings.Contains(text, "\n") {
			t.Errorf("output %q, want one line with %q", text, want)
		}
	}
	volumes := w.disks.AzureDiskV1beta2().AzVolumes(w.namespace)
	volume := &v1beta2.AzVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: v1beta2.AzVolumeSpec{VolumeName: "v", VolumeCapability: []v1beta2.VolumeCapability{}}}
	if _, err := volumes.Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("holds 1 AzVolumes and AzVolumeAttachments already (AzVolume v)")
	if err := volumes.Delete(t.Context(), "v", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	configMaps := w.core.CoreV1().ConfigMaps(w.namespace)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "donewhen-predicates"}, Data: map[string]string{"k": "v"}}
	if _, err := configMaps.Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused("has a ConfigMap donewhen-predicates already: give another --namespace")
	if kept, err := configMaps.Get(t.Context(), configMap.Name, metav1.GetOptions{}); err != nil || kept.Data["k"] != "v" {
		t.Errorf("the ConfigMap that was there is %v now, error %v", kept, err)
	}
}
