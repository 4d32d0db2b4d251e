package suite

import (
	"errors"
	"slices"
	"testing"

	"github.com/donewhen/donewhen/predicates"
)

// FuzzParse: whatever the file holds, Parse returns suites or says by line what is
// wrong, and what it returns can be run.
func FuzzParse(f *testing.F) {
	// Small seeds that use everything between them: minimizing large ones would take
	// up the whole time.
	f.Add([]byte(header + `  predicates: [p.yaml]
  defaults: {predicate: claim-bound, params: {volume: v}, object: $a}
  objects:
    a: file.yaml
    b: {from: $a, merge: {status: {phase: null}}}
  cases:
  - {name: c, object: $b, expect: {verdict: Pending, reason: "", message: {matches: "^m"}, missing: phase, for: ''}}
  - {name: d, absent: deleted, expect: {verdict: Failed, code: NOT_FOUND, cause: Operation, message: {equals: gone}}}
  - name: e
    table:
    - {name: r, merge: {spec: {volumeName: w}}, params: {volume: w}, expect: Done}
`))
	f.Add([]byte(header + "  objects: {a: {from: $b}, b: {from: $a}}\n  cases:\n  - {name: c, predicate: claim-bound, object: $a, expect: Done}\n"))
	f.Add([]byte(header + "  states: {a.b: [x]}\n  cases:\n  - {name: c, operation: Provision, object: file, sweep: {path: a.b, expect: {'': Done, x: Failed}}}\n"))
	events := header + "  cases:\n  - name: c\n    predicate: claim-bound\n    params: {volume: v}\n    events:\n"
	f.Add([]byte(events + "    - {add: f, resourceVersion: 3, uid: u, namespace: n}\n    - {register: {}, expect: {disagreements: 0}}\n    - {after: 4}\n    - {wait: true, expect: {ended: false}}\n"))
	f.Add([]byte(events + "    - {disconnect: {}}\n    - {register: {}, expect: Pending}\n    - {relist: [f], resourceVersion: \"9\"}\n    - {recreate: {}}\n    - {tombstone: {}}\n    - {bookmark: {}}\n    - {cancel: {}}\n"))
	f.Add([]byte(events + "    - {register: {}, expect: Pending}\n    - {advance: 1s}\n    - {reload: [{kind: Predicate}]}\n    - {resync: {}}\n    - {close: {}}\n"))
	under, err := predicates.NewSet(operations(), predicates.Source{Name: "set", Files: []predicates.File{{Name: "set.yaml", Data: []byte(set)}}})
	if err != nil {
		f.Fatal(err)
	}
	read := func(string) ([]byte, error) {
		return []byte("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, status: {phase: Bound}}"), nil
	}
	runner := NewRunner(operations())
	f.Fuzz(func(t *testing.T, data []byte) {
		suites, err := Parse(predicates.File{Name: "dir/s.yaml", Data: data}, read)
		var load *predicates.LoadError
		if err != nil && (!errors.As(err, &load) || len(load.Problems) == 0) {
			t.Fatalf("error %v isn't a LoadError with problems", err)
		}
		if load != nil {
			for _, p := range load.Problems {
				if p.Line < 1 || p.Column < 1 || p.Message == "" {
					t.Errorf("problem without a place or a message: %+v", p)
				}
			}
		}
		for _, s := range suites {
			// Scripts are prepared, but not played: what their goroutines cover differs
			// from run to run, and the fuzzer would do nothing but minimize.
			s.checks = slices.DeleteFunc(s.checks, func(c check) bool {
				if len(c.steps) == 0 {
					return false
				}
				_, _ = runner.prepare(under, s, &c)
				return true
			})
		}
		report := runner.Run(t.Context(), under, suites...)
		for _, s := range report.Suites {
			for i := range s.Checks {
				if c := &s.Checks[i]; c.Want == nil || c.Line < 1 {
					t.Errorf("check %q without expectation or place", c.Name)
				}
			}
		}
	})
}
