package clustertest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNamespacePrefix(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"TestW1_Tombstone", "testw1-tombstone-"},
		{"TestA/sub case#01", "testa-sub-case-01-"},
		{"Testé", "test-"},
		{"Test" + strings.Repeat("x", 100), "test" + strings.Repeat("x", 36) + "-"},
	} {
		got := namespacePrefix(test.name)
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		if problems := validation.IsDNS1123Label(got + "abcde"); len(problems) != 0 {
			t.Errorf("%s: %v", test.name, problems)
		}
	}
}
