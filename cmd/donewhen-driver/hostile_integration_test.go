//go:build integration

package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// ConfigMaps as large as the server takes them, with what is no module, with ten thousand
// documents: each is refused with its place in a report that can be written, and what was in
// force stays. Then all is well again.
func TestHostileConfigMaps(t *testing.T) {
	s := newSite(t)
	s.configure(createdBy("volume-created", "StandardSSD_LRS", "good"))
	stop := s.start()
	digest := func() string {
		for _, line := range strings.Split(s.get("/metrics"), "\n") {
			if strings.HasPrefix(line, "donewhen_set_info") {
				return line
			}
		}
		return ""
	}
	eventually(t, "the report says Accepted", func() bool {
		return strings.Contains(s.report().Data["conditions"], `{type: Active, status: "True"`)
	})
	good := digest()
	const most = 1<<20 - 100 // the server counts the keys too
	for i, row := range []struct {
		name   string
		change func(m *corev1.ConfigMap)
		want   string
	}{
		{"one line", func(m *corev1.ConfigMap) { m.Data = map[string]string{"p.yaml": "kind: " + strings.Repeat("x", most)} }, "p.yaml:1:1"},
		{"one expression", func(m *corev1.ConfigMap) {
			m.Data = map[string]string{"p.yaml": strings.Replace(createdBy("volume-created", "x", "1"), "object.status.state == 'Created' &&", "'"+strings.Repeat("ü", most/2-500)+"' == '' &&", 1)}
		}, "p.yaml:9:7: "},
		{"nothing but colons", func(m *corev1.ConfigMap) { m.Data = map[string]string{"p.yaml": strings.Repeat("a:\n ", most/4)} }, "p.yaml:"},
		{"many documents", func(m *corev1.ConfigMap) {
			m.Data = map[string]string{"p.yaml": strings.Repeat("---\nkind: Predicate\nx: 1\n", most/26)}
		}, "p.yaml:"},
		{"many keys", func(m *corev1.ConfigMap) {
			m.Data = map[string]string{}
			for i := range 20_000 {
				m.Data[fmt.Sprintf("key-%06d.yaml", i)] = "kind: x"
			}
		}, "key-000000.yaml:1:1"},
		{"a module that is none", func(m *corev1.ConfigMap) {
			m.Data = map[string]string{"p.yaml": module}
			m.BinaryData = map[string][]byte{"m.wasm": []byte("\x00asm\x01\x00\x00\x00garbage")}
		}, "p.yaml:7:"},
		{"gzip that is none", func(m *corev1.ConfigMap) {
			m.Data = map[string]string{"p.yaml": module}
			m.BinaryData = map[string][]byte{"m.wasm": []byte("\x1f\x8bgarbage")}
		}, "p.yaml:7:"},
		{"binary documents", func(m *corev1.ConfigMap) {
			m.Data = map[string]string{"p.yaml": strings.Replace(module, "m.wasm", "none.wasm", 1)}
			m.BinaryData = map[string][]byte{"m.wasm": make([]byte, most-1000)}
		}, "p.yaml:7:"},
	} {
		sources := s.report().Data["sources"]
		s.update(func(m *corev1.ConfigMap) {
			m.BinaryData = nil
			row.change(m)
		})
		eventually(t, row.name+": it is reported", func() bool { return s.report().Data["sources"] != sources })
		r := s.report()
		if !strings.Contains(r.Data["conditions"], `{type: Accepted, status: "False"`) || !strings.HasPrefix(r.Data["problems"], "configmap "+s.namespace+"/"+defaultConfigMap+", "+row.want) {
			t.Errorf("%s: %s, problems %.300q", row.name, r.Data["conditions"], r.Data["problems"])
		}
		if now := digest(); now != good {
			t.Errorf("%s: in force is %s, want %s", row.name, now, good)
		}
		name := fmt.Sprintf("vol-%d", i)
		answer := s.createVolume(name)
		s.volumeStatus(name, created("StandardSSD_LRS"))
		if err := <-answer; err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	s.update(func(m *corev1.ConfigMap) { m.BinaryData = nil })
	s.edit(createdBy("volume-created", "StandardSSD_LRS", "good"))
	eventually(t, "all is well again", func() bool {
		return strings.Contains(s.report().Data["conditions"], `{type: Active, status: "True"`) && s.report().Data["problems"] == ""
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// module is a predicate that is judged by a module beside it.
const module = `apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: by-module}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolume}
  wasm:
    module: {file: m.wasm}
`
