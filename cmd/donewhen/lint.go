package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

type lintOptions struct {
	outputs []string
	schemas []string
	strict  bool
	alone   bool
	gate    bool
}

func newLintCommand(s streams) *cobra.Command {
	var options lintOptions
	cmd := &cobra.Command{
		Use:   "lint FILE|DIR…",
		Short: "Say what is wrong or doubtful in predicates and bindings",
		Long: `Lint loads the Predicate and Binding documents in the files and directories and
prints all errors, and warnings of what is allowed but probably isn't meant, with
their places. They are loaded on top of donewhen-driver's own, as a ConfigMap is.

In a directory, every .yaml and .yml file with such a document counts, below it
too; testdata and what begins with a dot or an underscore is left out. What suites
say, donewhen test shows.

With --gate it also does what donewhen-driver does before predicates come into
force: what is bound to an operation must keep the operation's contract, and the
suites in the files must pass. It says what was judged, and warns if that is
nothing. Exit code 0 then means that the driver would take the documents.

Exit codes: 0 no errors · 2 errors, or something couldn't be read; with --strict,
warnings too.`,
		Example: `  donewhen lint predicates/
  donewhen lint --strict --schema crds/ predicates/
  donewhen lint --gate predicates/
  donewhen lint -o json predicates/ | jq '.problems[].message'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name a file or directory with predicates: donewhen lint DIR")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd.Context(), s, options, args) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&options.outputs, "output", "o", nil, "`FORMAT` of the report: text or json; with =FILE it goes to a file (may be given more than once)")
	schemaFlag(cmd, &options.schemas)
	flags.BoolVar(&options.strict, "strict", false, "exit with 2 on warnings too")
	flags.BoolVar(&options.alone, "alone", false, "load the documents by themselves, not on top of donewhen-driver's own")
	flags.BoolVar(&options.gate, "gate", false, "run the gate too: the contracts of operations, and the suites in the files")
	completeFormats(cmd, formatText, formatJSON)
	cmd.MarkFlagsMutuallyExclusive("alone", "gate")
	return cmd
}

// linted is what lint reports.
type linted struct {
	errors, warnings     []predicates.Problem
	predicates, bindings int
	files                map[string]int    // their order
	gate                 *suite.GateReport // nil: none was run
}

func runLint(ctx context.Context, s streams, options lintOptions, paths []string) error {
	outputs, err := parseOutputs(options.outputs, formatText, formatJSON)
	if err != nil {
		return err
	}
	source, err := readDocuments(paths, options.gate)
	if err != nil {
		return err
	}
	loading, err := withSchemas(options.schemas)
	if err != nil {
		return err
	}
	wasm, closeWasm, err := withWasm()
	if err != nil {
		return err
	}
	defer closeWasm()
	report, err := lint(ctx, withModules(source), options, loading, wasm)
	if err != nil {
		return err
	}
	if !options.gate && len(report.errors) == 0 && report.predicates+report.bindings == 0 {
		return fmt.Errorf("no predicate or binding in %s; suites are run by donewhen test", strings.Join(paths, ", "))
	}
	for _, o := range outputs {
		write := report.writeText
		if o.format == formatJSON {
			write = report.writeJSON
		}
		if err := o.to(s.out, write); err != nil {
			return err
		}
	}
	if len(report.errors) > 0 || options.strict && len(report.warnings) > 0 {
		return failf(exitLoad, "%s", report.count())
	}
	return nil
}

// lint loads the source and returns what is said of it; the error is about the
// program's own documents.
func lint(ctx context.Context, source predicates.Source, options lintOptions, loading ...predicates.LoaderOption) (*linted, error) {
	var sources []predicates.Source
	if !options.alone {
		name, data := provisioner.Defaults()
		sources = append(sources, predicates.Source{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}})
	}
	loader, err := predicates.NewLoader(provisioner.Operations(), loading...)
	if err != nil {
		return nil, err
	}
	sources = append(sources, source)
	set, err := loader.Load(sources...)
	report := &linted{files: map[string]int{}}
	for i, f := range source.Files {
		report.files[f.Name] = i
	}
	var failed *predicates.LoadError
	switch {
	case errors.As(err, &failed):
		report.errors, report.warnings = failed.Problems, failed.Warnings
	case err != nil:
		return nil, err
	default:
		report.warnings = set.Warnings()
		for _, p := range set.Predicates() {
			if origin, _ := set.Origin(p.ID().Name); origin.Source == source.Name {
				report.predicates++
			}
		}
		for _, b := range set.Bindings() {
			if origin, _ := set.BindingOrigin(b); origin.Source == source.Name {
				report.bindings++
			}
		}
		if options.gate {
			if err := report.runGate(ctx, set, sources); err != nil {
				return nil, err
			}
		}
	}
	// The defaults have their own tests.
	report.warnings = slices.DeleteFunc(report.warnings, func(p predicates.Problem) bool { return p.Source != source.Name })
	for i, problem := range report.errors {
		if strings.Contains(problem.Message, "unknown operation ") {
			report.errors[i].Hint = strings.TrimPrefix(problem.Hint+"; "+lintOperations, "; ")
		}
	}
	return report, nil
}

// lintOperations is for those who write another program's predicates.
const lintOperations = "donewhen lint knows donewhen-driver's operations only"

// all returns errors and warnings in the order of the text.
func (l *linted) all() []predicates.Problem {
	all := slices.Concat(l.errors, l.warnings)
	slices.SortStableFunc(all, func(a, b predicates.Problem) int {
		return cmp.Or(cmp.Compare(l.files[a.File], l.files[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return all
}

func (l *linted) count() string {
	return number(len(l.errors), "error") + ", " + number(len(l.warnings), "warning")
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (l *linted) writeText(w io.Writer) error {
	var b strings.Builder
	for _, problem := range l.all() {
		b.WriteString(problem.String() + "\n")
	}
	if len(l.errors) == 0 {
		if l.gate != nil {
			b.WriteString(judgedText(l.gate))
		}
		fmt.Fprintf(&b, "%s and %s can be loaded: %s\n", number(l.predicates, "predicate"), number(l.bindings, "binding"), l.count())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lintReport is the JSON form.
type lintReport struct {
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Problems []lintProblem `json:"problems"`
	Gate     *lintGate     `json:"gate,omitempty"` // with --gate, if the documents can be loaded
}

type lintProblem struct {
	Severity string `json:"severity"` // error or warning
	Source   string `json:"source,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Document string `json:"document,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Excerpt  string `json:"excerpt,omitempty"`
}

func (l *linted) writeJSON(w io.Writer) error {
	report := lintReport{Errors: len(l.errors), Warnings: len(l.warnings), Problems: []lintProblem{}}
	for _, p := range l.all() {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		report.Problems = append(report.Problems, lintProblem{
			Severity: severity, Source: p.Source, File: p.File, Line: p.Line, Column: p.Column,
			Document: p.Document, Message: p.Message, Hint: p.Hint, Excerpt: p.Excerpt,
		})
	}
	if l.gate != nil {
		report.Gate = judgedJSON(l.gate)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(report)
}
