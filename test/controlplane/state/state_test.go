package state

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func open(t *testing.T, path string, users ...string) *Dir {
	t.Helper()
	d, err := Open(path, users)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenAgainKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cp")
	d := open(t, path, "driver")
	before := contents(t, path)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path, "driver")
	defer d.Close()
	if after := contents(t, path); !maps.Equal(before, after) {
		t.Errorf("the second open changed files: before %v, after %v", slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	}
}

func TestOpenAddsUsersAndKeepsTokens(t *testing.T) {
	path := t.TempDir()
	d := open(t, path, "driver")
	before := d.users
	d.Close()
	d = open(t, path, "simulator")
	defer d.Close()
	if !slices.Equal(d.users[:2], before) {
		t.Errorf("users of the first open: got %v, want %v", d.users[:2], before)
	}
	if len(d.users) != 3 || d.users[2].name != "simulator" || d.users[2].groups != "" {
		t.Errorf("users: got %v, want simulator added without groups", d.users)
	}
}

func TestOpenRefusesUsedDirectory(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	defer d.Close()
	if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("second open of a directory in use: got error %v", err)
	}
}

func TestOpenRefusesBadUserName(t *testing.T) {
	for _, name := range []string{"", "a/b", "A", "-a", "a-", "a.b"} {
		if _, err := Open(t.TempDir(), []string{name}); err == nil {
			t.Errorf("user name %q was accepted", name)
		}
	}
}

func TestServingCertificateIsValidForLoopback(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	pair, err := tls.LoadX509KeyPair(d.CertFile(), d.KeyFile())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(d.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("no CA certificate")
	}
	for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host}); err != nil {
			t.Errorf("host %s: %v", host, err)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "10.1.2.3"}); err == nil {
		t.Error("the certificate is valid for a foreign address")
	}
}

func TestListenRemembersPort(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	l, err := d.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	first := l.Addr().(*net.TCPAddr)
	if !first.IP.IsLoopback() || first.Port < firstPort || first.Port > lastPort {
		t.Errorf("listens on %v, want loopback and a port in [%d, %d]", first, firstPort, lastPort)
	}
	l.Close()
	d.Close()
	d = open(t, path)
	defer d.Close()
	if l, err = d.Listen(0); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.Addr().String(); got != first.String() {
		t.Errorf("second listen: got %s, want %s", got, first)
	}
	if _, err := d.Listen(0); err == nil || !strings.Contains(err.Error(), "--port") {
		t.Errorf("listen on a port in use: got error %v, want one that names --port", err)
	}
}

func TestKubeconfigsCarryCAAndOwnToken(t *testing.T) {
	d := open(t, t.TempDir(), "driver")
	defer d.Close()
	const url = "https://127.0.0.1:1"
	if err := d.WriteKubeconfigs(url); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]bool{}
	for _, name := range []string{Admin, "driver"} {
		cfg, err := clientcmd.BuildConfigFromFlags("", d.KubeconfigFile(name))
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Host != url || len(cfg.CAData) == 0 || cfg.Insecure || cfg.BearerToken == "" {
			t.Errorf("%s: host %q, %d bytes of CA, insecure %v, %d bytes of token", name, cfg.Host, len(cfg.CAData), cfg.Insecure, len(cfg.BearerToken))
		}
		tokens[cfg.BearerToken] = true
		info, err := os.Stat(d.KubeconfigFile(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: kubeconfig has mode %v", name, info.Mode())
		}
	}
	if len(tokens) != 2 {
		t.Error("two users share a token")
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}
