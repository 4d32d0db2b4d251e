// Package engine decides when an operation on a Kubernetes object is done,
// failed or still pending, from informer events alone.
//
// A caller registers a waiter for one reference and one predicate, writes, and
// waits. The engine judges every observation that the informer shows of that
// object, at or above the version of the caller's own write, and ends the wait
// on the first verdict that decides. It never polls, and waiting causes no
// request to the API server.
//
//	eng := engine.New(set, engine.WithLogger(logger))
//	if err := eng.Watch(gvr, factory.ForResource(gvr).Informer()); err != nil { … }
//	if err := eng.Start(ctx); err != nil { … }
//	result, err := eng.Do(ctx, engine.Request{
//		Ref:       engine.Reference{Resource: gvr, Namespace: "azure-disk-csi", Name: "pvc-1"},
//		Operation: "CreateVolume",
//	}, func(ctx context.Context) (metav1.Object, error) {
//		return client.Create(ctx, volume, metav1.CreateOptions{})
//	})
//
// All and Any wait for several waiters with one deadline. What holds a wait up
// can be seen from outside: Waiters is the live list, Blindness says which
// resources can't be seen and why (config.Wrap(eng.WrapTransport) lets the engine
// hear of refused connections too), and WithObserver takes metrics; package
// enginemetrics has them for Prometheus.
//
// The package knows neither CEL nor WebAssembly: a Set (package predicates has
// one) supplies predicates behind small interfaces.
package engine
