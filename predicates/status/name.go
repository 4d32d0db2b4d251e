package status

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ReportName returns the name of the report about a ConfigMap: its own with Suffix. Of
// a name that is too long for that, the beginning, a digest of the whole, and Suffix.
func ReportName(configMap string) string {
	if name := configMap + Suffix; len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	return cutName(configMap, "."+shortSum(configMap)+Suffix)
}

// cutName returns a name with a suffix, the name cut to what an object's name may have.
func cutName(name, suffix string) string {
	if most := validation.DNS1123SubdomainMaxLength - len(suffix); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + suffix
}

// shortSum returns so much of a text's digest as keeps names apart.
func shortSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
