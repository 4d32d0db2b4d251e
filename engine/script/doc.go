// Package script plays event scripts: a scripted source stands in for an
// informer, on a virtual clock, and one waiter is watched step by step.
//
//	player, err := script.New(script.Config{Set: set, Request: engine.Request{Ref: ref, Predicate: "pod-ready"}})
//	if err != nil { … }
//	defer player.Close()
//	for _, step := range []script.Step{
//		{Verb: script.Register},
//		{Verb: script.Wait},
//		{Verb: script.Add, Object: pod, ResourceVersion: "1"},
//		{Verb: script.Advance, Duration: 10 * time.Second},
//	} {
//		seen, err := player.Play(ctx, step) // what the waiter sees after the step
//	}
//	fmt.Print(player.Trace())
//
// A script is deterministic: nothing happens between steps, and each step ends
// when the engine has nothing left to do about it. Time passes in Advance only,
// timer by timer.
package script
