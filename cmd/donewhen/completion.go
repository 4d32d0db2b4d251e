package main

import (
	"github.com/spf13/cobra"

	"github.com/donewhen/donewhen/provisioner"
)

// completeFlag has the shell complete a flag's values. An error would be a flag
// that doesn't exist, which is the program's mistake and seen by its tests.
func completeFlag(cmd *cobra.Command, flag string, values func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFormats is completeFlag for --output.
func completeFormats(cmd *cobra.Command, formats ...string) {
	completeFlag(cmd, "output", func() []string { return formats })
}

// completeJudging is for the flags of eval and explain. Predicates are those that
// --predicates, as far as it is on the command line already, and the driver have.
func completeJudging(cmd *cobra.Command, options *evalOptions) {
	completeFormats(cmd, formatText, formatJSON)
	completeFlag(cmd, "absent", func() []string { return []string{"never", "deleted"} })
	completeFlag(cmd, "operation", func() []string {
		var names []string
		for _, o := range provisioner.Operations() {
			names = append(names, o.Name)
		}
		return names
	})
	completeFlag(cmd, "predicate", func() []string {
		set, err := loadForEval(options)
		if err != nil {
			return nil
		}
		var names []string
		for _, p := range set.Predicates() {
			names = append(names, p.ID().Name)
		}
		return names
	})
}
