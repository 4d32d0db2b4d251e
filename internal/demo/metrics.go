package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics of the driver that the demo reads.
const (
	metricRequests       = "donewhen_api_requests_total"
	metricConflicts      = "donewhen_api_conflicts_total"
	metricShare          = "donewhen_engine_share_seconds"
	metricWaits          = "donewhen_waits_total"
	metricSetInfo        = "donewhen_set_info"
	metricReloadFailures = "donewhen_config_reload_failures_total"
)

// metrics is what the driver says of itself at one moment.
type metrics map[string]*dto.MetricFamily

// scrape reads the driver's metrics.
func scrape(ctx context.Context, address string) (metrics, error) {
	body, err := get(ctx, "http://"+address+"/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the driver's metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the driver's metrics: %w", err)
	}
	return families, nil
}

// serving says whether the driver is ready for CSI calls.
func serving(ctx context.Context, address string) bool {
	_, err := get(ctx, "http://"+address+"/readyz")
	return err == nil
}

func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return io.ReadAll(response.Body)
}

// sample is one value of a counter or gauge with its labels.
type sample struct {
	labels map[string]string
	value  float64
}

// samples returns the values of a counter or gauge.
func (m metrics) samples(name string) []sample {
	var found []sample
	for _, metric := range m[name].GetMetric() {
		value := metric.GetCounter().GetValue()
		if metric.Gauge != nil {
			value = metric.GetGauge().GetValue()
		}
		found = append(found, sample{labels: labelsOf(metric), value: value})
	}
	return found
}

// total adds up the values whose labels have these values.
func (m metrics) total(name string, labels map[string]string) (total float64) {
	for _, s := range m.samples(name) {
		if matches(s.labels, labels) {
			total += s.value
		}
	}
	return total
}

// digest is that of the set in force.
func (m metrics) digest() string {
	for _, s := range m.samples(metricSetInfo) {
		if s.value == 1 {
			return s.labels["digest"]
		}
	}
	return ""
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range metric.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}

func matches(labels, want map[string]string) bool {
	for name, value := range want {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// histogram is a distribution of durations in buckets.
type histogram struct {
	count   uint64
	sum     time.Duration
	buckets []bucket // by bound
}

// bucket says how many durations don't exceed its bound, in seconds.
type bucket struct {
	bound float64
	count uint64
}

// histogram returns the one with these labels; it is empty if there is none.
func (m metrics) histogram(name string, labels map[string]string) histogram {
	var h histogram
	for _, metric := range m[name].GetMetric() {
		if metric.Histogram == nil || !matches(labelsOf(metric), labels) {
			continue
		}
		h.count = metric.GetHistogram().GetSampleCount()
		h.sum = seconds(metric.GetHistogram().GetSampleSum())
		for _, b := range metric.GetHistogram().GetBucket() {
			h.buckets = append(h.buckets, bucket{bound: b.GetUpperBound(), count: b.GetCumulativeCount()})
		}
	}
	slices.SortFunc(h.buckets, func(a, b bucket) int {
		if a.bound < b.bound {
			return -1
		}
		return 1
	})
	return h
}

// quantile estimates a percentile: between the bounds of its bucket the
// durations are taken to be spread evenly.
func (h histogram) quantile(p float64) time.Duration {
	rank := p / 100 * float64(h.count)
	var lower float64
	var below uint64
	for _, b := range h.buckets {
		if float64(b.count) >= rank && b.count > below {
			if math.IsInf(b.bound, 1) {
				return seconds(lower) // no more is known than that
			}
			return seconds(lower + (b.bound-lower)*(rank-float64(below))/float64(b.count-below))
		}
		lower, below = b.bound, b.count
	}
	return 0
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
