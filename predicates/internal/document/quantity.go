package document

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// ParseQuantity parses a Kubernetes quantity. It refuses exponents of more than
// two digits, for which resource.ParseQuantity computes very long.
func ParseQuantity(s string) (resource.Quantity, error) {
	if err := CheckQuantity(s); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(s)
}

// CheckQuantity refuses texts that resource.ParseQuantity mustn't be given. Others
// need not be quantities.
func CheckQuantity(s string) error {
	if i := strings.LastIndexAny(s, "eE"); i >= 0 && len(strings.TrimLeft(s[i+1:], "+-")) > 2 || len(s) > 64 {
		return fmt.Errorf("quantity %.20q is out of range", s)
	}
	return nil
}
