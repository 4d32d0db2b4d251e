// Package demo is what donewhen demo does: it drives volumes through their life
// by CSI calls to a driver process, with a simulator process in Azure's place
// and a real API server between them, and reports what that took.
//
//	err := demo.Run(ctx, demo.Options{Volumes: 20, Parallel: 10, Out: os.Stdout, Err: os.Stderr})
//
// Everything that it starts or makes is gone when Run returns, unless Options.Keep
// asks for it to stay.
package demo
