package predicates

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What an editor, a copy or an attacker puts into a ConfigMap is a set or problems
// with positions, in bounded time and memory.
func TestHostileDocuments(t *testing.T) {
	l, err := NewLoader(catalogue())
	if err != nil {
		t.Fatal(err)
	}
	const mebi = 1 << 20
	const line = mebi - 4096 // with the rest just under what a file may have
	good := predicate("p", "  done: |-\n    object.status.state == 'Created'")
	load := func(data string) (*Set, error) {
		return l.Load(Source{Name: "hostile", Files: []File{{Name: "f.yaml", Data: []byte(data)}}})
	}
	plain, err := load(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, data string
		want       string // in the first problem; empty: it loads, as the plain one
	}{
		{"byte order mark", "\uFEFF" + good, ""},
		{"CRLF", strings.ReplaceAll(good, "\n", "\r\n"), ""},
		{"byte order mark and CRLF", "\uFEFF" + strings.ReplaceAll(good, "\n", "\r\n"), ""},
		{"empty documents around it", "---\n---\n" + good + "\n---\n...\n", ""},
		{"tabs", strings.Replace(good, "  done", "\tdone", 1), "cannot start any token"},
		{"NUL", strings.Replace(good, "Created", "Cre\x00ated", 1), ""},
		{"NUL alone", strings.Repeat("\x00", mebi), "control characters"},
		{"not UTF-8", strings.Replace(good, "Created", "Cre\xffated", 1), "UTF-8"},
		{"UTF-16", "\xff\xfek\x00i\x00n\x00d\x00", "UTF-8"},
		{"an anchor", strings.Replace(good, "metadata: ", "metadata: &m ", 1), "anchor"},
		{"aliases that grow", "apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\n" + bomb(30), "unknown field"},
		{"an alias to itself", "a: &a [*a]", "a"},
		{"a duplicate key", strings.Replace(good, "metadata:", "kind: Predicate\nmetadata:", 1), "duplicate key"},
		{"1 MiB on one line of an expression", strings.Replace(good, "'Created'", "'"+strings.Repeat("C", line)+"'", 1), ""},
		{"1 MiB of a comment", "# " + strings.Repeat("c", line) + "\n" + good, ""},
		{"1 MiB of a name", strings.Replace(good, "name: p", "name: "+strings.Repeat("p", line), 1), "pppp…: "},
		{"deep flow", strings.Repeat("[", mebi), ""},
		{"deep blocks", strings.Repeat("- ", mebi/2) + "a", ""},
		{"deep maps", "a: " + strings.Repeat("{a: ", mebi/4), ""},
		{"a deep expression", strings.Replace(good, "object.status.state", strings.Repeat("(", 200_000)+"object", 1), ""},
		{"a long chain", strings.Replace(good, "'Created'", "'Created'"+strings.Repeat(" && true", 50_000), 1), ""},
		{"many documents", strings.Repeat(good+"\n---\n", 5_000), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			set, err := load(row.data)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			allocated := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%d KiB: %v, %d KiB allocated in all", len(row.data)>>10, took.Round(time.Millisecond), allocated>>10)
			if took > 30*time.Second || allocated > 64*mebi+400*int64(len(row.data)) {
				t.Errorf("%d KiB took %v and %d KiB", len(row.data)>>10, took, allocated>>10)
			}
			if err == nil {
				if (row.want != "" || set.Digest() != plain.Digest()) && !strings.Contains(row.data, mebiC) && row.name != "NUL" {
					t.Errorf("it loads, as %v", set.Digest())
				}
				return
			}
			failed, ok := errors.AsType[*LoadError](err)
			if !ok {
				t.Fatalf("error %T", err)
			}
			p := failed.Problems[0]
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("no position: %+v", p.Summary())
			}
			if text := p.Summary(); !strings.Contains(text, row.want) || len(text) > 3*maxText+200 || len(p.Excerpt) > 1024 {
				t.Errorf("the first problem is %.300s…, want %q", text, row.want)
			}
			if len(failed.Problems) > maxProblems+1 {
				t.Errorf("%d problems", len(failed.Problems))
			}
		})
	}
}

// mebiC marks rows whose content is another predicate.
const mebiC = "CCCCCCCCCCCCCCCC"

// bomb is a document whose aliases stand for 2^n elements.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}
