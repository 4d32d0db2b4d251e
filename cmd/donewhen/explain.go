package main

import "github.com/spf13/cobra"

func newExplainCommand(s streams) *cobra.Command {
	cmd := newJudgingCommand(s, &evalOptions{explaining: true})
	cmd.Use = "explain (--predicate NAME|--operation NAME) OBJECT.yaml|-…"
	cmd.Short = "Say why a predicate's verdict on objects in files is what it is"
	cmd.Long = `Explain judges like eval and shows what led to each verdict: what the policies on
absence, deletion and generations said, and each rule as a tree of its
sub-expressions with their values, the parts that decided first. Of exists, all,
filter and map it shows the elements that decided.

  ✓ true    ✗ false    ? data is missing    ! it can't be evaluated    · another value

Values are cut where they are long. What Secrets hold, keys that look like passwords
or tokens, params declared sensitive and the fields of --redact are shown as •••, and
so is all that was computed from them, except whether a condition is true.

` + evalCodes
	cmd.Example = `  donewhen explain --predicate volume-created volume.yaml
  kubectl get deployment web -o yaml | donewhen explain --predicates rollout.yaml --predicate rollout-complete -
  donewhen explain -o json --operation ControllerPublishVolume --param volumeName=v --param nodeName=n attachment.yaml`
	return cmd
}
