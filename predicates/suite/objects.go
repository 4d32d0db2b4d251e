package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// ReadFile returns the content of a file that a suite names. The path is
// relative to what the suite's own name is relative to, with forward slashes.
type ReadFile func(path string) ([]byte, error)

// objects resolves what a suite writes for an object. Objects are in JSON form
// as Kubernetes decodes it (numbers are int64 where they can be).
type objects struct {
	dir      string
	read     ReadFile
	named    map[string]any
	resolved map[string]map[string]any
	failed   map[string]error // why a named object can't be made
	active   []string         // names being resolved, to find circles
}

// errBroken: what was asked for is made from a named object that can't be made,
// which is reported at that object's own place.
var errBroken = errors.New("a named object that it is made from is broken")

func newObjects(dir string, read ReadFile, named map[string]any) *objects {
	return &objects{dir: dir, read: read, named: named, resolved: map[string]map[string]any{}, failed: map[string]error{}}
}

// resolve returns the object that value stands for: "$name", a file, {from,
// merge}, or an object itself. The result is shared and must not be changed.
func (o *objects) resolve(value any) (map[string]any, error) {
	switch v := value.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return o.name(name)
		}
		return o.file(v)
	case map[string]any:
		if _, ok := v["from"]; ok {
			return o.merged(v)
		}
		if _, ok := v["merge"]; ok {
			return nil, fmt.Errorf("merge changes an object, but there is no from that says which")
		}
		return jsonForm(v)
	}
	return nil, fmt.Errorf("an object is a file, $name, {from, merge} or a mapping, not %v", value)
}

func (o *objects) name(name string) (map[string]any, error) {
	if object, ok := o.resolved[name]; ok {
		return object, nil
	}
	if o.failed[name] != nil {
		return nil, errBroken
	}
	value, ok := o.named[name]
	if !ok {
		return nil, &unknownError{message: "there is no object $" + name, hint: nearest.Hint(dollar(name), "objects", o.names())}
	}
	for i, n := range o.active {
		if n == name {
			return nil, fmt.Errorf("object $%s is made from itself: $%s", name, strings.Join(append(slices.Clone(o.active[i:]), name), " from $"))
		}
	}
	o.active = append(o.active, name)
	object, err := o.resolve(value)
	o.active = o.active[:len(o.active)-1]
	if err != nil {
		o.failed[name] = err
		return nil, errBroken
	}
	o.resolved[name] = object
	return object, nil
}

// names returns the named objects as they are written: "$name".
func (o *objects) names() []string {
	var names []string
	for name := range o.named {
		names = append(names, dollar(name))
	}
	return names
}

func dollar(name string) string { return "$" + name }

func (o *objects) merged(v map[string]any) (map[string]any, error) {
	for key := range v {
		if key != "from" && key != "merge" {
			return nil, fmt.Errorf("beside from there is only merge, not %q; put the fields of the object under merge", key)
		}
	}
	base, err := o.resolve(v["from"])
	if err != nil {
		return nil, err
	}
	patch, ok := v["merge"]
	if !ok {
		return base, nil
	}
	fields, ok := patch.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("merge is a mapping of what to change, not %v", patch)
	}
	return change(base, fields)
}

// change applies a merge patch as it stands in a suite.
func change(object, patch map[string]any) (map[string]any, error) {
	if len(patch) == 0 {
		return object, nil
	}
	fields, err := jsonForm(patch)
	if err != nil {
		return nil, err
	}
	return merge(object, fields).(map[string]any), nil
}

func (o *objects) file(name string) (map[string]any, error) {
	if object, ok := o.resolved["/"+name]; ok {
		return object, nil
	}
	data, err := o.read(join(o.dir, name))
	if err != nil {
		if near := nearest.Name(dollar(name), o.names()); near != "" && errors.Is(err, fs.ErrNotExist) {
			return nil, &unknownError{message: fmt.Sprintf("read the object: %v", err), hint: fmt.Sprintf("did you mean %q?", near)}
		}
		return nil, fmt.Errorf("read the object: %w", err)
	}
	object, err := decodeObject(name, data)
	if err != nil {
		return nil, err
	}
	o.resolved["/"+name] = object
	return object, nil
}

// decodeObject reads a file that holds one object, in YAML or JSON.
func decodeObject(name string, data []byte) (map[string]any, error) {
	documents, findings := document.Read(document.NewText(data))
	if len(findings) > 0 {
		return nil, fileError(name, findings)
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("%s holds %d documents; an object's file holds one", name, len(documents))
	}
	var fields map[string]any
	if findings := documents[0].Decode(&fields); len(findings) > 0 {
		return nil, fileError(name, findings)
	}
	return jsonForm(fields)
}

func fileError(name string, findings []document.Finding) error {
	f := findings[0]
	more := ""
	if len(findings) > 1 {
		more = " (and " + strconv.Itoa(len(findings)-1) + " more)"
	}
	return fmt.Errorf("%s:%d:%d: %s%s", name, f.Line, f.Column, f.Message, more)
}

// jsonForm returns a deep copy in the form in which Kubernetes decodes JSON.
func jsonForm(fields map[string]any) (map[string]any, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("the object has no JSON form: %w", err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("the object has no JSON form: %w", err)
	}
	return object, nil
}

// checkObject finds what an API server would never return.
func checkObject(object map[string]any) error {
	for _, key := range []string{"apiVersion", "kind"} {
		if text, ok := object[key].(string); !ok || text == "" {
			return fmt.Errorf("the object has no %s", key)
		}
	}
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("the object has no metadata")
	}
	data, err := json.Marshal(metadata)
	if err != nil {
		return fmt.Errorf("the object's metadata has no JSON form: %w", err)
	}
	if err := json.Unmarshal(data, &metav1.ObjectMeta{}); err != nil {
		return fmt.Errorf("the object's metadata can't be read: %w", err)
	}
	return nil
}

// join returns the path of a file named in a file of dir.
func join(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
