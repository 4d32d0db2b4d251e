package nearest

import "testing"

func TestName(t *testing.T) {
	fields := []string{"done", "failed", "pending", "aborted", "variables", "version", "code", "codeMap", "for"}
	for name, want := range map[string]string{
		"Done": "done", "falied": "failed", "variable": "variables", "codemap": "codeMap",
		"fo": "for", "on": "", "zzz": "", "": "", "pendingg": "pending", "messageExpression": "",
	} {
		if got := Name(name, fields); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestHintListsWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		candidates []string
		want       string
	}{
		{nil, "there are no operations"},
		{[]string{"b", "a"}, "operations: a, b"},
		{[]string{"publish"}, `did you mean "publish"?`},
	} {
		if got := Hint("publihs", "operations", c.candidates); got != c.want {
			t.Errorf("Hint(%v) = %q, want %q", c.candidates, got, c.want)
		}
	}
}
