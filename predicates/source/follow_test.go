package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/predicates"
)

// scripted is a source that delivers what it is sent.
type scripted struct {
	name     string
	contents chan string
	err      error
}

func (s scripted) Name() string { return s.name }

func (s scripted) Run(ctx context.Context, deliver func(predicates.Source)) error {
	for {
		select {
		case <-ctx.Done():
			return s.err
		case content := <-s.contents:
			deliver(predicates.Source{Name: s.name, Files: []predicates.File{{Name: content}}})
		}
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := scripted{name: "a", contents: make(chan string)}, scripted{name: "b", contents: make(chan string), err: errors.New("stopped")}
		ctx, cancel := context.WithCancel(t.Context())
		var updates []string
		done := make(chan error, 1)
		go func() {
			done <- Follow(ctx, []Watched{a, b}, func(sources ...predicates.Source) {
				var text []string
				for _, s := range sources {
					text = append(text, s.Name+s.Files[0].Name)
				}
				updates = append(updates, strings.Join(text, "+"))
			})
		}()
		for _, send := range []struct {
			to      scripted
			content string
		}{{b, "1"}, {b, "2"}, {a, "3"}, {b, "4"}, {a, "5"}} {
			send.to.contents <- send.content
			synctest.Wait()
		}
		cancel()
		if err := <-done; !errors.Is(err, b.err) {
			t.Errorf("Follow: %v", err)
		}
		if got := fmt.Sprint(updates); got != "[a3+b2 b4 a5]" {
			t.Errorf("updates %s", got)
		}
	})
	if err := Follow(t.Context(), nil, nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}

// What sources held before stands in for those that deliver nothing, if it is known of
// each of them.
func TestFollowWithStandIns(t *testing.T) {
	saved := func(names ...string) (list []predicates.Source) {
		for _, name := range names {
			list = append(list, predicates.Source{Name: name, Files: []predicates.File{{Name: "old"}}})
		}
		return list
	}
	for _, row := range []struct {
		name           string
		saved          []predicates.Source
		err            error
		first          string // a source that delivers at once
		updates, later string // within the time, and when b has delivered as well
		used           string
	}{
		{"all deliver", saved("a", "b"), nil, "ab", "[a1+b1]", "[a1+b1 b2]", "[]"},
		{"one doesn't", saved("a", "b"), nil, "a", "[a1+bold]", "[a1+bold b2]", "[{[b] [] <nil>}]"},
		{"none does", saved("b", "c", "a"), nil, "", "[aold+bold]", "[aold+bold b2]", "[{[a b] [] <nil>}]"},
		{"it isn't known", saved("a"), nil, "a", "[]", "[a1+b2]", "[{[b] [b] <nil>}]"},
		{"one isn't known", saved("a"), nil, "", "[]", "[]", "[{[a b] [b] <nil>}]"},
		{"nothing is known", nil, errors.New("damaged"), "a", "[]", "[a1+b2]", "[{[b] [b] damaged}]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			sources := map[string]scripted{"a": {name: "a", contents: make(chan string)}, "b": {name: "b", contents: make(chan string)}}
			ctx, cancel := context.WithCancel(t.Context())
			updates, used := []string{}, []StandIns{}
			done := make(chan error, 1)
			go func() {
				done <- Follow(ctx, []Watched{sources["a"], sources["b"]}, func(sources ...predicates.Source) {
					var text []string
					for _, s := range sources {
						text = append(text, s.Name+s.Files[0].Name)
					}
					updates = append(updates, strings.Join(text, "+"))
				}, WithStandIns(clock.RealClock{}, time.Second, func() ([]predicates.Source, error) { return row.saved, row.err }, func(s StandIns) { used = append(used, s) }))
			}()
			for _, name := range strings.Split(row.first, "") {
				sources[name].contents <- "1"
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := fmt.Sprint(updates); got != row.updates {
				t.Errorf("%s: updates %s, want %s", row.name, got, row.updates)
			}
			sources["b"].contents <- "2"
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := fmt.Sprint(updates); got != row.later {
				t.Errorf("%s: then updates %s, want %s", row.name, got, row.later)
			}
			if got := fmt.Sprint(used); got != row.used {
				t.Errorf("%s: told %s, want %s", row.name, got, row.used)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// A burst is delivered once it has come to rest, and what never does in time.
func TestSettle(t *testing.T) {
	for _, row := range []struct {
		changes  int
		interval time.Duration
		want     time.Duration
	}{
		{0, 0, quietTime},
		{5, 20 * time.Millisecond, 5*20*time.Millisecond + quietTime},
		{1000, 20 * time.Millisecond, longestWait},
		{1, 400 * time.Millisecond, quietTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := newOptions("test", nil)
			changed := make(chan struct{}, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for range row.changes {
					select {
					case <-time.After(row.interval):
						signal(changed)
					case <-ctx.Done():
						return
					}
				}
			}()
			start := time.Now()
			if !o.settle(ctx, changed) {
				t.Error("ended")
			}
			if took := time.Since(start); took != row.want {
				t.Errorf("%d changes every %v: delivered after %v, want %v", row.changes, row.interval, took, row.want)
			}
			cancel()
			synctest.Wait()
			if o.settle(ctx, nil) {
				t.Error("settled after its context had ended")
			}
		})
	}
}
