package simulator

import (
	"errors"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/provisioner/azuredisk/v1beta2"
)

func TestParseFaults(t *testing.T) {
	for document, want := range map[string]int{
		"{operation: attach, volume: pvc-1, code: UNAVAILABLE, message: 'try again, later', times: 2}":    1,
		"- {operation: create, stuck: true}\n- operation: lun\n  code: NOT_FOUND\n  parameters: {a: b}\n": 2,
		"{operation: delete, delay: 1500ms}": 1,
		"{operation: detach, code: DANGLING_ATTACH, parameters: {currentNode: n1}, node: n, message: m}": 1,
	} {
		faults, err := ParseFaults([]byte(document))
		if err != nil || len(faults) != want {
			t.Errorf("%s: %d faults, error %v; want %d", document, len(faults), err, want)
		}
	}
	for document, want := range map[string]string{
		"":                                 "holds none",
		"[]":                               "holds none",
		"{operation: atach, code: X}":      `operation "atach" is unknown, want one of [create`,
		"{operation: create}":              "does nothing",
		"{operation: create, kode: X}":     `unknown field "kode"`,
		"- {operation: create, kode: X}":   `unknown field "kode"`,
		"text":                             "want {operation: create",
		"{operation: create":               "want {operation: create",
		"{operation: create, delay: soon}": `delay "soon" is no duration`,
		"{operation: create, stuck: true, code: X}":                                 "stuck operation has neither",
		"- {operation: create, code: X}\n- {operation: create, code: X, times: -1}": "fault 2: times is -1",
	} {
		if _, err := ParseFaults([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", document, err, want)
		}
	}
}

// The first fault that matches and isn't used up strikes.
func TestFaultsStrike(t *testing.T) {
	cloud := newCloud(t, CloudOptions{Faults: []Fault{
		{Operation: OperationAttach, Volume: "PVC-1", Node: "n1", Code: "UNAVAILABLE", Times: 2},
		{Operation: OperationAttach, Volume: "pvc-", Code: "ABORTED", Message: "m", Parameters: map[string]string{"a": "b"}},
		{Operation: OperationDelete, Stuck: true},
	}})
	for i, test := range []struct {
		operation    Operation
		volume, node string
		want         v1beta2.ErrorCode
	}{
		{OperationAttach, "pvc-12", "N1", "UNAVAILABLE"},
		{OperationAttach, "pvc-12", "n2", "ABORTED"},
		{OperationLUN, "pvc-12", "n1", ""},
		{OperationAttach, "pvc-1", "n10", "UNAVAILABLE"},
		{OperationAttach, "pvc-1", "n1", "ABORTED"}, // the first is used up
		{OperationAttach, "data", "n1", ""},
	} {
		if err := cloud.perform(t.Context(), test.operation, test.volume, test.node); codeOf(err) != test.want {
			t.Errorf("operation %d: error %v, want code %q", i, err, test.want)
		}
	}
	if err := cloud.perform(t.Context(), OperationDelete, "data", ""); !errors.Is(err, errStuck) {
		t.Errorf("error %v, want it stuck", err)
	}
	if _, err := NewCloud(CloudOptions{Faults: []Fault{{Operation: "x"}}}); err == nil {
		t.Error("a fault that says nothing is accepted")
	}
}

func newCloud(t *testing.T, opts CloudOptions) *Cloud {
	t.Helper()
	cloud, err := NewCloud(opts)
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// codeOf returns the code of a cloud's failure, "" for none.
func codeOf(err error) v1beta2.ErrorCode {
	var failure *cloudError
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}
