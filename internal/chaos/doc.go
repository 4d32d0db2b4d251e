// Package chaos holds no code, only tests: the engine on real informers and a real API server, with everything between
// them breaking. Each test compares every wait with a second, plain handler on the same informer, and with what was
// written: no wait may be lost, none may end early, and none later than the informer itself recovers.
//
//	go test -tags integration ./internal/chaos
package chaos
