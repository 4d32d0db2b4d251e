package source

import (
	"io/fs"
	"strings"
	"testing"
)

// Whose file is believed, by whom.
func TestTrust(t *testing.T) {
	for _, row := range []struct {
		mode               fs.FileMode
		owner, group, user int
		want               string // refused; "warned"
	}{
		{0o600, 1000, 1000, 1000, ""},
		{0o644, 0, 0, 1000, ""},
		{0o600, 1001, 1000, 1000, "it belongs to user 1001, and this program runs as 1000"},
		{0o600, 1001, 1000, 0, "it belongs to user 1001"},
		{0o602, 1000, 1000, 1000, "anybody may write it (mode 0602)"},
		{0o660, 1000, 2000, 1000, "warned"}, // a volume in a pod with fsGroup 2000
		{0o660, 1000, 3000, 1000, "group 3000 may write it"},
		{0o640, 1000, 3000, 1000, ""},
	} {
		got := ""
		file := NewLastGoodFile("f", func(error) { got = "warned" })
		if err := file.trust(row.mode, row.owner, row.group, row.user, []int{1000, 2000}); err != nil {
			got = err.Error()
		}
		if row.want == "" && got != "" || !strings.Contains(got, row.want) {
			t.Errorf("mode %o of %d:%d by %d: %q, want %q", row.mode, row.owner, row.group, row.user, got, row.want)
		}
	}
}
