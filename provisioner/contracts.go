package provisioner

import (
	"embed"
	"io/fs"
)

//go:embed contracts/*.yaml
var contracts embed.FS

// Contracts returns the Contract documents of the provisioner's operations, one
// file for each kind of object: how an operation stands when an object looks so.
// What a config binds to an operation must keep them (package predicates/suite has
// the gate), or disks leak and are attached twice. Safe for concurrent use.
func Contracts() fs.FS {
	files, err := fs.Sub(contracts, "contracts")
	if err != nil {
		panic(err) // the directory is a constant, and embedded
	}
	return files
}
