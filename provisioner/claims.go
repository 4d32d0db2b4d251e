package provisioner

import "sync"

// claims notes on which node a volume is being published that may be on one node
// only: the cache doesn't show the attachment yet. It is safe for concurrent use,
// and the zero value is ready for it.
type claims struct {
	mu    sync.Mutex
	nodes map[string]string // by volume
}

// claim takes the volume for the node. If it is taken, release is nil and holder
// the node that it is taken for.
func (c *claims) claim(volume, node string) (release func(), holder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if holder, taken := c.nodes[volume]; taken {
		return nil, holder
	}
	if c.nodes == nil {
		c.nodes = map[string]string{}
	}
	c.nodes[volume] = node
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.nodes, volume)
	}, ""
}
