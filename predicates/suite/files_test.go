package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a new directory, makes it the current one and returns it.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

const (
	oneSuite = header + "  predicates: [p.yaml]\n  cases:\n  - {name: c, predicate: claim-bound, params: {volume: v}, absent: never, expect: Pending}\n"
	noSuite  = "apiVersion: v1\nkind: Pod\n"
)

// ran returns the files whose suites ran, and what was wrong.
func ran(report *Report) (files []string, problems string) {
	for _, s := range report.Suites {
		files = append(files, s.File)
	}
	for _, p := range report.Problems {
		problems += p.Summary() + "\n"
	}
	return files, problems
}

func TestFind(t *testing.T) {
	tree(t, map[string]string{
		"p.yaml": set, "a_test.yaml": oneSuite, "pod.yaml": noSuite, "broken.yaml": "a: [\n",
		"sub/p.yaml": set, "sub/b.yml": oneSuite, "sub/c.txt": oneSuite,
		"testdata/p.yaml": set, "testdata/d_test.yaml": oneSuite, ".git/e_test.yaml": oneSuite, "_old/f_test.yaml": oneSuite,
	})
	if err := os.Symlink("a_test.yaml", "z_link.yaml"); err != nil { // as the kubelet mounts a ConfigMap's keys
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		want  []string
	}{
		{[]string{"."}, []string{"a_test.yaml", "sub/b.yml", "z_link.yaml"}},
		{[]string{"sub", "a_test.yaml", "./a_test.yaml"}, []string{"sub/b.yml", "a_test.yaml"}},
		{[]string{"testdata"}, []string{"testdata/d_test.yaml"}},
		{[]string{"sub/c.txt"}, []string{"sub/c.txt"}},
		{[]string{"pod.yaml"}, nil},
	} {
		files, problems := ran(NewRunner(operations()).Files(t.Context(), c.paths...))
		if diff := cmp.Diff(c.want, files); diff != "" || problems != "" {
			t.Errorf("%v: problems %q, files (- want, + got):\n%s", c.paths, problems, diff)
		}
	}
}

// A suite that is left out without a word would pass for success.
func TestNoSuiteIsLeftOutSilently(t *testing.T) {
	tree(t, map[string]string{
		"p.yaml": set, "a_test.yaml": oneSuite, "b_test.YAML": oneSuite,
		"c_test.yaml":     strings.Replace(oneSuite, "kind: Suite", "kind: suite", 1),
		"d_test.yaml":     strings.Replace(oneSuite, "kind: Suite", "kind: Suit", 1),
		"real/p.yaml":     set,
		"real/e_test.yml": oneSuite,
	})
	if err := os.Symlink("real", "link"); err != nil {
		t.Fatal(err)
	}
	files, problems := ran(NewRunner(operations()).Files(t.Context(), ".", "link"))
	if diff := cmp.Diff([]string{"a_test.yaml", "b_test.YAML", "real/e_test.yml", "link/e_test.yml"}, files); diff != "" {
		t.Errorf("ran (- want, + got):\n%s", diff)
	}
	for _, want := range []string{`c_test.yaml:2:7: unknown kind "suite"`, `d_test.yaml:2:7: unknown kind "Suit"`} {
		if !strings.Contains(problems, want) {
			t.Errorf("no problem says %q; all:\n%s", want, problems)
		}
	}
}

// What can't be loaded is said once, and doesn't keep the rest from running.
func TestFilesProblems(t *testing.T) {
	tree(t, map[string]string{
		"p.yaml":               set,
		"1_good_test.yaml":     oneSuite,
		"2_no_set_test.yaml":   strings.Replace(oneSuite, "[p.yaml]", "[q.yaml]", 1),
		"3_bad_set_test.yaml":  strings.Replace(oneSuite, "[p.yaml]", "[bad.yaml]", 1) + "---\n" + strings.Replace(strings.Replace(oneSuite, "[p.yaml]", "[bad.yaml]", 1), "name: s", "name: t", 1),
		"bad.yaml":             strings.Replace(set, "== 'Bound'", "+ 'Bound'", 1),
		"4_unnamed_test.yaml":  strings.Replace(oneSuite, "  predicates: [p.yaml]\n", "", 1),
		"5_not_yaml_test.yaml": oneSuite + "  - [\n",
		"6_beside_test.yaml":   set + "---\n" + strings.Replace(oneSuite, "  predicates: [p.yaml]\n", "", 1),
	})
	files, problems := ran(NewRunner(operations()).Files(t.Context(), ".", "nowhere"))
	if diff := cmp.Diff([]string{"1_good_test.yaml", "6_beside_test.yaml"}, files); diff != "" {
		t.Errorf("ran (- want, + got):\n%s", diff)
	}
	lines := strings.Split(strings.TrimSpace(problems), "\n")
	for _, want := range []string{
		"2_no_set_test.yaml:5:16: Suite s: can't read q.yaml: no such file or directory",
		"bad.yaml:11:",
		"4_unnamed_test.yaml:1:1: Suite s: the suite names no set to test; write spec.predicates: [file.yaml], or put the predicates into this file",
		"5_not_yaml_test.yaml:8:",
		"nowhere: can't read it: no such file or directory",
	} {
		if n := len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.Contains(l, want) })); n != 1 {
			t.Errorf("%d problems say %q, want 1; all:\n%s", n, want, problems)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d problems, want 5:\n%s", len(lines), problems)
	}
}
