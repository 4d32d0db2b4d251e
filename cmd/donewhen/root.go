package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	exitOK      = 0
	exitFailed  = 1 // a case failed, or a verdict was Failed
	exitLoad    = 2 // something couldn't be loaded or seen, or the command line is wrong
	exitNothing = 4 // nothing ran
	exitPending = 5 // a verdict was Pending
)

// streams are what a command reads from and writes to.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// commands are the constructors of all commands: a new one is one line here.
func commands() []func(streams) *cobra.Command {
	return []func(streams) *cobra.Command{
		newDemoCommand,
		newEvalCommand,
		newExplainCommand,
		newInspectCommand,
		newLintCommand,
		newOperationsCommand,
		newSchemaCommand,
		newSimulatorCommand,
		newTestCommand,
		newVersionCommand,
	}
}

// exitError is an error with the code that the program ends with. Errors of other
// types end it with exitLoad. Without an err there is nothing to say beyond what
// the command has printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// failf returns an exitError.
func failf(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// run runs the program under the name that it was called by and returns its exit
// code. What went wrong is one line on the error stream.
func run(ctx context.Context, name string, args []string, s streams) int {
	root := newRootCommand(name, s, commands()...)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if errors.As(err, &exit) && exit.err == nil {
		return exit.code
	}
	fmt.Fprintf(s.err, "%s: %v\n", root.DisplayName(), err)
	if exit != nil {
		return exit.code
	}
	return exitLoad
}

// newRootCommand returns the command that holds the others. Installed as
// kubectl-donewhen it calls itself as kubectl does.
func newRootCommand(name string, s streams, commands ...func(streams) *cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "donewhen",
		Short: "Decide when an operation on a Kubernetes object is done, failed or pending",
		Long: `donewhen tests predicates: named conditions that say of a Kubernetes object
whether an operation on it is done, has failed or is still pending.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if strings.HasPrefix(name, "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl donewhen"}
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	for _, command := range commands {
		root.AddCommand(command(s))
	}
	return root
}

// noArguments refuses arguments of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is one argument too many: %s takes none; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", name, near[0])
	}
	return fmt.Errorf("unknown command %q; see %s --help", name, root.CommandPath())
}
