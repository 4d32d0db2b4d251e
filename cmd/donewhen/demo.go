package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/donewhen/donewhen/internal/demo"
)

func newDemoCommand(s streams) *cobra.Command {
	options := demo.Options{Out: s.out, Err: s.err, Terminal: isTerminal(s.err)}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Drive volumes through their life, with every part at work",
		Long: `Demo takes volumes through create, publish, stage, expand, unstage, unpublish and
delete by CSI calls to donewhen-driver, with a simulator in Azure's place and a
real API server between them. Half-way it edits the ConfigMap of predicates and
shows that the next calls obey. It ends with what each call took, how much of
that was the engine's own, and which requests were made.

Without --kubeconfig it starts a control plane of its own, which works inside a
clone of the repository; the first time that is built, which takes some minutes.
In a cluster of yours it makes a namespace, a ConfigMap and the CRDs that are
missing, and removes them again.

Exit codes: 0 every volume went through and nothing was left behind · 1 not so ·
2 it couldn't begin.`,
		Example: `  donewhen demo
  donewhen demo --volumes 200 --parallel 50
  donewhen demo --kubeconfig ~/.kube/config --keep`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			executable, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program, which is the simulator too: %w", err)
			}
			options.Executable = executable
			err = demo.Run(cmd.Context(), options)
			if errors.Is(err, demo.ErrIncomplete) {
				return &exitError{code: exitFailed, err: err}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.Volumes, "volumes", demo.DefaultVolumes, "how many volumes go through")
	flags.IntVar(&options.Parallel, "parallel", demo.DefaultParallel, "how many of them at a time")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "the kubeconfig of a cluster to use (default: start a control plane, inside a clone)")
	flags.BoolVar(&options.InCluster, "in-cluster", false, "use the cluster of the pod that this runs in")
	flags.StringVar(&options.Namespace, "namespace", demo.DefaultNamespace, "the namespace to use; it must hold no volumes")
	flags.Uint64Var(&options.Seed, "seed", 1, "decides the simulated latencies")
	flags.Float64Var(&options.LatencyScale, "latency-scale", demo.DefaultLatencyScale, "multiplies the simulated latencies; 1 is as slow as Azure")
	flags.BoolVar(&options.Keep, "keep", false, "leave everything running, and say how to stop it")
	flags.StringVar(&options.Driver, "driver", "", "the program donewhen-driver (default: beside this one, else in the PATH)")
	return cmd
}
