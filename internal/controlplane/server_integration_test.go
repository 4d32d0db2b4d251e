//go:build integration

package controlplane_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/internal/controlplane/clustertest"
)

func TestServerServes(t *testing.T) {
	cluster := clustertest.Shared(t)
	client := clientFor(t, cluster.Config())
	version, err := client.Discovery().ServerVersion()
	if err != nil || version.GitVersion != controlplane.Version {
		t.Errorf("version: got %v, %v, want %s", version, err, controlplane.Version)
	}
	first, second := cluster.Namespace(t), cluster.Namespace(t)
	if first == second {
		t.Errorf("two namespaces have the name %s", first)
	}
	if err := createConfigMap(t.Context(), client, first, "x"); err != nil {
		t.Error(err)
	}
	if err := createConfigMap(t.Context(), client, second, "x"); err != nil {
		t.Error(err)
	}
	if cfg := cluster.Config(); cfg.QPS >= 0 {
		t.Errorf("client-side throttling is on: QPS %v", cfg.QPS)
	}
}

func TestUsersHaveNoRightsOfTheirOwn(t *testing.T) {
	cluster := clustertest.Shared(t)
	for _, user := range []string{controlplane.Driver, controlplane.Simulator, controlplane.Restricted} {
		_, err := clientFor(t, cluster.ConfigFor(t, user)).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), strconv.Quote(user)) {
			t.Errorf("%s: got error %v, want Forbidden that names the user", user, err)
		}
	}
	cfg := cluster.Config()
	cfg.BearerToken = "wrong"
	if _, err := clientFor(t, cfg).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("wrong token: got error %v, want Unauthorized", err)
	}
}

// Two servers, because each test of a pair costs a start: they are independent, and neither accepts the other's identity.
func TestTwoServersAtOnce(t *testing.T) {
	one, two := clustertest.Own(t, controlplane.Options{}), clustertest.Own(t, controlplane.Options{})
	if one.URL() == two.URL() || one.Dir() == two.Dir() {
		t.Fatalf("they share something: %s in %s, %s in %s", one.URL(), one.Dir(), two.URL(), two.Dir())
	}
	if err := createConfigMap(t.Context(), clientFor(t, one.Config()), "default", "only-in-one"); err != nil {
		t.Fatal(err)
	}
	_, err := clientFor(t, two.Config()).CoreV1().ConfigMaps("default").Get(t.Context(), "only-in-one", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the second server on the first one's object: got error %v, want NotFound", err)
	}
	wrongCA := one.Config()
	wrongCA.CAData = two.Config().CAData
	_, err = clientFor(t, wrongCA).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		t.Errorf("client with a foreign CA: got error %v, want an unknown authority", err)
	}
	foreignToken := one.Config()
	foreignToken.BearerToken = two.Config().BearerToken
	if _, err := clientFor(t, foreignToken).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("the other server's token: got error %v, want Unauthorized", err)
	}
	_, err = controlplane.Start(t.Context(), controlplane.Options{Binary: binary(t), Dir: one.Dir()})
	if err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a server on a directory in use: got error %v", err)
	}
}

// A client and an informer that were there before a stop, and before a crash, go on with the server that comes back.
func TestRestartIsTheSameServer(t *testing.T) {
	server := clustertest.Own(t, controlplane.Options{})
	before := identity(t, server)
	client := clientFor(t, server.Config())
	seen := make(chan string, 100)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { seen <- obj.(metav1.Object).GetName() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		cancel()
		factory.Shutdown()
	}()
	factory.Start(ctx.Done())
	create := func(name string) {
		t.Helper()
		eventually(t, "create "+name, func() error { return createConfigMap(ctx, client, "default", name) })
		eventually(t, "informer sees "+name, func() error {
			select {
			case got := <-seen:
				if got == name {
					return nil
				}
				return fmt.Errorf("saw %s", got)
			default:
				return errNotYet
			}
		})
	}
	create("before-stop")
	begin := time.Now()
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %v with an open watch", time.Since(begin))
	if err := createConfigMap(ctx, client, "default", "while-down"); err == nil {
		t.Error("a stopped server took an object")
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("second stop: %v", err)
	}
	restart := func() {
		t.Helper()
		begin := time.Now()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("restarted in %v", time.Since(begin))
		if after := identity(t, server); after != before {
			t.Errorf("another identity: before %q, after %q", before, after)
		}
	}
	restart()
	create("after-stop")
	for i := range 20 {
		if err := createConfigMap(ctx, client, "default", fmt.Sprintf("acknowledged-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	restart()
	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, cm := range list.Items {
		names[cm.Name] = true
	}
	for i := range 20 {
		if name := fmt.Sprintf("acknowledged-%d", i); !names[name] {
			t.Errorf("%s was acknowledged before the crash and is gone", name)
		}
	}
	if !names["before-stop"] || !names["after-stop"] {
		t.Errorf("objects of former runs are gone: %v", names)
	}
	create("after-kill")
}

func identity(t *testing.T, server *controlplane.Server) string {
	t.Helper()
	id := server.URL()
	for _, file := range []string{"tls.crt", "tokens.csv", "kubeconfig"} {
		data, err := os.ReadFile(filepath.Join(server.Dir(), file))
		if err != nil {
			t.Fatal(err)
		}
		id += "\n" + string(data)
	}
	return id
}

func TestCloseLeavesNothing(t *testing.T) {
	running := goleak.IgnoreCurrent()
	server, err := controlplane.Start(t.Context(), controlplane.Options{Binary: binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("closed in %v", time.Since(begin))
	gone(t, server.URL(), server.Dir())
	select {
	case <-server.Done():
	default:
		t.Error("the process hasn't ended")
	}
	if err := server.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	goleak.VerifyNone(t, running)
}

func gone(t *testing.T, url, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("directory %s: got error %v, want it to be gone", dir, err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://")); err == nil {
		conn.Close()
		t.Errorf("somebody still listens on %s", url)
	}
}

func TestStartSaysWhyItFails(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, test := range []struct {
		name, want string
		opts       controlplane.Options
	}{
		{"port in use", "--port", controlplane.Options{Port: busy.Addr().(*net.TCPAddr).Port}},
		{"unknown flag", "unknown flag: --no-such-flag", controlplane.Options{Flags: []string{"--no-such-flag"}}},
		{"bad flag value", "authorization-mode", controlplane.Options{Flags: []string{"--authorization-mode=Nonsense"}}},
		{"bad user", `user name "A/B"`, controlplane.Options{Users: []string{"A/B"}}},
	} {
		test.opts.Binary = binary(t)
		server, err := controlplane.Start(t.Context(), test.opts)
		if err == nil {
			t.Errorf("%s: it started", test.name)
			server.Close()
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.name, err, test.want)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := controlplane.Start(t.Context(), controlplane.Options{}); err == nil || !strings.Contains(err.Error(), "Binary") {
		t.Errorf("no binary: got error %v", err)
	}
}

func binary(t *testing.T) string {
	t.Helper()
	program, err := controlplane.Build(t.Context(), controlplane.BuildOptions{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return program
}
