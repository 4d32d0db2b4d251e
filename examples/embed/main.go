// Command embed judges a pod by a predicate that is part of the program: no
// ConfigMap, no cluster. It shows both ways to a set, from an embed.FS and from Go
// values.
//
//	go run ./examples/embed
package main

import (
	"context"
	"embed"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

//go:embed predicates
var documents embed.FS

// operations are what this program waits for.
func operations() []engine.Operation {
	return []engine.Operation{{Name: "StartPod", Kind: "Pod", Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}}
}

// fromFiles is the set of the files that are embedded.
func fromFiles() (*predicates.Set, error) {
	source, err := predicates.FromFS("embedded", documents)
	if err != nil {
		return nil, err
	}
	return predicates.NewSet(operations(), source)
}

// fromValues is a set without a line of YAML.
func fromValues() (*predicates.Set, error) {
	source, err := predicates.FromValues("this program",
		v1alpha1.Predicate{Metadata: v1alpha1.Metadata{Name: "pod-running"}, Spec: v1alpha1.PredicateSpec{
			Match: v1alpha1.Match{APIVersion: "v1", Kind: "Pod"},
			Done:  []v1alpha1.Rule{{Expression: "object.status.phase == 'Running'"}},
		}},
		v1alpha1.Binding{Metadata: v1alpha1.Metadata{Name: "start"}, Spec: v1alpha1.BindingSpec{Operation: "StartPod", Predicate: "pod-running"}},
	)
	if err != nil {
		return nil, err
	}
	return predicates.NewSet(operations(), source)
}

// judge says what ends StartPod on the pod.
func judge(ctx context.Context, set *predicates.Set, pod *unstructured.Unstructured) (engine.Verdict, error) {
	binding, err := set.Binding("StartPod")
	if err != nil {
		return engine.Verdict{}, err
	}
	judge, err := binding.Predicate.Bind(binding.Params)
	if err != nil {
		return engine.Verdict{}, err
	}
	return judge.Describe(ctx, engine.Observation{Ref: engine.Reference{Resource: binding.Resource, Name: pod.GetName()}, Presence: engine.Present, Object: pod}).Verdict, nil
}

func run(ctx context.Context) error {
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web-0"},
		"status": map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "False"}}},
	}}
	for _, build := range []func() (*predicates.Set, error){fromFiles, fromValues} {
		set, err := build()
		if err != nil {
			return err
		}
		verdict, err := judge(ctx, set, pod)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", verdict.Predicate, verdict.Decision)
	}
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}
