package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/donewhen/donewhen/test/controlplane/state"
)

type apiServer struct {
	options options.CompletedOptions
}

// newAPIServer configures a kube-apiserver that serves on listener. flags come last, so that they win.
func newAPIServer(ctx context.Context, dir *state.Dir, listener net.Listener, flags []string) (*apiServer, error) {
	opts := options.NewServerRunOptions()
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	fs.SetOutput(io.Discard) // the error says what is wrong; the usage would be 200 lines
	for _, named := range opts.Flags().FlagSets {
		fs.AddFlagSet(named)
	}
	if err := fs.Parse(append(defaultFlags(dir, listener), flags...)); err != nil {
		return nil, fmt.Errorf("kube-apiserver flags: %w", err)
	}
	if rest := fs.Args(); len(rest) != 0 {
		return nil, fmt.Errorf("kube-apiserver flags: unexpected argument %q", rest[0])
	}
	opts.SecureServing.Listener = listener
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("apply feature gates: %w", err)
	}
	// The server's own loopback clients needn't log the warnings that they get from it.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("complete kube-apiserver options: %w", err)
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return nil, fmt.Errorf("validate kube-apiserver options: %w", errors.Join(errs...))
	}
	// The name is registered for the whole process; kube-apiserver's own default would admit one server only.
	completed.InformerName, err = cache.NewInformerName("kube-apiserver-" + listener.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("name the informers: %w", err)
	}
	return &apiServer{options: completed}, nil
}

func defaultFlags(dir *state.Dir, listener net.Listener) []string {
	return []string{
		"--etcd-servers=" + etcdClientURL,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", listener.Addr().(*net.TCPAddr).Port),
		"--advertise-address=127.0.0.1", // else it looks for a default route, which a sandbox may lack
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + dir.Path(),
		"--tls-cert-file=" + dir.CertFile(),
		"--tls-private-key-file=" + dir.KeyFile(),
		"--token-auth-file=" + dir.TokenFile(),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + dir.ServiceAccountKeyFile(),
		"--service-account-signing-key-file=" + dir.ServiceAccountKeyFile(),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount", // no controller makes the default service accounts
		"--allow-privileged=true",
		"--profiling=false",
		"--shutdown-watch-termination-grace-period=1s", // else open watches are cut off
	}
}

// run serves until ctx is done.
func (s *apiServer) run(ctx context.Context) error { return app.Run(ctx, s.options) }

// waitReady polls the server's own readiness, as a client would: it checks the certificate, and only the administrator's
// token proves that authentication works.
func waitReady(ctx context.Context, dir *state.Dir, url string) error {
	const interval = 20 * time.Millisecond
	ca, err := os.ReadFile(dir.CAFile())
	if err != nil {
		return fmt.Errorf("read the CA certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return fmt.Errorf("no certificate in %s", dir.CAFile())
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if ready(ctx, client, url, dir.AdminToken()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

func ready(ctx context.Context, client *http.Client, url, token string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode == http.StatusOK
}
