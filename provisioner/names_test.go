package provisioner

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// C27, C29: every name gives one disk name that an object can have.
func TestC27_C29_DiskName(t *testing.T) {
	long := strings.Repeat("a", 62) + "-b"
	for _, row := range []struct{ requested, want string }{
		{"pvc-1d0f6a52-8c1b-4e0e-9b59-2f6b7c30a901", "pvc-1d0f6a52-8c1b-4e0e-9b59-2f6b7c30a901"},
		{"Data", "Data"}, // the case is kept, the object's name is lower
		{"a.b", "a.b"},
		{strings.Repeat("x", 63), strings.Repeat("x", 63)},
		{"my_data", ""},
		{"größe", ""},
		{"日本", ""},
		{"-a", ""},
		{"a..b", ""},
		{"a/b", ""},
		{"pvc-\u212a", ""}, // the Kelvin sign, whose lower case is k
		{"pvc-\u0130", ""}, // the Turkish İ, whose lower case is i
		{long, ""},
		{strings.Repeat("é", 300), ""},
	} {
		got := DiskName(row.requested)
		if row.want != "" && got != row.want {
			t.Errorf("%q became %q, want %q", row.requested, got, row.want)
		}
		if got != DiskName(row.requested) {
			t.Errorf("%q isn't mapped alike twice", row.requested)
		}
		if got != row.want && !isASCII(got) {
			t.Errorf("%q became %q", row.requested, got)
		}
		if errs := validation.IsDNS1123Subdomain(objectName(got)); len(errs) != 0 || len(got) > maxDiskName {
			t.Errorf("%q became %q, which no object can have: %v", row.requested, got, errs)
		}
	}
	distinct(t, DiskName, "my_data", "my-data", "my.data", "my__data", "my data", "a\u212a", "ak", long, long+"c", strings.Repeat("a", 62)+"_b")
}

func distinct(t *testing.T, name func(string) string, inputs ...string) {
	t.Helper()
	seen := map[string]string{}
	for _, input := range inputs {
		output := name(input)
		if other, ok := seen[output]; ok {
			t.Errorf("%q and %q both became %q", input, other, output)
		}
		seen[output] = input
	}
}

func TestP23_P24_AttachmentName(t *testing.T) {
	pvc := "pvc-3f6c1d9e-0a52-4f7b-9c1e-7d2b8a4e5c03"
	if got, want := attachmentName(pvc, "aks-pool1-00000000-vmss000001"), pvc+"-aks-pool1-00000000-vmss000001-attachment"; got != want {
		t.Errorf("attachment %q, want %q", got, want)
	}
	longNode := strings.Repeat("n", 253)
	pairs := [][2]string{
		{"data", "x-1"},
		{"data-x", "1"},
		{"data", "x.1"},
		{pvc, "node"},
		{pvc + "-node", "1"},
		{pvc, "node-1"},
		{pvc, longNode},
		{"data", longNode},
		{strings.Repeat("d", 63), longNode},
		{strings.Repeat("d", 63), longNode[1:]},
		{"data", "node_1"},
		{"data", "node-1"},
	}
	seen := map[string][2]string{}
	for _, pair := range pairs {
		name := attachmentName(pair[0], pair[1])
		if errs := validation.IsDNS1123Subdomain(name); len(errs) != 0 {
			t.Errorf("%v: %q: %v", pair, name, errs)
		}
		if name != attachmentName(strings.ToUpper(pair[0]), strings.ToUpper(pair[1])) {
			t.Errorf("%v: the case makes a difference", pair)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%v and %v share the name %q", pair, other, name)
		}
		seen[name] = pair
	}
}

func TestLabelValue(t *testing.T) {
	long := strings.Repeat("n", 64)
	for _, value := range []string{"", "node-1", "Node_1", long, long + "x", "a b", "größe"} {
		got := labelValue(value)
		if errs := validation.IsValidLabelValue(got); len(errs) != 0 {
			t.Errorf("%q became %q: %v", value, got, errs)
		}
		if len(validation.IsValidLabelValue(value)) == 0 && got != value {
			t.Errorf("%q became %q", value, got)
		}
	}
	distinct(t, labelValue, long, long+"x", "a b", "a-b", "a  b")
}

func TestParseVolumeID(t *testing.T) {
	const id = "/subscriptions/0-0/resourceGroups/rg/providers/Microsoft.Compute/disks/Data"
	parsed, err := ParseVolumeID(strings.Replace(id, "resourceGroups", "RESOURCEGROUPS", 1))
	if err != nil {
		t.Fatal(err)
	}
	if parsed.String() != id || parsed.objectName() != "data" || parsed.DiskName != "Data" {
		t.Errorf("parsed %+v", parsed)
	}
	if !parsed.is(strings.ToUpper(id)) || parsed.is(id+"x") {
		t.Error("IDs are compared without regard to case, and whole")
	}
	for _, bad := range []string{
		"", "x", id + "/", id + "/b", "junk" + id, id[1:], strings.Replace(id, "disks", "snapshots", 1),
		strings.Replace(id, "rg", "", 1), strings.Replace(id, "Data", "a_b", 1), strings.Replace(id, "Data", "", 1),
	} {
		if _, err := ParseVolumeID(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzDiskName(f *testing.F) {
	for _, seed := range []string{"pvc-1", "a_b", strings.Repeat("é", 99), "-", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got := DiskName(name); name != "" && (len(got) > maxDiskName || !isObjectName(objectName(got)) || got != DiskName(name)) {
			t.Errorf("%q became %q", name, got)
		}
	})
}
