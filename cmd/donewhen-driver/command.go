package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
	"github.com/donewhen/donewhen/provisioner/csi"
)

// options are the command's flags.
type options struct {
	endpoint           string
	kubeconfig         string
	namespace          string
	sources            []sourceSpec
	lastGood           string
	standIns           time.Duration // 0: standInsAfter
	redact             []string
	gate               string
	schemasFromCluster bool
	nodeID             string
	nodeZone           string
	metricsAddress     string
	metricsAddressFile string
	kubeAPIQPS         float32
	verbosity          int
	wasm               wasmOptions
}

func newCommand(log io.Writer) *cobra.Command {
	var opts options
	command := &cobra.Command{
		Use:   "donewhen-driver",
		Short: "Serve CSI through AzVolume and AzVolumeAttachment custom resources",
		Long: `Serve CSI on a unix socket. Each call writes an AzVolume or AzVolumeAttachment and
waits, without polling, until the predicate bound to the operation says done or
failed. Predicates come with the driver; a ConfigMap overrides them by name, and
bindings by operation, while the driver runs. A ConfigMap that is broken, fails its
own suites, or violates the contract of an operation changes nothing.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := opts.complete(); err != nil {
				return err
			}
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(opts.verbosity)))
			return run(klog.NewContext(command.Context(), logger), opts)
		},
	}
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, command.CommandPath())
	})
	flags := command.Flags()
	flags.StringVar(&opts.endpoint, "endpoint", "unix:///run/csi/csi.sock", "the unix socket that CSI is served on")
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "the kubeconfig of the cluster (default: in-cluster configuration)")
	flags.StringVar(&opts.namespace, "namespace", v1beta2.DefaultNamespace, "the namespace of the custom resources and of the ConfigMap")
	addSourceFlags(flags, &opts.sources)
	flags.StringVar(&opts.lastGood, "last-good", "", "a `FILE` that keeps the last good predicates, to serve if those of the sources are wrong, or can't be read, at the next start")
	flags.BoolVar(&opts.schemasFromCluster, "schemas-from-cluster", false, "check predicates against the schemas that the API server serves, and against the driver's own only where it can't be asked")
	flags.StringVar(&opts.gate, "gate", gateOn, "on: only predicates that keep the contracts of their operations, and pass the suites beside them, come into force; off: whatever can be loaded does, and may lose or double-attach disks")
	flags.StringArrayVar(&opts.redact, "redact", nil, "`PATH` of a field of objects that logs and errors must not show, like spec.users[*].pin (may be given more than once)")
	addWasmFlags(flags, &opts.wasm)
	flags.StringVar(&opts.nodeID, "node-id", "", "the name of the node that this driver runs on (default: the host's name)")
	flags.StringVar(&opts.nodeZone, "node-zone", "", "the zone of that node; empty for none")
	flags.StringVar(&opts.metricsAddress, "metrics-address", "127.0.0.1:0", "where /metrics, /waits, /healthz and /readyz are served, to whoever can reach it; port 0 takes a free one; empty for nowhere")
	flags.StringVar(&opts.metricsAddressFile, "metrics-address-file", "", "a file that the address of the metrics is written to")
	flags.Float32Var(&opts.kubeAPIQPS, "kube-api-qps", -1, "requests a second that the driver may make to the API server; negative for no limit")
	flags.IntVarP(&opts.verbosity, "verbosity", "v", 0, "how much is logged: 0 failures and changes, 2 more, 4 each call")
	return command
}

// Values of --gate.
const (
	gateOn  = "on"
	gateOff = "off"
)

// complete fills in what has a default that isn't a constant.
func (o *options) complete() error {
	if o.nodeID == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("take the host's name as the node's: %w; give --node-id", err)
		}
		o.nodeID = strings.ToLower(host)
	}
	if err := csi.CheckEndpoint(o.endpoint); err != nil {
		return fmt.Errorf("--endpoint is wrong: %w", err)
	}
	if problems := validation.IsDNS1123Subdomain(o.nodeID); len(problems) > 0 {
		return fmt.Errorf("--node-id %q can't be the name of an AzDriverNode: %s", o.nodeID, problems[0])
	}
	if o.namespace == "" {
		return fmt.Errorf("--namespace is empty: name the namespace of the custom resources")
	}
	if problems := validation.IsDNS1123Label(o.namespace); len(problems) > 0 {
		return fmt.Errorf("--namespace %q: %s", o.namespace, problems[0])
	}
	if err := checkReports(o.sources); err != nil {
		return err
	}
	if o.gate != gateOn && o.gate != gateOff {
		return fmt.Errorf("--gate is %q: give on or off", o.gate)
	}
	if o.kubeAPIQPS == 0 {
		return fmt.Errorf("--kube-api-qps is 0, at which nothing works: give a positive number, or -1 for no limit")
	}
	return o.wasm.check()
}

// oneLine folds the line breaks of an error.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
