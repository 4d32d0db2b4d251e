//go:build integration

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// twin returns a second driver in the same namespace.
func (s *site) twin() *site {
	twin := *s
	twin.dir = s.t.TempDir()
	twin.args = slices.Clone(s.args)
	for i, arg := range twin.args {
		twin.args[i] = strings.Replace(arg, s.dir, twin.dir, 1)
	}
	return &twin
}

// report returns the report about the default ConfigMap, empty if there is none.
func (s *site) report() *corev1.ConfigMap {
	s.t.Helper()
	m, err := s.core.CoreV1().ConfigMaps(s.namespace).Get(s.t.Context(), defaultConfigMap+"-status", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return m
}

// eventsOf counts the Events of each object that bore the default ConfigMap's name.
func (s *site) eventsOf() map[string]int {
	s.t.Helper()
	list, err := s.core.CoreV1().Events(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range list.Items {
		counts[string(e.InvolvedObject.UID)]++
	}
	return counts
}

// recreate deletes the ConfigMap and makes it again with the same content; it returns
// the new one.
func (s *site) recreate() *corev1.ConfigMap {
	s.t.Helper()
	client := s.core.CoreV1().ConfigMaps(s.namespace)
	m, err := client.Get(s.t.Context(), defaultConfigMap, metav1.GetOptions{})
	if err == nil {
		err = client.Delete(s.t.Context(), defaultConfigMap, metav1.DeleteOptions{})
	}
	if err == nil {
		m.ObjectMeta = metav1.ObjectMeta{Name: defaultConfigMap}
		m, err = client.Create(s.t.Context(), m, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// Two replicas on a real server: a report that somebody edits or removes is put right,
// a ConfigMap that is made again is told itself, and one that appears empty is reported
// about.
func TestTheReportIsKeptRight(t *testing.T) {
	s := newSite(t)
	twin := s.twin()
	stop, stopTwin := s.start(), twin.start()
	client := s.core.CoreV1().ConfigMaps(s.namespace)

	empty, err := client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: defaultConfigMap}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "an empty ConfigMap has a report, and one Event", func() bool {
		return strings.Contains(s.report().Data["conditions"], "Accepted") && s.eventsOf()[string(empty.UID)] == 1
	})
	s.edit(createdBy("volume-created", "StandardSSD_LRS", "1"))
	var want *corev1.ConfigMap
	eventually(t, "the report is of the content", func() bool {
		want = s.report()
		return strings.Contains(want.Data["conditions"], `{type: Accepted, status: "True"`) && strings.Contains(fmt.Sprint(s.eventsOf()), string(empty.UID)+":2")
	})

	again := s.recreate()
	eventually(t, "the ConfigMap that was made again has an Event", func() bool { return s.eventsOf()[string(again.UID)] == 1 })

	edited := s.report()
	edited.Data["conditions"], edited.Data["note"] = "all is well", "x"
	if _, err := client.Update(t.Context(), edited, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an edited report is put right", func() bool { return maps.Equal(s.report().Data, want.Data) })
	if err := client.Delete(t.Context(), want.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a removed report is made anew", func() bool { return maps.Equal(s.report().Data, want.Data) })
	for _, stop := range []func() error{stop, stopTwin} {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// A ConfigMap is deleted and made again a hundred times, as fast as it goes, while a
// call waits by what it says: the call outlasts that, the last one is in force, and the
// report and its Event are of it.
func TestAHundredRecreationsWhileACallWaits(t *testing.T) {
	s := newSite(t)
	s.configure(createdBy("volume-created", "UltraSSD_LRS", "wrong"))
	log := &buffer{}
	stop := s.startLogging(log)
	answer := s.createVolume("vol")
	s.volumeStatus("vol", created("StandardSSD_LRS"))
	s.waitFor(`donewhen_waiters{operation="CreateVolume"}`, "1")
	// The driver's own predicate holds of the volume: whenever the ConfigMap is really
	// away, the call may end. It does so by the one or the other.
	var last *corev1.ConfigMap
	for range 100 {
		last = s.recreate()
	}
	s.edit(createdBy("volume-created", "StandardSSD_LRS", "right"))
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last one has an Event, and the report is of it", func() bool {
		return s.eventsOf()[string(last.UID)] > 0 && strings.Contains(s.report().Data["conditions"], `{type: Active, status: "True"`)
	})
	second := s.createVolume("second")
	s.volumeStatus("second", created("StandardSSD_LRS"))
	if err := <-second; err != nil {
		t.Error(err)
	}
	if got := s.metric(`donewhen_waits_total{operation="CreateVolume",outcome="Done",predicate="volume-created",version="right"}`); got == "0" {
		t.Errorf("judged by another predicate:\n%s", s.get("/metrics"))
	}
	t.Logf("%d Events of 101 objects, %s sets in force", len(s.eventsOf()), s.metric("donewhen_config_reloads_total"))
	if strings.Contains(log.text(), "can't be reported") {
		t.Errorf("a report couldn't be written:\n%s", log.text())
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
