package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/donewhen/donewhen/engine/script"
	"github.com/donewhen/donewhen/predicates"
)

// step is one step of events, read and with its objects made.
type step struct {
	at      []any // its place in the document
	verb    script.Verb
	objects []stepObject
	version string
	uid     types.UID
	space   string
	advance time.Duration
	reload  []predicates.File // one per document
	expect  *Expectation      // nil: nothing
}

// stepObject is an object of a step.
type stepObject struct {
	fields map[string]any
	at     []any
}

// verbs returns what stands for each verb in the step; nil where nothing does.
func (s *stepSpec) verbs() map[script.Verb]any {
	return map[script.Verb]any{
		script.Register: s.Register, script.After: s.After, script.Wait: s.Wait,
		script.Cancel: s.Cancel, script.Close: s.Close,
		script.Add: s.Add, script.Update: s.Update, script.Delete: s.Delete,
		script.Tombstone: s.Tombstone, script.Recreate: s.Recreate, script.Relist: s.Relist,
		script.Disconnect: s.Disconnect, script.Reconnect: s.Reconnect, script.Resync: s.Resync,
		script.Bookmark: s.Bookmark, script.Advance: s.Advance, script.Reload: s.Reload,
	}
}

// maxAdvance bounds a step: what the engine does every second has to be done for
// all of the time.
const maxAdvance = 24 * time.Hour

// What may stand beside a verb.
var (
	versioned = []script.Verb{
		script.After, script.Add, script.Update, script.Delete, script.Tombstone,
		script.Recreate, script.Relist, script.Bookmark,
	}
	identified = []script.Verb{script.After, script.Add, script.Update, script.Recreate}
	placed     = []script.Verb{script.After, script.Add, script.Update, script.Delete, script.Tombstone, script.Recreate, script.Relist}
)

// buildEvents makes the steps of a case, nil if something is wrong with them.
func (b *builder) buildEvents(c caseSpec, base check) {
	events := append(slices.Clip(base.at), "events")
	if len(c.Events) == 0 {
		b.fail(events, "", "there are no steps")
		return
	}
	before, registered, expects := len(b.findings), false, false
	for i, spec := range c.Events {
		at := append(slices.Clip(events), i)
		s := b.buildStep(spec, at)
		if s == nil {
			continue
		}
		switch s.verb {
		case script.Register:
			registered = true
		case script.After, script.Wait, script.Cancel, script.Close:
			if !registered {
				b.fail(at, "register: {} comes first", "there is no waiter yet")
			}
		}
		if spec.Expect != nil && !registered {
			b.fail(append(slices.Clip(at), "expect"), "register: {} comes first", "there is no waiter yet that could see anything")
		}
		expects = expects || spec.Expect != nil
		base.steps = append(base.steps, *s)
	}
	if len(b.findings) > before {
		return
	}
	if !expects {
		b.fail(events, "give a step expect: Pending, Done or Failed", "no step expects anything")
		return
	}
	b.add(base)
}

// buildStep makes one step, nil if something is wrong with it.
func (b *builder) buildStep(spec stepSpec, at []any) *step {
	before := len(b.findings)
	field := func(name string, more ...any) []any {
		return append(append(slices.Clip(at), name), more...)
	}
	s := &step{at: at, uid: types.UID(spec.UID), space: spec.Namespace}
	var value any
	all := spec.verbs()
	for _, verb := range script.Verbs() {
		if all[verb] == nil {
			continue
		}
		if s.verb != "" {
			b.fail(field(string(verb)), "make two steps of it", "the step has two verbs, %s and %s", s.verb, verb)
			return nil
		}
		s.verb, value = verb, all[verb]
	}
	if s.verb == "" {
		b.fail(at, "a verb that takes nothing is written with {}: register: {}", "the step has no verb")
		return nil
	}
	place := field(string(s.verb))
	b.buildBeside(spec, s, field)
	switch s.verb {
	case script.Add, script.Update:
		b.buildStepObject(value, s, place)
	case script.Delete, script.Tombstone, script.Recreate:
		if !nothing(value) {
			b.buildStepObject(value, s, place)
		}
	case script.After:
		b.buildAfter(value, s, place)
	case script.Relist:
		list, ok := value.([]any)
		if !ok {
			b.fail(place, "relist: [] if there are none", "a relist takes a list of objects")
			break
		}
		for i, object := range list {
			b.buildStepObject(object, s, append(slices.Clip(place), i))
		}
	case script.Advance:
		text, _ := value.(string)
		d, err := time.ParseDuration(text)
		switch {
		case err != nil || d <= 0:
			b.fail(place, "write it like 30s", "advance: %v is no time that could pass", value)
		case d > maxAdvance:
			b.fail(place, "", "advance: %s is more than %s", d, maxAdvance)
		}
		s.advance = d
	case script.Reload:
		b.buildReload(value, s, place)
	default:
		if !nothing(value) {
			b.fail(place, fmt.Sprintf("write %s: {}", s.verb), "%s takes nothing", s.verb)
		}
	}
	if spec.Expect != nil {
		s.expect = b.buildStepExpect(spec.Expect, field("expect"))
	}
	if len(b.findings) > before {
		return nil
	}
	return s
}

// nothing reports whether a verb stands with {} or true.
func nothing(value any) bool {
	fields, ok := value.(map[string]any)
	return value == true || ok && len(fields) == 0
}

// buildBeside reads what stands beside the verb.
func (b *builder) buildBeside(spec stepSpec, s *step, field func(string, ...any) []any) {
	beside := func(name string, given bool, verbs []script.Verb) {
		if given && !slices.Contains(verbs, s.verb) {
			b.fail(field(name), "remove it", "%s has no %s", s.verb, name)
		}
	}
	beside("resourceVersion", spec.ResourceVersion != nil, versioned)
	beside("uid", spec.UID != "", identified)
	beside("namespace", spec.Namespace != "", placed)
	switch v := spec.ResourceVersion.(type) {
	case nil:
	case string:
		s.version = v
		if v == "" {
			b.fail(field("resourceVersion"), "leave it out to have the next one", "the resourceVersion is empty")
		}
	case int64:
		s.version = strconv.FormatInt(v, 10)
		if v < 0 {
			b.fail(field("resourceVersion"), "", "a resourceVersion isn't negative")
		}
	default:
		b.fail(field("resourceVersion"), "", "a resourceVersion is a number or a string, not %v", v)
	}
}

func (b *builder) buildStepObject(value any, s *step, at []any) {
	fields, err := b.objects.resolve(value)
	if err == nil {
		err = checkObject(fields)
	}
	if err != nil {
		b.failObject(at, err)
		return
	}
	s.objects = append(s.objects, stepObject{fields, at})
}

// buildAfter reads a resourceVersion or an object.
func (b *builder) buildAfter(value any, s *step, at []any) {
	n, ok := value.(int64)
	switch {
	case !ok:
		if _, ok := value.(bool); ok || nothing(value) {
			b.fail(at, "write after: 12, or after: $object", "after needs the version of the caller's own write")
			return
		}
		b.buildStepObject(value, s, at)
	case s.version != "":
		b.fail(at, "remove one of them", "after says two resourceVersions")
	case n < 0:
		b.fail(at, "", "a resourceVersion isn't negative")
	default:
		s.version = strconv.FormatInt(n, 10)
	}
}

// buildReload makes a file of each document, for the set to load. Names say which
// document of the step it is; where in it something stands is lost.
func (b *builder) buildReload(value any, s *step, at []any) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for i, document := range list {
		place := at
		if ok {
			place = append(slices.Clip(at), i)
		}
		fields, _ := document.(map[string]any)
		if len(fields) == 0 {
			b.fail(place, "write the documents as a list", "reload takes documents: predicates and bindings")
			continue
		}
		data, err := json.Marshal(fields)
		if err != nil {
			b.fail(place, "", "the document has no JSON form: %v", err)
			continue
		}
		s.reload = append(s.reload, predicates.File{Name: reloadName(i), Data: data})
	}
	if ok && len(list) == 0 {
		b.fail(at, "", "reload has no documents")
	}
}

func reloadName(i int) string { return "reload[" + strconv.Itoa(i) + "]" }
