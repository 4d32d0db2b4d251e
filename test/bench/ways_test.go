package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// judge says of an object whether it is done.
type judge func(object *unstructured.Unstructured) (bool, error)

// way is one in which the predicate can be had: an attachment is done when it is
// attached with a LUN from 0 to 63, a number or in a device path.
type way struct {
	name string
	make func(t testing.TB) judge
}

// ours is the way that the others are held against.
const ours = "donewhen, C"

var ways = []way{
	{"hand-written Go", func(testing.TB) judge { return handWritten }},
	{"donewhen, CEL with a regular expression", inCEL},
	{"bare wazero call, C", bare},
	{ours, inC},
	{"Extism, C, instance kept (remembers)", func(t testing.TB) judge { return keptByExtism(t, 0) }},
	{"Extism, C, instance kept, with a timeout", func(t testing.TB) judge { return keptByExtism(t, 1_000) }},
	{"Extism, C, an instance each (stateless)", func(t testing.TB) judge { return freshByExtism(t, 0) }},
	{"Extism, C, an instance each, with a timeout", func(t testing.TB) judge { return freshByExtism(t, 1_000) }},
}

func handWritten(object *unstructured.Unstructured) (bool, error) {
	status, _ := object.Object["status"].(map[string]any)
	if annotation, ok := status["annotation"].(map[string]any); ok && annotation["disk.csi.azure.com/volume-detach-request"] != nil {
		return false, nil
	}
	if status["state"] != "Attached" {
		return false, nil
	}
	detail, _ := status["detail"].(map[string]any)
	publish, _ := detail["publish_context"].(map[string]any)
	lun, _ := publish["LUN"].(string)
	if host, ok := strings.CutPrefix(lun, "/dev/disk/azure/scsi"); ok {
		rest := strings.TrimLeft(host, "0123456789")
		if lun, ok = strings.CutPrefix(rest, "/lun"); !ok || rest == host {
			return false, nil
		}
	}
	if len(lun) == 0 || len(lun) > 2 || len(lun) > 1 && lun[0] == '0' || strings.Trim(lun, "0123456789") != "" {
		return false, nil
	}
	n, err := strconv.Atoi(lun)
	return err == nil && n <= 63, nil
}

// inCEL is the same as a condition.
func inCEL(t testing.TB) judge {
	const document = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: attachment-lun}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolumeAttachment}
  done: |-
    object.status.state == 'Attached' &&
    (!has(object.status.annotation) || !('disk.csi.azure.com/volume-detach-request' in object.status.annotation)) &&
    object.status.detail.publish_context.LUN.matches('^(/dev/disk/azure/scsi[0-9]+/lun)?([0-9]|[1-5][0-9]|6[0-3])$')
`
	loader, err := predicates.NewLoader(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(predicates.Source{Name: "bench", Files: []predicates.File{{Name: "p.yaml", Data: []byte(document)}}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.Predicate("attachment-lun")
	if err != nil {
		t.Fatal(err)
	}
	bound, err := p.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	ref := engine.Reference{Resource: schema.GroupVersionResource{Group: "disk.csi.azure.com", Version: "v1beta2", Resource: "azvolumeattachments"}, Name: "a"}
	ctx := context.Background()
	return func(object *unstructured.Unstructured) (bool, error) {
		j := bound.Judge(ctx, engine.Observation{Ref: ref, Presence: engine.Present, Object: object})
		return j.Verdict.Decision == engine.Done, nil
	}
}

// inC is the guest as a predicate runs it: metered, and reset after each call.
func inC(t testing.TB) judge {
	ctx := context.Background()
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	module, err := runtime.Load(ctx, build(t, guest), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(module.Close)
	g, err := module.Guest(ctx, wasm.Use{})
	if err != nil {
		t.Fatal(err)
	}
	return func(object *unstructured.Unstructured) (bool, error) {
		r, err := g.Evaluate(ctx, &wasm.Document{Object: object}, false)
		return r.Decision == wasm.Done, err
	}
}

// bare is the same guest called through the engine alone, with the least host that
// it can run on: it isn't metered, not reset, and sees one object for ever.
func bare(t testing.TB) judge {
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = runtime.Close(ctx) })
	var object *unstructured.Unstructured
	fields := map[string][]string{
		"/object/status/state": {"status", "state"},
		"/object/status/annotation/disk.csi.azure.com~1volume-detach-request": {"status", "annotation", "disk.csi.azure.com/volume-detach-request"},
		"/object/status/detail/publish_context/LUN":                           {"status", "detail", "publish_context", "LUN"},
	}
	const typeString = 5 << 32
	get := func(_ context.Context, m api.Module, stack []uint64) {
		path, _ := m.Memory().Read(uint32(stack[0]), uint32(stack[1]))
		var value any
		for i, name := range fields[string(path)] {
			if i == 0 {
				value = object.Object
			}
			next, _ := value.(map[string]any)
			value = next[name]
		}
		text, ok := value.(string)
		if !ok {
			stack[0] = 0
			return
		}
		if len(text) <= int(uint32(stack[3])) {
			m.Memory().WriteString(uint32(stack[2]), text)
		}
		stack[0] = typeString | uint64(len(text))
	}
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	nothing := api.GoModuleFunc(func(context.Context, api.Module, []uint64) {})
	host := runtime.NewHostModuleBuilder("dw")
	host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(get), []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i64}).Export("get")
	host.NewFunctionBuilder().WithGoModuleFunction(nothing, []api.ValueType{i32, i32, i32, i32}, nil).Export("result")
	host.NewFunctionBuilder().WithGoModuleFunction(nothing, []api.ValueType{i32, i32, i32}, nil).Export("log")
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	module, err := runtime.Instantiate(ctx, build(t, guest))
	if err != nil {
		t.Fatal(err)
	}
	f := module.ExportedFunction("dw_evaluate")
	stack := make([]uint64, 1)
	return func(o *unstructured.Unstructured) (bool, error) {
		object = o
		err := f.CallWithStack(ctx, stack)
		return uint32(stack[0]) == 1, err
	}
}

// compiled is the same guest as a plug-in of Extism's. With a timeout (in milliseconds)
// its calls end when it passes; without one a guest that loops never does.
func compiled(t testing.TB, timeout uint64) *extism.CompiledPlugin {
	ctx := context.Background()
	binary := build(t, guest, "testdata/extism.c")
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: binary}}, Timeout: timeout}
	plugin, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plugin.Close(ctx) })
	return plugin
}

// asked has a plug-in judge. What it is asked about is a document.
func asked(plugin *extism.Plugin, object *unstructured.Unstructured) (bool, error) {
	document, err := json.Marshal(map[string]any{"object": object.Object})
	if err != nil {
		return false, err
	}
	decision, output, err := plugin.Call("judge", document)
	if err != nil {
		return false, err
	}
	return decision == 1 && bytes.HasPrefix(output, []byte("Attached\n")), nil
}

// keptByExtism calls one instance again and again: the guest remembers.
func keptByExtism(t testing.TB, timeout uint64) judge {
	ctx := context.Background()
	plugin, err := compiled(t, timeout).Instance(ctx, extism.PluginInstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plugin.Close(ctx) })
	return func(object *unstructured.Unstructured) (bool, error) { return asked(plugin, object) }
}

// freshByExtism makes an instance for each call, which is how a guest there remembers
// nothing.
func freshByExtism(t testing.TB, timeout uint64) judge {
	ctx := context.Background()
	c := compiled(t, timeout)
	return func(object *unstructured.Unstructured) (bool, error) {
		plugin, err := c.Instance(ctx, extism.PluginInstanceConfig{})
		if err != nil {
			return false, err
		}
		done, err := asked(plugin, object)
		if closed := plugin.Close(ctx); err == nil {
			err = closed
		}
		return done, err
	}
}
