package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/internal/controlplane"
	"github.com/donewhen/donewhen/provisioner/azuredisk/client/versioned"
	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/simulator"
)

type simulatorOptions struct {
	kubeconfig    string
	namespace     string
	cloud         simulator.CloudOptions
	workers       int
	faults        []string
	faultFiles    []string
	readyFile     string
	inventoryFile string
	verbosity     int
}

func newSimulatorCommand(s streams) *cobra.Command {
	var options simulatorOptions
	cmd := &cobra.Command{
		Use:    "simulator",
		Short:  "Play the Azure side over AzVolumes and AzVolumeAttachments",
		Hidden: true,
		Long: `Simulator plays the Azure side's controllers over a simulated cloud until it is
asked to end (SIGTERM). What it makes of an AzVolume is no disk.`,
		Example: `  donewhen simulator --kubeconfig FILE --fault '{operation: attach, volume: pvc-1, code: UNAVAILABLE, times: 1}'`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSimulator(cmd.Context(), s, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.kubeconfig, "kubeconfig", "", "the kubeconfig of the cluster (default: in-cluster configuration)")
	flags.StringVar(&options.namespace, "namespace", v1beta2.DefaultNamespace, "the namespace of the custom resources")
	flags.Uint64Var(&options.cloud.Seed, "seed", 1, "decides the latencies: the same seed draws the same ones")
	flags.Float64Var(&options.cloud.LatencyScale, "latency-scale", 1, "multiplies the latencies; 1 is as slow as Azure, 0 takes no time")
	flags.IntVar(&options.cloud.DisksPerNode, "disks-per-node", simulator.DefaultDisksPerNode, "how many disks a node takes")
	flags.IntVar(&options.workers, "workers", simulator.DefaultWorkers, "how many volumes, and how many attachments, are worked on at the same time")
	flags.StringArrayVar(&options.faults, "fault", nil, "a fault as YAML: {operation: create, volume: prefix, code: CODE, message: …, times: 1}, stuck: true or delay: 3s (may be given more than once)")
	flags.StringArrayVar(&options.faultFiles, "faults", nil, "a `file` with a YAML list of faults (may be given more than once)")
	flags.StringVar(&options.readyFile, "ready-file", "", "a file to make once the controllers work")
	flags.StringVar(&options.inventoryFile, "inventory-file", "", "a file to write what is in the cloud to at the end, as JSON")
	flags.IntVarP(&options.verbosity, "verbosity", "v", 0, "how much is logged: 0 failures, 2 each operation")
	return cmd
}

func runSimulator(ctx context.Context, s streams, options simulatorOptions) (err error) {
	if options.cloud.Faults, err = readFaults(options); err != nil {
		return err
	}
	if options.workers < 1 {
		return fmt.Errorf("--workers is %d, want 1 or more", options.workers)
	}
	cloud, err := simulator.NewCloud(options.cloud)
	if err != nil {
		return err
	}
	client, err := simulatorClient(options.kubeconfig)
	if err != nil {
		return err
	}
	azure, err := simulator.New(client, cloud, simulator.Options{
		Namespace: options.namespace,
		Workers:   options.workers,
		Logger:    textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(s.err), textlogger.Verbosity(options.verbosity))),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- azure.Run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-azure.Ready():
	}
	if options.readyFile != "" {
		if err := os.WriteFile(options.readyFile, nil, 0o644); err != nil {
			cancel()
			return errors.Join(fmt.Errorf("--ready-file: %w", err), <-done)
		}
	}
	fmt.Fprintf(s.out, "simulating the Azure side in namespace %s\n", options.namespace)
	if err := <-done; err != nil || options.inventoryFile == "" {
		return err
	}
	inventory, err := json.MarshalIndent(cloud.Inventory(), "", "  ")
	if err != nil {
		return fmt.Errorf("--inventory-file: %w", err)
	}
	if err := os.WriteFile(options.inventoryFile, append(inventory, '\n'), 0o644); err != nil {
		return fmt.Errorf("--inventory-file: %w", err)
	}
	return nil
}

func readFaults(options simulatorOptions) ([]simulator.Fault, error) {
	var faults []simulator.Fault
	for _, file := range options.faultFiles {
		document, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--faults: %w", err)
		}
		parsed, err := simulator.ParseFaults(document)
		if err != nil {
			return nil, fmt.Errorf("--faults %s: %w", file, err)
		}
		faults = append(faults, parsed...)
	}
	for _, document := range options.faults {
		parsed, err := simulator.ParseFaults([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("--fault %s: %w", document, err)
		}
		faults = append(faults, parsed...)
	}
	return faults, nil
}

// simulatorClient makes a client without client-side throttling.
func simulatorClient(kubeconfig string) (versioned.Interface, error) {
	config, err := clusterConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	rest.AddUserAgent(config, "donewhen-simulator")
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", config.Host, err)
	}
	return client, nil
}

func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return controlplane.LoadConfig(kubeconfig)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("no --kubeconfig was given and this isn't a pod: %w", err)
	}
	return config, nil
}
