package clustertest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Namespace creates a namespace for this test alone and returns its name, which resembles the test's. It stays when the
// test ends: without a namespace controller its deletion would never finish.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	ns, err := client.CoreV1().Namespaces().Create(tb.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namespacePrefix(tb.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("create a namespace: %v", err)
	}
	return ns.Name
}

// namespacePrefix makes a DNS label's beginning out of a test's name; the server adds a random end to it.
func namespacePrefix(test string) string {
	const limit = 40 // of the 63 that a label may have
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, test)
	return strings.Trim(name[:min(len(name), limit)], "-") + "-"
}
