//go:build integration

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// createdBy is a predicate for CreateVolume which passes the gate, and is Done of
// disks of one SKU only.
func createdBy(name, sku, version string) string {
	return fmt.Sprintf(`apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: %s}
spec:
  version: %q
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  done:
  - expression: |-
      object.status.state == 'Created' && object.status.detail.volume_id != '' &&
      object.status.detail.parameters.skuName in ['Premium_LRS', '%s']
    reason: Created
  pending:
  - expression: |-
      object.status.state == 'Created'
    messageExpression: |-
      'no disk that we make is of SKU ' + object.status.detail.parameters.skuName
`, name, version, sku)
}

// edit puts other documents into the ConfigMap.
func (s *site) edit(documents string) {
	s.t.Helper()
	s.update(func(m *corev1.ConfigMap) { m.Data = map[string]string{"p.yaml": documents} })
}

func (s *site) update(change func(*corev1.ConfigMap)) {
	s.t.Helper()
	maps := s.core.CoreV1().ConfigMaps(s.namespace)
	m, err := maps.Get(s.t.Context(), defaultConfigMap, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	change(m)
	if _, err := maps.Update(s.t.Context(), m, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// created is the status that the cloud gives a disk.
func created(sku string) v1beta2.AzVolumeStatus {
	return v1beta2.AzVolumeStatus{State: v1beta2.VolumeCreated, Detail: &v1beta2.AzVolumeStatusDetail{
		VolumeID: "id", CapacityBytes: 1 << 30, Parameters: map[string]string{"skuName": sku},
	}}
}

// createVolume starts a call, whose outcome comes on the channel.
func (s *site) createVolume(name string) <-chan error {
	return s.createVolumeBy(csipb.NewControllerClient(s.dial()), name)
}

func (s *site) createVolumeBy(controller csipb.ControllerClient, name string) <-chan error {
	answers := make(chan error, 1)
	go func() {
		_, err := controller.CreateVolume(context.Background(), createRequest(name))
		answers <- err
	}()
	return answers
}

// metric returns the value of a metric with its labels, as it stands in /metrics.
func (s *site) metric(name string) string {
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(s.get("/metrics"))
	if m == nil {
		return "0"
	}
	return m[1]
}

func (s *site) waitFor(name, value string) {
	s.t.Helper()
	eventually(s.t, name+" is "+value, func() bool { return s.metric(name) == value })
}

// A call hangs on a wrong predicate. The ConfigMap is mended, and the call that
// hangs returns within a second: nothing is restarted, nothing is called again.
func TestK70_AMendedPredicateFreesTheCallThatHangsOnIt(t *testing.T) {
	s := newSite(t)
	s.configure(createdBy("volume-created", "UltraSSD_LRS", "wrong"))
	stop := s.start()
	const tries = 3 // about 0.1 s is usual; a machine that is busy with other tests may take its time once
	for try := 1; ; try++ {
		name := fmt.Sprintf("vol-%d", try)
		answer := s.createVolume(name)
		s.volumeStatus(name, created("StandardSSD_LRS"))
		s.waitFor(`donewhen_waiters{operation="CreateVolume"}`, "1")
		select {
		case err := <-answer:
			t.Fatalf("the wrong predicate has ended the call: %v", err)
		default:
		}
		start := time.Now()
		s.edit(createdBy("volume-created", "StandardSSD_LRS", "right"))
		if err := <-answer; err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("the call returned %v after the edit", took)
		if got := s.metric(`donewhen_waits_total{operation="CreateVolume",outcome="Done",predicate="volume-created",version="right"}`); got != fmt.Sprint(try) {
			t.Errorf("the wait was ended by another predicate: %s", s.get("/metrics"))
		}
		if took <= time.Second {
			break
		}
		if try == tries {
			t.Errorf("the call returned %v after the edit, and not sooner in %d tries", took, tries)
			break
		}
		wrong := s.metric("donewhen_config_reloads_total")
		s.edit(createdBy("volume-created", "UltraSSD_LRS", fmt.Sprintf("wrong-%d", try)))
		eventually(t, "the wrong predicate is in force again", func() bool { return s.metric("donewhen_config_reloads_total") != wrong })
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A shadow predicate decides nothing. Where it would decide otherwise, the report
// names the object, both verdicts and both explanations.
func TestAShadowThatDisagreesIsReported(t *testing.T) {
	s := newSite(t)
	s.configure(createdBy("volume-created-next", "UltraSSD_LRS", "next") + `---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: trial}
spec: {operation: CreateVolume, predicate: volume-created-next, action: Shadow}
`)
	log := &buffer{}
	stop := s.startLogging(log)
	answer := s.createVolume("vol")
	s.volumeStatus("vol", created("StandardSSD_LRS"))
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	s.waitFor(`donewhen_engine_shadow_disagreements_total{binding="trial",operation="CreateVolume"}`, "1")
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, line := range strings.Split(log.text(), "\n") {
		if !strings.Contains(line, "A shadow binding disagrees") {
			continue
		}
		for _, want := range []string{s.namespace + "/vol", "Done", "Pending", "Created", "no disk that we make is of SKU StandardSSD_LRS", "volume-created-next", "trial"} {
			if !strings.Contains(line, want) {
				t.Errorf("the report doesn't say %q: %s", want, line)
			}
		}
		return
	}
	t.Errorf("the disagreement isn't in the log:\n%s", log.text())
}

// Two replicas report what became of a ConfigMap: once, and again only when that
// changes. Meanwhile not one request is made about it.
func TestK73_TheReportIsWrittenOnChangeOnly(t *testing.T) {
	s := newSite(t)
	s.configure(createdBy("volume-created", "StandardSSD_LRS", "1"))
	twin := s.twin()
	defer s.start()()
	defer twin.start()()
	replicas := []*site{s, twin}
	report := s.report
	requests := func(verb, resource string) (all int) {
		for _, r := range replicas {
			var n int
			_, _ = fmt.Sscan(r.metric(fmt.Sprintf(`donewhen_api_requests_total{resource=%q,verb=%q}`, resource, verb)), &n)
			all += n
		}
		return all
	}
	eventually(t, "the report says Accepted, to both", func() bool {
		return strings.Contains(report().Data["conditions"], `{type: Accepted, status: "True"`) && requests("GET", "configmaps") >= 2
	})

	// K71: what is written wrongly is an error in the report, with its place.
	s.edit(strings.Replace(createdBy("volume-created", "StandardSSD_LRS", "2"), "  done:", "  donne:", 1))
	eventually(t, "the report says what is wrong", func() bool {
		r := report()
		return strings.Contains(r.Data["conditions"], `{type: Accepted, status: "False", reason: Invalid`) && strings.Contains(r.Data["problems"], "p.yaml:7:3: Predicate volume-created: ") &&
			strings.Contains(r.Data["problems"], `did you mean "done"?`)
	})
	s.edit(strings.Replace(createdBy("volume-created", "StandardSSD_LRS", "3"), "object.status.state == 'Created' &&", "object.status.state != '' &&", 1))
	eventually(t, "the report says what the gate refuses", func() bool {
		r := report()
		return strings.Contains(r.Data["conditions"], "reason: Refused") && strings.Contains(r.Data["problems"], "C15 a delete has begun")
	})
	s.edit(createdBy("volume-created", "StandardSSD_LRS", "4"))
	eventually(t, "the report says Accepted again", func() bool {
		r := report()
		return strings.Contains(r.Data["conditions"], `{type: Accepted, status: "True"`) && r.Data["problems"] == ""
	})
	eventually(t, "both replicas have looked at it four times", func() bool { return requests("GET", "configmaps") >= 8 })
	writes := func() string {
		return fmt.Sprintf("%d get, %d create, %d update configmaps; %d create events", requests("GET", "configmaps"), requests("CREATE", "configmaps"), requests("UPDATE", "configmaps"), requests("CREATE", "events"))
	}
	eventually(t, "one event for each change", func() bool {
		events, err := s.core.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		reasons := map[string]int{}
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "ConfigMap" && e.InvolvedObject.Name == defaultConfigMap && e.InvolvedObject.UID != "" {
				reasons[e.Reason]++
			}
		}
		return fmt.Sprint(reasons) == "map[Accepted:2 Invalid:1 Refused:1]"
	})

	// A change of metadata is none of the content, and calls cause no report. A
	// replica may still be looking at its own lost write of before, once.
	const rounds = 3
	for round := range rounds {
		before, version := writes(), report().ResourceVersion
		t.Logf("before round %d: %s", round, before)
		s.update(func(m *corev1.ConfigMap) { m.Labels = map[string]string{"touched": fmt.Sprint(round)} })
		for i, r := range replicas {
			name := fmt.Sprintf("vol-%d-%d", round, i)
			answer := r.createVolume(name)
			r.volumeStatus(name, created("StandardSSD_LRS"))
			if err := <-answer; err != nil {
				t.Error(err)
			}
		}
		if now := writes(); now == before && report().ResourceVersion == version {
			return
		} else if round == rounds-1 {
			t.Errorf("in the steady state: %s, before: %s", now, before)
		}
	}
}

// A driver that starts with a broken ConfigMap goes on with what was in force.
func TestTheLastGoodSetOutlivesTheDriver(t *testing.T) {
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "last-good.json")
	s.args = append(s.args, "--last-good", file)
	s.configure(createdBy("volume-created", "StandardSSD_LRS", "kept"))
	if err := s.start()(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	s.edit("kind: [")
	stop := s.start()
	answer := s.createVolume("vol")
	s.volumeStatus("vol", created("StandardSSD_LRS"))
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if got := s.metric(`donewhen_waits_total{operation="CreateVolume",outcome="Done",predicate="volume-created",version="kept"}`); got != "1" {
		t.Errorf("judged by another predicate:\n%s", s.get("/metrics"))
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
