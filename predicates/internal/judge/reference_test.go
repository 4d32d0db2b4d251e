package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// TestReference runs the object, table, sweep and absent cases of the reference
// suites. A rule with a time counts as having held for it.
func TestReference(t *testing.T) {
	compiler, err := celexpr.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "reference")
	predicates := map[string]testPredicate{}
	bindings := map[string]map[string]any{}
	for _, file := range []string{"azure.yaml", "common.yaml", "pod_wrong.yaml"} {
		for _, d := range readDocuments(t, filepath.Join(dir, file)) {
			switch d.Kind {
			case "Predicate":
				predicates[d.Metadata.Name] = buildPredicate(t, compiler, d)
			case "Binding":
				bindings[str(d.Spec["operation"])] = d.Spec
			}
		}
	}
	checks := 0
	for _, file := range []string{"azure_test.yaml", "common_test.yaml"} {
		for _, d := range readDocuments(t, filepath.Join(dir, file)) {
			s := suite{dir: dir, predicates: predicates, bindings: bindings, objects: object(d.Spec["objects"]), defaults: object(d.Spec["defaults"])}
			for _, c := range list(d.Spec["cases"]) {
				c := object(c)
				t.Run(d.Metadata.Name+"/"+str(c["name"]), func(t *testing.T) { checks += s.run(t, c) })
			}
		}
	}
	// Reading fewer cases than there are must not look like success.
	if want := 216; checks != want {
		t.Errorf("%d checks, want %d", checks, want)
	}
	t.Logf("%d checks", checks)
}

type suite struct {
	dir               string
	predicates        map[string]testPredicate
	bindings          map[string]map[string]any
	objects, defaults map[string]any
}

func (s suite) run(t *testing.T, c map[string]any) int {
	if c["events"] != nil {
		return 0
	}
	name, params := str(s.defaults["predicate"]), maps.Clone(object(s.defaults["params"]))
	if params == nil {
		params = map[string]any{}
	}
	if p := str(c["predicate"]); p != "" {
		name = p
	}
	if b, ok := s.bindings[str(c["operation"])]; ok {
		name = str(b["predicate"])
		maps.Copy(params, object(b["params"]))
	}
	maps.Copy(params, object(c["params"]))
	p, ok := s.predicates[name]
	if !ok {
		t.Fatalf("no predicate %q", name)
	}
	if absent := str(c["absent"]); absent != "" {
		o := engine.Observation{Presence: engine.NeverExisted}
		if absent == "deleted" {
			o.Presence = engine.Deleted
		}
		check(t, "absent", p.judge(params), o, c["expect"])
		return 1
	}
	base := s.object(t, c["object"])
	if rows := list(c["table"]); rows != nil {
		for _, row := range rows {
			row := object(row)
			all := maps.Clone(params)
			maps.Copy(all, object(row["params"]))
			check(t, str(row["name"]), p.judge(all), present(merge(t, base, row["merge"])), row["expect"])
		}
		return len(rows)
	}
	if sweep := object(c["sweep"]); sweep != nil {
		path := strings.Split(str(sweep["path"]), ".")
		for value, expect := range object(sweep["expect"]) {
			var patch any = value
			if value == "" {
				patch = nil
			}
			for _, key := range slices.Backward(path) {
				patch = map[string]any{key: patch}
			}
			check(t, "value "+value, p.judge(params), present(merge(t, base, patch)), expect)
		}
		return len(object(sweep["expect"]))
	}
	check(t, "object", p.judge(params), present(base), c["expect"])
	return 1
}

// object resolves $name, a path, {from, merge} or an inline object.
func (s suite) object(t testing.TB, v any) map[string]any {
	t.Helper()
	switch v := v.(type) {
	case string:
		if name, ok := strings.CutPrefix(v, "$"); ok {
			return s.object(t, s.objects[name])
		}
		data, err := os.ReadFile(filepath.Join(s.dir, v))
		if err != nil {
			t.Fatal(err)
		}
		return fromJSON(t, must(sigsyaml.YAMLToJSON(data)))
	case map[string]any:
		if v["from"] != nil {
			return merge(t, s.object(t, v["from"]), v["merge"])
		}
		return fromJSON(t, must(json.Marshal(v)))
	}
	t.Fatalf("no object in %v", v)
	return nil
}

func merge(t testing.TB, base map[string]any, patch any) map[string]any {
	t.Helper()
	if patch == nil {
		return base
	}
	out, err := jsonpatch.MergePatch(must(json.Marshal(base)), must(json.Marshal(patch)))
	if err != nil {
		t.Fatal(err)
	}
	return fromJSON(t, out)
}

// fromJSON decodes as an informer's client does, with whole numbers as int64.
func fromJSON(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func present(m map[string]any) engine.Observation {
	u := &unstructured.Unstructured{Object: m}
	return engine.Observation{
		Ref:    engine.Reference{Resource: schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "rs"}, Namespace: "ns", Name: u.GetName()},
		Object: u, UID: types.UID("a"), ResourceVersion: "1",
	}
}

// check compares what judge and describe say with an expectation.
func check(t *testing.T, name string, j engine.Judge, o engine.Observation, expect any) {
	t.Helper()
	short := settled(j.Judge(context.Background(), o))
	v := settled(j.Describe(context.Background(), o))
	if short.Decision != v.Decision || short.Code != v.Code || short.Decisive() && fmt.Sprint(short) != fmt.Sprint(v) {
		t.Errorf("%s: Judge says %+v, Describe says %+v", name, short, v)
	}
	want := object(expect)
	if s, ok := expect.(string); ok {
		want = map[string]any{"verdict": s}
	}
	fields := make([]string, 0, len(want))
	for k := range want {
		fields = append(fields, k)
	}
	sort.Strings(fields)
	for _, field := range fields {
		w := str(want[field])
		ok := true
		switch field {
		case "verdict":
			ok = v.Decision.String() == w
		case "code":
			ok = v.Code.String() == w
		case "reason":
			ok = v.Reason == w
		case "message":
			ok = strings.Contains(v.Message, w)
		case "missing":
			ok = strings.Contains(strings.Join(v.Missing, "\n"), w)
		case "for":
			// how long the deciding rule must hold: none of these cases has one
		default:
			t.Fatalf("%s: unknown expectation %q", name, field)
		}
		if !ok {
			t.Errorf("%s: %s: want %q, got %+v", name, field, w, v)
		}
	}
}

// settled is the verdict if every rule that holds had held for its time.
func settled(j engine.Judgement) engine.Verdict {
	if len(j.Holding) > 0 {
		return j.Holding[0].Verdict
	}
	return j.Verdict
}

type codeMap = map[string]codes.Code
