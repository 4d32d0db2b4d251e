// Package kubernetescel holds the test that predicates' expressions have the
// functions of Kubernetes' own environment, and no others:
//
//	cd test/kubernetescel && go test ./...
//
// It is a module of its own because that environment brings a dozen modules of
// the API server with it.
package kubernetescel
