package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/explain"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
	"github.com/donewhen/donewhen/provisioner"
)

// evalOptions are those of eval and explain.
type evalOptions struct {
	sources    []string
	predicate  string
	operation  string
	params     []string
	redact     []string
	schemas    []string
	absent     string
	outputs    []string
	explaining bool
}

// evalCodes is what both commands say about their exit codes.
const evalCodes = `Exit codes: 0 Done · 1 Failed · 2 something couldn't be loaded · 5 Pending. Of several
objects the worst counts: 2 before 1 before 5 before 0.`

func newEvalCommand(s streams) *cobra.Command {
	cmd := newJudgingCommand(s, &evalOptions{})
	cmd.Use = "eval (--predicate NAME|--operation NAME) OBJECT.yaml|-…"
	cmd.Short = "Say of objects in files whether a predicate is done, failed or pending"
	cmd.Long = `Eval judges each object in the files, which are streams of YAML documents, by one
predicate and prints the verdict on a line. "-" is the standard input. A rule that
must hold for a time counts as having held for it; the verdict says so.

Predicates are donewhen-driver's own, and those of --predicates on top of them.

` + evalCodes
	cmd.Example = `  donewhen eval --predicate volume-created volume.yaml
  donewhen eval --predicates rollout.yaml --predicate rollout-complete --param image=app:2 deployment.yaml
  kubectl get deployment web -o yaml | donewhen eval --predicates rollout.yaml --predicate rollout-complete -
  donewhen eval --operation ControllerPublishVolume --param volumeName=v --param nodeName=n --absent deleted`
	return cmd
}

// newJudgingCommand is what eval and explain have in common.
func newJudgingCommand(s streams, options *evalOptions) *cobra.Command {
	cmd := &cobra.Command{
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case options.predicate != "" && options.operation != "":
				return errors.New("give --predicate or --operation, not both: an operation's binding names its predicate")
			case options.predicate == "" && options.operation == "":
				return errors.New("say what to judge by: --predicate NAME, or --operation NAME for the predicate that is bound to it")
			case len(args) == 0 && options.absent == "":
				return fmt.Errorf("name a file with an object, or - for the standard input: donewhen %s --predicate NAME OBJECT.yaml", cmd.Name())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runEval(cmd.Context(), s, options, args) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&options.sources, "predicates", nil, "`FILE|DIR` with predicates and bindings, on top of donewhen-driver's own (may be given more than once)")
	flags.StringVar(&options.predicate, "predicate", "", "judge by the predicate of this `name`")
	flags.StringVar(&options.operation, "operation", "", "judge by the predicate, and with the constants, bound to this `operation`")
	flags.StringArrayVar(&options.params, "param", nil, "a param, as `NAME=VALUE`; lists and maps as YAML (may be given more than once)")
	flags.StringArrayVar(&options.redact, "redact", nil, "`PATH` of a field that must not be shown, like spec.users[*].pin (may be given more than once)")
	schemaFlag(cmd, &options.schemas)
	flags.StringVar(&options.absent, "absent", "", "judge the absence of an object, `never|deleted`: one that never existed, or was there")
	flags.StringArrayVarP(&options.outputs, "output", "o", nil, "`FORMAT` of the output: text or json; with =FILE it goes to a file (may be given more than once)")
	completeJudging(cmd, options)
	return cmd
}

func runEval(ctx context.Context, s streams, options *evalOptions, paths []string) error {
	outputs, err := parseOutputs(options.outputs, formatText, formatJSON)
	if err != nil {
		return err
	}
	wasm, closeWasm, err := withWasm()
	if err != nil {
		return err
	}
	defer closeWasm()
	set, err := loadForEval(options, wasm)
	if err != nil {
		return err
	}
	predicate, params, err := chosen(set, options)
	if err != nil {
		return err
	}
	observations, err := observations(s.in, predicate, options.absent, paths)
	if err != nil {
		return err
	}
	var results []*predicates.Explanation
	for _, o := range observations {
		x, err := predicate.Explain(ctx, o, params)
		if err != nil {
			return fmt.Errorf("predicate %s: %w; give it with --param", predicate.ID().Name, err)
		}
		results = append(results, x)
	}
	for _, o := range outputs {
		if err := o.to(s.out, func(w io.Writer) error { return writeResults(w, results, o.format, options.explaining) }); err != nil {
			return err
		}
	}
	if code := worst(results); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// loadForEval loads the program's own predicates and what is given on top.
func loadForEval(options *evalOptions, more ...predicates.LoaderOption) (*predicates.Set, error) {
	loading, err := withSchemas(options.schemas)
	if err != nil {
		return nil, err
	}
	more = append(more, loading, predicates.WithRedact(options.redact...))
	loader, err := predicates.NewLoader(provisioner.Operations(), more...)
	if err != nil {
		return nil, err
	}
	name, data := provisioner.Defaults()
	sources := []predicates.Source{{Name: "defaults", Files: []predicates.File{{Name: name, Data: data}}}}
	if len(options.sources) > 0 {
		source, err := readDocuments(options.sources, false)
		if err != nil {
			return nil, err
		}
		sources = append(sources, withModules(source))
	}
	return loader.Load(sources...)
}

// chosen returns the predicate to judge by and its params.
func chosen(set *predicates.Set, options *evalOptions) (*predicates.Predicate, engine.Params, error) {
	params, name := engine.Params{}, options.predicate
	var constants engine.Params
	if options.operation != "" {
		binding, err := set.Binding(options.operation)
		if err != nil {
			return nil, nil, err
		}
		name, constants = binding.Predicate.ID().Name, binding.Params
	}
	found, err := set.Predicate(name)
	if err != nil {
		return nil, nil, err
	}
	predicate, ok := found.(*predicates.Predicate)
	if !ok {
		return nil, nil, fmt.Errorf("predicate %s can't explain itself", name)
	}
	for key, value := range constants {
		params[key] = value
	}
	for _, given := range options.params {
		key, text, ok := strings.Cut(given, "=")
		if !ok {
			return nil, nil, fmt.Errorf("--param %q: write it NAME=VALUE", given)
		}
		if _, constant := constants[key]; constant {
			return nil, nil, fmt.Errorf("--param %s: it is a constant of the binding of %s; leave it out, or use --predicate %s", key, options.operation, name)
		}
		if options.operation != "" && callerGives(options.operation, key) && !slices.ContainsFunc(predicate.Params(), func(p predicates.Param) bool { return p.Name == key }) {
			continue // callers give more than a predicate may need
		}
		value, err := predicate.ParseParam(key, text)
		if err != nil {
			return nil, nil, fmt.Errorf("--param: %w", err)
		}
		params[key] = value
	}
	return predicate, params, nil
}

// callerGives reports whether callers of the operation give the param.
func callerGives(operation, param string) bool {
	for _, o := range provisioner.Operations() {
		if o.Name == operation {
			return slices.ContainsFunc(o.Params, func(p engine.OperationParam) bool { return p.Name == param })
		}
	}
	return false
}

// observations returns what the predicate is to judge.
func observations(in io.Reader, predicate *predicates.Predicate, absent string, paths []string) ([]engine.Observation, error) {
	presence, err := presenceOf(absent)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return []engine.Observation{{Ref: engine.Reference{Resource: predicate.Resources()[0], Name: "(any)"}, Presence: presence}}, nil
	}
	objects, err := readObjects(in, paths)
	if err != nil {
		return nil, err
	}
	var out []engine.Observation
	var wrong []error
	for _, object := range objects {
		resource, ok := resourceOf(predicate, object)
		if !ok {
			wrong = append(wrong, fmt.Errorf("predicate %s judges %s, %q is a %s of %s",
				predicate.ID().Name, judges(predicate), object.GetName(), object.GetKind(), object.GetAPIVersion()))
			continue
		}
		o := engine.Observation{
			Ref:      engine.Reference{Resource: resource, Namespace: object.GetNamespace(), Name: object.GetName()},
			Presence: presence, UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		}
		if presence == engine.Present {
			o.Object = object
		}
		out = append(out, o)
	}
	return out, errors.Join(wrong...)
}

func presenceOf(absent string) (engine.Presence, error) {
	switch absent {
	case "":
		return engine.Present, nil
	case "never":
		return engine.NeverExisted, nil
	case "deleted":
		return engine.Deleted, nil
	}
	return engine.Present, fmt.Errorf("--absent %q: it is never (it never existed) or deleted (it was there)", absent)
}

func resourceOf(predicate *predicates.Predicate, object *unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	kind := object.GroupVersionKind()
	for _, resource := range predicate.Resources() {
		if resource.GroupVersion() == kind.GroupVersion() && predicate.Kind() == kind.Kind {
			return resource, true
		}
	}
	return schema.GroupVersionResource{}, false
}

func judges(predicate *predicates.Predicate) string {
	var versions []string
	for _, resource := range predicate.Resources() {
		versions = append(versions, resource.GroupVersion().String())
	}
	return predicate.Kind() + " of " + strings.Join(versions, " and ")
}

// worst returns the exit code of several verdicts.
func worst(results []*predicates.Explanation) int {
	code := exitOK
	for _, x := range results {
		switch {
		case x.Verdict.Verdict == engine.Failed.String():
			code = exitFailed
		case x.Verdict.Verdict == engine.Pending.String() && code == exitOK:
			code = exitPending
		}
	}
	return code
}

// evalReport is the JSON form of both commands.
type evalReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []any  `json:"items"`
}

// evalItem is an item of eval; those of explain have all of an Explanation.
type evalItem struct {
	Object    *explain.Object   `json:"object"`
	Predicate explain.Predicate `json:"predicate"`
	Verdict   explain.Verdict   `json:"verdict"`
}

func writeResults(w io.Writer, results []*predicates.Explanation, format string, explaining bool) error {
	if format == formatJSON {
		report := evalReport{APIVersion: v1alpha1.APIVersion, Kind: "EvalReport", Items: []any{}}
		for _, x := range results {
			if explaining {
				report.Kind = "ExplainReport"
				report.Items = append(report.Items, x)
			} else {
				report.Items = append(report.Items, evalItem{Object: x.Object, Predicate: x.Predicate, Verdict: x.Verdict})
			}
		}
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	for i, x := range results {
		if !explaining {
			if _, err := fmt.Fprintln(w, x.Line()); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := x.WriteText(w); err != nil {
			return err
		}
	}
	return nil
}
