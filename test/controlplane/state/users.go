package state

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

type user struct {
	token, name, groups string
}

// User names become file names and RBAC subjects.
var userName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// ensureUsers keeps the tokens of the users that the token file has and adds those that it lacks.
func (d *Dir) ensureUsers(names []string) error {
	if err := d.readUsers(); err != nil {
		return err
	}
	for _, name := range append([]string{Admin}, names...) {
		if !userName.MatchString(name) {
			return fmt.Errorf("user name %q: must consist of lower case letters, digits and inner hyphens", name)
		}
		if slices.ContainsFunc(d.users, func(u user) bool { return u.name == name }) {
			continue
		}
		u := user{name: name, token: rand.Text()}
		if name == Admin {
			u.groups = "system:masters"
		}
		d.users = append(d.users, u)
	}
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	for _, u := range d.users {
		// Writing to a buffer doesn't fail; Error below would say so all the same.
		_ = w.Write([]string{u.token, u.name, u.name, u.groups})
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("encode the token file: %w", err)
	}
	return writeFile(d.TokenFile(), buf.Bytes())
}

func (d *Dir) readUsers() error {
	data, err := os.ReadFile(d.TokenFile())
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the token file: %w", err)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = 4
	records, err := r.ReadAll()
	if err != nil {
		return fmt.Errorf("token file %s (remove it to get new tokens): %w", d.TokenFile(), err)
	}
	for _, rec := range records {
		d.users = append(d.users, user{token: rec[0], name: rec[1], groups: rec[3]})
	}
	return nil
}

// AdminToken is the bearer token of Admin.
func (d *Dir) AdminToken() string {
	for _, u := range d.users {
		if u.name == Admin {
			return u.token
		}
	}
	return ""
}

// WriteKubeconfigs writes one kubeconfig for each user. They carry the CA's certificate, so that clients check the
// server's. url is the server's address.
func (d *Dir) WriteKubeconfigs(url string) error {
	ca, err := os.ReadFile(d.CAFile())
	if err != nil {
		return fmt.Errorf("read the CA certificate: %w", err)
	}
	for _, u := range d.users {
		cfg := clientcmdapi.Config{
			Clusters:       map[string]*clientcmdapi.Cluster{"donewhen-test": {Server: url, CertificateAuthorityData: ca}},
			AuthInfos:      map[string]*clientcmdapi.AuthInfo{u.name: {Token: u.token}},
			Contexts:       map[string]*clientcmdapi.Context{u.name: {Cluster: "donewhen-test", AuthInfo: u.name}},
			CurrentContext: u.name,
		}
		data, err := clientcmd.Write(cfg)
		if err != nil {
			return fmt.Errorf("encode the kubeconfig of user %s: %w", u.name, err)
		}
		if err := writeFile(d.KubeconfigFile(u.name), data); err != nil {
			return err
		}
	}
	return nil
}
