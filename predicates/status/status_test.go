package status_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/status"
)

const sourceName = "configmap n/p"

// configMap is a source that doesn't change.
type configMap struct{ missing bool }

func (configMap) Replaced() <-chan struct{} { return nil }

func (configMap) Name() string          { return sourceName }
func (configMap) Key() (string, string) { return "n", "p" }

func (c configMap) Reference() *corev1.ObjectReference {
	if c.missing {
		return nil
	}
	return &corev1.ObjectReference{Kind: "ConfigMap", Namespace: "n", Name: "p", UID: "u", ResourceVersion: "7"}
}

// report loads the documents and returns what the store reports.
func report(t *testing.T, documents ...predicates.Source) predicates.Report {
	t.Helper()
	var last predicates.Report
	store, err := predicates.NewStore(nil, predicates.Source{Name: "defaults"},
		predicates.WithObserver(func(r predicates.Report) { last = r }))
	if err != nil {
		t.Fatal(err)
	}
	_ = store.Update(documents...) // it is in the report
	return last
}

func source(name, done string) predicates.Source {
	return predicates.Source{Name: name, Files: []predicates.File{{Name: "p.yaml", Data: []byte(
		"apiVersion: donewhen.dev/v1alpha1\nkind: Predicate\nmetadata: {name: p}\nspec:\n  match: {apiVersion: v1, kind: Pod}\n  done: " + done + "\n")}}}
}

func TestRender(t *testing.T) {
	good, bad := source(sourceName, "object.a == 1"), source(sourceName, "object.a == nope")
	for _, row := range []struct {
		name   string
		report predicates.Report
		want   map[string]string // parts of values
		keys   string
	}{
		{"accepted", report(t, good), map[string]string{
			status.KeyConditions: "- {type: Accepted, status: \"True\", reason: Accepted, message: \"all documents can be loaded\"}\n- {type: Active, status: \"True\"",
			status.KeyVersion:    "1.2.3",
			status.KeyWarnings:   "no schema of v1 Pod",
		}, "conditions set sources version warnings"},
		{"broken", report(t, bad), map[string]string{
			status.KeyConditions: "- {type: Accepted, status: \"False\", reason: Invalid, message: \"1 problem\"}\n- {type: Active, status: \"False\", reason: LastGoodServes",
			status.KeyProblems:   "configmap n/p, p.yaml:6:",
		}, "conditions problems sources version"},
		{"another is broken", report(t, good, source("file x", "object.a == nope")), map[string]string{
			status.KeyConditions: "- {type: Accepted, status: \"False\", reason: OtherSource, message: \"1 problem elsewhere: sources are loaded together, or not at all\"}",
			status.KeyProblems:   "file x, p.yaml:6",
		}, "conditions problems sources version"},
		{"refused", predicates.Report{Err: &predicates.LoadError{Refused: true, Problems: []predicates.Problem{{Source: sourceName, Message: "it lies"}}}}, map[string]string{
			status.KeyConditions: "reason: Refused, message: \"the gate refuses the set: 1 problem\"}",
			status.KeyProblems:   "it lies",
		}, "conditions problems sources version"},
		{"a long list", predicates.Report{Err: &predicates.LoadError{Problems: slices.Repeat([]predicates.Problem{{Message: strings.Repeat("x", 9_999)}}, 40)}}, map[string]string{
			status.KeyProblems: "x\nand 20 more\n",
		}, "conditions problems sources version"},
		{"one that is larger than a report", predicates.Report{Err: &predicates.LoadError{Problems: []predicates.Problem{
			{Source: sourceName, File: "p.yaml", Line: 3, Column: 5, Message: "it is " + strings.Repeat("ü", 150<<10)}, {Message: "x"},
		}}}, map[string]string{
			status.KeyProblems: "configmap n/p, p.yaml:3:5: it is üü",
		}, "conditions problems sources version"},
	} {
		data := status.Render(row.report, sourceName, "1.2.3")
		for key, want := range row.want {
			if !strings.Contains(data[key], want) || len(data[key]) > 201<<10 || !utf8.ValidString(data[key]) {
				t.Errorf("%s: %s is %.500q of %d bytes, want %q in it", row.name, key, data[key], len(data[key]), want)
			}
		}
		if keys := strings.Join(slices.Sorted(maps.Keys(data)), " "); keys != row.keys {
			t.Errorf("%s: keys %s, want %s", row.name, keys, row.keys)
		}
	}
	// Replicas agree, whatever they had in force before.
	other := report(t, bad)
	if !maps.Equal(status.Render(report(t, bad), sourceName, "1"), status.Render(other, sourceName, "1")) {
		t.Error("two replicas compute different reports of the same content")
	}
}

// requests counts the requests for anything by verb, but for the list and watch with
// which a reporter begins.
func requests(client *fake.Clientset) map[string]int {
	counts := map[string]int{}
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb == "list" || verb == "watch" {
			continue
		}
		counts[action.GetVerb()+" "+action.GetResource().Resource]++
	}
	client.ClearActions()
	return counts
}

// The report is written where it differs, and nowhere else; two replicas write it
// once.
func TestK73_ReportsAreWrittenOnChangeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ctx, cancel := context.WithCancel(t.Context())
		var replicas []*status.Reporter
		for range 2 {
			r := status.NewReporter(client, "driver", "1", []status.ConfigMap{configMap{}})
			replicas = append(replicas, r)
			go r.Run(ctx)
		}
		step := func(what string, r predicates.Report, want map[string]int) {
			t.Helper()
			for _, replica := range replicas {
				replica.Report(r)
				synctest.Wait()
			}
			if got := requests(client); !maps.Equal(got, want) {
				t.Errorf("%s: requests %v, want %v", what, got, want)
			}
		}
		good, bad := report(t, source(sourceName, "object.a == 1")), report(t, source(sourceName, "object.a == nope"))
		step("the first", good, map[string]int{"get configmaps": 2, "create configmaps": 1, "create events": 1})
		step("the same", good, map[string]int{"get configmaps": 2})
		step("another", bad, map[string]int{"get configmaps": 2, "update configmaps": 1, "create events": 1})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := requests(client); len(got) > 0 {
			t.Errorf("in a day without a change: %v", got)
		}
		written, err := client.CoreV1().ConfigMaps("n").Get(ctx, "p-status", metav1.GetOptions{})
		if err != nil || !maps.Equal(written.Data, status.Render(bad, sourceName, "1")) {
			t.Errorf("report %v, %v", written, err)
		}
		events, err := client.CoreV1().Events("n").List(ctx, metav1.ListOptions{})
		if err != nil || len(events.Items) != 2 {
			t.Fatalf("events %v, %v", events, err)
		}
		reasons := map[string]string{}
		for _, e := range events.Items {
			reasons[e.Reason] = e.Type
			if e.InvolvedObject.UID != "u" || len(e.Message) > 1024 || !utf8.ValidString(e.Message) {
				t.Errorf("event %+v", e)
			}
		}
		if !maps.Equal(reasons, map[string]string{"Accepted": "Normal", "Invalid": "Warning"}) {
			t.Errorf("events %v", reasons)
		}
		cancel()
	})
}

// What another replica writes in between is looked at again, and what can't be
// written is tried again, less and less often.
func TestReporterTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		gr := schema.GroupResource{Resource: "configmaps"}
		answers := []error{apierrors.NewAlreadyExists(gr, "p-status"), apierrors.NewForbidden(gr, "p-status", errors.New("no")), apierrors.NewForbidden(gr, "p-status", errors.New("no")), nil}
		client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			answer := answers[0]
			answers = answers[1:]
			return answer != nil, nil, answer
		})
		ctx, cancel := context.WithCancel(t.Context())
		r := status.NewReporter(client, "driver", "1", []status.ConfigMap{configMap{}})
		go r.Run(ctx)
		r.Report(report(t, source(sourceName, "object.a == 1")))
		synctest.Wait()
		if got := requests(client); got["create configmaps"] != 2 {
			t.Errorf("requests %v", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := requests(client); got["create configmaps"] != 2 || len(answers) != 0 {
			t.Errorf("requests %v", got)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := requests(client); len(got) != 0 {
			t.Errorf("requests after it was written: %v", got)
		}
		cancel()
	})
}

// Nothing is made beside a ConfigMap that isn't there; a report of one that went
// is brought up to date.
func TestReportOfAMissingConfigMap(t *testing.T) {
	for _, exists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			if exists {
				client = fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p-status"}})
			}
			ctx, cancel := context.WithCancel(t.Context())
			r := status.NewReporter(client, "driver", "1", []status.ConfigMap{configMap{missing: true}})
			go r.Run(ctx)
			r.Report(report(t, predicates.Source{Name: sourceName}))
			synctest.Wait()
			want := map[string]int{"get configmaps": 1}
			if exists {
				want["update configmaps"] = 1
			}
			if got := requests(client); !maps.Equal(got, want) {
				t.Errorf("requests %v, want %v", got, want)
			}
			cancel()
		})
	}
}

// What is written wrongly is never ignored without a word: a field, a kind, a key or a
// document that nobody knows is an error in the report, with its place and the nearest name.
func TestK71_WhatNobodyKnowsIsAnErrorInTheReport(t *testing.T) {
	good := string(source(sourceName, "object.a == 1").Files[0].Data)
	for _, row := range []struct{ text, want string }{
		{strings.Replace(good, "  done:", "  donne:", 1), `p.yaml:6:3: Predicate p: unknown field "donne" in spec; did you mean "done"?`},
		{strings.Replace(good, "  done:", "  Done:", 1), `p.yaml:6:3: Predicate p: unknown field "Done" in spec; did you mean "done"?`},
		{strings.Replace(good, "kind: Predicate", "kind: Predicat", 1), `unknown kind "Predicat"; did you mean "Predicate"?`},
		{"resource.customizations: yes", "p.yaml:1:1: apiVersion is missing"},
		{"not a mapping", "p.yaml:1:1: "},
	} {
		data := status.Render(report(t, predicates.Source{Name: sourceName, Files: []predicates.File{{Name: "p.yaml", Data: []byte(row.text)}}}), sourceName, "1")
		if !strings.Contains(data[status.KeyProblems], row.want) || !strings.Contains(data[status.KeyConditions], `{type: Accepted, status: "False", reason: Invalid`) {
			t.Errorf("%q: %s problems %s, want %q", row.text, data[status.KeyConditions], data[status.KeyProblems], row.want)
		}
	}
}
