package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

// Fault makes operations of the cloud fail, hang or take a set time. The first
// fault of a list that matches an operation applies to it.
type Fault struct {
	// Operation is the operation that it befalls. A fault of OperationLUN comes
	// before the LUN is known, one of OperationAttach after that.
	Operation Operation `json:"operation"`
	// Volume and Node are prefixes of the names it befalls, whatever their
	// case; empty means any. Create, delete and expand have no node.
	Volume string `json:"volume,omitempty"`
	Node   string `json:"node,omitempty"`
	// Code, Message and Parameters are the AzError that the operation ends
	// with. The code is written as it is, so codes that no AzError should have
	// can be tried too.
	Code       v1beta2.ErrorCode `json:"code,omitempty"`
	Message    string            `json:"message,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	// Stuck operations never end: their object stays as it is until a
	// controller takes the lead again. It goes with no code.
	Stuck bool `json:"stuck,omitempty"`
	// Delay, a Go duration, is the time that the operation takes, instead of a
	// drawn one; the latency scale doesn't apply. Alone it lets it succeed.
	Delay string `json:"delay,omitempty"`
	// Times is how many operations it befalls; 0 means every one.
	Times int `json:"times,omitempty"`

	delay time.Duration
}

// ParseFaults reads a YAML list of faults, or a single one:
//
//	{operation: attach, volume: pvc-1, code: UNAVAILABLE, message: try again, times: 2}
//
// Unknown keys are errors. Safe for concurrent use.
func ParseFaults(document []byte) ([]Fault, error) {
	const want = "read fault (want {operation: create, code: UNAVAILABLE, …} or a list of those): %w"
	var shape any
	if err := yaml.Unmarshal(document, &shape); err != nil {
		return nil, fmt.Errorf(want, err)
	}
	faults := make([]Fault, 1)
	var target any = &faults[0]
	if _, isMap := shape.(map[string]any); !isMap {
		faults, target = nil, &faults
	}
	if err := yaml.UnmarshalStrict(document, target); err != nil {
		return nil, fmt.Errorf(want, err)
	}
	if len(faults) == 0 {
		return nil, fmt.Errorf("read fault: the document holds none")
	}
	for i := range faults {
		if err := faults[i].complete(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	return faults, nil
}

// complete checks the fault and fills in what is derived.
func (f *Fault) complete() error {
	if !slices.Contains(Operations(), f.Operation) {
		return fmt.Errorf("operation %q is unknown, want one of %v", f.Operation, Operations())
	}
	if f.Delay != "" {
		delay, err := time.ParseDuration(f.Delay)
		if err != nil || delay < 0 {
			return fmt.Errorf("delay %q is no duration such as 1500ms", f.Delay)
		}
		f.delay = delay
	}
	failing := f.Code != "" || f.Message != "" || len(f.Parameters) > 0
	switch {
	case f.Stuck && (failing || f.Delay != ""):
		return fmt.Errorf("a stuck operation has neither code, message, parameters nor delay")
	case !f.Stuck && !failing && f.Delay == "":
		return fmt.Errorf("it does nothing: give a code, stuck or a delay")
	case f.Times < 0:
		return fmt.Errorf("times is %d, want 0 (every time) or more", f.Times)
	}
	return nil
}

func (f *Fault) matches(operation Operation, volume, node string) bool {
	return f.Operation == operation &&
		strings.HasPrefix(strings.ToLower(volume), strings.ToLower(f.Volume)) &&
		strings.HasPrefix(strings.ToLower(node), strings.ToLower(f.Node))
}

// azError returns what the operation fails with, nil if it doesn't.
func (f *Fault) azError() error {
	if f.Code == "" && f.Message == "" && len(f.Parameters) == 0 {
		return nil
	}
	return &cloudError{v1beta2.AzError{Code: f.Code, Message: f.Message, Parameters: f.Parameters}}
}

// cloudError is a failure that the cloud reports.
type cloudError struct{ v1beta2.AzError }

func (e *cloudError) Error() string { return string(e.Code) + ": " + e.Message }

// failf makes the failure that the controllers report for a gRPC code.
func failf(code v1beta2.ErrorCode, format string, args ...any) error {
	return &cloudError{v1beta2.AzError{Code: code, Message: fmt.Sprintf(format, args...)}}
}
