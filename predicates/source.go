package predicates

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// File is one file of documents.
type File struct {
	// Name is a file's path or a ConfigMap's key.
	Name string
	// Data is a stream of YAML documents.
	Data []byte
	// Binary says that Data is no text, but what a document may name: a module.
	Binary bool `json:",omitempty"`
}

// Source is a place that documents come from. One without files is valid.
type Source struct {
	// Name identifies the source, for example "defaults" or
	// "configmap azure-disk-csi/donewhen-predicates".
	Name  string
	Files []File
}

// digest identifies the files' names and bytes.
func (s Source) digest() string {
	h := sha256.New()
	for _, f := range s.Files {
		fmt.Fprintf(h, "%d %d %t ", len(f.Name), len(f.Data), f.Binary)
		h.Write([]byte(f.Name))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Origin says where a document was read.
type Origin struct {
	Source, File string
	Line         int
}

// String returns "source, file:line".
func (o Origin) String() string {
	return Problem{Source: o.Source, File: o.File}.Origin() + fmt.Sprintf(":%d", o.Line)
}

// entry is one document of a source. Exactly one of predicate and binding is set.
type entry struct {
	*document.Document
	source, file string
	files        []File // those of its source
	problems     *problems
	// sound: nothing is wrong with the document as YAML; where something is,
	// looking for fields that it lacks would only report the same again.
	sound     bool
	predicate *v1alpha1.Predicate
	binding   *v1alpha1.Binding
}

func (e *entry) origin() Origin { return Origin{e.source, e.file, e.Line} }

// title names the document in reports.
func (e *entry) title() string {
	return strings.TrimSpace(e.Kind + " " + e.Name)
}

// report adds a problem at a position.
func (e *entry) report(line, column int, message, hint string) {
	e.problems.add(Problem{
		Source: e.source, File: e.file, Line: line, Column: column,
		Document: e.title(), Message: message, Hint: hint, Excerpt: e.Excerpt(line, column),
	})
}

// at adds a problem with the value at the path.
func (e *entry) at(path []any, hint, format string, args ...any) {
	line, column := e.Position(path...)
	e.report(line, column, fmt.Sprintf(format, args...), hint)
}

// key adds a problem with the field at the path as such.
func (e *entry) key(path []any, hint, format string, args ...any) {
	line, column := e.KeyPosition(path...)
	e.report(line, column, fmt.Sprintf(format, args...), hint)
}

// required adds a problem if the value at the path is missing, and reports
// whether it is there.
func (e *entry) required(value string, path ...any) bool {
	if value == "" && e.sound {
		e.at(path, "", "%s is missing", document.Path(path...))
	}
	return value != ""
}

// oneOf fills in a default and adds a problem if the value is none of the words.
func (e *entry) oneOf(value *string, path []any, words ...string) {
	if *value == "" {
		*value = words[0]
	}
	for _, w := range words {
		if *value == w {
			return
		}
	}
	e.at(path, nearest.Hint(*value, "allowed", words), "%s can't be %q", document.Path(path...), *value)
}

// read returns the predicates and bindings of a source. Suites are left to
// package suite, and files that predicates name as their schemas aren't read.
func read(r *document.Reader, s Source, all *problems) []*entry {
	byFile := make([][]*entry, len(s.Files))
	var later []int // files that have no documents, and may be such schemas
	for i, f := range s.Files {
		if f.Binary || isModule(f.Data) {
			continue
		}
		if !bytes.Contains(f.Data, []byte(v1alpha1.APIVersion)) {
			later = append(later, i)
			continue
		}
		byFile[i] = readFile(r, s, f, all)
	}
	if len(later) > 0 {
		named := schemaNames(slices.Concat(byFile...), s.Files)
		for _, i := range later {
			if !named[s.Files[i].Name] {
				byFile[i] = readFile(r, s, s.Files[i], all)
			}
		}
	}
	return slices.Concat(byFile...)
}

func readFile(r *document.Reader, s Source, f File, all *problems) []*entry {
	var entries []*entry
	text := document.NewText(f.Data)
	documents, findings := r.Read(text)
	for _, found := range findings {
		all.add(Problem{
			Source: s.Name, File: f.Name, Line: found.Line, Column: found.Column,
			Message: found.Message, Hint: found.Hint, Excerpt: text.Excerpt(found.Line, found.Column),
		})
	}
	decoded := make([]*entry, len(documents))
	own := make([]*problems, len(documents))
	parallel(len(documents), func(i int) {
		own[i] = &problems{}
		decoded[i] = decode(&entry{Document: documents[i], source: s.Name, file: f.Name, files: s.Files, problems: own[i]})
	})
	for i, e := range decoded {
		for _, problem := range own[i].list {
			all.add(problem)
		}
		if e != nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// decode fills in the entry's predicate or binding; nil if it has none.
func decode(e *entry) *entry {
	kinds := []string{v1alpha1.KindPredicate, v1alpha1.KindBinding, v1alpha1.KindSuite}
	group, _, _ := strings.Cut(v1alpha1.APIVersion, "/")
	switch {
	case e.APIVersion == "":
		e.at([]any{"apiVersion"}, "documents here start with apiVersion: "+v1alpha1.APIVersion, "apiVersion is missing")
		return nil
	case e.APIVersion != v1alpha1.APIVersion && strings.HasPrefix(e.APIVersion, group+"/"):
		e.at([]any{"apiVersion"}, "write "+v1alpha1.APIVersion, "this build doesn't know apiVersion %s", e.APIVersion)
		return nil
	case e.APIVersion != v1alpha1.APIVersion:
		hint := "only documents of " + v1alpha1.APIVersion + " belong here"
		if e.Kind == "ConfigMap" {
			hint = "save each key of its data as a file, and give those"
		}
		e.at([]any{"apiVersion"}, hint, "%s %s is no document of donewhen", e.APIVersion, e.Kind)
		return nil
	}
	var findings []document.Finding
	switch e.Kind {
	case v1alpha1.KindSuite:
		return nil
	case v1alpha1.KindPredicate:
		e.predicate = &v1alpha1.Predicate{}
		findings = e.Decode(e.predicate)
	case v1alpha1.KindBinding:
		e.binding = &v1alpha1.Binding{}
		findings = e.Decode(e.binding)
	case "":
		e.at([]any{"kind"}, nearest.Hint("", "kinds", kinds), "kind is missing")
		return nil
	default:
		e.at([]any{"kind"}, nearest.Hint(e.Kind, "kinds", kinds), "unknown kind %q", e.Kind)
		return nil
	}
	for _, f := range findings {
		e.report(f.Line, f.Column, f.Message, f.Hint)
	}
	e.sound = len(findings) == 0
	return e
}
