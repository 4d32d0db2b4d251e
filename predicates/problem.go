package predicates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxProblems bounds a report; a file that isn't meant for us at all would fill
// a log otherwise.
const maxProblems = 200

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Source and File say where it stands: File is a path or a ConfigMap's key.
	Source, File string
	// Line and Column count from 1, columns in characters. They are 0 if the
	// problem has no one place.
	Line, Column int
	// Document is the kind and name of the document, empty where unknown.
	Document string
	// Message says what is wrong, Hint what to do about it.
	Message, Hint string
	// Excerpt is the line, and below it a caret at the column.
	Excerpt string
	// Warning: the document is loaded all the same.
	Warning bool
}

// Origin returns where the problem stands: "source, file:line:column".
func (p Problem) Origin() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	switch {
	case p.Source == "":
		return at
	case at == "":
		return p.Source
	}
	return p.Source + ", " + at
}

// Summary returns the problem on one line, without its excerpt.
func (p Problem) Summary() string {
	var b strings.Builder
	if at := p.Origin(); at != "" {
		b.WriteString(at + ": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Document != "" {
		b.WriteString(p.Document + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// String returns the problem with its excerpt.
func (p Problem) String() string {
	if p.Excerpt == "" {
		return p.Summary()
	}
	return p.Summary() + "\n" + p.Excerpt
}

// LoadError is all that keeps documents from being loaded, in the order of
// sources, files and lines.
type LoadError struct {
	Problems []Problem
	// Warnings are about what could be compiled all the same.
	Warnings []Problem
	// Refused: the documents can be loaded, but a Store's gate refuses the set.
	Refused bool
}

// Error returns every problem with its excerpt, each starting on a line of its own.
func (e *LoadError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong while sources are loaded.
type problems struct {
	list, warnings          []Problem
	dropped, droppedWarning int
}

func (p *problems) add(problem Problem) {
	problem.Document, problem.Message, problem.Hint = bounded(problem.Document), bounded(problem.Message), bounded(problem.Hint)
	if len(p.list) >= maxProblems {
		p.dropped++
		return
	}
	p.list = append(p.list, problem)
}

// maxText bounds what a problem quotes of a document: a name may be as long as
// the file.
const maxText = 2048

func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// warn adds a warning.
func (p *problems) warn(problem Problem) {
	if len(p.warnings) >= maxProblems {
		p.droppedWarning++
		return
	}
	p.warnings = append(p.warnings, problem)
}

// err returns what was collected as a *LoadError, or nil.
func (p *problems) err(sources []Source) error {
	if len(p.list) == 0 {
		return nil
	}
	sortProblems(p.list, sources)
	if p.dropped > 0 {
		p.list = append(p.list, Problem{Message: fmt.Sprintf("%d more problems aren't shown", p.dropped)})
	}
	return &LoadError{Problems: p.list, Warnings: p.sortedWarnings(sources)}
}

// sortedWarnings returns the warnings that were collected.
func (p *problems) sortedWarnings(sources []Source) []Problem {
	sortProblems(p.warnings, sources)
	if p.droppedWarning == 0 {
		return p.warnings
	}
	return append(p.warnings, Problem{Message: fmt.Sprintf("%d more warnings aren't shown", p.droppedWarning), Warning: true})
}

// sortProblems puts problems, which are found in several passes, into the order
// of the text.
func sortProblems(list []Problem, sources []Source) {
	rank := map[[2]string]int{}
	for _, s := range sources {
		for _, f := range s.Files {
			rank[[2]string{s.Name, f.Name}] = len(rank)
		}
	}
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(rank[[2]string{a.Source, a.File}], rank[[2]string{b.Source, b.File}]),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// take adds an entry's own problems, and those it gets from now on.
func (p *problems) take(e *entry) {
	own := e.problems
	e.problems = p
	for _, problem := range own.list {
		p.add(problem)
	}
	for _, warning := range own.warnings {
		p.warn(warning)
	}
	p.dropped += own.dropped
	p.droppedWarning += own.droppedWarning
}
