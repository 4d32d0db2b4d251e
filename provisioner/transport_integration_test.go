//go:build integration

package provisioner_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// recorder notes the requests of the side under test, and can cut its watches.
type recorder struct {
	next http.RoundTripper

	mu       sync.Mutex
	requests []string
	bodies   map[string][]*cutBody // of running watches, by resource
	gates    map[string]*gate      // of cut resources
	faults   []fault
}

// fault answers requests in the server's place.
type fault func(request string) *http.Response

// gate holds the watches of a resource back until it is opened.
type gate struct {
	open chan struct{}
	gone bool // the first watch that goes on from a version is answered with 410
}

func newRecorder(next http.RoundTripper) *recorder {
	return &recorder{next: next, bodies: map[string][]*cutBody{}, gates: map[string]*gate{}}
}

// describe returns "METHOD resource/name/subresource", or "WATCH resource".
func describe(request *http.Request) (text, resource string) {
	path := request.URL.Path
	if _, after, ok := strings.Cut(path, "/namespaces/"); ok {
		_, path, _ = strings.Cut(after, "/")
	}
	resource, _, _ = strings.Cut(path, "/")
	if request.URL.Query().Get("watch") != "" {
		return "WATCH " + path, resource
	}
	return request.Method + " " + path, resource
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	text, resource := describe(request)
	r.mu.Lock()
	r.requests = append(r.requests, text)
	gate, faults := r.gates[resource], slices.Clone(r.faults)
	r.mu.Unlock()
	for _, f := range faults {
		if response := f(text); response != nil {
			response.Request = request
			return response, nil
		}
	}
	if !strings.HasPrefix(text, "WATCH ") {
		return r.next.RoundTrip(request)
	}
	if gate != nil {
		select {
		case <-gate.open:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
		r.mu.Lock()
		expired := gate.gone && request.URL.Query().Get("sendInitialEvents") == ""
		if expired {
			gate.gone = false
		}
		r.mu.Unlock()
		if expired {
			return respond(request, http.StatusGone, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version","reason":"Expired","code":410}`), nil
		}
	}
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body := &cutBody{ReadCloser: response.Body, cut: make(chan struct{})}
	response.Body = body
	r.mu.Lock()
	r.bodies[resource] = append(r.bodies[resource], body)
	r.mu.Unlock()
	return response, nil
}

func respond(request *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewBufferString(body)), Request: request,
	}
}

// cut ends the resource's watches and holds new ones back until release.
func (r *recorder) cut(resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[resource] = &gate{open: make(chan struct{})}
	for _, body := range r.bodies[resource] {
		body.once.Do(func() { close(body.cut) })
		body.ReadCloser.Close()
	}
	r.bodies[resource] = nil
}

// release lets watches through again. With gone the first of them is told that
// what it missed is no longer known.
func (r *recorder) release(resource string, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.gates[resource]
	g.gone = gone
	close(g.open)
}

// fail answers requests in the server's place from now on.
func (r *recorder) fail(f fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, f)
}

// made returns the requests since the last call that aren't lists or watches.
func (r *recorder) made() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var made []string
	for _, request := range r.requests {
		if strings.HasPrefix(request, "WATCH ") || strings.HasPrefix(request, "GET ") && strings.Count(request, "/") == 0 {
			continue
		}
		made = append(made, request)
	}
	r.requests = nil
	return made
}

// seen reports whether the request was made.
func (r *recorder) seen(request string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.requests, request)
}

// cutBody is the body of a watch that can be cut.
type cutBody struct {
	io.ReadCloser
	cut  chan struct{}
	once sync.Once
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	select {
	case <-b.cut:
		return 0, io.EOF
	default:
	}
	if err != nil && errors.Is(err, http.ErrBodyReadAfterClose) {
		err = io.EOF
	}
	return n, err
}

// hold makes requests of that text wait until the channel is closed.
func (r *recorder) hold(request string) chan struct{} {
	open := make(chan struct{})
	r.fail(func(text string) *http.Response {
		if text == request {
			<-open
		}
		return nil
	})
	return open
}
