package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.out, version())
			return err
		},
	}
}

// version says what was built, of which commit, and by what.
func version() string {
	text, commit, modified := "(devel)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			text = info.Main.Version
		}
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = " commit " + setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				modified = " (modified)"
			}
		}
	}
	return fmt.Sprintf("donewhen %s%s%s %s %s/%s", text, commit, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
