package predicates

import (
	"slices"

	"github.com/donewhen/donewhen/predicates/internal/document"
)

// warning is what a compiled predicate's document is warned about. It names its
// place by path, not by line: the same content may stand elsewhere in the next set.
type warning struct {
	path []any
	// key: it is about the field's name.
	key bool
	// line and column count within the expression at the path; 0 means the value
	// as a whole.
	line, column  int
	message, hint string
}

// warn notes a warning about the value at the path.
func (b *builder) warn(path []any, hint, message string) {
	b.warnings = append(b.warnings, warning{path: slices.Clone(path), message: message, hint: hint})
}

// warnKey notes a warning about the field at the path as such.
func (b *builder) warnKey(path []any, hint, message string) {
	b.warnings = append(b.warnings, warning{path: slices.Clone(path), key: true, message: message, hint: hint})
}

// warnWithin notes a warning about a place in the expression at the path.
func (b *builder) warnWithin(path []any, line, column int, hint, message string) {
	b.warnings = append(b.warnings, warning{path: slices.Clone(path), line: line, column: column, message: message, hint: hint})
}

// warnAll reports a predicate's warnings where its document stands now.
func (e *entry) warnAll(warnings []warning) {
	for _, w := range warnings {
		line, column := e.Position(w.path...)
		switch {
		case w.key:
			line, column = e.KeyPosition(w.path...)
		case w.line > 0:
			line, column = e.Within(w.line, w.column, w.path...)
		}
		e.problems.warn(Problem{
			Source: e.source, File: e.file, Line: line, Column: column, Document: e.title(),
			Message: document.Path(w.path...) + ": " + w.message, Hint: w.hint,
			Excerpt: e.Excerpt(line, column), Warning: true,
		})
	}
}

// strictError makes errors of warnings.
func strictError(warnings []Problem) error {
	list := slices.Clone(warnings)
	for i := range list {
		list[i].Warning = false
	}
	return &LoadError{Problems: list}
}
