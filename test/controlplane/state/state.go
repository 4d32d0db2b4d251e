// Package state keeps everything of one control plane that must outlive its process in one directory: certificate, keys,
// tokens, port and kubeconfigs. A server that is started again on the same directory is therefore the same server to
// its clients.
//
//	st, err := state.Open("/tmp/cp", []string{"driver", "simulator"})
//	if err != nil { … }
//	defer st.Close()
//	listener, err := st.Listen(0) // the port of the last start, or a new one
package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Admin is the user in group system:masters. Every directory has one.
const Admin = "admin"

// Dir is an open state directory. It holds the directory's lock until Close. It is not safe for concurrent use.
type Dir struct {
	path  string
	lock  *os.File
	users []user
}

// Open makes path (an absolute or relative directory) ready: it creates it if it is missing, takes its lock, and creates
// what is missing of certificate, service account key and tokens. users are the names of the users that shall exist
// beside Admin; those of earlier starts stay. It fails if another server holds the directory.
func Open(path string, users []string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	d := &Dir{path: abs}
	if d.lock, err = lockFile(d.file("lock")); err != nil {
		return nil, fmt.Errorf("lock %s (is another server using this directory?): %w", abs, err)
	}
	if err := d.prepare(users); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Dir) prepare(users []string) error {
	if err := d.ensureServingCertificate(); err != nil {
		return err
	}
	if err := d.ensureServiceAccountKey(); err != nil {
		return err
	}
	return d.ensureUsers(users)
}

// Close releases the lock. The files stay.
func (d *Dir) Close() error { return d.lock.Close() }

// Path is the directory's absolute path.
func (d *Dir) Path() string { return d.path }

// EtcdDir is where etcd keeps its data.
func (d *Dir) EtcdDir() string { return d.file("etcd") }

// LogFile is the file that the server's log goes to.
func (d *Dir) LogFile() string { return d.file("server.log") }

// CAFile holds the certificate that signed the serving certificate, PEM encoded.
func (d *Dir) CAFile() string { return d.file("ca.crt") }

// CertFile holds the serving certificate, PEM encoded. It is valid for 127.0.0.1, ::1 and localhost.
func (d *Dir) CertFile() string { return d.file("tls.crt") }

// KeyFile holds the serving certificate's private key, PEM encoded.
func (d *Dir) KeyFile() string { return d.file("tls.key") }

// ServiceAccountKeyFile holds the private key that signs service account tokens, PEM encoded.
func (d *Dir) ServiceAccountKeyFile() string { return d.file("sa.key") }

// TokenFile is the static token file, in kube-apiserver's CSV form.
func (d *Dir) TokenFile() string { return d.file("tokens.csv") }

// KubeconfigFile is the kubeconfig of the named user. WriteKubeconfigs writes it.
func (d *Dir) KubeconfigFile(name string) string {
	if name == Admin {
		return d.file("kubeconfig")
	}
	return d.file(name + ".kubeconfig")
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// writeFile replaces the file in one step, so that a server that was killed while writing leaves no half file behind.
func writeFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // created with mode 0600
	if err != nil {
		return fmt.Errorf("create temporary file for %s: %w", path, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp.Name()))
	}
	return nil
}

// WriteReadyFile says to whoever waits for path that the server at url answers.
func WriteReadyFile(path, url string) error { return writeFile(path, []byte(url+"\n")) }

func exists(paths ...string) bool {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return false
		}
	}
	return true
}

func readTrimmed(path string) (string, error) {
	data, err := os.ReadFile(path)
	return strings.TrimSpace(string(data)), err
}
