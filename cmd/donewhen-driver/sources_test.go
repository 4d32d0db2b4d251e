package main

import (
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2/textlogger"
)

// What replaces the default ConfigMap says so: an edit of it then has no effect.
func TestSourcesAreNamedAtTheStart(t *testing.T) {
	const replaced = "The default ConfigMap is no source"
	for _, row := range []struct {
		sources []sourceSpec
		want    []string
		not     string
	}{
		{[]sourceSpec{{configMapSource, defaultConfigMap}}, []string{`sources=["defaults","configmap n/donewhen-predicates"]`}, replaced},
		{[]sourceSpec{{directorySource, "/d"}, {fileSource, "/f"}}, []string{`sources=["defaults","directory /d","file /f"]`, replaced}, "No source"},
		{[]sourceSpec{{configMapSource, "other"}}, []string{`"configmap n/other"`, replaced}, "No source"},
		{[]sourceSpec{{fileSource, "/f"}, {configMapSource, defaultConfigMap}}, []string{`"file /f","configmap n/donewhen-predicates"`}, replaced},
		{nil, []string{"No source of predicates"}, replaced},
	} {
		var log strings.Builder
		_, err := newConfig(t.Context(), fake.NewClientset(), options{namespace: "n", sources: row.sources}, newMetrics(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%v: the log doesn't say %q: %s", row.sources, want, log.String())
			}
		}
		if strings.Contains(log.String(), row.not) {
			t.Errorf("%v: the log says %q: %s", row.sources, row.not, log.String())
		}
	}
}
