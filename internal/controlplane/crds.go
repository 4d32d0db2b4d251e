package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

const (
	// kube-apiserver holds up each create of a custom resource by two seconds while its CRD is Established for less.
	createStall = 2*time.Second + 100*time.Millisecond

	crdLimit = time.Minute
	crdPoll  = 25 * time.Millisecond
)

// InstallCRDs creates or updates the CustomResourceDefinitions (apiextensions.k8s.io/v1) of the YAML files, each of
// which may hold several documents. It returns when the server lists the new resources in its discovery and OpenAPI v3,
// and when it no longer holds up creates, that is, a good two seconds after the last CRD was new. CRDs that were there
// before cost a few requests only; that their new schema already applies isn't waited for. Labels and annotations that
// others have set on them stay.
func InstallCRDs(ctx context.Context, cfg *rest.Config, crdYAML ...[]byte) error {
	crds, err := decodeCRDs(crdYAML)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a client for CRDs: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a discovery client: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, crdLimit, fmt.Errorf("gave up after %v", crdLimit))
	defer cancel()
	in := &installer{
		crds:      client.Resource(schema.GroupVersionResource{Group: crdGroup, Version: "v1", Resource: "customresourcedefinitions"}),
		discovery: disco,
	}
	for _, crd := range crds {
		if err := in.apply(ctx, crd); err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.GetName(), err)
		}
	}
	var settled time.Time
	for _, crd := range crds {
		since, err := in.waitEstablished(ctx, crd.GetName())
		if err != nil {
			return fmt.Errorf("wait until CRD %s is established: %w", crd.GetName(), err)
		}
		if since.After(settled) {
			settled = since
		}
	}
	if err := in.waitServed(ctx, servedBy(crds)); err != nil {
		return err
	}
	// Bounded, should the clocks of this machine and the server's differ.
	return sleep(ctx, min(time.Until(settled.Add(createStall)), createStall))
}

type installer struct {
	crds      dynamic.ResourceInterface
	discovery *discovery.DiscoveryClient
}

func (in *installer) apply(ctx context.Context, crd *unstructured.Unstructured) error {
	// Others may install the same CRD at the same time.
	return retry.OnError(retry.DefaultBackoff, func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
	}, func() error {
		_, err := in.crds.Create(ctx, crd, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		current, err := in.crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.SetLabels(merge(current.GetLabels(), crd.GetLabels()))
		current.SetAnnotations(merge(current.GetAnnotations(), crd.GetAnnotations()))
		current.Object["spec"] = crd.Object["spec"]
		_, err = in.crds.Update(ctx, current, metav1.UpdateOptions{})
		return err
	})
}

func merge(base, over map[string]string) map[string]string {
	if base == nil {
		return over
	}
	for k, v := range over {
		base[k] = v
	}
	return base
}

// waitEstablished returns since when the CRD is established, to the second, as the server tells it.
func (in *installer) waitEstablished(ctx context.Context, name string) (since time.Time, err error) {
	err = poll(ctx, func() (bool, error) {
		crd, err := in.crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		var conditions []metav1.Condition
		if conditions, err = conditionsOf(crd); err != nil {
			return false, err
		}
		for _, c := range conditions {
			switch {
			case c.Type == "NamesAccepted" && c.Status == metav1.ConditionFalse:
				return false, fmt.Errorf("the server refuses its names: %s: %s", c.Reason, c.Message)
			case c.Type == "Established" && c.Status == metav1.ConditionTrue:
				since = c.LastTransitionTime.Time
				return true, nil
			}
		}
		return false, nil
	})
	return since, err
}

// poll calls check until it says true or fails, or ctx ends.
func poll(ctx context.Context, check func() (bool, error)) error {
	for {
		ok, err := check()
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if ok || err != nil {
			return err
		}
		if err := sleep(ctx, crdPoll); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
