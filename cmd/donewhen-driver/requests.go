package main

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// countRequests returns a wrapper of transports that counts requests to the API
// server by verb and resource.
func countRequests(requests *prometheus.CounterVec) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			requests.WithLabelValues(verbAndResource(request)).Inc()
			return next.RoundTrip(request)
		})
	}
}

// countConflicts is countRequests for those that are answered with a conflict.
func countConflicts(conflicts *prometheus.CounterVec) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && response.StatusCode == http.StatusConflict {
				conflicts.WithLabelValues(verbAndResource(request)).Inc()
			}
			return response, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// verbAndResource names a request as Kubernetes does: GET, LIST, WATCH, CREATE,
// UPDATE, PATCH or DELETE of a resource, or of its subresource as in
// "azvolumes/status". Paths that aren't a resource's are "discovery".
func verbAndResource(request *http.Request) (verb, resource string) {
	verbs := map[string]string{
		http.MethodGet: "GET", http.MethodPost: "CREATE", http.MethodPut: "UPDATE",
		http.MethodPatch: "PATCH", http.MethodDelete: "DELETE",
	}
	verb = verbs[request.Method]
	if verb == "" {
		verb = request.Method
	}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api": // api/v1/…
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis": // apis/group/version/…
		parts = parts[3:]
	default:
		return verb, "discovery"
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource = parts[0]
	switch {
	case len(parts) > 2:
		resource += "/" + parts[2]
	case len(parts) == 1 && verb == "GET":
		if watch := request.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			return "WATCH", resource
		}
		return "LIST", resource
	}
	return verb, resource
}
