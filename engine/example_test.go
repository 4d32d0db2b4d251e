package engine_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
)

// A program declares what it waits for, loads a set that says when that is done,
// and wraps its write in Do.
func Example() {
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	operations := []engine.Operation{{Name: "Configure", Resource: configMaps, Kind: "ConfigMap"}}
	set, err := predicates.NewSet(operations, predicates.Source{Name: "embedded", Files: []predicates.File{{
		Name: "predicates.yaml", Data: []byte(`
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: config-ready}
spec:
  match: {apiVersion: v1, kind: ConfigMap}
  done: object.data.state == 'ready'
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: configure}
spec: {operation: Configure, predicate: config-ready}
`),
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}

	// In a program the informer is of a factory, and the write goes to a client.
	server := cachetesting.NewFakeControllerSource()
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	eng := engine.New(set, engine.WithLogger(klog.Logger{}))
	if err := eng.Watch(configMaps, informer); err != nil {
		fmt.Println(err)
		return
	}
	if err := eng.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	go informer.RunWithContext(ctx) // the engine doesn't start informers
	if err := eng.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}

	result, err := eng.Do(ctx, engine.Request{
		Ref:       engine.Reference{Resource: configMaps, Namespace: "default", Name: "first"},
		Operation: "Configure",
	}, func(context.Context) (metav1.Object, error) {
		made := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first", UID: "a"},
			Data:       map[string]string{"state": "ready"},
		}
		server.Add(made)
		return made, nil // as the server has it, with its resourceVersion
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict.Decision, result.Verdict.Predicate.Name, result.Object().GetName())
	// Output: Done config-ready first
}
