package source

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watcher tells that something has changed in directories.
type watcher interface {
	// follow says which directories matter now; those that aren't there don't.
	follow(dirs []string)
	changed() <-chan struct{}
	close()
}

// noWatcher never tells.
type noWatcher struct{}

func (noWatcher) follow([]string)          {}
func (noWatcher) changed() <-chan struct{} { return nil }
func (noWatcher) close()                   {}

// fileWatcher is a watcher by the file system's events.
type fileWatcher struct {
	*fsnotify.Watcher
	matters func(path string) bool
	signals chan struct{}
	done    sync.WaitGroup
}

func watchFiles(dirs []string, matters func(path string) bool) (watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &fileWatcher{Watcher: events, matters: matters, signals: make(chan struct{}, 1)}
	w.follow(dirs)
	w.done.Go(w.forward)
	return w, nil
}

// forward turns events that matter and lost events alike into one signal.
func (w *fileWatcher) forward() {
	for {
		select {
		case event, ok := <-w.Events:
			switch {
			case !ok:
				return
			case !w.matters(event.Name):
				continue
			}
		case _, ok := <-w.Errors:
			if !ok {
				return
			}
		}
		signal(w.signals)
	}
}

// follow implements watcher. Adding again what is watched already changes nothing,
// and brings back what was removed and made anew.
func (w *fileWatcher) follow(dirs []string) {
	for _, dir := range dirs {
		_ = w.Add(dir) // it isn't there (any more), which the parent's events tell
	}
}

func (w *fileWatcher) changed() <-chan struct{} { return w.signals }

func (w *fileWatcher) close() {
	_ = w.Close() // nothing is lost with it
	w.done.Wait()
}
