package status_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/status"
)

// longNamed is a ConfigMap with a name of its own.
type longNamed string

func (longNamed) Name() string              { return sourceName }
func (longNamed) Replaced() <-chan struct{} { return nil }
func (l longNamed) Key() (string, string)   { return "n", string(l) }

func (l longNamed) Reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "ConfigMap", Namespace: "n", Name: string(l), UID: "u", ResourceVersion: "7"}
}

// A ConfigMap's name may be as long as any name: its report and its Events have names
// all the same, which differ from those of another that begins alike.
func TestLongNames(t *testing.T) {
	names := []string{
		"p", strings.Repeat("p", 246), strings.Repeat("p", 247), strings.Repeat("p", 253), strings.Repeat("p", 252) + "q",
		strings.Repeat("p", 228) + ".p" + strings.Repeat("p", 22), strings.Repeat("p", 235) + "-" + strings.Repeat("p", 17),
	}
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ctx, cancel := context.WithCancel(t.Context())
		var about []status.ConfigMap
		for _, name := range names {
			about = append(about, longNamed(name))
		}
		r := status.NewReporter(client, "driver", "1", about)
		go r.Run(ctx)
		r.Report(report(t, predicates.Source{Name: sourceName}))
		synctest.Wait()
		cancel()
		reports, err := client.CoreV1().ConfigMaps("n").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(reports.Items) != len(names) {
			t.Errorf("%d reports of %d ConfigMaps: %v", len(reports.Items), len(names), err)
		}
		events, err := client.CoreV1().Events("n").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(events.Items) != len(names) {
			t.Errorf("%d Events of %d ConfigMaps: %v", len(events.Items), len(names), err)
		}
		var made []string
		for _, m := range reports.Items {
			made = append(made, m.Name)
		}
		for _, e := range events.Items {
			made = append(made, e.Name)
		}
		for _, name := range made {
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
		}
	})
	if got := status.ReportName("p"); got != "p-status" {
		t.Errorf("report of p: %s", got)
	}
}
