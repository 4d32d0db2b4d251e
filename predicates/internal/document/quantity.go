package document

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseQuantity parses a Kubernetes quantity. It refuses exponents of more than
// two digits, for which resource.ParseQuantity computes very long.
func ParseQuantity(s string) (resource.Quantity, error) {
	if i := strings.LastIndexAny(s, "eE"); i >= 0 && len(strings.TrimLeft(s[i+1:], "+-")) > 2 || len(s) > 64 {
		return resource.Quantity{}, fmt.Errorf("quantity %.20q is out of range", s)
	}
	return resource.ParseQuantity(s)
}
