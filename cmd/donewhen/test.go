package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

type testOptions struct {
	outputs    []string
	run        string
	schemas    []string
	allowEmpty bool
	quiet      bool
}

func newTestCommand(s streams) *cobra.Command {
	var options testOptions
	cmd := &cobra.Command{
		Use:   "test FILE|DIR…",
		Short: "Run the suites that predicates come with",
		Long: `Test runs the Suite documents in the files and directories. Each names the files
of the predicates that it tests (spec.predicates), relative to its own.

In a directory, every .yaml and .yml file with a Suite document counts, below it
too; testdata and what begins with a dot or an underscore is left out.

Exit codes: 0 all passed · 1 a case failed · 2 something couldn't be loaded ·
4 nothing ran.`,
		Example: `  donewhen test predicates/
  donewhen test --run 'create-volume/.*C8' provisioner/defaults
  donewhen test -o junit=report.xml predicates/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name a file or directory with suites: donewhen test DIR")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTest(cmd, s, options, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&options.outputs, "output", "o", nil, "`FORMAT` of the report: text, json or junit; with =FILE it goes to a file (may be given more than once)")
	flags.StringVar(&options.run, "run", "", "run only checks whose name (suite/case or suite/case/row) the regular `expression` matches")
	schemaFlag(cmd, &options.schemas)
	flags.BoolVar(&options.allowEmpty, "allow-empty", false, "it is no error if nothing runs")
	completeFormats(cmd, formatText, formatJSON, formatJUnit)
	flags.BoolVarP(&options.quiet, "quiet", "q", false, "in text, leave out what has passed")
	return cmd
}

// otherOperations is for those who test another program's predicates.
const otherOperations = "donewhen test knows donewhen-driver's operations; for another program's, run the suites in a Go test, by suite.NewRunner(operations)"

func runTest(cmd *cobra.Command, s streams, options testOptions, paths []string) error {
	outputs, err := parseOutputs(options.outputs, formatText, formatJSON, formatJUnit)
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
	opts := []suite.Option{suite.WithLoading(loading, wasm)}
	if options.run != "" {
		expression, err := regexp.Compile(options.run)
		if err != nil {
			return fmt.Errorf("--run: %w", err)
		}
		opts = append(opts, suite.WithFilter(expression))
	}
	report := suite.NewRunner(provisioner.Operations(), opts...).Files(cmd.Context(), paths...)
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	for _, o := range outputs {
		if err := o.to(s.out, reportWriter(report, o, options, s.out)); err != nil {
			return err
		}
	}
	for _, warning := range report.Warnings {
		fmt.Fprintln(s.err, warning)
	}
	for _, problem := range report.Problems {
		if strings.Contains(problem.Message, "unknown operation ") {
			problem.Hint = strings.TrimPrefix(problem.Hint+"; "+otherOperations, "; ")
		}
		fmt.Fprintln(s.err, problem)
	}
	return verdict(report, options, paths)
}

func reportWriter(report *suite.Report, o output, options testOptions, standard io.Writer) func(io.Writer) error {
	switch o.format {
	case formatJSON:
		return report.WriteJSON
	case formatJUnit:
		return report.WriteJUnit
	}
	return func(w io.Writer) error {
		return report.WriteText(w, suite.TextOptions{
			Color: o.file == "" && isTerminal(standard), Quiet: options.quiet,
		})
	}
}

// verdict returns what a report means for the exit code.
func verdict(report *suite.Report, options testOptions, paths []string) error {
	passed, failed := report.Count()
	switch {
	case len(report.Problems) == 1:
		return failf(exitLoad, "1 problem kept suites from running")
	case len(report.Problems) > 1:
		return failf(exitLoad, "%d problems kept suites from running", len(report.Problems))
	case failed > 0:
		return failf(exitFailed, "%d of %d checks failed", failed, passed+failed)
	case passed > 0 || options.allowEmpty:
		return nil
	case options.run != "":
		return failf(exitNothing, "nothing ran: no check in %s matches --run %q", strings.Join(paths, ", "), options.run)
	}
	return failf(exitNothing, "nothing ran: no suite with a case in %s; --allow-empty if that is meant", strings.Join(paths, ", "))
}
