package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/donewhen/donewhen/predicates"
)

// besieged is a ConfigMap whose server lists and watches as the test wants.
type besieged struct {
	client    *fake.Clientset
	forbidden atomic.Bool
	watches   atomic.Int64
	end       func() // of the watch that runs
}

func besiege(t *testing.T, closeAtOnce bool) *besieged {
	b := &besieged{client: fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Data: map[string]string{"a": "0"}})}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "p", errors.New("no"))
	b.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return b.forbidden.Load(), nil, denied
	})
	b.client.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		b.watches.Add(1)
		if b.forbidden.Load() {
			return true, nil, denied
		}
		w, err := b.client.Tracker().Watch(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "n")
		if err != nil {
			t.Error(err)
			return true, nil, err
		}
		b.end = w.Stop
		if closeAtOnce {
			w.Stop()
		}
		return true, w, nil
	})
	return b
}

func (b *besieged) edit(t *testing.T, content string) {
	t.Helper()
	_, err := b.client.CoreV1().ConfigMaps("n").Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}, Data: map[string]string{"a": content},
	}, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// follow runs the source within a bubble and returns what it has delivered so far.
func (b *besieged) follow(t *testing.T, test func(delivered func() string), opts ...Option) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var last atomic.Pointer[string]
	done := make(chan error, 1)
	go func() {
		done <- NewConfigMap(b.client, "n", "p", opts...).Run(ctx, func(s predicates.Source) {
			text := ""
			for _, f := range s.Files {
				text += string(f.Data)
			}
			last.Store(&text)
		})
	}()
	test(func() string {
		synctest.Wait()
		if s := last.Load(); s != nil {
			return *s
		}
		return "nothing"
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The right to read is taken away while the source runs, and given back: what was delivered
// stays, the reason is told, and what was edited meanwhile is delivered then.
func TestAConfigMapThatMayNoLongerBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := besiege(t, false)
		var failed, answered atomic.Int64
		b.follow(t, func(delivered func() string) {
			time.Sleep(time.Second)
			if got := delivered(); got != "0" {
				t.Fatalf("delivered %q", got)
			}
			b.forbidden.Store(true)
			b.end()
			b.edit(t, "1")
			before := answered.Load()
			time.Sleep(10 * time.Minute)
			if got := delivered(); got != "0" || failed.Load() == 0 || answered.Load() != before {
				t.Errorf("without the right: %q, told %d times, %d answers", got, failed.Load(), answered.Load()-before)
			}
			if tries := b.watches.Load() + failed.Load(); tries > 100 {
				t.Errorf("%d requests in ten minutes", tries)
			}
			b.forbidden.Store(false)
			time.Sleep(2 * time.Minute)
			if got := delivered(); got != "1" || answered.Load() == before {
				t.Errorf("with the right again: %q, answered: %v", got, answered.Load() > before)
			}
		}, WithErrorHandler(func(context.Context, error) { failed.Add(1) }), WithAnswerHandler(func() { answered.Add(1) }))
	})
}

// Watches that end as soon as they begin: each edit is seen all the same, by listing, with
// backoff.
func TestAWatchThatIsClosedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := besiege(t, true)
		b.follow(t, func(delivered func() string) {
			for i := range 10 {
				b.edit(t, fmt.Sprint(i))
				time.Sleep(2 * time.Minute)
				if got := delivered(); got != fmt.Sprint(i) {
					t.Errorf("edit %d: %q is delivered", i, got)
				}
			}
			if n := b.watches.Load(); n > 400 {
				t.Errorf("%d watches in twenty minutes", n)
			}
		}, WithErrorHandler(func(context.Context, error) {}))
	})
}

// A mounted ConfigMap is swapped a thousand times as fast as it goes: whatever is delivered
// is of one swap, and the last one is.
func TestAThousandSwapsAsFastAsItGoes(t *testing.T) {
	v := newVolume(t)
	both := func(i int) map[string]string {
		return map[string]string{"a.yaml": fmt.Sprint(i), "b.yaml": fmt.Sprint(i)}
	}
	v.write(both(0))
	reported, report := reporting()
	delivered := follow(t, NewDirectory(v.dir, brisk, report))
	expectNext(t, delivered, "a.yaml=0 b.yaml=0")
	last := ""
	take := func(text string) {
		t.Helper()
		var a, b int
		if _, err := fmt.Sscanf(text, "a.yaml=%d b.yaml=%d", &a, &b); err != nil || a != b {
			t.Fatalf("delivered %q", text)
		}
		last = text
	}
	seen := 0
	for i := 1; i <= 1000; i++ {
		v.write(both(i))
		for len(delivered) > 0 {
			take(<-delivered)
			seen++
		}
	}
	for last != "a.yaml=1000 b.yaml=1000" {
		select {
		case text := <-delivered:
			take(text)
			seen++
		case <-time.After(20 * time.Second):
			t.Fatalf("the last is %q", last)
		}
	}
	t.Logf("%d deliveries", seen)
	for len(reported) > 0 {
		t.Errorf("reported: %v", <-reported)
	}
}

// The kubelet's link leads nowhere, in a circle, to a file, or to a file that is too much:
// an error, what was delivered stays, and the next swap is taken.
func TestALinkOfAMountedDirectoryThatIsWrong(t *testing.T) {
	for name, row := range map[string]struct {
		content map[string]string
		want    string
	}{
		"a circle":                 {map[string]string{"wrong": "-> ..data"}, "too many links"},
		"nowhere":                  {nil, "leads nowhere"},
		"to a file":                {map[string]string{"wrong": "x"}, "not a directory"},
		"a huge one":               {map[string]string{"wrong/a.yaml": "x"}, "has more than 16 MiB"},
		"a key that leads nowhere": {map[string]string{"wrong/a.yaml": "-> nowhere"}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t)
			v.write(map[string]string{"a.yaml": "1"})
			reported, report := reporting()
			delivered := follow(t, NewDirectory(v.dir, brisk, report))
			expectNext(t, delivered, "a.yaml=1")
			beside := t.TempDir()
			place(t, beside, map[string]string{"x": ""})
			for at, content := range row.content {
				if target, ok := strings.CutPrefix(content, "-> "); ok && !filepath.IsAbs(target) && at == "wrong" {
					content = "-> " + filepath.Join(v.dir, target)
				}
				place(t, beside, map[string]string{at: content})
			}
			if name == "a huge one" {
				v.must(os.Truncate(filepath.Join(beside, "wrong", "a.yaml"), maxFile+1))
			}
			v.must(os.Symlink(filepath.Join(beside, "wrong"), filepath.Join(v.dir, "..data_tmp")))
			v.must(os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
			expectReport(t, reported, row.want)
			if len(delivered) > 0 {
				t.Errorf("delivered %q", <-delivered)
			}
			v.write(map[string]string{"a.yaml": "2"})
			expectNext(t, delivered, "a.yaml=2")
		})
	}
}

// A link in place of the directory or the file that leads nowhere isn't an empty config.
func TestALinkInPlaceOfASourceThatLeadsNowhere(t *testing.T) {
	root := t.TempDir()
	place(t, root, map[string]string{"v1/a.yaml": "1", "dir": "-> v1", "file.yaml": "-> v1/a.yaml"})
	for name, s := range map[string]func(o ...Option) *Files{
		"dir":       func(o ...Option) *Files { return NewDirectory(filepath.Join(root, "dir"), o...) },
		"file.yaml": func(o ...Option) *Files { return NewFile(filepath.Join(root, "file.yaml"), o...) },
	} {
		reported, report := reporting()
		delivered := follow(t, s(brisk, report))
		text := "a.yaml=1"
		if name == "file.yaml" {
			text = "file.yaml=1"
		}
		expectNext(t, delivered, text)
		swap := func(target string) {
			t.Helper()
			place(t, root, map[string]string{"next": "-> " + target})
			if err := os.Rename(filepath.Join(root, "next"), filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		swap("v2")
		expectReport(t, reported, name+" leads nowhere")
		if len(delivered) > 0 {
			t.Errorf("%s: delivered %q", name, <-delivered)
		}
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		expectNext(t, delivered, "") // but this is
	}
}
