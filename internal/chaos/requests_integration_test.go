//go:build integration

package chaos_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"sync"
)

// tooOld is in every answer of an API server to a watch from a version that it doesn't remember, whether that is a
// status of its own or an event in a stream.
const tooOld = "too old resource version"

// requests counts what a client asks of the API server, by resource and verb, and the answers 410 Gone.
type requests struct {
	mu    sync.Mutex
	count map[string]int
}

func (r *requests) add(resource, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = map[string]int{}
	}
	r.count[resource+" "+what]++
}

// of returns how often that was asked of the resource, or answered.
func (r *requests) of(resource, what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count[resource+" "+what]
}

func (r *requests) all() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.count)
}

// wrap has a client's requests counted.
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		resource, query := path.Base(request.URL.Path), request.URL.Query()
		switch {
		case request.Method != http.MethodGet:
			r.add(resource, request.Method)
		case query.Get("watch") == "":
			r.add(resource, "list")
		case query.Get("sendInitialEvents") == "true":
			r.add(resource, "list") // as a stream
		default:
			r.add(resource, "watch")
		}
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, fmt.Errorf("through the proxy: %w", err)
		}
		response.Body = &finder{ReadCloser: response.Body, text: []byte(tooOld), found: func() { r.add(resource, "410") }}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// finder calls found when the text passes, once.
type finder struct {
	io.ReadCloser
	text  []byte
	found func()
	tail  []byte // the end of what was read, shorter than the text
}

func (f *finder) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if f.found != nil {
		seen := append(f.tail, p[:n]...)
		if bytes.Contains(seen, f.text) {
			f.found()
			f.found = nil
		}
		f.tail = bytes.Clone(seen[max(0, len(seen)-len(f.text)+1):])
	}
	return n, err
}
