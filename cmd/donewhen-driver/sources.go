package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates/source"
	"github.com/donewhen/donewhen/predicates/status"
)

// defaultConfigMap is the source if no flag names one.
const defaultConfigMap = "donewhen-predicates"

// sourceKind is what a flag names a source of.
type sourceKind string

const (
	configMapSource sourceKind = "configmap"
	directorySource sourceKind = "dir"
	fileSource      sourceKind = "file"
)

// sourceSpec is one source, as a flag names it.
type sourceSpec struct {
	kind sourceKind
	name string // of the ConfigMap, or a path
}

// sourceFlag is a flag that adds to the list of sources: all of them together are
// in the order of the command line.
type sourceFlag struct {
	kind  sourceKind
	list  *[]sourceSpec
	given *bool
}

var _ pflag.Value = sourceFlag{}

func (f sourceFlag) Set(value string) error {
	if !*f.given {
		*f.list, *f.given = nil, true
	}
	switch {
	case value == "" && f.kind == configMapSource:
		return nil // none
	case value == "":
		return fmt.Errorf("it names no path")
	case f.kind == configMapSource && len(validation.IsDNS1123Subdomain(value)) > 0:
		return fmt.Errorf("%q can't be the name of a ConfigMap", value)
	}
	spec := sourceSpec{f.kind, value}
	if slices.Contains(*f.list, spec) {
		return fmt.Errorf("%q is given twice", value)
	}
	*f.list = append(*f.list, spec)
	return nil
}

func (f sourceFlag) String() string {
	if f.list == nil {
		return ""
	}
	var names []string
	for _, spec := range *f.list {
		if spec.kind == f.kind {
			names = append(names, spec.name)
		}
	}
	return strings.Join(names, ",")
}

func (sourceFlag) Type() string { return "NAME" }

// addSourceFlags declares the flags of sources.
func addSourceFlags(flags *pflag.FlagSet, list *[]sourceSpec) {
	*list = []sourceSpec{{configMapSource, defaultConfigMap}}
	given := new(bool)
	flags.Var(sourceFlag{configMapSource, list, given}, "predicates-configmap", "a ConfigMap whose predicates and bindings override the driver's own; empty for none. The default goes once any source is given, so name it too if you want both")
	flags.Var(sourceFlag{directorySource, list, given}, "predicates-dir", "a `DIRECTORY` of predicates and bindings, for example a mounted ConfigMap; in place of the default ConfigMap")
	flags.Var(sourceFlag{fileSource, list, given}, "predicates-file", "a `FILE` of predicates and bindings in place of the default ConfigMap (sources may be given more than once, and mixed; later ones override earlier ones)")
}

// checkReports refuses a source that is the report about another one.
func checkReports(specs []sourceSpec) error {
	for _, spec := range specs {
		report := sourceSpec{configMapSource, status.ReportName(spec.name)}
		if spec.kind == configMapSource && slices.Contains(specs, report) {
			return fmt.Errorf("--predicates-configmap %s is where the driver reports about %s: name another one", report.name, spec.name)
		}
	}
	return nil
}

// reportSources says once which sources there are: that a flag has replaced the default
// ConfigMap is otherwise found out when an edit of it has no effect.
func reportSources(logger klog.Logger, specs []sourceSpec, names []string) {
	if len(names) == 0 {
		logger.Info("No source of predicates: the driver's own serve, and nothing changes them")
		return
	}
	logger.Info("Predicates and bindings come from these sources, later ones override earlier ones", "sources", append([]string{defaultsName}, names...))
	if !slices.Contains(specs, sourceSpec{configMapSource, defaultConfigMap}) {
		logger.Info("The default ConfigMap is no source, since others are given: name it with --predicates-configmap to have it too", "configMap", defaultConfigMap)
	}
}

// reportMissing says of paths that they aren't there: that is the same as empty, and may
// also be a volume that isn't mounted.
func reportMissing(logger klog.Logger, specs []sourceSpec) {
	for _, spec := range specs {
		if spec.kind == configMapSource {
			continue
		}
		if _, err := os.Stat(spec.name); errors.Is(err, fs.ErrNotExist) {
			logger.Info("A path of predicates isn't there: it is taken for empty, and is read when it comes", "path", spec.name)
		}
	}
}

// newSources makes the sources, and returns those of them that are reported about
// as well.
func newSources(client kubernetes.Interface, opts options, readable func(name string) []source.Option) (all []source.Watched, reported []status.ConfigMap) {
	for _, spec := range opts.sources {
		switch spec.kind {
		case configMapSource:
			configMap := source.NewConfigMap(client, opts.namespace, spec.name, readable("configmap "+opts.namespace+"/"+spec.name)...)
			all, reported = append(all, configMap), append(reported, configMap)
		case directorySource:
			all = append(all, source.NewDirectory(spec.name, readable("directory "+filepath.Clean(spec.name))...))
		case fileSource:
			all = append(all, source.NewFile(spec.name, readable("file "+filepath.Clean(spec.name))...))
		}
	}
	return all, reported
}
