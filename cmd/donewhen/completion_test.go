package main

import (
	"strings"
	"testing"
)

// The shell is offered what a flag takes, not files.
func TestCompletion(t *testing.T) {
	rollout := "testdata/explain/rollout.yaml"
	for _, c := range []struct {
		args []string
		want string // a line
	}{
		{[]string{"eval", "--predicate", ""}, "volume-created"},
		{[]string{"explain", "--predicates", rollout, "--predicate", ""}, "rollout-complete"},
		{[]string{"eval", "--operation", ""}, "CreateVolume"},
		{[]string{"eval", "--absent", ""}, "deleted"},
		{[]string{"eval", "-o", ""}, "json"},
		{[]string{"lint", "-o", ""}, "json"},
		{[]string{"operations", "-o", ""}, "json"},
		{[]string{"test", "-o", ""}, "junit"},
		{[]string{"schema", ""}, "suite"},
	} {
		code, out, errs := execute(t.Context(), append([]string{"__complete"}, c.args...)...)
		if code != exitOK || !strings.Contains("\n"+out, "\n"+c.want+"\n") || !strings.Contains(out, ":4\n") {
			t.Errorf("%q: code %d, want the line %q and no files:\n%s%s", c.args, code, c.want, out, errs)
		}
	}
}
