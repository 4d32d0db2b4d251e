package crds_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/provisioner/azuredisk/crds"
)

// difference is one place where our manifests mean to differ from those that
// the Azure side installs (testdata, facts without texts).
type difference struct {
	crd    string
	prefix string // of the paths that differ
	reason string
}

func differences() []difference {
	return []difference{
		{
			"azvolumes", ".versions[v1beta1]",
			"v1beta1 is the older API: never stored, without a status subresource; the driver reads and writes v1beta2 only",
		},
		{
			"azvolumeattachments", ".versions[v1beta1]",
			"as for azvolumes",
		},
		{
			"azdrivernodes", ".versions[v1beta1]",
			"v1beta1 is never stored and has the same schema; the driver reads and writes v1beta2 only",
		},
		{
			"azvolumes", ".versions[v1beta2].additionalPrinterColumns[Phase]",
			"the column shows status.detail.phase, a field that the schema doesn't have: it would be empty for ever",
		},
	}
}

// Every fact of the CRDs is the same but for the differences above: names,
// scope, subresources, printer columns, and in the schema each path, type,
// format and required list.
func TestManifestsEqualTheAzureSides(t *testing.T) {
	for _, name := range []string{"azvolumes", "azvolumeattachments", "azdrivernodes"} {
		t.Run(name, func(t *testing.T) {
			file := "disk.csi.azure.com_" + name + ".yaml"
			theirYAML, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			ourYAML, err := crds.FS.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			theirs, ours := facts(t, theirYAML), facts(t, ourYAML)
			if len(ours) < 20 {
				t.Fatalf("only %d facts found in %s: the walk is broken", len(ours), file)
			}

			expected := map[string]bool{} // prefix → seen
			for _, d := range differences() {
				if d.crd == name {
					expected[d.prefix] = false
				}
			}
			for _, path := range union(theirs, ours) {
				their, our := theirs[path], ours[path]
				if their == our {
					continue
				}
				listed := false
				for prefix := range expected {
					if strings.HasPrefix(path, prefix) {
						expected[prefix], listed = true, true
					}
				}
				if !listed {
					t.Errorf("%s: theirs %s, ours %s", path, orNone(their), orNone(our))
				}
			}
			for prefix, seen := range expected {
				if !seen {
					t.Errorf("%s is listed as a difference but doesn't differ", prefix)
				}
			}
		})
	}
}

func TestAll(t *testing.T) {
	manifests, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, manifest := range manifests {
		names = append(names, facts(t, manifest)[".names.plural"])
	}
	want := []string{`"azdrivernodes"`, `"azvolumeattachments"`, `"azvolumes"`}
	if !slices.Equal(names, want) {
		t.Errorf("All: CRDs of %v, want %v", names, want)
	}
}

// facts flattens the spec of a CRD to one line for each leaf. List elements
// with a name go by it; the order of required lists doesn't matter; texts are
// left out.
func facts(t *testing.T, manifest []byte) map[string]string {
	t.Helper()
	var crd struct {
		Metadata struct{ Name string }
		Spec     map[string]any
	}
	if err := yaml.Unmarshal(manifest, &crd); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{".metadata.name": crd.Metadata.Name}
	walk(t, found, "", crd.Spec)
	return found
}

func walk(t *testing.T, found map[string]string, path string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			found[path] = "{}"
		}
		for key, element := range value {
			if _, isText := element.(string); isText && key == "description" {
				continue
			}
			if list, isList := element.([]any); isList && key == "required" {
				element = sorted(list)
			}
			walk(t, found, path+"."+key, element)
		}
	case []any:
		for i, element := range value {
			key := fmt.Sprint(i)
			if named, isMap := element.(map[string]any); isMap {
				if name, isString := named["name"].(string); isString {
					key = name
				}
			}
			walk(t, found, path+"["+key+"]", element)
		}
	default:
		leaf, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = string(leaf)
	}
}

func sorted(list []any) []any {
	return slices.SortedFunc(slices.Values(list), func(a, b any) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

func union(a, b map[string]string) []string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return slices.Sorted(maps.Keys(both))
}

func orNone(fact string) string {
	if fact == "" {
		return "nothing"
	}
	return fact
}
