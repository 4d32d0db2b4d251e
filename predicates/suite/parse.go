package suite

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// Suite is one Suite document, read and with its objects made. It is immutable
// and safe for concurrent use.
type Suite struct {
	// Name is the document's name, File the file that it stands in.
	Name, File string
	// Predicates are the files of the set under test, resolved like every name in
	// a suite: relative to the suite's own file. Empty: the set is given by whoever
	// runs the suite.
	Predicates []string

	doc    *document.Document
	checks []check
	beside bool // the file holds predicates or bindings too
}

// check is one thing to judge: a case, or a row of its table or sweep.
type check struct {
	name string
	at   []any // the place of the case or row in the document

	predicate, operation string // exactly one is given
	predicateAt          []any  // of predicate
	params               engine.Params
	paramsAt             map[string][]any // where each param is given

	presence engine.Presence
	object   map[string]any
	objectAt []any
	expect   *Expectation

	steps []step // of an events case, instead of the five above
}

// Checks returns the number of checks in the suite.
func (s *Suite) Checks() int { return len(s.checks) }

// Parse reads the Suite documents of a file and, through read, every file that
// they name as an object. Documents of other kinds are left alone. Of what is
// wrong, all is reported at once, as a *predicates.LoadError; the suites that
// are returned beside it have nothing wrong with them.
func Parse(file predicates.File, read ReadFile) ([]*Suite, error) {
	text := document.NewText(file.Data)
	documents, findings := document.Read(text)
	var problems []predicates.Problem
	for _, f := range findings {
		problems = append(problems, problem(file.Name, text, f, ""))
	}
	var suites []*Suite
	names := map[string]bool{}
	beside := false
	for _, doc := range documents {
		switch {
		case !ours(doc):
			continue
		case doc.Kind == v1alpha1.KindPredicate, doc.Kind == v1alpha1.KindBinding:
			beside = true
			continue
		case doc.Kind != v1alpha1.KindSuite:
			line, column := doc.Position("kind")
			kinds := []string{v1alpha1.KindSuite, v1alpha1.KindPredicate, v1alpha1.KindBinding}
			problems = append(problems, problem(file.Name, text, document.Finding{
				Line: line, Column: column, Message: fmt.Sprintf("unknown kind %q", doc.Kind), Hint: nearest.Hint(doc.Kind, "kinds", kinds),
			}, ""))
			continue
		}
		b := builder{file: file.Name, doc: doc}
		suite := b.build(read)
		if names[suite.Name] {
			b.fail([]any{"metadata", "name"}, "", "there are two suites %q in this file", suite.Name)
		}
		names[suite.Name] = true
		for _, f := range b.findings {
			problems = append(problems, problem(file.Name, text, f, "Suite "+doc.Name))
		}
		if len(b.findings) == 0 {
			suites = append(suites, suite)
		}
	}
	for _, suite := range suites {
		suite.beside = beside
	}
	return suites, loadError(problems)
}

// ours reports whether a document is of this format, in any version; what has no
// apiVersion counts, because it must be told so.
func ours(doc *document.Document) bool {
	group, _, _ := strings.Cut(v1alpha1.APIVersion, "/")
	return doc.APIVersion == "" || strings.HasPrefix(doc.APIVersion, group+"/")
}

func problem(file string, text *document.Text, f document.Finding, name string) predicates.Problem {
	return predicates.Problem{
		File: file, Line: f.Line, Column: f.Column, Document: name,
		Message: f.Message, Hint: f.Hint, Excerpt: text.Excerpt(f.Line, f.Column),
	}
}

func loadError(problems []predicates.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &predicates.LoadError{Problems: problems}
}

// builder makes a Suite of a document and collects what is wrong with it.
type builder struct {
	file     string
	doc      *document.Document
	findings []document.Finding

	spec    suiteSpec
	objects *objects
	states  map[string][]string // values that a sweep must list, by path
	names   map[string]bool     // of checks, to find those that come twice
	checks  []check
}

func (b *builder) fail(at []any, hint, format string, args ...any) {
	line, column := b.doc.Position(at...)
	finding := document.Finding{Line: line, Column: column, Message: fmt.Sprintf(format, args...), Hint: hint}
	if isDefault(at) && slices.Contains(b.findings, finding) {
		return // found by another case
	}
	b.findings = append(b.findings, finding)
}

func (b *builder) build(read ReadFile) *Suite {
	var written suiteDocument
	b.findings = b.doc.Decode(&written)
	b.spec = written.Spec
	suite := &Suite{Name: written.Metadata.Name, File: b.file, doc: b.doc}
	b.sweepKeys()
	if len(b.findings) > 0 {
		return suite // half-read cases would give errors that aren't there
	}
	if written.APIVersion != v1alpha1.APIVersion {
		b.fail([]any{"apiVersion"}, "write apiVersion: "+v1alpha1.APIVersion, "apiVersion %q isn't known", written.APIVersion)
	}
	if suite.Name == "" {
		b.fail([]any{"metadata"}, "", "the suite has no metadata.name")
	}
	dir := path.Dir(b.file)
	for _, name := range b.spec.Predicates {
		suite.Predicates = append(suite.Predicates, join(dir, name))
	}
	b.buildStates()
	b.buildObjects(dir, read)
	b.names = map[string]bool{}
	for i, c := range b.spec.Cases {
		b.buildCase(c, []any{"spec", "cases", i})
	}
	suite.checks = b.checks
	return suite
}

// buildObjects resolves every named object, so that a broken one is reported
// where it stands and not by each of its users.
func (b *builder) buildObjects(dir string, read ReadFile) {
	b.objects = newObjects(dir, read, b.spec.Objects)
	names := make([]string, 0, len(b.spec.Objects))
	for name := range b.spec.Objects {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		xLine, xColumn := b.doc.KeyPosition("spec", "objects", x)
		yLine, yColumn := b.doc.KeyPosition("spec", "objects", y)
		return slices.Compare([]int{xLine, xColumn}, []int{yLine, yColumn})
	})
	for _, name := range names {
		b.objects.name(name)
		if err := b.objects.failed[name]; err != nil {
			b.failObject([]any{"spec", "objects", name}, err)
		}
	}
}

func (b *builder) failObject(at []any, err error) {
	var named *unknownError
	switch {
	case errors.Is(err, errBroken):
		// It has been reported at its own place.
	case errors.As(err, &named):
		b.fail(at, named.hint, "%v", err)
	default:
		b.fail(at, "", "%v", err)
	}
}

func (b *builder) buildCase(c caseSpec, at []any) {
	if c.Name == "" {
		b.fail(at, "", "the case has no name")
		return
	}
	if !b.supported(c, at) {
		return
	}
	base := check{
		name: c.Name, at: at, predicate: c.Predicate, operation: c.Operation,
		predicateAt: append(slices.Clip(at), "predicate"), params: engine.Params{}, paramsAt: map[string][]any{},
	}
	switch {
	case c.Predicate != "" && c.Operation != "":
		b.fail(at, "remove one of them", "the case names both a predicate and an operation")
		return
	case c.Predicate == "" && c.Operation == "":
		base.predicate, base.predicateAt = b.spec.Defaults.Predicate, []any{"spec", "defaults", "predicate"}
	}
	if base.predicate == "" && base.operation == "" {
		b.fail(at, "name one, or spec.defaults.predicate", "the case names no predicate and no operation")
		return
	}
	base.give(b.spec.Defaults.Params, []any{"spec", "defaults", "params"})
	base.give(c.Params, append(slices.Clip(at), "params"))
	if c.Events != nil {
		b.buildEvents(c, base)
		return
	}
	if !b.observe(c, &base) {
		return
	}
	switch {
	case c.Table != nil:
		b.buildTable(c, base)
	case c.Sweep != nil:
		b.buildSweep(c, base)
	default:
		base.expect = b.buildExpect(c.Expect, at, append(slices.Clip(at), "expect"))
		b.add(base)
	}
}

// supported refuses what doesn't exist yet by name, and contradictions.
func (b *builder) supported(c caseSpec, at []any) bool {
	switch {
	case c.Events != nil && (c.Object != nil || c.Absent != "" || c.Table != nil || c.Sweep != nil || c.Expect != nil):
		b.fail(append(slices.Clip(at), "events"), "make two cases of it", "a case with events has no object, absent, table, sweep or expect of its own")
		return false
	case c.Objects != nil:
		b.fail(append(slices.Clip(at), "objects"), "give one object", "sets of objects aren't supported yet")
		return false
	case c.Object != nil && c.Absent != "":
		b.fail(append(slices.Clip(at), "absent"), "remove one of them", "the case has both an object and an absence")
		return false
	case c.Table != nil && c.Sweep != nil:
		b.fail(append(slices.Clip(at), "sweep"), "make two cases of it", "the case has both a table and a sweep")
		return false
	case (c.Table != nil || c.Sweep != nil) && c.Expect != nil:
		b.fail(append(slices.Clip(at), "expect"), "say it in each row", "a case with a table or a sweep has no expect of its own")
		return false
	case (c.Table != nil || c.Sweep != nil) && c.Absent != "":
		b.fail(append(slices.Clip(at), "absent"), "", "tables and sweeps change an object; an absence has none")
		return false
	}
	return true
}

// observe fills in what the case observes.
func (b *builder) observe(c caseSpec, base *check) bool {
	switch c.Absent {
	case absentNever:
		base.presence = engine.NeverExisted
		return true
	case absentDeleted:
		base.presence = engine.Deleted
		return true
	case "":
	default:
		b.fail(append(slices.Clip(base.at), "absent"), nearest.Hint(c.Absent, "absences", []string{absentNever, absentDeleted}), "absent: %s isn't known", c.Absent)
		return false
	}
	value := c.Object
	base.objectAt = append(slices.Clip(base.at), "object")
	if value == nil {
		value, base.objectAt = b.spec.Defaults.Object, []any{"spec", "defaults", "object"}
	}
	if value == nil {
		b.fail(base.at, "give it object or absent", "the case has nothing to judge")
		return false
	}
	object, err := b.objects.resolve(value)
	if err != nil {
		b.failObject(base.objectAt, err)
		return false
	}
	base.object = object
	return true
}

func (b *builder) buildTable(c caseSpec, base check) {
	table := append(slices.Clip(base.at), "table")
	if len(c.Table) == 0 {
		b.fail(table, "", "the table has no rows")
	}
	for i, row := range c.Table {
		at := append(slices.Clip(table), i)
		if row.Name == "" {
			b.fail(at, "", "the row has no name")
			continue
		}
		r := base.copy(row.Name, at)
		r.give(row.Params, append(slices.Clip(at), "params"))
		object, err := change(base.object, row.Merge)
		if err != nil {
			b.fail(append(slices.Clip(at), "merge"), "", "%v", err)
			continue
		}
		r.object = object
		if row.Merge != nil {
			r.objectAt = append(slices.Clip(at), "merge")
		}
		r.expect = b.buildExpect(row.Expect, at, append(slices.Clip(at), "expect"))
		b.add(r)
	}
}

// add takes the check, unless something is wrong with it.
func (b *builder) add(c check) {
	if c.presence == engine.Present && len(c.steps) == 0 {
		if err := checkObject(c.object); err != nil {
			b.fail(c.objectAt, "", "%v", err)
			return
		}
	}
	if b.names[c.name] {
		b.fail(append(slices.Clip(c.at), "name"), "names say which one has failed", "there are two cases %s", strconv.Quote(c.name))
		return
	}
	b.names[c.name] = true
	if c.expect != nil || len(c.steps) > 0 {
		b.checks = append(b.checks, c)
	}
}

// copy returns the check of a row of the case.
func (c *check) copy(row string, at []any) check {
	r := *c
	r.name, r.at = c.name+"/"+row, at
	r.params, r.paramsAt = engine.Params{}, map[string][]any{}
	for name, value := range c.params {
		r.params[name], r.paramsAt[name] = value, c.paramsAt[name]
	}
	return r
}

// give merges params over those given so far; null takes one back.
func (c *check) give(params map[string]any, at []any) {
	for name, value := range params {
		if value == nil {
			delete(c.params, name)
			delete(c.paramsAt, name)
			continue
		}
		c.params[name], c.paramsAt[name] = value, append(slices.Clip(at), name)
	}
}
