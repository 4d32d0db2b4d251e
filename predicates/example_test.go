package predicates_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
)

// A store keeps the last good set. What a wait makes of it is shown by a script:
// in a program an informer delivers the objects, and the set goes to engine.New.
func Example() {
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	operations := []engine.Operation{{
		Name: "Configure", Resource: configMaps, Kind: "ConfigMap",
		Params: []engine.OperationParam{{Name: "wanted", Type: "string"}},
	}}
	const text = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: config-ready}
spec:
  match: {apiVersion: v1, kind: ConfigMap}
  params: {wanted: string}
  done: object.data.state == params.wanted
---
apiVersion: donewhen.dev/v1alpha1
kind: Binding
metadata: {name: configure}
spec: {operation: Configure, predicate: config-ready}
`
	store, err := predicates.NewStore(operations, predicates.Source{
		Name: "defaults", Files: []predicates.File{{Name: "config.yaml", Data: []byte(text)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = store.Update(predicates.Source{
		Name: "override", Files: []predicates.File{{Name: "bad.yaml", Data: []byte("kind: Predicate\n")}},
	})
	fmt.Println("refused:", err != nil)

	player, err := script.New(script.Config{Set: store.Set(), Request: engine.Request{
		Ref:       engine.Reference{Resource: configMaps, Namespace: "default", Name: "first"},
		Operation: "Configure", Params: engine.Params{"wanted": "ready"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer player.Close()
	configMap := func(state string) metav1.Object {
		return &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first", UID: "a"},
			Data:       map[string]string{"state": state},
		}
	}
	for _, step := range []script.Step{
		{Verb: script.Register},
		{Verb: script.Wait},
		{Verb: script.Add, Object: configMap("new"), ResourceVersion: "1"},
		{Verb: script.Update, Object: configMap("ready"), ResourceVersion: "2"},
	} {
		seen, err := player.Play(context.Background(), step)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(step.Verb, seen.Status.Verdict.Decision)
	}
	// Output:
	// refused: true
	// register Pending
	// wait Pending
	// add Pending
	// update Done
}
