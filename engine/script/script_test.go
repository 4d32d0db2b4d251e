package script_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	. "github.com/donewhen/donewhen/engine/script"
)

var update = flag.Bool("update", false, "rewrite the golden traces")

// play plays the steps and returns the player and what was seen last.
func play(t *testing.T, request engine.Request, steps ...Step) (*Player, Seen, error) {
	t.Helper()
	player, err := New(Config{Set: testSet(), Request: request})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(player.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen Seen
	for _, step := range steps {
		if seen, err = player.Play(ctx, step); err != nil {
			break
		}
	}
	return player, seen, err
}

func trace(p *Player) string { return strings.Join(p.Trace(), "\n") + "\n" }

func golden(t *testing.T, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.Base(t.Name())+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (- want, + got):\n%s", file, diff)
	}
}

// Each verb does what an informer and a caller would do. What the waiter sees
// after each step is the golden trace.
func TestVerbs(t *testing.T) {
	ready := engine.Request{Ref: ref(), Predicate: "ready"}
	stable := engine.Request{Ref: ref(), Predicate: "stable"}
	gone := engine.Request{Ref: ref(), Predicate: "gone"}
	bound := engine.Request{Ref: ref(), Operation: "Make"}
	list := func(objects ...metav1.Object) []metav1.Object { return objects }
	for name, c := range map[string]struct {
		request engine.Request
		steps   []Step
	}{
		"write-and-wait": {ready, []Step{
			{Verb: Add, Object: widget("Broken"), UID: "a", ResourceVersion: "10"},
			{Verb: Register},
			{Verb: After, ResourceVersion: "12", UID: "a"},
			{Verb: Wait},
			{Verb: Bookmark, ResourceVersion: "11"},
			{Verb: Update, Object: widget("New"), ResourceVersion: "12"},
			{Verb: Update, Object: widget("Ready")},
			{Verb: Update, Object: widget("Broken")},
			{Verb: Close},
		}},
		"hold-time": {stable, []Step{
			{Verb: Register},
			{Verb: Wait},
			{Verb: Add, Object: widget("Ready")},
			{Verb: Advance, Duration: 6 * time.Second},
			{Verb: Update, Object: widget("New")},
			{Verb: Update, Object: widget("Ready")},
			{Verb: Resync},
			{Verb: Advance, Duration: 9999 * time.Millisecond},
			{Verb: Advance, Duration: time.Millisecond},
		}},
		"delete": {gone, []Step{
			{Verb: Add, Object: widget("New")},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Delete},
		}},
		"tombstone": {gone, []Step{
			{Verb: Add, Object: widget("New")},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Disconnect},
			{Verb: Tombstone},
		}},
		"recreate": {ready, []Step{
			{Verb: Add, Object: widget("New")},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Recreate, Object: widget("Ready")},
		}},
		"recreate-as-it-was": {gone, []Step{
			{Verb: Add, Object: widget("New"), UID: "a"},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Recreate, UID: "b"},
		}},
		"changed-uid-in-one-event": {ready, []Step{
			{Verb: Add, Object: widget("New"), UID: "a"},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Update, Object: widget("Ready"), UID: "b"},
		}},
		"unsynced": {ready, []Step{
			{Verb: Disconnect},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Add, Object: widget("Ready"), ResourceVersion: "7"},
			{Verb: Reconnect},
		}},
		"unsynced-relist": {gone, []Step{
			{Verb: Disconnect},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Relist, ResourceVersion: "7"},
		}},
		"missed-and-resumed": {ready, []Step{
			{Verb: Register},
			{Verb: Wait},
			{Verb: Disconnect},
			{Verb: Add, Object: widget("New")},
			{Verb: Update, Object: widget("Ready")},
			{Verb: Update, Object: widget("New")},
			{Verb: Reconnect},
		}},
		"missed-and-relisted": {ready, []Step{
			{Verb: Register},
			{Verb: Wait},
			{Verb: Disconnect},
			{Verb: Add, Object: widget("Ready"), ResourceVersion: "5"},
			{Verb: Relist, ResourceVersion: "9", Objects: list(widget("New"))},
			{Verb: Relist, ResourceVersion: "12", Objects: list(widget("New"))},
			{Verb: Relist, ResourceVersion: "15", Objects: list(widget("Ready"))},
		}},
		"namespace": {ready, []Step{
			{Verb: Register},
			{Verb: Wait},
			{Verb: Add, Object: widget("Ready"), Namespace: "b"},
			{Verb: Add, Object: widget("Ready")},
		}},
		"cancel": {ready, []Step{
			{Verb: Register},
			{Verb: Wait},
			{Verb: Add, Object: widget("New")},
			{Verb: Advance, Duration: time.Second},
			{Verb: Cancel},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Update, Object: widget("Ready")},
		}},
		"timeout-of-the-binding": {bound, []Step{
			{Verb: Register},
			{Verb: Advance, Duration: time.Hour},
			{Verb: Wait},
			{Verb: Add, Object: widget("New")},
			{Verb: Advance, Duration: 59 * time.Second},
			{Verb: Advance, Duration: time.Second},
		}},
		"reload": {ready, []Step{
			{Verb: Register},
			{Verb: Reload, Load: func() (engine.Set, error) { return set{"ready": {name: "ready", done: "New"}}, nil }},
			{Verb: Close},
			{Verb: Register},
			{Verb: Wait},
			{Verb: Add, Object: widget("New")},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			player, _, err := play(t, c.request, c.steps...)
			if err != nil {
				t.Errorf("%v\n%s", err, trace(player))
			}
			golden(t, trace(player))
		})
	}
}

// What makes no sense is an error, and stands in the trace.
func TestSenselessSteps(t *testing.T) {
	for want, steps := range map[string][]Step{
		"wait: there is no waiter":                {{Verb: Wait}},
		"after: there is no waiter":               {{Verb: After, ResourceVersion: "1"}},
		"close: there is no waiter":               {{Verb: Close}},
		"cancel: no wait runs":                    {{Verb: Register}, {Verb: Cancel}},
		"wait: the wait has begun":                {{Verb: Register}, {Verb: Wait}, {Verb: Wait}},
		"register: the waiter is still there":     {{Verb: Register}, {Verb: Register}},
		"add: a/w is there already":               {{Verb: Add, Object: widget("")}, {Verb: Add, Object: widget("")}},
		"add: no object is given":                 {{Verb: Add}},
		"update: there is no a/w to update":       {{Verb: Update, Object: widget("")}},
		"delete: there is no a/w in the cluster":  {{Verb: Delete}},
		"tombstone: the informer holds no a/w":    {{Verb: Disconnect}, {Verb: Add, Object: widget("")}, {Verb: Tombstone}},
		"disconnect: the watch is cut already":    {{Verb: Register}, {Verb: Disconnect}, {Verb: Disconnect}},
		"reconnect: the watch isn't cut":          {{Verb: Reconnect}},
		"bookmark: no bookmark comes":             {{Verb: Disconnect}, {Verb: Bookmark}},
		"reload: nothing is given":                {{Verb: Reload}},
		"reload: no such file":                    {{Verb: Reload, Load: func() (engine.Set, error) { return nil, errors.New("no such file") }}},
		"there is no verb \"wiat\"":               {{Verb: "wiat"}},
		"the written object is b/w":               {{Verb: Register}, {Verb: After, Namespace: "b", ResourceVersion: "4"}},
		"recreate: there is no b/w in the cluste": {{Verb: Recreate, Object: widget(""), Namespace: "b"}},
	} {
		player, _, err := play(t, engine.Request{Ref: ref(), Predicate: "ready"}, steps...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if lines := player.Trace(); len(lines) != len(steps) || !strings.Contains(lines[len(lines)-1], "error: ") {
			t.Errorf("%s: the trace doesn't say it:\n%s", want, trace(player))
		}
	}
}

// A script plays alike whenever it is played.
func TestDeterministic(t *testing.T) {
	steps := []Step{
		{Verb: Add, Object: widget("Broken"), ResourceVersion: "3"},
		{Verb: Register},
		{Verb: After, ResourceVersion: "5"},
		{Verb: Wait},
		{Verb: Disconnect},
		{Verb: Update, Object: widget("New"), ResourceVersion: "6"},
		{Verb: Update, Object: widget("Ready"), ResourceVersion: "7"},
		{Verb: Update, Object: widget("New"), ResourceVersion: "8"},
		{Verb: Advance, Duration: 5 * time.Second},
		{Verb: Reconnect},
		{Verb: Advance, Duration: 30 * time.Second},
	}
	var first string
	for range 100 {
		player, seen, err := play(t, engine.Request{Ref: ref(), Predicate: "stable"}, steps...)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = trace(player)
		}
		if diff := cmp.Diff(first, trace(player)); diff != "" || seen.Status.Ended {
			t.Fatalf("another trace:\n%s", diff)
		}
		player.Close()
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Config{Request: engine.Request{Ref: ref()}}); err == nil {
		t.Error("played without a set")
	}
	if _, err := New(Config{Set: testSet()}); err == nil {
		t.Error("played without a reference")
	}
}
