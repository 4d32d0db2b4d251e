package predicates

import (
	"crypto/sha256"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/schemas"
)

// maxSchemaFiles is how many versions of schema files a loader remembers.
const maxSchemaFiles = 64

// schemaFiles are the schemas of files that documents name, by the files' content,
// so that a file that didn't change gives the same schemas at the next load.
type schemaFiles struct {
	mu     sync.Mutex
	parsed map[[sha256.Size]byte]parsedSchemas
}

type parsedSchemas struct {
	known schemas.Known
	err   error
}

func (f *schemaFiles) parse(file File) (schemas.Known, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := sha256.Sum256(file.Data)
	p, ok := f.parsed[key]
	if !ok {
		if f.parsed == nil || len(f.parsed) >= maxSchemaFiles {
			f.parsed = map[[sha256.Size]byte]parsedSchemas{}
		}
		p.known, p.err = schemas.Parse(file.Name, file.Data)
		f.parsed[key] = p
	}
	return p.known, p.err
}

// kinds returns the schemas that the predicate's expressions are checked against,
// one for each apiVersion that has one, and warns of those that have none.
func (b *builder) kinds(l *Loader) []*schemas.Schema {
	m := &b.spec.Match
	place, ok := b.schemaFrom(l)
	if !ok || m.Kind == "" {
		return nil
	}
	var found []*schemas.Schema
	var missing []string
	var failed []error
	for _, version := range m.APIVersions {
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			continue // reported by match
		}
		s := place[gv.WithKind(m.Kind)]
		if s == nil && place == nil {
			s, err = l.schema(gv.WithKind(m.Kind))
		}
		if s == nil {
			missing, failed = append(missing, version+" "+m.Kind), append(failed, err)
			continue
		}
		found = append(found, s)
	}
	if len(missing) > 0 {
		b.withoutSchema(l, place, missing, errors.Join(failed...))
	}
	return found
}

// withoutSchema reports versions of the kind that have no schema: where a file was
// named that is an error, else a warning.
func (b *builder) withoutSchema(l *Loader, place schemas.Known, missing []string, err error) {
	what := strings.Join(missing, " and ")
	if place != nil {
		names := make([]string, 0, len(place))
		for _, kind := range place.Kinds() {
			names = append(names, kind.GroupVersion().String()+" "+kind.Kind)
		}
		b.at([]any{"spec", "match", "schemaFrom", "file"}, "it has "+strings.Join(names, ", "), "spec.match.schemaFrom: the file has no schema of %s", what)
		return
	}
	message := "no schema of " + what + ", so its fields' names aren't checked"
	if err != nil {
		message += ": " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	hint := "name a file with its CRD or OpenAPI v3 document, with spec.match.schemaFrom or --schema"
	if near := l.nearKind(b.spec.Match.APIVersions[0], b.spec.Match.Kind); near != "" {
		hint = near + " else " + hint
	}
	b.noSchema = &warning{path: []any{"spec", "match", "kind"}, message: message, hint: hint}
}

// nearKind asks whether another kind was meant, among those that the loader's
// schemas are of; "" if none is near.
func (l *Loader) nearKind(apiVersion, kind string) string {
	var versions, kinds []string // that have this kind; of this version
	for _, place := range l.schemas {
		place, ok := place.(interface {
			Kinds() []schema.GroupVersionKind
		})
		if !ok {
			continue
		}
		for _, known := range place.Kinds() {
			switch version := known.GroupVersion().String(); {
			case version == apiVersion:
				kinds = append(kinds, known.Kind)
			case known.Kind == kind:
				versions = append(versions, version)
			}
		}
	}
	if near := nearest.Name(apiVersion, versions); near != "" {
		return "did you mean apiVersion \"" + near + "\"?"
	}
	if near := nearest.Name(kind, kinds); near != "" {
		return "did you mean kind \"" + near + "\"?"
	}
	return ""
}

// schemaFrom returns the schemas in the file that the document names, nil if it
// names none; false if they can't be had, which is reported.
func (b *builder) schemaFrom(l *Loader) (schemas.Known, bool) {
	from := b.spec.Match.SchemaFrom
	if from == nil {
		return nil, true
	}
	at := []any{"spec", "match", "schemaFrom", "file"}
	if !b.required(from.File, at...) {
		return nil, false
	}
	file, ok := sibling(b.file, from.File, b.files)
	if !ok {
		names := make([]string, len(b.files))
		for i, f := range b.files {
			names[i] = f.Name
		}
		b.at(at, nearest.Hint(from.File, "files", names), "spec.match.schemaFrom: the source has no file %q", from.File)
		return nil, false
	}
	known, err := l.files.parse(file)
	if err != nil {
		b.at(at, "", "spec.match.schemaFrom: %v", err)
		return nil, false
	}
	return known, true
}

// sibling finds the file that a document in another one names: relative to that
// one's directory, or by the name that the source has for it.
func sibling(from, name string, files []File) (File, bool) {
	for _, candidate := range []string{path.Join(path.Dir(from), name), name} {
		if i := slices.IndexFunc(files, func(f File) bool { return f.Name == candidate }); i >= 0 {
			return files[i], true
		}
	}
	return File{}, false
}

// schemaNames returns the files that predicates among the entries name as their
// schemas: they hold no documents.
func schemaNames(entries []*entry, files []File) map[string]bool {
	names := map[string]bool{}
	for _, e := range entries {
		if e.predicate == nil || e.predicate.Spec.Match.SchemaFrom == nil {
			continue
		}
		if f, ok := sibling(e.file, e.predicate.Spec.Match.SchemaFrom.File, files); ok {
			names[f.Name] = true
		}
	}
	return names
}
