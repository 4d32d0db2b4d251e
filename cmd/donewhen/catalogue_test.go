package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSchemaAndOperations(t *testing.T) {
	for _, row := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"schema"}, exitOK, `"const": "Suite"`},
		{[]string{"schema", "predicate"}, exitOK, `"onTerminating"`},
		{[]string{"schema", "binding"}, exitOK, `"inFlight"`},
		{[]string{"schema", "suite"}, exitOK, `"sweep"`},
		{[]string{"schema", "pod"}, exitLoad, "there are donewhen, predicate, binding, suite"},
		{[]string{"operations"}, exitOK, "NodeStageVolume            AzVolumeAttachment  volumeName string, nodeName string, lun string  "},
		{[]string{"operations", "-o", "json"}, exitOK, `"requiredBytes": "int"`},
		{[]string{"operations", "-o", "yaml"}, exitLoad, "there are text and json"},
	} {
		code, out, errs := execute(t.Context(), row.args...)
		if code != row.code || !strings.Contains(out+errs, row.want) {
			t.Errorf("%v: exit code %d, %q isn't in it:\n%s%s", row.args, code, row.want, out, errs)
		}
		if row.code == exitOK && strings.HasPrefix(out, "{") && !json.Valid([]byte(out)) {
			t.Errorf("%v: no JSON", row.args)
		}
	}
}
