package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/predicates/wasm"
)

type inspectOptions struct {
	outputs  []string
	object   string
	settings string
	params   []string
}

func newInspectCommand(s streams) *cobra.Command {
	var options inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect MODULE",
		Short: "Say what a WebAssembly module is, and what it needs",
		Long: `Inspect loads a WebAssembly module, gzipped or not, as a predicate does, and prints
its sha256 (what spec.wasm.sha256 pins), its size, its memory, what it imports and
exports, and whether every evaluation needs an instance of its own. With --object it
asks the module about a sample, with the greatest limits that a predicate can set,
and prints the answer and the fuel that it took.

Exit codes: 0 it can be loaded · 1 it refuses the settings and params, or gave no
answer about the sample · 2 it can't be loaded, or something couldn't be read.`,
		Example: `  donewhen inspect attached.wasm
  donewhen inspect --object attachment.yaml --param until=Attached attached.wasm
  donewhen inspect -o json attached.wasm | jq -r .sha256`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one module: donewhen inspect MODULE.wasm")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runInspect(cmd.Context(), s, options, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&options.outputs, "output", "o", nil, "`FORMAT` of the report: text or json; with =FILE it goes to a file (may be given more than once)")
	flags.StringVar(&options.object, "object", "", "`FILE` with a sample object to ask about; - is the standard input")
	flags.StringVar(&options.settings, "settings", "", "`FILE` with the settings, as spec.wasm.settings has them")
	flags.StringArrayVar(&options.params, "param", nil, "a param, as `NAME=VALUE`; values as YAML, so a string of digits is 'lun=\"3\"' (may be given more than once)")
	return cmd
}

// inspected is what inspect reports.
type inspected struct {
	Module   string   `json:"module"`
	SHA256   string   `json:"sha256"`
	Size     int      `json:"size"`
	FileSize int      `json:"fileSize"`
	ABI      string   `json:"abi"`
	Memory   int64    `json:"memory"`
	Fresh    []string `json:"freshInstanceBecause,omitempty"`
	Imports  []extern `json:"imports"`
	Exports  []extern `json:"exports"`
	Sample   *sample  `json:"sample,omitempty"`
}

type extern struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// sample is the answer about an object, or why there is none.
type sample struct {
	Decision string `json:"decision,omitempty"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message,omitempty"`
	Fuel     int64  `json:"fuel,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Error    string `json:"error,omitempty"`
}

func runInspect(ctx context.Context, s streams, options inspectOptions, path string) error {
	outputs, err := parseOutputs(options.outputs, formatText, formatJSON)
	if err != nil {
		return err
	}
	use, document, err := options.read(s.in)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("can't read the module: %w", err)
	}
	runtime, err := wasm.New(wasm.WithModuleSize(wasm.MaxModuleSize))
	if err != nil {
		return err
	}
	defer func() { _ = runtime.Close() }()
	module, err := runtime.Load(ctx, binary, "")
	if err != nil {
		return fmt.Errorf("%s: %s: %w", path, wasm.ReasonOf(err), err)
	}
	defer module.Close()
	report := describeModule(path, len(binary), module)
	guest, err := module.Guest(ctx, use)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", path, wasm.ReasonOf(err), err)
	}
	if options.object != "" || options.settings != "" || len(options.params) > 0 {
		report.Sample = ask(ctx, guest, document)
	}
	for _, o := range outputs {
		write := report.text
		if o.format == formatJSON {
			write = report.json
		}
		if err := o.to(s.out, write); err != nil {
			return err
		}
	}
	if report.Sample != nil && report.Sample.Error != "" {
		return &exitError{code: exitFailed}
	}
	return nil
}

// read reads what the module is to be asked about.
func (o inspectOptions) read(in io.Reader) (wasm.Use, *wasm.Document, error) {
	use := wasm.Use{Limits: wasm.Limits{Fuel: wasm.MaxFuel, Memory: wasm.MaxMemory}}
	document := &wasm.Document{Params: map[string]any{}}
	if o.settings != "" {
		data, err := os.ReadFile(o.settings)
		if err != nil {
			return use, nil, fmt.Errorf("can't read the settings: %w", err)
		}
		if err := fromYAML(data, &use.Settings); err != nil {
			return use, nil, fmt.Errorf("%s: the settings must be a map: %w", o.settings, err)
		}
	}
	for _, given := range o.params {
		name, text, ok := strings.Cut(given, "=")
		if !ok {
			return use, nil, fmt.Errorf("--param %q: write it NAME=VALUE", given)
		}
		var value any
		if err := fromYAML([]byte(text), &value); err != nil {
			return use, nil, fmt.Errorf("--param %s: %w", name, err)
		}
		document.Params[name] = value
	}
	if o.object == "" {
		return use, document, nil
	}
	objects, err := readObjects(in, []string{o.object})
	if err != nil {
		return use, nil, err
	}
	if len(objects) != 1 {
		return use, nil, fmt.Errorf("%s has %d objects; one is asked about", o.object, len(objects))
	}
	document.Object = objects[0]
	return use, document, nil
}

// fromYAML reads a value as guests see it: whole numbers are int64.
func fromYAML(data []byte, into any) error {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, into)
}

func describeModule(path string, fileSize int, m *wasm.Module) *inspected {
	report := &inspected{
		Module: path, SHA256: m.Digest(), Size: m.Size(), FileSize: fileSize,
		ABI: fmt.Sprintf("dw_abi_v%d", wasm.Version), Memory: m.StartMemory(), Fresh: m.Because(),
		Imports: []extern{}, Exports: []extern{},
	}
	for _, e := range m.Imports() {
		report.Imports = append(report.Imports, extern{e.Module + "." + e.Name, e.Type})
	}
	for _, e := range m.Exports() {
		report.Exports = append(report.Exports, extern{e.Name, e.Type})
	}
	return report
}

// ask has the guest check settings and params, and asks it about the object, if
// there is one.
func ask(ctx context.Context, guest *wasm.Guest, document *wasm.Document) *sample {
	err := guest.Validate(ctx, document.Params)
	var result wasm.Result
	if object, ok := document.Object.(*unstructured.Unstructured); err == nil && ok && object != nil {
		if result, err = guest.Evaluate(ctx, document, true); err == nil {
			decision := map[wasm.Decision]string{wasm.Pending: "Pending", wasm.Done: "Done", wasm.Failed: "Failed"}[result.Decision]
			return &sample{Decision: decision, Code: result.Code, Message: result.Message, Fuel: result.Fuel}
		}
	}
	if err != nil {
		return &sample{Reason: string(wasm.ReasonOf(err)), Error: err.Error()}
	}
	return &sample{Decision: "Accepted"}
}

// Bounds of what is delivered in a ConfigMap.
const (
	configMapSize  = 1 << 20 // of all that it holds
	annotationSize = 190_000 // what is left of 256 KiB once it is written in base64
)

// configMapHint says what is to be known of a file of that size in a ConfigMap.
func configMapHint(size int) string {
	switch {
	case size > configMapSize:
		return "too big for a ConfigMap, which holds 1 MiB in all: gzip it, or deliver it as a file, such as one of an image volume"
	case size > annotationSize:
		return "in a ConfigMap with kubectl apply --server-side: without, apply fails, as the annotation that it writes is too big"
	}
	return ""
}

func (i *inspected) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(i)
}

func (i *inspected) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: a predicate that speaks %s\n", i.Module, i.ABI)
	fmt.Fprintf(&b, "  sha256   %s\n", i.SHA256)
	fmt.Fprintf(&b, "  size     %d bytes", i.Size)
	if i.FileSize != i.Size {
		fmt.Fprintf(&b, ", %d gzipped", i.FileSize)
	}
	if i.Size > wasm.DefaultModuleSize {
		b.WriteString(", which needs donewhen-driver --wasm-module-size")
	}
	fmt.Fprintf(&b, "\n  memory   %d KiB at the start", i.Memory>>10)
	if i.Memory > wasm.DefaultMemory {
		b.WriteString(", which needs spec.limits.memory")
	}
	b.WriteString("\n")
	if hint := configMapHint(i.FileSize); hint != "" {
		fmt.Fprintf(&b, "  delivery %s\n", hint)
	}
	if len(i.Fresh) == 0 {
		b.WriteString("  instance used again: its memory and globals are put back after each evaluation\n")
	} else {
		fmt.Fprintf(&b, "  instance a fresh one for each evaluation, because of %s, which can't be put back\n", strings.Join(i.Fresh, ", "))
	}
	for _, list := range []struct {
		title   string
		externs []extern
	}{{"imports", i.Imports}, {"exports", i.Exports}} {
		fmt.Fprintf(&b, "  %s\n", list.title)
		for _, e := range list.externs {
			fmt.Fprintf(&b, "    %s %s\n", e.Name, e.Type)
		}
		if len(list.externs) == 0 {
			b.WriteString("    none\n")
		}
	}
	if s := i.Sample; s != nil {
		switch {
		case s.Error != "":
			fmt.Fprintf(&b, "  sample   no answer: %s: %s\n", s.Reason, s.Error)
		case s.Decision == "Accepted":
			b.WriteString("  sample   settings and params are accepted\n")
		default:
			fmt.Fprintf(&b, "  sample   %s, for %d units of fuel", s.Decision, s.Fuel)
			for _, words := range []string{s.Code, s.Message} {
				if words != "" {
					fmt.Fprintf(&b, "; %s", words)
				}
			}
			if s.Fuel > wasm.DefaultFuel {
				b.WriteString("; it needs spec.limits.fuel")
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
