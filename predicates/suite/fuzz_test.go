package suite

import (
	"errors"
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
	f.Add([]byte(header + `  objects: {a: {from: file}}
  cases:
  - name: c
    predicate: claim-bound
    params: {volume: v}
    events:
    - {add: $a, resourceVersion: 3, uid: u, namespace: n}
    - {register: {}, expect: {verdict: Pending, disagreements: 0}}
    - {after: 4}
    - {wait: true, expect: {ended: false}}
    - {disconnect: {}}
    - {recreate: {from: $a, merge: {status: {phase: Lost}}}}
    - {reconnect: {}}
    - {relist: [$a], resourceVersion: "9"}
    - {tombstone: {}}
    - {bookmark: {}, resourceVersion: 12}
    - {reload: [{apiVersion: donewhen.dev/v1alpha1, kind: Predicate, metadata: {name: x}, spec: {match: {apiVersion: v1, kind: Pod}, done: 'true'}}]}
    - {advance: 1s, expect: {verdict: Failed, code: Aborted}}
    - {cancel: {}}
    - {close: {}}
`))
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
