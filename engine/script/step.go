package script

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/donewhen/donewhen/engine"
)

// Verb is what a step does.
type Verb string

// The verbs. What a step needs beside its verb stands behind each.
const (
	Register   Verb = "register"   // makes the waiter, the next one if the last has ended
	After      Verb = "after"      // Object or ResourceVersion: the caller's own write
	Wait       Verb = "wait"       // begins the wait
	Cancel     Verb = "cancel"     // ends the context of the wait
	Close      Verb = "close"      // closes the waiter
	Add        Verb = "add"        // Object: it is created
	Update     Verb = "update"     // Object: it changes; with another UID, within one event
	Delete     Verb = "delete"     // it is deleted
	Tombstone  Verb = "tombstone"  // a relist shows that it has gone
	Recreate   Verb = "recreate"   // it is deleted and, with another UID, created
	Relist     Verb = "relist"     // Objects: all there is; what isn't in it has gone
	Disconnect Verb = "disconnect" // cuts the watch
	Reconnect  Verb = "reconnect"  // the watch goes on where it was cut
	Resync     Verb = "resync"     // delivers what the store holds once more
	Bookmark   Verb = "bookmark"   // moves the store's version
	Advance    Verb = "advance"    // Duration: time passes
	Reload     Verb = "reload"     // Load: the engine gets another set
)

// Verbs returns every verb, in the order of their constants.
func Verbs() []Verb {
	return []Verb{
		Register, After, Wait, Cancel, Close, Add, Update, Delete, Tombstone, Recreate,
		Relist, Disconnect, Reconnect, Resync, Bookmark, Advance, Reload,
	}
}

// Step is one step of a script: a verb and what it needs. Objects must be
// pointers to API structs or unstructured; they are copied, not changed.
//
// Delete, Tombstone and Recreate are about Object if it is given, else about the
// object awaited; Recreate then makes the old object anew.
type Step struct {
	Verb    Verb
	Object  metav1.Object
	Objects []metav1.Object
	// ResourceVersion is that of the change, of a relist the list's. Empty: the
	// object's own if it is newer than everything before, else the next one.
	ResourceVersion string
	// UID and Namespace are given to the object. An object without a UID keeps the
	// one that it has in the cluster, or gets a new one.
	UID       types.UID
	Namespace string
	Duration  time.Duration
	Load      func() (engine.Set, error)
}

// describe returns the step on one line: verb, object@version and what was given.
func (s *Step) describe(objects []metav1.Object, version string) string {
	parts := []string{string(s.Verb)}
	for _, o := range objects {
		text := o.GetName()
		if s.Namespace != "" {
			text = s.Namespace + "/" + text
		}
		if v := o.GetResourceVersion(); v != "" {
			text += "@" + v
		}
		parts = append(parts, text)
	}
	switch {
	case s.Verb == Relist:
		if len(objects) == 0 {
			parts = append(parts, "nothing")
		}
		parts = append(parts, "at "+version)
	case s.Verb == Advance:
		parts = append(parts, s.Duration.String())
	case len(objects) == 0 && version != "":
		parts = append(parts, "@"+version)
	}
	if s.UID != "" {
		parts = append(parts, fmt.Sprintf("uid %s", s.UID))
	}
	return strings.Join(parts, " ")
}
