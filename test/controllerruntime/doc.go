// Package controllerruntime shows the engine inside a controller-runtime manager: it
// judges what the manager's own cache shows, so it opens no watch of its own.
//
//	eng := engine.New(set)
//	if err := controllerruntime.Watch(ctx, eng, mgr, &corev1.ConfigMap{}); err != nil { … }
//	if err := eng.Start(ctx); err != nil { … }
//	return mgr.Start(ctx) // from now on the cache calls the engine
//
// Copier is a whole reconciler that waits without blocking a worker.
package controllerruntime
