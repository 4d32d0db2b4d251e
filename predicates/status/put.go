package status

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates"
)

// errTaken: something else has the report's name.
var errTaken = errors.New("it belongs to something else")

// final reports whether it is no use to write again before the object has changed.
func final(err error) bool { return errors.Is(err, errTaken) || apierrors.IsInvalid(err) }

// put makes the report have the data, and returns whether this has changed it. What it
// finds is only overwritten if that is wanted; nil: always.
func (w *writer) put(ctx context.Context, data map[string]string, wanted func(current *corev1.ConfigMap, data map[string]string) bool) (bool, error) {
	client := w.client.CoreV1().ConfigMaps(w.namespace)
	const tries = 5 // against other replicas, who are about to write the same
	for try := 1; ; try++ {
		current, err := client.Get(ctx, w.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && w.absent():
			return false, nil // there is nothing to report about
		case apierrors.IsNotFound(err):
			_, err = client.Create(ctx, w.fill(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.name}}, data), metav1.CreateOptions{})
		case err != nil:
		case !owned(current, w.component):
			_, source := w.about.Key()
			return false, fmt.Errorf("write the report ConfigMap %s/%s: %w: remove it, or give it the label %s: %s, or give ConfigMap %s another name", w.namespace, w.name, errTaken, LabelManagedBy, w.component, source)
		case same(current, data, w.component), wanted != nil && !wanted(current, data):
			return false, nil
		default:
			_, err = client.Update(ctx, w.fill(current.DeepCopy(), data), metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			return true, nil
		case try < tries && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)):
		default:
			return false, fmt.Errorf("write the report ConfigMap %s/%s: %w; may this program get, create and update it?", w.namespace, w.name, err)
		}
	}
}

// fill makes the ConfigMap the report of the data.
func (w *writer) fill(m *corev1.ConfigMap, data map[string]string) *corev1.ConfigMap {
	metav1.SetMetaDataLabel(&m.ObjectMeta, LabelManagedBy, w.component)
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, AnnotationSum, sumOf(data))
	m.Data, m.BinaryData = data, nil
	return m
}

// event tells of a report in an Event of its ConfigMap. Its name is made of what
// it says, so that two replicas who tell the same tell it once.
func (w *writer) event(ctx context.Context, report predicates.Report, reference *corev1.ObjectReference) {
	condition := Conditions(report, w.about.Name())[0]
	kind, message := corev1.EventTypeNormal, "the predicates are in force"
	switch {
	case w.unread.Load():
		condition = unread()[0]
		kind, message = corev1.EventTypeWarning, condition.Message
		if reference == nil { // it can't be known which object it is
			_, name := w.about.Key()
			reference = &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name}
		}
	case reference == nil:
		return // nobody looks at what isn't there
	case condition.Status != "True":
		own, others, _ := split(report, w.about.Name())
		kind, message = corev1.EventTypeWarning, condition.Message+", the last good set stays in force: "+append(own, others...)[0]
	}
	saying := reference.Name + string(reference.UID) + reference.ResourceVersion + report.Sources + w.version + condition.Reason
	now := metav1.NewTime(w.clock.Now())
	_, err := w.client.CoreV1().Events(reference.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: reference.Namespace, Name: cutName(reference.Name, "."+shortSum(saying))},
		InvolvedObject: *reference, Type: kind, Reason: condition.Reason, Message: cut(message, maxMessage),
		Source: corev1.EventSource{Component: w.component}, ReportingController: w.component,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		// The report says it all: an Event that is lost isn't worth a second one.
		klog.FromContext(ctx).V(2).Info("An Event about the predicates is lost", "err", err)
	}
}

// maxMessage is the longest message that an API server takes in an Event.
const maxMessage = 1024
