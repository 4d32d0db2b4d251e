// Package cluster has the schemas of the kinds that a live API server serves, from
// its OpenAPI v3 documents.
//
//	client := openapi.NewClientWithContext(clientset.Discovery().RESTClient())
//	live := cluster.New(ctx, client, clock.RealClock{})
//	loader, err := predicates.NewLoader(operations, predicates.WithSchemas(live))
package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/predicates/schemas"
)

const (
	// fresh is how long the list of documents is taken for current.
	fresh = time.Minute
	// patience bounds one request.
	patience = 10 * time.Second
)

// Cluster asks the API server: once a minute at most, and only while something is
// loaded, for the list of documents, and for a document when it is new or changed.
// It is safe for concurrent use.
type Cluster struct {
	ctx    context.Context // ends its requests
	client openapi.ClientWithContext
	clock  clock.PassiveClock

	mu        sync.Mutex
	listed    time.Time
	list      map[string]openapi.GroupVersionWithContext
	listErr   error
	documents map[string]document // by path
}

// document is one group version's, as of its URL, which has a hash of the content.
type document struct {
	url   string
	known schemas.Known
	err   error
	read  time.Time
}

// New returns the schemas of a cluster. It makes no request itself; those that
// follow end with the context.
func New(ctx context.Context, client openapi.ClientWithContext, c clock.PassiveClock) *Cluster {
	return &Cluster{ctx: ctx, client: client, clock: c, documents: map[string]document{}}
}

// Schema returns the schema of a kind, nil if the server doesn't serve it: the same
// one as long as the server's document stays the same. The error says which request
// failed; it is repeated for a minute, without asking again.
func (c *Cluster) Schema(kind schema.GroupVersionKind) (*schemas.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Now(); c.listed.IsZero() || now.Sub(c.listed) >= fresh {
		c.listed = now
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		c.list, c.listErr = c.client.PathsWithContext(ctx)
		cancel()
	}
	if c.listErr != nil {
		return nil, fmt.Errorf("ask the API server for its OpenAPI v3 documents: %w", c.listErr)
	}
	path := "apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "api/" + kind.Version
	}
	served, ok := c.list[path]
	if !ok {
		return nil, nil
	}
	d, ok := c.documents[path]
	if url := served.ServerRelativeURL(); !ok || d.url != url || d.err != nil && d.read != c.listed {
		d = c.read(path, served)
		d.url, d.read = url, c.listed
		c.documents[path] = d
	}
	return d.known[kind], d.err
}

func (c *Cluster) read(path string, served openapi.GroupVersionWithContext) document {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	data, err := served.SchemaWithContext(ctx, "application/json")
	if err != nil {
		return document{err: fmt.Errorf("ask the API server for /openapi/v3/%s: %w", path, err)}
	}
	known, err := schemas.Parse("/openapi/v3/"+path, data)
	return document{known: known, err: err}
}
