package engine

import (
	"net/http"
	"strings"
)

// WrapTransport returns a transport that tells the engine how the informers'
// requests fare. Give it to the configuration of the client that the informers
// use, before the client is made:
//
//	config.Wrap(eng.WrapTransport)
//
// It is optional. Without it the engine hears what client-go tells an informer's
// watch error handler, and that leaves out refused connections, 429 and passing
// server errors, which client-go retries silently for as long as they last; and
// the end of blindness on a quiet resource is then only guessed. It changes no
// request and reads no body.
func (e *Engine) WrapTransport(next http.RoundTripper) http.RoundTripper {
	return &transport{engine: e, next: next}
}

type transport struct {
	engine *Engine
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	s, verb := t.engine.requester(r)
	if s == nil {
		return response, err
	}
	s.sight.wired.Store(true)
	switch {
	case err != nil:
		if r.Context().Err() == nil { // not given up by the informer itself
			s.goBlind(verb, err.Error())
		}
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode >= 500:
		s.goBlind(verb, "the server answers "+response.Status)
	case response.StatusCode >= 400 && response.StatusCode != http.StatusGone && !s.sight.hears.Load():
		s.goBlind(verb, "the server answers "+response.Status)
	case response.StatusCode < 300:
		s.answered(verb)
	}
	return response, err
}

// WrappedRoundTripper returns the transport behind it, as client-go asks.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// requester returns the source whose informer lists or watches with the request,
// nil if it is another request.
func (e *Engine) requester(r *http.Request) (s *source, verb string) {
	if r.Method != http.MethodGet {
		return nil, ""
	}
	for _, s := range e.allSources() {
		if strings.HasSuffix(r.URL.Path, s.path()) {
			if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
				return s, "watch"
			}
			return s, "list"
		}
	}
	return nil, ""
}

// path is where the API server serves the source's objects.
func (s *source) path() string {
	path := "/api/"
	if s.gvr.Group != "" {
		path = "/apis/" + s.gvr.Group + "/"
	}
	path += s.gvr.Version + "/"
	if s.namespace != "" {
		path += "namespaces/" + s.namespace + "/"
	}
	return path + s.gvr.Resource
}

// answered takes note that the server has answered a list or watch: what failed
// works again. A list that works says nothing of a watch that doesn't.
func (s *source) answered(verb string) {
	if !s.isBlind() || !s.informer.HasSynced() || s.informerStopped() {
		return
	}
	g := &s.sight
	g.mu.Lock()
	if !g.blind.Load() || g.now.Verb == "" || verb != "watch" && verb != g.now.Verb {
		g.mu.Unlock()
		return
	}
	s.endBlindness(s.engine.clock.Now())
}
