// Package deploy has manifests that run donewhen-driver in a cluster; it is here for
// their tests.
//
//	kubectl apply -f provisioner/azuredisk/crds
//	kubectl apply -k examples/deploy
package deploy
