package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/suite"
	"github.com/donewhen/donewhen/provisioner"
)

func newOperationsCommand(s streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "operations",
		Short: "List the operations that bindings may name",
		Long: `Operations prints the catalogue of donewhen-driver's operations: what a binding may
name, the kind that its predicate must be about, the params that the callers give
(a binding gives the others as constants), and how many states of an object the
contract has that the predicate is judged on before it comes into force.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			operations, err := catalogue()
			if err != nil {
				return err
			}
			switch format {
			case formatText:
				return writeOperations(s.out, operations)
			case formatJSON:
				encoder := json.NewEncoder(s.out)
				encoder.SetIndent("", "  ")
				return encoder.Encode(operations)
			}
			return fmt.Errorf("unknown output format %q; there are text and json", format)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", formatText, "`FORMAT` of the list: text or json")
	completeFormats(cmd, formatText, formatJSON)
	return cmd
}

// operationEntry is one operation in the list.
type operationEntry struct {
	Name       string            `json:"name"`
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Resource   string            `json:"resource"`
	Params     map[string]string `json:"params"` // types by name
	Contract   int               `json:"contract"`

	order []engine.OperationParam
}

func catalogue() ([]operationEntry, error) {
	contracts, err := suite.ParseContracts(provisioner.Contracts())
	if err != nil {
		return nil, err
	}
	rows := map[string]int{}
	for _, c := range contracts {
		rows[c.Operation] += c.Rows()
	}
	var list []operationEntry
	for _, o := range provisioner.Operations() {
		entry := operationEntry{
			Name: o.Name, APIVersion: o.Resource.GroupVersion().String(), Kind: o.Kind, Resource: o.Resource.Resource,
			Params: map[string]string{}, Contract: rows[o.Name], order: o.Params,
		}
		for _, p := range o.Params {
			entry.Params[p.Name] = p.Type
		}
		list = append(list, entry)
	}
	return list, nil
}

func writeOperations(out io.Writer, operations []operationEntry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPERATION\tKIND\tPARAMS FROM THE CALLER\tCONTRACT")
	for _, o := range operations {
		var params []string
		for _, p := range o.order {
			params = append(params, p.Name+" "+p.Type)
		}
		if len(params) == 0 {
			params = []string{"-"}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d states\n", o.Name, o.Kind, strings.Join(params, ", "), o.Contract)
	}
	return w.Flush()
}
