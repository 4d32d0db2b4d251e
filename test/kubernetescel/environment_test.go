package kubernetescel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/donewhen/donewhen/predicates/celexpr"
)

// kubernetes is the version whose functions predicates have.
var kubernetes = version.MajorMinor(1, 37)

// Differences that are meant, with the reason.
var (
	// onlyTheirs is by the type that a method belongs to.
	onlyTheirs = map[string]string{
		"kubernetes.authorization.": "a predicate sees one object and asks nobody: no authorizer",
	}
	// onlyOurs is by the function's name.
	onlyOurs = map[string]string{
		"condition": "the condition of a type, whatever the object looks like",
		"isTrue":    "a condition that is True and not behind the spec",
	}
)

func theirs() *cel.Env { return environment.MustBaseEnvSet(kubernetes).NewExpressionsEnv() }

// Whatever function Kubernetes 1.37 offers to a ValidatingAdmissionPolicy,
// predicates offer with the same signature, and nothing else.
func TestFunctions(t *testing.T) {
	compiler, err := celexpr.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := compiler.Functions(), celexpr.Signatures(theirs())
	if len(theirs) < 300 {
		t.Fatalf("only %d functions in Kubernetes' environment", len(theirs))
	}
	used := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(theirs)) {
		signature, ok := ours[id]
		switch reason := allowed(onlyTheirs, "method [", theirs[id], used); {
		case !ok && reason == "":
			t.Errorf("missing: %s %s", id, theirs[id])
		case ok && reason != "":
			t.Errorf("%s %s is in both environments, but listed as missing", id, theirs[id])
		case ok && signature != theirs[id]:
			t.Errorf("%s is %s, in Kubernetes %s", id, signature, theirs[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := theirs[id]; ok {
			continue
		}
		name, _, _ := strings.Cut(id, "/")
		if onlyOurs[name] == "" {
			t.Errorf("Kubernetes doesn't have %s %s", id, ours[id])
		}
		used[name] = true
	}
	for _, list := range []map[string]string{onlyTheirs, onlyOurs} {
		for entry := range list {
			if !used[entry] {
				t.Errorf("%s is listed as a difference, and there is none", entry)
			}
		}
	}
	t.Logf("%d functions, operators and macros; Kubernetes has %d", len(ours), len(theirs))
}

// allowed returns why a signature of the type may be missing.
func allowed(list map[string]string, prefix, signature string, used map[string]bool) string {
	for typ, reason := range list {
		if strings.HasPrefix(signature, prefix+typ) {
			used[typ] = true
			return reason
		}
	}
	return ""
}

// What either environment refuses or takes, the other does too: the functions may
// be the same and the language's settings not.
func TestLanguage(t *testing.T) {
	their, err := theirs().Extend(cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := celexpr.NewEnvironment(nil)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for i, expression := range []string{
		"object.?a.?b.orValue('') == ''", "object.?a.hasValue()", "object[?'a'].optMap(x, x + 1).orValue(0) == 1",
		"object.l.optFlatMap(x, x)", "{?'a': object.?a}.size() == 0", "[?object.?a].size() == 0", "[1, 'a'] == []", "{'a': 1, 'b': 'c'}.size() == 2",
		"1 < 1.5", "1 == 1.0", "1u < 2", "object.a < 1.5 && object.a < 1", "1 + 1.0 == 2.0", "has(object.a)", "has(object)", "has(object['a'])",
		"object.l.all(i, v, v == i)", "object.l.transformList(i, v, v).size() == 0", "object.l.exists_one(x, x == 1)", "object.l.existsOne(i, v, v == 1)",
		"object.m.transformMap(k, v, v) == {}", "object.l.sortBy(x, x.name)[0].name == 'a'", "object.l.sum() == 1", "[1, 2].sum() == 3", "object.l.indexOf(1) == 0",
		"object.l.map(x, x > 1, x).isSorted()", "quantity('1Gi').isGreaterThan(quantity('1Mi'))", "isQuantity('x')", "ip('10.0.0.1').family() == 4",
		"cidr('10.0.0.0/8').containsIP('10.0.0.1')", "semver('1.2.3').isLessThan(semver('1.2.4'))", "semver('v1.2', true).major() == 1",
		"url('https://a.b/c').getHost() == 'a.b'", "format.dns1123Label().validate(object.a).hasValue()", "'a'.matches('(')", "object.a.find('[0-9]+') == ''",
		"timestamp('2026-13-01T00:00:00Z') == timestamp(object.a)", "duration('1x') == duration(object.a)", "timestamp(object.a).getHours('UTC') == 1",
		"'%s %d'.format(['a', 1]) == 'a 1'", "'%d'.format(['a']) == ''", "object.a.replace('a', 'b', 1) == ''", "['a', 'b'].join('-') == 'a-b'", "'a'.reverse() == 'a'",
		"sets.contains([1], [1])", "lists.range(3) == [0, 1, 2]", "[[1], [2]].flatten() == [1, 2]", "[1, 1].distinct() == [1]", "object.namespace == 'a'", "namespace == 'a'",
		"object.`a-b` == 1", "object.labels.`a.b/c` == 1", "b'a' == bytes('a')", "object.a ? 1 : 'a'", "type(object.a) == string", "dyn(1) == 'a'", "1 == 'a'", "math.greatest(1, 2) == 2",
		"cel.bind(x, 1, x == 1)", "base64.encode(b'a') == ''", "strings.quote('a') == ''", "'a'.charAt(0) == 'a'", "google.protobuf.Int32Value{value: 1} == 1", "authorizer.path('/').check('get').allowed()",
	} {
		_, issues := their.Compile(expression)
		refused := ours.AddVariable(fmt.Sprintf("v%d", i), expression)
		if (issues.Err() != nil) != (len(refused) > 0) {
			t.Errorf("%s: Kubernetes says %v, predicates %v", expression, issues.Err(), refused)
		}
		if issues.Err() == nil {
			taken++
		}
	}
	t.Logf("%d expressions taken", taken)
	if taken < 40 {
		t.Error("too few of the expressions are right to show anything")
	}
}
