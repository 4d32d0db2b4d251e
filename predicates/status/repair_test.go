package status_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/status"
)

// object is a ConfigMap that is replaced by another.
type object struct {
	uid      atomic.Pointer[types.UID]
	replaced chan struct{}
}

func newObject(uid types.UID) *object {
	o := &object{}
	o.uid.Store(&uid)
	return o
}

func (o *object) become(uid types.UID) {
	o.uid.Store(&uid)
	o.replaced <- struct{}{}
}

func (*object) Name() string                { return sourceName }
func (*object) Key() (string, string)       { return "n", "p" }
func (o *object) Replaced() <-chan struct{} { return o.replaced }

func (o *object) Reference() *corev1.ObjectReference {
	uid := *o.uid.Load()
	if uid == "" {
		return nil
	}
	return &corev1.ObjectReference{Kind: "ConfigMap", Namespace: "n", Name: "p", UID: uid, ResourceVersion: "7"}
}

// scene is reporters of one ConfigMap on a clock of their own.
type scene struct {
	*testing.T
	client    *fake.Clientset
	reporters []*status.Reporter
}

// play runs a test with one reporter for each version.
func play(t *testing.T, about []*object, versions []string, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, client: fake.NewClientset()}
		for _, o := range about {
			o.replaced = make(chan struct{}, 1) // of this bubble
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, len(versions))
		for i, version := range versions {
			r := status.NewReporter(s.client, "driver", version, []status.ConfigMap{about[i%len(about)]})
			s.reporters = append(s.reporters, r)
			go func() {
				r.Run(ctx)
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		test(s)
		cancel()
		for range versions {
			<-done
		}
	})
}

func (s *scene) report(r predicates.Report) {
	for _, reporter := range s.reporters {
		reporter.Report(r)
		synctest.Wait()
	}
}

func (s *scene) get() *corev1.ConfigMap {
	s.Helper()
	m, err := s.client.CoreV1().ConfigMaps("n").Get(s.Context(), "p-status", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return m
}

func (s *scene) update(m *corev1.ConfigMap) {
	s.Helper()
	if _, err := s.client.CoreV1().ConfigMaps("n").Update(s.Context(), m, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

// expect compares the requests since the last time with what is wanted, after so much
// time.
func (s *scene) expect(what string, after time.Duration, want map[string]int) {
	s.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := requests(s.client); !maps.Equal(got, want) {
		s.Errorf("%s: requests %v, want %v", what, got, want)
	}
}

func (s *scene) events() (list []string) {
	s.Helper()
	events, err := s.client.CoreV1().Events("n").List(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range events.Items {
		list = append(list, fmt.Sprintf("%s of %s", e.Reason, e.InvolvedObject.UID))
	}
	return list
}

// A report that is edited or removed by hand is put right at once, by one write; then
// there is silence again.
func TestAReportThatIsEditedIsPutRight(t *testing.T) {
	good := report(t, source(sourceName, "object.a == 1"))
	for name, edit := range map[string]func(m *corev1.ConfigMap){
		"a key is edited":       func(m *corev1.ConfigMap) { m.Data[status.KeyConditions] = "all is well" },
		"another version's":     func(m *corev1.ConfigMap) { m.Data[status.KeyVersion] = "2" },
		"a key is removed":      func(m *corev1.ConfigMap) { delete(m.Data, status.KeySources) },
		"a key is added":        func(m *corev1.ConfigMap) { m.Data["note"] = "x" },
		"all are":               func(m *corev1.ConfigMap) { m.Data = nil },
		"a binary key is added": func(m *corev1.ConfigMap) { m.BinaryData = map[string][]byte{"x": {0}} },
		"the label is removed":  func(m *corev1.ConfigMap) { m.Labels = nil },
		"and an edit":           func(m *corev1.ConfigMap) { m.Labels, m.Data[status.KeySet] = nil, "y" },
		"the digest is removed": func(m *corev1.ConfigMap) { m.Annotations = nil },
	} {
		play(t, []*object{newObject("u")}, []string{"1"}, func(s *scene) {
			s.report(good)
			want := s.get()
			requests(s.client)
			edited := want.DeepCopy()
			edit(edited)
			s.update(edited)
			s.expect(name, 0, map[string]int{"update configmaps": 2, "get configmaps": 1})
			if got := s.get(); !maps.Equal(got.Data, want.Data) || len(got.BinaryData) > 0 || got.Labels[status.LabelManagedBy] != "driver" {
				t.Errorf("%s: it stays %v", name, got)
			}
			requests(s.client)
			labelled := s.get()
			labelled.Labels["team"] = "storage"
			s.update(labelled)
			s.expect("a label of somebody's own", 0, map[string]int{"update configmaps": 1, "get configmaps": 1})
			s.expect("a day", 24*time.Hour, map[string]int{})
			if len(s.events()) != 1 {
				t.Errorf("%s: Events %v", name, s.events())
			}
		})
	}
}

// Of two replicas one makes a removed report anew; without its ConfigMap it stays away.
func TestARemovedReportIsMadeAnew(t *testing.T) {
	o := newObject("u")
	play(t, []*object{o}, []string{"1", "1"}, func(s *scene) {
		s.report(report(t, source(sourceName, "object.a == 1")))
		want := s.get()
		remove := func() {
			t.Helper()
			if err := s.client.CoreV1().ConfigMaps("n").Delete(t.Context(), "p-status", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		remove()
		if got := s.get(); !maps.Equal(got.Data, want.Data) {
			t.Errorf("made anew: %v", got.Data)
		}
		time.Sleep(24 * time.Hour)
		requests(s.client)
		o.uid.Store(new(types.UID))
		remove()
		s.expect("without a ConfigMap", 24*time.Hour, map[string]int{"delete configmaps": 1})
	})
}

// Who changes the report back each time isn't fought: the writes get rare.
func TestAReportThatIsEditedForEver(t *testing.T) {
	play(t, []*object{newObject("u")}, []string{"1", "1"}, func(s *scene) {
		s.report(report(t, source(sourceName, "object.a == 1")))
		wrong := s.get().DeepCopy()
		wrong.Data[status.KeyConditions] = "mine"
		// The other one sees each write at once.
		events, err := s.client.CoreV1().ConfigMaps("n").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		requests(s.client)
		writes := 0
		s.update(wrong.DeepCopy())
		for end := time.Now().Add(3 * time.Hour); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			synctest.Wait()
			select {
			case e := <-events.ResultChan():
				if m := e.Object.(*corev1.ConfigMap); m.Data[status.KeyConditions] != "mine" {
					writes++
					s.update(wrong.DeepCopy())
				}
			default:
			}
		}
		t.Logf("%d writes in three hours", writes)
		if writes < 10 || writes > 100 {
			t.Errorf("%d writes in three hours", writes)
		}
	})
}

// Two versions of the program in one roll-out each write their report when the sources
// change, and leave the other's alone otherwise.
func TestTwoVersionsDoNotFight(t *testing.T) {
	good, bad := report(t, source(sourceName, "object.a == 1")), report(t, source(sourceName, "object.a == nope"))
	play(t, []*object{newObject("u")}, []string{"1", "2"}, func(s *scene) {
		s.report(good)
		s.expect("at first", 0, map[string]int{"get configmaps": 2, "create configmaps": 1, "update configmaps": 1, "create events": 2})
		s.expect("a day", 24*time.Hour, map[string]int{})
		s.report(bad)
		s.expect("a change", 0, map[string]int{"get configmaps": 2, "update configmaps": 2, "create events": 2})
		s.expect("a day", 24*time.Hour, map[string]int{})
	})
}

// A replica that sees other content writes its report; the one that sees more takes it
// back once, after a while, and then leaves it: who is right can't be known.
func TestReplicasThatSeeDifferentContent(t *testing.T) {
	old, now := report(t, source(sourceName, "object.a == 1")), report(t, source(sourceName, "object.a == 2"))
	play(t, []*object{newObject("u")}, []string{"1", "1"}, func(s *scene) {
		s.reporters[0].Report(now)
		synctest.Wait()
		s.reporters[1].Report(old)
		synctest.Wait()
		requests(s.client)
		s.expect("at first", 59*time.Second, map[string]int{})
		s.expect("after a minute", 2*time.Second, map[string]int{"get configmaps": 1, "update configmaps": 1})
		if got := s.get().Data[status.KeySources]; got != now.Sources {
			t.Errorf("the report is of %s, want %s", got, now.Sources)
		}
		requests(s.client)
		s.expect("the other one too, once", time.Hour, map[string]int{"get configmaps": 1, "update configmaps": 1})
		s.expect("a day", 24*time.Hour, map[string]int{})
		s.reporters[1].Report(now)
		synctest.Wait()
		s.expect("it has caught up", time.Hour, map[string]int{"get configmaps": 1, "update configmaps": 1, "create events": 1})
		s.expect("a day", 24*time.Hour, map[string]int{})
	})
}

// A ConfigMap that has the report's name and is something else isn't overwritten. Once
// it is gone, the report is written.
func TestAReportWhoseNameIsTaken(t *testing.T) {
	for name, theirs := range map[string]*corev1.ConfigMap{
		"data of its own":   {Data: map[string]string{"config.yaml": "precious"}},
		"binary data":       {BinaryData: map[string][]byte{"x": {1}}},
		"somebody's report": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{status.LabelManagedBy: "another"}}},
	} {
		play(t, []*object{newObject("u")}, []string{"1"}, func(s *scene) {
			theirs.Namespace, theirs.Name = "n", "p-status"
			maps := s.client.CoreV1().ConfigMaps("n")
			if _, err := maps.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			requests(s.client)
			s.report(report(t, source(sourceName, "object.a == nope")))
			s.expect(name, 24*time.Hour, map[string]int{"get configmaps": 1, "create events": 1}) // all that its author sees
			if err := maps.Delete(t.Context(), "p-status", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.expect(name+" is gone", time.Hour, map[string]int{"delete configmaps": 1, "get configmaps": 1, "create configmaps": 1, "create events": 1})
		})
	}
	// An empty one is there to be filled: who mustn't create needs it.
	play(t, []*object{newObject("u")}, []string{"1"}, func(s *scene) {
		empty := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p-status"}}
		if _, err := s.client.CoreV1().ConfigMaps("n").Create(t.Context(), empty, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.report(report(t, source(sourceName, "object.a == 1")))
		if got := s.get().Data[status.KeyConditions]; !strings.Contains(got, "Accepted") {
			t.Errorf("an empty one: %q", got)
		}
	})
}

// A ConfigMap that is deleted and made again with the same content is another object:
// its Event is about that one. One that is empty has a report when it appears.
func TestAConfigMapThatIsReplaced(t *testing.T) {
	o := newObject("")
	play(t, []*object{o}, []string{"1", "1"}, func(s *scene) {
		become := func(uid types.UID) {
			t.Helper()
			for range s.reporters { // each has a source of its own, here they share one
				o.become(uid)
				synctest.Wait()
			}
		}
		s.report(report(t, predicates.Source{Name: sourceName}))
		s.expect("there is none", 0, map[string]int{"get configmaps": 2})
		o.become("u")
		synctest.Wait()
		s.expect("an empty one appears", 0, map[string]int{"get configmaps": 1, "create configmaps": 1, "create events": 1})
		if got := s.events(); fmt.Sprint(got) != "[Accepted of u]" {
			t.Errorf("Events %v", got)
		}
		become("v")
		if got := fmt.Sprint(s.events()); !strings.Contains(got, "Accepted of v") {
			t.Errorf("Events %v", got)
		}
		requests(s.client)
		s.expect("a day", 24*time.Hour, map[string]int{})
	})
}

// Where reports can't be watched they are written all the same.
func TestReportsThatCannotBeWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "p-status", errors.New("no"))
		})
		ctx, cancel := context.WithCancel(t.Context())
		r := status.NewReporter(client, "driver", "1", []status.ConfigMap{configMap{}})
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(ctx)
		}()
		r.Report(report(t, source(sourceName, "object.a == 1")))
		synctest.Wait()
		if got := requests(client); !maps.Equal(got, map[string]int{"get configmaps": 1, "create configmaps": 1, "create events": 1}) {
			t.Errorf("requests %v", got)
		}
		cancel()
		<-done
	})
}

// Replicas whose clocks are years apart compute the same report, and one Event.
func TestClocksThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, 3)
		good := report(t, source(sourceName, "object.a == 1"))
		for _, year := range []int{1970, 2026, 2099} {
			clock := testingclock.NewFakeClock(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
			r := status.NewReporter(client, "driver", "1", []status.ConfigMap{configMap{}}, status.WithClock(clock))
			go func() {
				r.Run(ctx)
				done <- struct{}{}
			}()
			r.Report(good)
			synctest.Wait()
		}
		if got := requests(client); !maps.Equal(got, map[string]int{"get configmaps": 3, "create configmaps": 1, "create events": 1}) {
			t.Errorf("requests %v", got)
		}
		cancel()
		for range 3 {
			<-done
		}
	})
}
