package suite

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
)

// places finds where in its sources a set says something.
type places struct {
	set     *predicates.Set
	sources []predicates.Source
}

// problem returns a problem with what is bound to an operation. It stands at the
// rule of the predicate, or, if a config has only bound a predicate of the
// program's own, at the binding.
func (p *places) problem(binding *engine.Binding, rule, message, hint string) predicates.Problem {
	name := binding.Predicate.ID().Name
	at, _ := p.set.Origin(name)
	bound, _ := p.set.BindingOrigin(binding)
	document, path := "Predicate "+name, rulePath(rule)
	if len(p.sources) > 0 && at.Source == p.sources[0].Name && bound.Source != at.Source {
		at, document, path = bound, "Binding "+binding.Name, []any{"spec", "predicate"}
	} else {
		message += fmt.Sprintf(" (bound to %s by %s, %s)", binding.Operation, binding.Name, bound)
	}
	line, column, excerpt := p.find(at, path)
	return predicates.Problem{
		Source: at.Source, File: at.File, Line: line, Column: column,
		Document: document, Message: message, Hint: hint, Excerpt: excerpt,
	}
}

// bindingProblem returns a problem with a field of a binding's spec.
func (p *places) bindingProblem(binding *engine.Binding, field, message, hint string) predicates.Problem {
	at, _ := p.set.BindingOrigin(binding)
	line, column, excerpt := p.find(at, []any{"spec", field})
	return predicates.Problem{
		Source: at.Source, File: at.File, Line: line, Column: column,
		Document: "Binding " + binding.Name, Message: message, Hint: hint, Excerpt: excerpt,
	}
}

// configured reports whether the binding, or its predicate, comes with a config.
func (p *places) configured(binding *engine.Binding) bool {
	at, _ := p.set.Origin(binding.Predicate.ID().Name)
	bound, _ := p.set.BindingOrigin(binding)
	return len(p.sources) > 0 && (at.Source != p.sources[0].Name || bound.Source != p.sources[0].Name)
}

// find returns the position of a path within the document that stands at an origin.
func (p *places) find(at predicates.Origin, path []any) (line, column int, excerpt string) {
	for _, source := range p.sources {
		for _, file := range source.Files {
			if source.Name != at.Source || file.Name != at.File {
				continue
			}
			documents, _ := document.Read(document.NewText(file.Data))
			for _, d := range documents {
				if d.Line == at.Line {
					line, column = d.Position(path...)
					return line, column, d.Excerpt(line, column)
				}
			}
		}
	}
	return at.Line, 1, ""
}

var ruleName = regexp.MustCompile(`^(\w+)\[(\d+)\]$`)

// rulePath returns the path of a rule like "failed[1]" within its document.
func rulePath(rule string) []any {
	m := ruleName.FindStringSubmatch(rule)
	if m == nil {
		return []any{"metadata", "name"}
	}
	i, err := strconv.Atoi(m[2])
	if err != nil {
		return []any{"spec", m[1]}
	}
	return []any{"spec", m[1], i}
}

// reader reads the files that the suites of a source name.
type reader struct {
	source string
	files  map[string]predicates.File
	beside ReadFile
	found  []string // that only beside has
}

func (r *reader) file(name string) ([]byte, error) {
	if f, ok := r.files[name]; ok {
		return f.Data, nil
	}
	if r.beside != nil {
		data, err := r.beside(name)
		if err == nil && !slices.Contains(r.found, name) {
			r.found = append(r.found, name)
		}
		return data, err
	}
	return nil, fmt.Errorf("%s has no %s: write the object into the suite, or name an existing file: %w", r.source, name, fs.ErrNotExist)
}

// warnings names the files that don't come with the source.
func (r *reader) warnings(suite string) []predicates.Problem {
	if len(r.found) == 0 {
		return nil
	}
	return []predicates.Problem{{
		File: suite, Warning: true, Message: "these objects of suites come with no ConfigMap: " + strings.Join(r.found, ", "),
		Hint: "write them into the suite if it is to go into one",
	}}
}

// missing is a name in spec.predicates that the suite's source doesn't have.
func (s *Suite) missing(i int, name string, names []string) predicates.Problem {
	line, column := s.doc.Position("spec", "predicates", i)
	return predicates.Problem{
		File: s.File, Line: line, Column: column, Document: "Suite " + s.Name,
		Message: fmt.Sprintf("the suite's source has no %s", name), Hint: nearest.Hint(name, "files", names),
		Excerpt: s.doc.Excerpt(line, column),
	}
}

// problem returns a failed check as a problem with its file.
func (c *CheckResult) problem(file predicates.File) predicates.Problem {
	why := ""
	if c.Verdict.Message != "" {
		why = ": " + c.Verdict.Message
	}
	return predicates.Problem{
		File: c.File, Line: c.Line, Column: c.Column, Document: "Suite " + c.Suite,
		Message: fmt.Sprintf("case %q fails: %s (predicate %s says %s%s)", c.Name, strings.Join(c.Differences, "; "), c.Predicate, c.Verdict.Decision, why),
		Excerpt: document.NewText(file.Data).Excerpt(c.Line, c.Column),
	}
}
