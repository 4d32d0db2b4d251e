package controllerruntime

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

//go:embed predicates.yaml
var documents []byte

// LoadSet compiles the predicates that are embedded in the program.
func LoadSet() (*predicates.Set, error) {
	operations := []engine.Operation{{Name: "Copy", Resource: configMaps, Kind: "ConfigMap"}}
	return predicates.NewSet(operations, predicates.Source{
		Name: "embedded", Files: []predicates.File{{Name: "predicates.yaml", Data: documents}},
	})
}
