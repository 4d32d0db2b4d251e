package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// do plays a step, and returns it as the trace shows it.
func (p *Player) do(ctx context.Context, step Step) (string, error) {
	text := func() string { return step.describe(nil, step.ResourceVersion) }
	switch step.Verb {
	case Register:
		return text(), p.register()
	case Wait:
		return text(), p.wait()
	case After:
		return p.after(step)
	case Cancel:
		if p.waiting == nil {
			return text(), errors.New("no wait runs whose context could end")
		}
		p.leave()
		return text(), nil
	case Close:
		if p.waiter == nil {
			return text(), errNoWaiter
		}
		p.waiter.Close()
		return text(), nil
	case Advance:
		return text(), p.clock.Advance(ctx, step.Duration, p.engine.Settle)
	case Reload:
		return text(), p.reload(step)
	case Disconnect:
		return text(), p.source.Disconnect(ctx)
	case Reconnect:
		return text(), p.source.Reconnect()
	case Resync:
		return text(), p.source.Resync()
	case Bookmark:
		step.ResourceVersion = p.version(step, nil)
		return text(), p.source.Bookmark(step.ResourceVersion)
	case Add, Update, Delete, Tombstone, Recreate, Relist:
		return p.change(step)
	}
	return text(), fmt.Errorf("there is no verb %q", step.Verb)
}

var errNoWaiter = errors.New("there is no waiter: register one first")

func (p *Player) register() error {
	if p.waiter != nil && !p.waiter.Status().Ended {
		return errors.New("the waiter is still there: close it, or have its wait end, before the next one")
	}
	p.leave()
	w, err := p.engine.Register(p.config.Request)
	if err != nil {
		return err
	}
	p.waiter = w
	return nil
}

func (p *Player) wait() error {
	switch {
	case p.waiter == nil:
		return errNoWaiter
	case p.waiting != nil:
		return errors.New("the wait has begun already")
	}
	p.waiter.Done() // begins it here, and not whenever the goroutine gets to run
	ctx, cancel := context.WithCancel(context.Background())
	w, waiting := p.waiter, make(chan struct{})
	p.cancel, p.waiting = cancel, waiting
	go func() {
		defer close(waiting)
		_, _ = w.Wait(ctx) // Status says how it ended
	}()
	return nil
}

func (p *Player) after(step Step) (string, error) {
	if p.waiter == nil {
		return step.describe(nil, step.ResourceVersion), errNoWaiter
	}
	ref := p.config.Request.Ref
	var written metav1.Object = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	if step.Object != nil {
		written = step.Object
	}
	written = with(written, func(o metav1.Object) {
		if step.ResourceVersion != "" {
			o.SetResourceVersion(step.ResourceVersion)
		}
		if step.UID != "" {
			o.SetUID(step.UID)
		}
		if step.Namespace != "" {
			o.SetNamespace(step.Namespace)
		}
	})
	return step.describe(nil, written.GetResourceVersion()), p.waiter.After(written)
}

func (p *Player) reload(step Step) error {
	if step.Load == nil {
		return errors.New("nothing is given to load")
	}
	set, err := step.Load()
	if err != nil {
		return err
	}
	p.engine.Swap(set)
	return nil
}

// change plays a step that changes the cluster.
func (p *Player) change(step Step) (string, error) {
	key := p.config.Request.Ref.NamespacedName().String()
	if p.config.Request.Ref.Namespace == "" {
		key = p.config.Request.Ref.Name
	}
	object := step.Object
	if object != nil {
		if step.Namespace != "" {
			object = with(object, func(o metav1.Object) { o.SetNamespace(step.Namespace) })
		}
		key = keyOf(object)
	}
	there := p.source.Get(key)
	named := func(o metav1.Object) []metav1.Object { return []metav1.Object{o} }
	switch step.Verb {
	case Relist:
		return p.relist(step)
	case Add, Update:
		switch {
		case object == nil:
			return string(step.Verb), errors.New("no object is given")
		case step.Verb == Add && there != nil:
			return string(step.Verb), fmt.Errorf("%s is there already: update it, or recreate it", key)
		case step.Verb == Update && there == nil:
			return string(step.Verb), fmt.Errorf("there is no %s to update: add it", key)
		}
		object = p.stamp(object, p.version(step, object), step.UID, there)
		return step.describe(named(object), ""), p.source.Put(object)
	}
	if there == nil {
		return string(step.Verb), fmt.Errorf("there is no %s in the cluster", key)
	}
	version := p.version(step, nil)
	if step.Verb != Recreate {
		text := step.describe(named(with(there, func(o metav1.Object) { o.SetResourceVersion(version) })), "")
		if step.Verb == Tombstone {
			return text, p.source.Tombstone(key, version)
		}
		return text, p.source.Delete(key, version)
	}
	deleted := p.source.Next()
	if step.ResourceVersion == "" {
		n, _ := strconv.ParseInt(deleted, 10, 64) // Next made it of a number
		version = strconv.FormatInt(n+1, 10)
	}
	if object == nil {
		object = there
	}
	uid := step.UID
	if uid == "" && object.GetUID() == there.GetUID() {
		uid = p.newUID()
	}
	object = p.stamp(object, version, uid, nil)
	text := step.describe(named(object), "")
	if err := p.source.Delete(key, deleted); err != nil {
		return text, err
	}
	return text, p.source.Put(object)
}

// relist plays a relist. An object of the list that is as the cluster has it
// keeps its version; one that has changed has the list's, or its own if that fits.
func (p *Player) relist(step Step) (string, error) {
	version := p.version(step, nil)
	var objects []metav1.Object
	for _, o := range step.Objects {
		if step.Namespace != "" {
			o = with(o, func(o metav1.Object) { o.SetNamespace(step.Namespace) })
		}
		there := p.source.Get(keyOf(o))
		own := p.stamp(o, version, step.UID, there)
		switch {
		case there != nil && equal(own, there):
			own = there
		case newer(o.GetResourceVersion(), versionOf(there)) && !newer(o.GetResourceVersion(), version):
			own.SetResourceVersion(o.GetResourceVersion()) // own is a copy
		}
		objects = append(objects, own)
	}
	return step.describe(objects, version), p.source.Relist(version, objects...)
}

// stamp returns a copy of the object with the version, and with a UID: the one
// given, else its own, else that of the object that is there, else a new one.
func (p *Player) stamp(object metav1.Object, version string, uid types.UID, there metav1.Object) metav1.Object {
	switch {
	case uid != "":
	case object.GetUID() != "":
		uid = object.GetUID()
	case there != nil:
		uid = there.GetUID()
	default:
		uid = p.newUID()
	}
	return with(object, func(o metav1.Object) {
		o.SetUID(uid)
		o.SetResourceVersion(version)
	})
}

func (p *Player) newUID() types.UID {
	p.created++
	return types.UID("uid-" + strconv.Itoa(p.created))
}

// version returns the version of a step's change.
func (p *Player) version(step Step, object metav1.Object) string {
	next := p.source.Next()
	switch {
	case step.ResourceVersion != "":
		return step.ResourceVersion
	case object != nil && !newer(next, object.GetResourceVersion()) && newer(object.GetResourceVersion(), "0"):
		return object.GetResourceVersion()
	}
	return next
}

func versionOf(object metav1.Object) string {
	if object == nil {
		return "0"
	}
	return object.GetResourceVersion()
}

// newer compares two versions; one that is no number is older than all.
func newer(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseInt(b, 10, 64)
	return err != nil || x > y
}

// equal compares objects but for their versions.
func equal(a, b metav1.Object) bool {
	same := with(a, func(o metav1.Object) { o.SetResourceVersion(b.GetResourceVersion()) })
	return equality.Semantic.DeepEqual(same, b)
}
