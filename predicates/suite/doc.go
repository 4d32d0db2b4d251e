// Package suite tests predicates like code: Suite documents say what a set of
// predicates and bindings must say of given objects and absences.
//
//	runner := suite.NewRunner(provisioner.Operations())
//	report := runner.Files(ctx, "predicates/") // finds, loads and runs
//	err := report.WriteText(os.Stdout, suite.TextOptions{})
//
// A program that has a set already parses the suites and runs them against it:
//
//	suites, err := suite.Parse(file, read)
//	err = runner.Run(ctx, set, suites...).Err() // nil if all passed
//
// A case judges as a waiter's way out does (engine.Judge.Describe), as if every
// `for` of a rule had passed; it reports that time instead of waiting for it. A
// case with events is played instead, on a scripted informer and a virtual clock
// (package engine/script): each step expects what a waiter sees after it.
package suite
