// Package predicates makes a compiled, immutable Set of Predicate and Binding
// documents, and a Store that keeps the last good one while its sources change.
//
//	store, err := predicates.NewStore(provisioner.Operations(), predicates.Source{
//		Name:  "defaults",
//		Files: []predicates.File{{Name: "azure.yaml", Data: data}},
//	}, predicates.WithObserver(func(r predicates.Report) {
//		if r.Changed {
//			eng.Swap(r.Set)
//		}
//	}))
//	eng := engine.New(store.Set())
//	err = store.Update(configMap) // a *LoadError says what is wrong and where; the set stays
//
// The format is read strictly: whatever doesn't mean exactly what it seems to is
// an error, with its position and what to do about it, and all errors of all
// files are reported at once.
package predicates
