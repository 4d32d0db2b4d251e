// Package status reports what became of a ConfigMap of predicates where its
// author looks: in a ConfigMap beside it, and as Events of it.
//
//	reporter := status.NewReporter(client, "my-program", version, []status.ConfigMap{configMap})
//	go reporter.Run(ctx)
//	store, err := predicates.NewStore(operations, defaults, predicates.WithObserver(reporter.Report))
//
// The report is a pure function of the sources' content and the program's version,
// so all replicas compute the same bytes. It is read when something has changed,
// and written only where it differs: nobody fights, and a steady state makes no
// request.
package status
