package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientfeatures "k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/engine"
)

// playServer runs a test on a real client-go informer of a small server, with
// typed and with dynamic objects, in a bubble of time.
func playServer(t *testing.T, f func(s *scene, server *server)) {
	for _, dynamic := range []bool{false, true} {
		name := "typed"
		if dynamic {
			name = "dynamic"
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
				defer func() {
					stop()
					synctest.Wait()
				}()
				server := newServer()
				server.dynamic = dynamic
				i := server.informer()
				s := &scene{T: t, set: newSet(), stop: stop}
				s.engine = engine.New(s.set, engine.WithLogger(klog.Logger{}))
				must(t, s.engine.Watch(pods, i))
				must(t, s.engine.Start(ctx))
				go i.RunWithContext(ctx)
				must(t, s.engine.WaitForSync(ctx))
				f(s, server)
			})
		})
	}
}

func TestClientGo_CreateChangeDelete(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		w := s.register("ready", "x")
		must(s.T, w.After(server.write("x", "")))
		g := s.wait(w)
		g.pending()
		g2 := s.wait(s.register("gone", "x"))
		g2.pending()
		version := server.write("x", "Done").ResourceVersion
		g.done(version)
		server.delete("x")
		g2.done(fmt.Sprint(server.version))
		if kind := g.result.Object(); kind.GetName() != "x" {
			s.Fatal("the result is another object")
		}
	})
}

func TestB3_ClientGoCreatedAndDeletedInOneGap(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		server.disconnect()
		w := s.register("ready", "x")
		must(s.T, w.After(server.write("x", "")))
		g := s.wait(w)
		server.delete("x")
		seconds(10)
		g.pending() // blind: no verdict
		server.reconnect(true)
		seconds(120) // the reflector's backoff
		g.failed(engine.ReasonObjectDeleted, fmt.Sprint(server.version))
		s.nothingKept()
	})
}

func TestW1_ClientGoTombstone(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		w := s.register("gone", "x")
		must(s.T, w.After(server.write("x", "")))
		g := s.wait(w)
		server.disconnect()
		server.delete("x")
		server.reconnect(true)
		g.pending()
		seconds(120)
		g.done(fmt.Sprint(server.version))
	})
}

func TestW16_ClientGoReplacedInOneGap(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		w := s.register("gone", "x")
		must(s.T, w.After(server.write("x", "")))
		g := s.wait(w)
		server.disconnect()
		server.delete("x")
		version := server.write("x", "").ResourceVersion
		server.reconnect(true)
		seconds(120)
		g.done(version)
	})
}

func TestG13_WaitingCausesNoRequest(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		var waits []*waiting
		for n := range 100 {
			w := s.register("ready", fmt.Sprint("x", n))
			must(s.T, w.After(server.write(fmt.Sprint("x", n), "")))
			waits = append(waits, s.wait(w))
		}
		lost := s.register("ready", "never") // looked at again and again
		must(s.T, lost.After(pod("never", "u1", "99999", "")))
		g := s.wait(lost)
		seconds(100)
		g.pending()
		for n, g := range waits {
			g.done(server.write(fmt.Sprint("x", n), "Done").ResourceVersion)
		}
		if lists, watches := server.requested("list"), server.requested("watch"); lists != 1 || watches != 1 {
			s.Fatalf("%d lists and %d watches, want one each", lists, watches)
		}
	})
}

func TestB4_AtomicFIFOOff(t *testing.T) {
	featuretesting.SetFeatureDuringTest(t, clientfeatures.AtomicFIFO, false)
	t.Run("the store can't say its version", func(t *testing.T) {
		playServer(t, func(s *scene, server *server) {
			// A write that has not arrived is not gone, however long it takes.
			server.disconnect()
			w := s.register("ready", "x")
			must(s.T, w.After(server.write("x", "")))
			g := s.wait(w)
			seconds(30)
			g.pending()
			server.reconnect(false)
			seconds(60)
			g.pending()
			g.done(server.write("x", "Done").ResourceVersion)
		})
	})
	t.Run("deletion by event and by tombstone", func(t *testing.T) {
		playServer(t, func(s *scene, server *server) {
			w := s.register("gone", "x")
			must(s.T, w.After(server.write("x", "")))
			g := s.wait(w)
			g.pending()
			server.delete("x")
			g.done(fmt.Sprint(server.version))

			w = s.register("gone", "x")
			must(s.T, w.After(server.write("x", "")))
			g = s.wait(w)
			g.pending()
			server.disconnect()
			server.delete("x")
			server.reconnect(true)
			seconds(120)
			g.done("")
		})
	})
	t.Run("created and deleted in one gap", func(t *testing.T) {
		playServer(t, func(s *scene, server *server) {
			server.disconnect()
			w := s.register("ready", "x")
			must(s.T, w.After(server.write("x", "")))
			g := s.wait(w)
			server.delete("x")
			seconds(10)
			g.pending()
			server.reconnect(true)
			seconds(120)
			g.failed(engine.ReasonObjectDeleted, "")
			s.nothingKept()
		})
	})
	t.Run("made and gone before the write returned", func(t *testing.T) {
		playServer(t, func(s *scene, server *server) {
			w := s.register("gone", "x")
			written := server.write("x", "")
			server.delete("x")
			synctest.Wait()
			must(s.T, w.After(written))
			s.wait(w).ended()
		})
	})
}

// Fake clients give objects no resourceVersion and no UID.
func TestFakeClients_TypedAndDynamic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		defer func() {
			stop()
			synctest.Wait()
		}()
		client := fake.NewClientset()
		typed := informers.NewSharedInformerFactory(client, 0)
		dynamic := dynamicinformer.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClient(scheme.Scheme), 0)
		configmaps := corev1.SchemeGroupVersion.WithResource("configmaps")
		e := engine.New(newSet(), engine.WithLogger(klog.Logger{}))
		must(t, e.Watch(pods, typed.Core().V1().Pods().Informer()))
		must(t, e.Watch(configmaps, dynamic.ForResource(configmaps).Informer()))
		must(t, e.Start(ctx))
		typed.StartWithContext(ctx)
		dynamic.Start(ctx.Done())
		must(t, e.WaitForSync(ctx))
		r, err := e.Do(ctx, engine.Request{Ref: refTo("x"), Predicate: "ready"}, func(ctx context.Context) (metav1.Object, error) {
			return client.CoreV1().Pods("a").Create(ctx, pod("x", "", "", "Done"), metav1.CreateOptions{})
		})
		if err != nil || r.Object().GetName() != "x" {
			t.Fatalf("%v, %v", r, err)
		}
		r, err = e.Do(ctx, engine.Request{Ref: refTo("x"), Predicate: "gone"}, func(ctx context.Context) (metav1.Object, error) {
			return r.Object(), client.CoreV1().Pods("a").Delete(ctx, "x", metav1.DeleteOptions{})
		})
		if err != nil || !r.Absent {
			t.Fatalf("%v, %v", r, err)
		}
	})
}

// The whole of W6: a resync tells of a stale object again, and the error in it
// must not end the wait.
func TestW6_StaleErrorsBelowTheFloor(t *testing.T) {
	play(t, func(s *scene) {
		stale := pod("x", "u1", "10", "Failed before")
		s.informer.put(stale)
		w := s.register("ready", "x")
		must(t, w.After(pod("x", "u1", "12", "")))
		g := s.wait(w)
		for range 3 {
			s.informer.put(stale)
			g.pending()
		}
		s.informer.put(pod("x", "u1", "13", "Done"))
		g.done("13")
	})
}

func TestClientGo_AWaitOutlivesALongGap(t *testing.T) {
	playServer(t, func(s *scene, server *server) {
		w := s.register("ready", "x")
		must(s.T, w.After(server.write("x", "")))
		ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
		defer cancel()
		g := s.waitWith(ctx, w)
		server.disconnect()
		seconds(60)
		version := server.write("x", "Done").ResourceVersion
		server.reconnect(false)
		seconds(120)
		g.done(version)
	})
}
