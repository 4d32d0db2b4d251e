package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

const defaultsDir = "../../provisioner/defaults"

// The default set passes its own suites, and those of the format's reference.
func TestDefaultSuites(t *testing.T) {
	for _, c := range []struct {
		path   string
		checks int
	}{
		{defaultsDir, 236},
		{"testdata/reference", 186},
	} {
		code, out, errs := execute(t.Context(), "test", "-o", "json", c.path)
		if code != 0 {
			t.Errorf("%s: exit code %d: %s", c.path, code, errs)
		}
		var report struct{ Passed, Failed int }
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d checks passed, %d failed", c.path, report.Passed, report.Failed)
		// Reading fewer cases than there are must not look like success.
		if report.Passed != c.checks || report.Failed != 0 {
			t.Errorf("%s: %d checks passed, %d failed, want %d and 0", c.path, report.Passed, report.Failed, c.checks)
		}
	}
}

// A change of the default set that nobody notices is one that no case is about:
// whatever single code, reason, hold time or policy is changed, a suite fails.
func TestDefaultSuitesNoticeChanges(t *testing.T) {
	name, data := provisioner.Defaults()
	// A store compiles again only what has changed.
	store, err := predicates.NewStore(provisioner.Operations(), predicates.Source{Files: []predicates.File{{Name: name, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	suites, runner := defaultSuites(t), suite.NewRunner(provisioner.Operations())
	lines := strings.Split(string(data), "\n")
	mutants, refused := 0, 0
	for i, line := range lines {
		for _, mutant := range mutate(line) {
			mutants++
			changed := slices.Concat(lines[:i], []string{mutant}, lines[i+1:])
			source := predicates.Source{Name: "changed", Files: []predicates.File{{Name: name, Data: []byte(strings.Join(changed, "\n"))}}}
			if err := store.Update(source); err != nil {
				refused++
				continue
			}
			if runner.Run(t.Context(), store.Set(), suites...).Err() == nil {
				t.Errorf("line %d: no case notices\n- %s\n+ %s", i+1, line, mutant)
			}
		}
	}
	t.Logf("%d changes, %d of them refused at load", mutants, refused)
	if mutants-refused < 100 {
		t.Errorf("%d changes could be loaded, want at least 100: has the layout of %s changed?", mutants-refused, name)
	}
}

// mutations change one line of the default set.
var mutations = []struct{ find, replace string }{
	{`^(\s+code:) \w+`, "$1 DataLoss"},
	{`^(\s+reason:) \w+`, "$1 Changed"},
	{`^(\s+for:) 30s`, "$1 31s"},
	{`^(\s+message:) .*`, "$1 changed"},
	{`^(\s+expect: )Present`, "${1}Gone"},
	{`^(\s+expect: )Gone`, "${1}Present"},
	{`^(\s+on(Absent|Delete|Terminating): )Done`, "${1}Pending"},
	{`^(\s+DANGLING_ATTACH: )FailedPrecondition`, "${1}Internal"},
	{`^(      .*) && `, "$1 || "},
	{`^(      .*) == `, "$1 != "},
	{`^(      .*) >= `, "$1 > "},
	{`^(    .*)'Creating', `, "$1"},
	{`^(      .*)'Deleting', `, "$1"},
	{`^(      .*), 'UpdateFailed'\]`, "$1]"},
	{`^(      .*), 'ForceDetachPending'\]`, "$1]"},
}

func mutate(line string) []string {
	var mutants []string
	for _, m := range mutations {
		if changed := regexp.MustCompile(m.find).ReplaceAllString(line, m.replace); changed != line {
			mutants = append(mutants, changed)
		}
	}
	return mutants
}

// defaultSuites reads the suites of the default set.
func defaultSuites(t *testing.T) []*suite.Suite {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(defaultsDir, "*_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*suite.Suite
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		suites, err := suite.Parse(predicates.File{Name: file, Data: data}, os.ReadFile)
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", file, err))
		}
		all = append(all, suites...)
	}
	return all
}
