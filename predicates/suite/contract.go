package suite

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// Contract is what a program demands of every predicate that a config binds to one
// of its operations: how the operation stands when an object looks so. It is
// immutable and safe for concurrent use.
type Contract struct {
	// Name is the document's name, File the file that it stands in, Operation the
	// operation that it is about.
	Name, File, Operation string

	doc   *document.Document
	rows  []contractRow
	names []string // of what it is about; others may stand in their place
}

// contractRow is one observation and how the operation stands.
type contractRow struct {
	check   // without expect
	is      standing
	usually *Expectation
	because string
	beside  bool // another row with what is alike, or one of a grid
}

// Rows returns the number of observations in the contract.
func (c *Contract) Rows() int { return len(c.rows) }

// ParseContracts reads the Contract documents of all *.yaml files at the root of a
// file system, for example an embed.FS, in the order of their names. The error is
// a *predicates.LoadError with all that is wrong.
func ParseContracts(files fs.FS) ([]*Contract, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the contracts: %w", err)
	}
	var contracts []*Contract
	var problems []predicates.Problem
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read contract %s: %w", name, err)
		}
		read, wrong := parseContracts(predicates.File{Name: name, Data: data}, func(name string) ([]byte, error) { return fs.ReadFile(files, name) })
		contracts, problems = append(contracts, read...), append(problems, wrong...)
	}
	return contracts, loadError(problems)
}

func parseContracts(file predicates.File, read ReadFile) ([]*Contract, []predicates.Problem) {
	text := document.NewText(file.Data)
	documents, findings := document.Read(text)
	var problems []predicates.Problem
	report := func(name string, findings ...document.Finding) {
		for _, f := range findings {
			problems = append(problems, problem(file.Name, text, f, name))
		}
	}
	report("", findings...)
	var contracts []*Contract
	for _, doc := range documents {
		if doc.APIVersion != v1alpha1.APIVersion || doc.Kind != kindContract {
			line, column := doc.Position("kind")
			report("", document.Finding{Line: line, Column: column, Message: fmt.Sprintf("a %s of %s is no contract", doc.Kind, doc.APIVersion)})
			continue
		}
		b := contractBuilder{builder: builder{file: file.Name, doc: doc, names: map[string]bool{}}}
		contract := b.build(read)
		report(kindContract+" "+doc.Name, b.findings...)
		contracts = append(contracts, contract)
	}
	return contracts, problems
}

// contractBuilder makes a Contract of a document and collects what is wrong.
type contractBuilder struct {
	builder
	rows   []contractRow
	alike  []alikeDocument
	beside []contractRow // the rows with what is alike, which come last
}

func (b *contractBuilder) build(read ReadFile) *Contract {
	var written contractDocument
	b.findings = b.doc.Decode(&written)
	contract := &Contract{Name: written.Metadata.Name, File: b.file, Operation: written.Spec.Operation, doc: b.doc}
	if len(b.findings) > 0 {
		return contract
	}
	b.spec = suiteSpec{Objects: written.Spec.Objects}
	b.buildObjects(path.Dir(b.file), read)
	b.buildAlike(written.Spec.Alike)
	for i, c := range written.Spec.Cases {
		b.buildContractCase(c, written.Spec, []any{"spec", "cases", i})
	}
	contract.rows, contract.names = append(b.rows, b.beside...), written.Spec.Names
	return contract
}

func (b *contractBuilder) buildContractCase(c contractCaseDocument, spec contractSpec, at []any) {
	base := check{
		name: c.Name, at: at, operation: spec.Operation,
		params: engine.Params{}, paramsAt: map[string][]any{},
	}
	base.give(spec.Params, []any{"spec", "params"})
	base.give(c.Params, append(slices.Clip(at), "params"))
	if c.Name == "" {
		b.fail(at, "", "the case has no name")
		return
	}
	if !b.observe(caseSpec{Object: c.Object, Absent: c.Absent}, &base) {
		return
	}
	switch {
	case c.Table != nil:
		for i, row := range c.Table {
			at := append(slices.Clip(at), "table", i)
			r := base.copy(row.Name, at)
			r.give(row.Params, append(slices.Clip(at), "params"))
			object, err := change(base.object, row.Merge)
			if err != nil {
				b.fail(append(slices.Clip(at), "merge"), "", "%v", err)
				continue
			}
			r.object = object
			b.row(r, row.Is, append(slices.Clip(at), "is"))
		}
	case c.Sweep != nil:
		b.buildContractSweep(c, base)
	case c.Grid != nil:
		b.buildGrid(c, spec.Axes, base)
	default:
		b.row(base, c.Is, append(slices.Clip(at), "is"))
	}
}

func (b *contractBuilder) buildContractSweep(c contractCaseDocument, base check) {
	at := append(slices.Clip(base.at), "sweep")
	field, err := parsePath(c.Sweep.Path)
	if err != nil {
		b.fail(append(slices.Clip(at), "path"), "", "path %v", err)
		return
	}
	for _, value := range slices.Sorted(maps.Keys(c.Sweep.Is)) {
		r := base.copy(sweepName(value), append(slices.Clip(at), "is", value))
		var set any = value
		if value == sweepAbsent {
			set = nil
		}
		if r.object, err = field.set(base.object, set); err != nil {
			b.fail(append(slices.Clip(at), "path"), "", "path %s can't be set: %v", c.Sweep.Path, err)
			return
		}
		is := c.Sweep.Is[value]
		b.row(r, &is, r.at)
	}
}

// row takes a row, unless something is wrong with it.
func (b *contractBuilder) row(c check, is *standingDocument, at []any) {
	switch {
	case is == nil || is.Standing == "":
		b.fail(at, "one of the standings", "the row doesn't say how the operation stands")
		return
	case !slices.Contains(standings, is.Standing):
		b.fail(at, nearest.Hint(is.Standing, "standings", standings), "standing %q isn't known", is.Standing)
		return
	case b.names[c.name]:
		b.fail(c.at, "", "there are two rows %q", c.name)
		return
	}
	if c.presence == engine.Present {
		if err := checkObject(c.object); err != nil {
			b.fail(c.at, "", "%v", err)
			return
		}
	}
	b.names[c.name] = true
	defer b.rowsAlike(c, is)
	row := contractRow{check: c, is: standing(is.Standing), because: is.Because}
	if is.Usually != nil {
		if row.usually = b.buildExpect(is.Usually, at, append(slices.Clip(at), "usually")); row.usually == nil {
			return
		}
	}
	b.rows = append(b.rows, row)
}
