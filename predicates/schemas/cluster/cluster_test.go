package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/donewhen/donewhen/predicates"
)

// server serves documents of a real API server, and counts.
type server struct {
	openapi.ClientWithContext
	lists, reads int
	hash         string
	err          error
}

func (s *server) PathsWithContext(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	s.lists++
	if s.err != nil {
		return nil, s.err
	}
	paths, err := s.ClientWithContext.PathsWithContext(ctx)
	for path, gv := range paths {
		paths[path] = &served{gv, s}
	}
	return paths, err
}

type served struct {
	openapi.GroupVersionWithContext
	server *server
}

func (g *served) SchemaWithContext(ctx context.Context, contentType string) ([]byte, error) {
	g.server.reads++
	return g.GroupVersionWithContext.SchemaWithContext(ctx, contentType)
}

func (g *served) ServerRelativeURL() string { return "?hash=" + g.server.hash }

var (
	pod        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// The server is asked once for what doesn't change, and a change gives another schema.
func TestRequests(t *testing.T) {
	s := &server{ClientWithContext: openapi.ToClientWithContext(openapitest.NewEmbeddedFileClient())}
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0).Add(time.Hour))
	c := New(t.Context(), s, clock)
	first, err := c.Schema(pod)
	if err != nil || first == nil || first.Root.Fields["status"].Fields["phase"] == nil {
		t.Fatalf("schema %v, error %v", first, err)
	}
	for _, step := range []struct {
		after        time.Duration
		hash         string
		kind         schema.GroupVersionKind
		lists, reads int
		same         bool
	}{
		{0, "", pod, 1, 1, true},
		{0, "", schema.GroupVersionKind{Group: "none", Version: "v1", Kind: "Pod"}, 1, 1, false},
		{0, "", deployment, 1, 2, false},
		{2 * time.Minute, "", pod, 2, 2, true},
		{2 * time.Minute, "b", pod, 3, 3, false},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		s.hash = step.hash
		got, err := c.Schema(step.kind)
		if err != nil || s.lists != step.lists || s.reads != step.reads || (got == first) != step.same {
			t.Errorf("%+v: %d lists, %d reads, the same: %v, error %v", step, s.lists, s.reads, got == first, err)
		}
	}
}

// A server that can't be asked is no reason not to load: the warning says why
// nothing was checked.
func TestUnreachable(t *testing.T) {
	s := &server{err: errors.New("connection refused")}
	c := New(t.Context(), s, clocktesting.NewFakePassiveClock(time.Now()))
	loader, err := predicates.NewLoader(nil, predicates.WithSchemas(c))
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(predicates.Source{Files: []predicates.File{{Name: "p.yaml", Data: []byte(`apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: p}
spec:
  match: {apiVersion: v1, kind: Pod}
  done: object.status.phase == 'Running'
`)}}})
	if err != nil {
		t.Fatal(err)
	}
	if w := set.Warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "no schema of v1 Pod, so its fields' names aren't checked: ask the API server for its OpenAPI v3 documents: connection refused") {
		t.Errorf("warnings %v", w)
	}
	if _, err := c.Schema(deployment); err == nil || s.lists != 1 {
		t.Errorf("error %v after %d requests: one is enough for a minute", err, s.lists)
	}
}
