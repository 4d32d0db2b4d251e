package judge

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// A reader of predicate documents, as far as these tests need one: it takes the
// reference documents for right and reports nothing.

type document struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             map[string]any
}

func readDocuments(t testing.TB, path string) []document {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parseDocuments(t, data)
}

func parseDocuments(t testing.TB, data []byte) []document {
	t.Helper()
	var out []document
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var d document
		if err := sigsyaml.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind != "" {
			out = append(out, d)
		}
	}
}

type testPredicate struct {
	core     *Core
	defaults map[string]any
}

// judge binds params, given as YAML has them.
func (p testPredicate) judge(params map[string]any) engine.Judge {
	all := maps.Clone(p.defaults)
	maps.Copy(all, params)
	return p.core.Bind(all, "key")
}

func buildPredicate(t testing.TB, compiler *celexpr.Compiler, d document) testPredicate {
	t.Helper()
	s := d.Spec
	out := testPredicate{defaults: map[string]any{}}
	var params []celexpr.Param
	for name, decl := range object(s["params"]) {
		typ, _ := decl.(string)
		if m, ok := decl.(map[string]any); ok {
			typ = str(m["type"])
			if def, ok := m["default"]; ok {
				out.defaults[name] = def
			}
		}
		params = append(params, celexpr.Param{Name: name, Type: typ})
	}
	env, err := celexpr.NewEnvironment(params, celexpr.WithCompiler(compiler))
	if err != nil {
		t.Fatalf("%s: %v", d.Metadata.Name, err)
	}
	for _, v := range list(s["variables"]) {
		m := object(v)
		if issues := env.AddVariable(str(m["name"]), str(m["expression"])); issues != nil {
			t.Fatalf("%s: variable %s: %v", d.Metadata.Name, m["name"], issues)
		}
	}
	gone := s["expect"] == "Gone"
	spec := Spec{
		ID: engine.PredicateID{Name: d.Metadata.Name, Digest: d.Metadata.Name}, Kind: str(object(s["match"])["kind"]),
		ExpectsGone: gone, Environment: env,
		ObservedGeneration: str(s["observedGeneration"]), FailurePolicy: str(s["failurePolicy"]),
	}
	if gone {
		spec.OnAbsent = policy(s["onAbsent"], Policy{Decision: engine.Done})
		spec.OnDelete = policy(s["onDelete"], Policy{Decision: engine.Done})
		spec.OnTerminating = policy(s["onTerminating"], Policy{Judge: true})
	} else {
		spec.OnAbsent = policy(s["onAbsent"], Policy{})
		spec.OnDelete = policy(s["onDelete"], Policy{Decision: engine.Failed})
		spec.OnTerminating = policy(s["onTerminating"], Policy{Decision: engine.Failed})
	}
	if cost, ok := object(s["limits"])["cost"].(float64); ok {
		spec.CostLimit = uint64(cost)
	}
	spec.Timeout, _ = time.ParseDuration(str(object(s["limits"])["timeout"]))
	spec.Aborted = buildRules(t, env, "aborted", s["aborted"])
	spec.Done = buildRules(t, env, "done", s["done"])
	spec.Failed = buildRules(t, env, "failed", s["failed"])
	spec.Pending = buildRules(t, env, "pending", s["pending"])
	if f := str(s["stableFor"]); f != "" {
		for i := range spec.Done {
			spec.Done[i].For, _ = time.ParseDuration(f)
		}
	}
	out.core = New(spec)
	return out
}

func policy(v any, otherwise Policy) Policy {
	if v == nil {
		return otherwise
	}
	word, m := str(v), object(v)
	if word == "" {
		word = str(m["verdict"])
	}
	p := Policy{Reason: str(m["reason"]), Message: str(m["message"])}
	p.Code, _ = ParseCode(str(m["code"]))
	switch word {
	case "Judge":
		p.Judge = true
	case "Done":
		p.Decision = engine.Done
	case "Failed":
		p.Decision = engine.Failed
	}
	return p
}

func buildRules(t testing.TB, env *celexpr.Environment, group string, v any) []Rule {
	t.Helper()
	var entries []any
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		entries = v
	default:
		entries = []any{v}
	}
	var out []Rule
	for i, entry := range entries {
		m := object(entry)
		if s, ok := entry.(string); ok {
			m = map[string]any{"expression": s}
		}
		r := Rule{
			Name:   group + "[" + string(rune('0'+i)) + "]",
			Reason: str(m["reason"]), Message: str(m["message"]),
			When:              compileRule(t, env, m["expression"], celexpr.OutputBool),
			CodeExpression:    compileRule(t, env, m["codeExpression"], celexpr.OutputString),
			ReasonExpression:  compileRule(t, env, m["reasonExpression"], celexpr.OutputString),
			MessageExpression: compileRule(t, env, m["messageExpression"], celexpr.OutputString),
			CodeMap:           nil,
		}
		r.Code, _ = ParseCode(str(m["code"]))
		r.For, _ = time.ParseDuration(str(m["for"]))
		for k, c := range object(m["codeMap"]) {
			if r.CodeMap == nil {
				r.CodeMap = codeMap{}
			}
			r.CodeMap[k], _ = ParseCode(str(c))
		}
		out = append(out, r)
	}
	return out
}

func compileRule(t testing.TB, env *celexpr.Environment, v any, want celexpr.Output) *celexpr.Program {
	t.Helper()
	if v == nil {
		return nil
	}
	p, issues := env.Compile(str(v), want)
	if issues != nil {
		t.Fatalf("%s: %v", v, issues)
	}
	return p
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }
func list(v any) []any            { l, _ := v.([]any); return l }
func str(v any) string            { s, _ := v.(string); return s }

// inline reads a value given as YAML.
func inline(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := sigsyaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
