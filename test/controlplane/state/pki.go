package state

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const validity = 10 * 365 * 24 * time.Hour

// ensureServingCertificate makes a certificate authority and a certificate for loopback, once. The authority's key is
// thrown away: nothing else is ever signed with it.
func (d *Dir) ensureServingCertificate() error {
	if exists(d.CAFile(), d.CertFile(), d.KeyFile()) {
		return nil
	}
	caKey, err := newKey()
	if err != nil {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	// Back-dated, so that a clock that is stepped back a little doesn't make it invalid.
	notBefore := time.Now().Add(-time.Hour)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "donewhen test control plane CA"},
		NotBefore:             notBefore,
		NotAfter:              notBefore.Add(validity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    notBefore,
		NotAfter:     notBefore.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return fmt.Errorf("create the CA certificate: %w", err)
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return fmt.Errorf("read back the CA certificate: %w", err)
	}
	servingDER, err := x509.CreateCertificate(rand.Reader, serving, ca, key.Public(), caKey)
	if err != nil {
		return fmt.Errorf("create the serving certificate: %w", err)
	}
	if err := writeKey(d.KeyFile(), key); err != nil {
		return err
	}
	if err := writeFile(d.CertFile(), encode("CERTIFICATE", servingDER)); err != nil {
		return err
	}
	return writeFile(d.CAFile(), encode("CERTIFICATE", caDER))
}

func (d *Dir) ensureServiceAccountKey() error {
	if exists(d.ServiceAccountKeyFile()) {
		return nil
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	return writeKey(d.ServiceAccountKeyFile(), key)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a private key: %w", err)
	}
	return key, nil
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the private key for %s: %w", path, err)
	}
	return writeFile(path, encode("EC PRIVATE KEY", der))
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
