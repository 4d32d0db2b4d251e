// Package contracts_test changes the default set in thousands of ways, and holds
// what the gate says of each against an oracle that knows nothing of the contracts:
// a set that lies about a disk is refused, and one that doesn't comes into force.
package contracts_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

// sweep judges sets by the oracle and by the gate.
type sweep struct {
	defaults predicates.Source
	base     *predicates.Set
	spaces   map[string]*space
	gates    map[string]*suite.Gate // by operation: what is as before needn't be judged again
	counts   map[string]int
}

func newSweep(t testing.TB) *sweep {
	t.Helper()
	name, data := provisioner.Defaults()
	s := &sweep{
		defaults: predicates.Source{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}},
		spaces:   spaces(), gates: map[string]*suite.Gate{}, counts: map[string]int{},
	}
	var err error
	if s.base, err = predicates.NewSet(provisioner.Operations(), s.defaults); err != nil {
		t.Fatal(err)
	}
	contracts, err := suite.ParseContracts(provisioner.Contracts())
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range provisioner.Operations() {
		of := slices.DeleteFunc(slices.Clone(contracts), func(c *suite.Contract) bool { return c.Operation != operation.Name })
		if s.gates[operation.Name], err = suite.NewGate(provisioner.Operations(), of); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// outcome is what became of a set.
type outcome struct {
	loads   bool
	harm    string   // what the oracle says; empty: harmless
	refused []string // what the gate says
}

// judge looks at the set that the document makes of the default one. operations are
// those that it changes.
func (s *sweep) judge(t testing.TB, documents []byte) outcome {
	t.Helper()
	config := predicates.Source{Name: "config", Files: []predicates.File{{Name: "p.yaml", Data: documents}}}
	set, err := s.base.With(config)
	if err != nil {
		return outcome{}
	}
	o := outcome{loads: true}
	for _, operation := range provisioner.Operations() {
		binding, err := set.Binding(operation.Name)
		if err != nil {
			t.Error(err)
			return o
		}
		before, err := s.base.Binding(operation.Name)
		if err != nil {
			t.Error(err)
			return o
		}
		if same(binding, before) {
			continue
		}
		if harm, _ := s.spaces[operation.Name].harm(binding); harm != "" && o.harm == "" {
			o.harm = harm
		}
		for _, problem := range s.gates[operation.Name].Check(t.Context(), set, []predicates.Source{s.defaults, config}) {
			if !problem.Warning {
				o.refused = append(o.refused, problem.Message)
			}
		}
	}
	return o
}

func same(a, b *engine.Binding) bool {
	return a.Predicate.ID().Digest == b.Predicate.ID().Digest && maps.EqualFunc(a.Params, b.Params, func(x, y any) bool { return x == y }) && a.Timeout == b.Timeout
}

// run judges mutants, and returns those about which the gate and the oracle differ.
func (s *sweep) run(t testing.TB, all []*mutant) (passed, refused []string) {
	t.Helper()
	outcomes, texts := make([]outcome, len(all)), make([][]byte, len(all))
	for i, m := range all {
		texts[i] = m.text(t)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
				outcomes[i] = s.judge(t, texts[i])
			}
		})
	}
	group.Wait()
	for i, m := range all {
		o := outcomes[i]
		s.counts["mutants"]++
		switch {
		case !o.loads:
			s.counts["not loaded"]++
		case o.harm != "" && len(o.refused) == 0:
			s.counts["harmful passed"]++
			passed = append(passed, fmt.Sprintf("%s\n    %s", m.name, o.harm))
		case o.harm != "":
			s.counts["harmful refused"]++
		case len(o.refused) > 0:
			s.counts["harmless refused"]++
			refused = append(refused, fmt.Sprintf("%s\n    %s", m.name, o.refused[0]))
		default:
			s.counts["harmless passed"]++
		}
	}
	return passed, refused
}

// report fails for each difference that isn't explained.
func (s *sweep) report(t *testing.T, passed, refused []string) {
	t.Helper()
	var table strings.Builder
	for _, key := range []string{"mutants", "not loaded", "harmful refused", "harmful passed", "harmless passed", "harmless refused"} {
		fmt.Fprintf(&table, " %s %d,", key, s.counts[key])
	}
	t.Log(strings.TrimSuffix(table.String(), ","))
	for _, p := range passed {
		t.Errorf("harmful, but the gate lets it pass: %s", p)
	}
	for _, r := range refused {
		t.Errorf("harmless, but the gate refuses it: %s", r)
	}
}

// The default set itself is harmless, or the oracle is wrong.
func TestTheOracleAgreesWithTheDefaultSet(t *testing.T) {
	s := newSweep(t)
	for _, operation := range provisioner.Operations() {
		binding, err := s.base.Binding(operation.Name)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d points", operation.Name, len(s.spaces[operation.Name].points))
		if harm, n := s.spaces[operation.Name].harm(binding); harm != "" {
			t.Errorf("%d points, the first: %s", n, harm)
		}
	}
}

// A sample of the sweep; all of it is behind the build tag soak.
func TestSweepOfChangedSets(t *testing.T) {
	const seed, sample = 20261130, 60
	s := newSweep(t)
	all := mutants(t)
	random := rand.New(rand.NewPCG(seed, seed))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	passed, refused := s.run(t, all[:sample])
	t.Logf("%d of %d mutants", sample, len(all))
	s.report(t, passed, refused)
}
