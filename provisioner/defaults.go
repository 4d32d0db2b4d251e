package provisioner

import _ "embed"

// defaultSet is a string so that nobody can change it.
//
//go:embed defaults/azure.yaml
var defaultSet string

// Defaults returns the provisioner's default set: a name for it in errors and
// logs, and its YAML documents (predicates, and one enforced binding for every
// operation of Operations). The caller owns data. Safe for concurrent use.
func Defaults() (name string, data []byte) {
	return "defaults/azure.yaml", []byte(defaultSet)
}
