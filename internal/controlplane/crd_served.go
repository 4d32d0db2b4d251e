package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// waitServed returns when discovery, its aggregated form included, and OpenAPI v3 list everything in want. They follow
// Established with some delay, and clients that read them once at their start would miss the resources.
func (in *installer) waitServed(ctx context.Context, want []served) error {
	var missing error
	err := poll(ctx, func() (bool, error) {
		if missing = in.missing(ctx, want); missing != nil {
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the server lists the CRDs' resources: %w (last: %w)", err, missing)
	}
	return nil
}

// missing says what the server doesn't list yet, nil if nothing.
func (in *installer) missing(ctx context.Context, want []served) error {
	_, aggregated, err := in.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("read discovery: %w", err)
	}
	openAPI := map[schema.GroupVersion][]schema.GroupVersionKind{}
	for _, w := range want {
		if !slices.ContainsFunc(aggregated, func(l *metav1.APIResourceList) bool { return lists(l, w) }) {
			return fmt.Errorf("%s of %s isn't in aggregated discovery", w.resource, w.gv)
		}
		own, err := in.discovery.ServerResourcesForGroupVersionWithContext(ctx, w.gv.String())
		if err != nil {
			return fmt.Errorf("read discovery of %s: %w", w.gv, err)
		}
		if !lists(own, w) {
			return fmt.Errorf("%s isn't in the discovery of %s", w.resource, w.gv)
		}
		if _, read := openAPI[w.gv]; !read {
			if openAPI[w.gv], err = in.openAPIKinds(ctx, w.gv); err != nil {
				return err
			}
		}
		if !slices.Contains(openAPI[w.gv], w.gv.WithKind(w.kind)) {
			return fmt.Errorf("%s isn't in the OpenAPI v3 document of %s", w.kind, w.gv)
		}
	}
	return nil
}

func lists(l *metav1.APIResourceList, w served) bool {
	return l.GroupVersion == w.gv.String() && slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool {
		return r.Name == w.resource
	})
}

// openAPIKinds are the kinds that the OpenAPI v3 document of the group version describes; none if there is no document.
func (in *installer) openAPIKinds(ctx context.Context, gv schema.GroupVersion) ([]schema.GroupVersionKind, error) {
	data, err := in.discovery.RESTClient().Get().AbsPath("openapi", "v3", "apis", gv.Group, gv.Version).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI v3 document of %s: %w", gv, err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI v3 document of %s: %w", gv, err)
	}
	var kinds []schema.GroupVersionKind
	for _, s := range doc.Components.Schemas {
		kinds = append(kinds, s.Kinds...)
	}
	return kinds, nil
}
