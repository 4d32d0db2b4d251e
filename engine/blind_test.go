package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientfeatures "k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/donewhen/donewhen/engine"
)

// recorder is an Observer that keeps what it was told.
type recorder struct {
	engine.NopObserver
	mu   sync.Mutex
	told []string
}

func (r *recorder) tell(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, fmt.Sprintf(format, args...))
}

func (r *recorder) BlindnessBegan(b engine.Blindness) { r.tell("blind: %s", b) }
func (r *recorder) BlindnessEnded(b engine.Blindness) {
	r.tell("sees: %s", b.Resource.GroupResource())
}

// count counts what was told that starts so.
func (r *recorder) count(prefix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.told {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// watched is a scene on a real informer of the small server, with what the
// engine logs and tells.
type watched struct {
	*scene
	server   *server
	informer cache.SharedIndexInformer
	log      func() string
	recorder *recorder
	passed   atomic.Int64 // failures passed on to the caller's own handler
	run      func()       // starts the informer
}

// playBlind runs a test on an informer that isn't started yet.
func playBlind(t *testing.T, f func(s *watched), opts ...engine.WatchOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		defer func() {
			stop()
			synctest.Wait()
		}()
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		s := &watched{server: newServer(), recorder: &recorder{}}
		s.log = logger.GetSink().(ktesting.Underlier).GetBuffer().String
		s.informer = cache.NewSharedIndexInformer(s.server, &corev1.Pod{}, 0, cache.Indexers{})
		s.scene = &scene{T: t, set: newSet(), stop: stop}
		s.engine = engine.New(s.set, engine.WithLogger(logger), engine.WithObserver(s.recorder))
		opts = append([]engine.WatchOption{engine.WithWatchErrorHandler(func(_ context.Context, r *cache.Reflector, err error) {
			s.passed.Add(1)
		})}, opts...)
		must(t, s.engine.Watch(pods, s.informer, opts...))
		must(t, s.engine.Start(ctx))
		s.run = func() {
			go s.informer.RunWithContext(ctx)
			synctest.Wait()
		}
		f(s)
	})
}

func TestK24_ForbiddenIsSaidAtOnceWithTheVerbAndTheResource(t *testing.T) {
	for _, verb := range []string{"list", "watch"} {
		t.Run(verb, func(t *testing.T) {
			playBlind(t, func(s *watched) {
				t := s.T
				s.server.forbid(verb)
				ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
				defer cancel()
				g := s.waitWith(ctx, s.register("ready", "x"))
				began := time.Now()
				s.run() // and no time has passed
				want := fmt.Sprintf(`cannot see objects of pods: %s fails: pods is forbidden: User "driver" cannot %s resource "pods"`, verb, verb)
				blind := s.engine.Blindness()
				if len(blind) != 1 || !strings.HasPrefix(blind[0].String(), want) || blind[0].Verb != verb || !blind[0].Since.Equal(began) {
					t.Fatalf("Blindness: %v, want %q", blind, want)
				}
				if log := s.log(); !strings.Contains(log, "Cannot see objects") || !strings.Contains(log, `verb="`+verb+`"`) || !strings.Contains(log, "cannot "+verb+" resource") {
					t.Fatalf("the log says %q", log)
				}
				if s.recorder.count("blind: "+want) != 1 {
					t.Fatalf("the observer was told %q", s.recorder.told)
				}
				if s.passed.Load() == 0 {
					t.Fatal("the caller's own handler was not called")
				}
				seconds(20)
				g.pending() // blindness is no verdict
				if n := strings.Count(s.log(), "Cannot see objects"); n != 1 {
					t.Fatalf("the same reason was logged %d times", n)
				}
				seconds(11)
				g.ended()
				if e := waitError(t, g.err); !errors.Is(e, context.DeadlineExceeded) || e.Blind == nil || !strings.Contains(e.Error(), want) {
					t.Fatalf("the deadline's error: %v", g.err)
				}

				g = s.wait(s.register("ready", "x"))
				s.server.allow()
				version := s.server.write("x", "Done").ResourceVersion
				seconds(120)
				g.done(version)
				if s.recorder.count("sees: pods") != 1 || len(s.engine.Blindness()) != 0 || !strings.Contains(s.log(), "Sees objects again") {
					t.Fatalf("it sees again: %q, %v", s.recorder.told, s.engine.Blindness())
				}
			})
		})
	}
}

func TestK25_AFirstListThatNeverComesIsSaidWithinTenSeconds(t *testing.T) {
	playBlind(t, func(s *watched) {
		t := s.T
		s.server.list = false // the watch streams, and its initial-events-end bookmark never comes
		ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
		defer cancel()
		g := s.waitWith(ctx, s.register("ready", "x"))
		s.run()
		seconds(9.9)
		if b := s.engine.Blindness(); len(b) != 0 {
			t.Fatalf("blind too early: %v", b)
		}
		seconds(0.1)
		b := s.engine.Blindness()
		if len(b) != 1 || b[0].Verb != "" || !strings.HasPrefix(b[0].String(), "cannot see objects of pods: the informer has no first list yet") {
			t.Fatalf("Blindness after 10 s: %v", b)
		}
		if !strings.Contains(s.log(), "Cannot see objects") || s.recorder.count("blind: cannot see objects of pods") != 1 {
			t.Fatalf("log %q, observer %q", s.log(), s.recorder.told)
		}
		g.pending()
		seconds(50)
		g.ended()
		if e := waitError(t, g.err); e.Verdict.Reason != engine.ReasonNotSynced || !strings.Contains(e.Error(), "cannot see objects of pods") {
			t.Fatalf("the deadline's error: %v", g.err)
		}
	})
}

func TestK25_AnInformerThatNobodyStartedIsSaidToo(t *testing.T) {
	play(t, func(s *scene) {
		t := s.T
		e := engine.New(newSet(), engine.WithLogger(klog.Logger{}))
		i := newInformer()
		must(t, e.Watch(pods, i))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		must(t, e.Start(ctx))
		seconds(10)
		if len(e.Blindness()) != 1 {
			t.Fatal("nothing is said")
		}
		i.sync("7")
		seconds(0)
		if b := e.Blindness(); len(b) != 0 {
			t.Fatalf("it has synced, and yet: %v", b)
		}
	})
}

func TestG15_AListThatFailsAfterTheSyncIsBlindnessUntilAVersionMoves(t *testing.T) {
	playBlind(t, func(s *watched) {
		t := s.T
		s.run()
		w := s.register("ready", "x")
		must(t, w.After(s.server.write("x", "Other")))
		g := s.wait(w)
		s.server.disconnect() // the fake's error isn't recognised as a refused connection
		seconds(5)
		b := s.engine.Blindness()
		if len(b) != 1 || b[0].Verb != "watch" && b[0].Verb != "list" || b[0].Reason != "connection refused" {
			t.Fatalf("Blindness while cut off: %v", b)
		}
		g.pending()
		s.server.reconnect(true)
		version := s.server.write("x", "Done").ResourceVersion
		seconds(120)
		g.done(version)
		if len(s.engine.Blindness()) != 0 {
			t.Fatalf("it sees again: %v", s.engine.Blindness())
		}
		s.nothingKept()
	})
}

func TestG15_AQuietResourceCountsAsSeenOnceNothingFailsAnyMore(t *testing.T) {
	playBlind(t, func(s *watched) {
		t := s.T
		s.run()
		s.server.disconnect()
		seconds(5)
		s.server.reconnect(false)
		// The next try succeeds, and no version moves.
		seconds(200)
		if b := s.engine.Blindness(); len(b) != 0 {
			t.Fatalf("still blind: %v", b)
		}
		if s.recorder.count("sees: ") != 1 {
			t.Fatalf("the observer was told %q", s.recorder.told)
		}
	})
}

func TestG15_AnExpiredVersionIsNoBlindness(t *testing.T) {
	playBlind(t, func(s *watched) {
		t := s.T
		s.run()
		s.server.write("x", "Other")
		s.server.disconnect()
		s.server.reconnect(true) // the next watch gets 410 Gone
		seconds(120)
		if s.recorder.count("blind: ") != 0 {
			t.Fatalf("the observer was told %q", s.recorder.told)
		}
	})
}

func TestWatchErrorHandler_ToleratesTakenAndStartedInformers(t *testing.T) {
	nothing := func(context.Context, *cache.Reflector, error) {}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		defer func() {
			stop()
			synctest.Wait()
		}()
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		log := logger.GetSink().(ktesting.Underlier).GetBuffer()
		watch := func(i engine.Informer, opts ...engine.WatchOption) string {
			before := log.String()
			must(t, engine.New(newSet(), engine.WithLogger(logger)).Watch(pods, i, opts...))
			return strings.TrimPrefix(log.String(), before)
		}
		plain := func() cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(newServer(), &corev1.Pod{}, 0, cache.Indexers{})
		}

		if said := watch(plain()); said != "" {
			t.Errorf("an ordinary informer: %q", said)
		}
		taken := plain()
		must(t, taken.SetWatchErrorHandlerWithContext(nothing))
		if said := watch(taken); !strings.Contains(said, "set elsewhere") {
			t.Errorf("a handler that was set before: %q", said)
		}
		if said := watch(taken, engine.WithWatchErrorHandler(nothing)); said != "" {
			t.Errorf("one that is given to the engine: %q", said)
		}
		running := plain()
		go running.RunWithContext(ctx)
		synctest.Wait()
		if said := watch(running); !strings.Contains(said, "before it is started") {
			t.Errorf("a running informer: %q", said)
		}
		if said := watch(newInformer()); !strings.Contains(said, "takes no watch error handler") {
			t.Errorf("an informer without one: %q", said)
		}
	})
}

func TestWatchErrorHandler_OneSetBeforeStaysInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		defer func() {
			stop()
			synctest.Wait()
		}()
		server := newServer()
		server.forbid("list")
		i := cache.NewSharedIndexInformer(server, &corev1.Pod{}, 0, cache.Indexers{})
		var called atomic.Int64
		must(t, i.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) { called.Add(1) }))
		e := engine.New(newSet(), engine.WithLogger(klog.Logger{}))
		must(t, e.Watch(pods, i))
		must(t, e.Start(ctx))
		go i.RunWithContext(ctx)
		seconds(10)
		if called.Load() == 0 {
			t.Fatal("the handler set before was replaced")
		}
		if b := e.Blindness(); len(b) != 1 || b[0].Verb != "" {
			t.Fatalf("Blindness: %v", b)
		}
	})
}

func TestAtomicFIFOOff_IsWarnedOfOnceAtStart(t *testing.T) {
	for _, on := range []bool{true, false} {
		featuretesting.SetFeatureDuringTest(t, clientfeatures.AtomicFIFO, on)
		playBlind(t, func(s *watched) {
			t := s.T
			if n := strings.Count(s.log(), "AtomicFIFO feature is off"); n != 0 && on || n != 1 && !on {
				t.Fatalf("AtomicFIFO %t: %d warnings", on, n)
			}
		})
	}
}

func TestWaitForSync_SaysWhyNothingComes(t *testing.T) {
	playBlind(t, func(s *watched) {
		s.server.forbid("list")
		s.run()
		ctx, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		if err := s.engine.WaitForSync(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cannot list resource") {
			s.Fatal(err)
		}
	})
}

func TestWait_LogsToTheCallersLogger(t *testing.T) {
	play(t, func(s *scene) {
		logger := ktesting.NewLogger(s.T, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(4)))
		ctx := klog.NewContext(s.Context(), klog.LoggerWithValues(logger, "requestID", 7))
		g := s.waitWith(ctx, s.register("ready", "x"))
		s.informer.put(pod("x", "u1", "10", "Done"))
		g.done("10")
		log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
		for _, want := range []string{"Waiting requestID=7", `reference="pods a/x"`, "Wait ended requestID=7", `outcome="Done"`} {
			if !strings.Contains(log, want) {
				s.Errorf("the log lacks %s: %s", want, log)
			}
		}
	})
}
