package status

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Labels and annotations of a report.
const (
	// LabelManagedBy names the program that owns it: a ConfigMap with another value isn't
	// touched.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// AnnotationSum has the digest of its data: what doesn't fit was changed by somebody
	// else.
	AnnotationSum = "donewhen.dev/report-sha256"
)

// standing says what a report has become.
type standing string

const (
	ours    standing = "ours"    // as it should be
	damaged standing = "damaged" // edited or removed
	other   standing = "other"   // by another version of the program
	foreign standing = "foreign" // by this version, of other sources: a replica's, or an old one
	taken   standing = "taken"   // something else has its name
)

// judge says what has become of the report, nil if there is none.
func (w *writer) judge(current *corev1.ConfigMap, data map[string]string) standing {
	switch {
	case current == nil && w.absent():
		return ours // there is nothing to report about
	case current == nil:
		return damaged
	case !owned(current, w.component):
		return taken
	case same(current, data, w.component):
		return ours
	case current.Annotations[AnnotationSum] != sumOf(current.Data), len(current.BinaryData) > 0, current.Labels[LabelManagedBy] == "":
		return damaged
	case current.Data[KeyVersion] != data[KeyVersion]:
		return other
	}
	return foreign
}

// owned reports whether a ConfigMap is a report of the component, or may become one:
// who mustn't create ConfigMaps is given an empty one.
func owned(current *corev1.ConfigMap, component string) bool {
	if owner := current.Labels[LabelManagedBy]; owner != "" {
		return owner == component
	}
	for key := range current.Data {
		if !slices.Contains([]string{KeyConditions, KeySources, KeySet, KeyVersion, KeyProblems, KeyWarnings}, key) {
			return false
		}
	}
	return len(current.BinaryData) == 0
}

// same reports whether a report is as it should be.
func same(current *corev1.ConfigMap, data map[string]string, component string) bool {
	return maps.Equal(current.Data, data) && len(current.BinaryData) == 0 &&
		current.Labels[LabelManagedBy] == component && current.Annotations[AnnotationSum] == sumOf(data)
}

// sumOf returns the digest of a report's data.
func sumOf(data map[string]string) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(h, "%d %s %d %s ", len(key), key, len(data[key]), data[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}
