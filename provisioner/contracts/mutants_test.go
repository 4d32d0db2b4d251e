package contracts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/donewhen/donewhen/provisioner"
)

type fieldsOf = map[string]any

// mutant is a document of the default set with one thing changed.
type mutant struct {
	name     string // what was changed
	document fieldsOf
}

// text returns the document as JSON, which is YAML too.
func (m *mutant) text(t testing.TB) []byte {
	t.Helper()
	data, err := json.Marshal(m.document)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mutator makes the mutants of one document.
type mutator struct {
	t        testing.TB
	document fieldsOf
	all      []*mutant
}

// mutants returns those of the whole default set, in the same order every time.
func mutants(t testing.TB) []*mutant {
	t.Helper()
	_, data := provisioner.Defaults()
	var all []*mutant
	for _, text := range strings.Split(string(data), "\n---\n") {
		m := &mutator{t: t, document: fieldsOf{}}
		if err := yaml.Unmarshal([]byte(text), &m.document); err != nil {
			t.Fatal(err)
		}
		if m.document["kind"] == "Predicate" {
			m.predicate()
		} else {
			m.binding()
		}
		all = append(all, m.all...)
	}
	return all
}

// add takes the mutant that the change makes of a copy of the document's spec.
func (m *mutator) add(name string, change func(spec fieldsOf)) {
	copied := m.copied()
	metadata, _ := copied["metadata"].(fieldsOf)
	spec, _ := copied["spec"].(fieldsOf)
	change(spec)
	m.all = append(m.all, &mutant{fmt.Sprintf("%v: %s", metadata["name"], name), copied})
}

func (m *mutator) copied() fieldsOf {
	data, err := json.Marshal(m.document)
	if err != nil {
		m.t.Fatal(err)
	}
	var copied fieldsOf
	if err := json.Unmarshal(data, &copied); err != nil {
		m.t.Fatal(err)
	}
	return copied
}

var groups = []string{"aborted", "done", "failed", "pending"}

// ruled writes a spec's rules as lists of rules with an expression.
func ruled(spec fieldsOf) fieldsOf {
	for _, group := range groups {
		switch rules := spec[group].(type) {
		case string:
			spec[group] = []any{fieldsOf{"expression": rules}}
		case fieldsOf:
			spec[group] = []any{rules}
		}
	}
	return spec
}

func rulesOf(spec fieldsOf, group string) []any {
	rules, _ := spec[group].([]any)
	return rules
}

// setCodes are what a rule's code may be changed to.
var setCodes = []string{"Aborted", "Unavailable", "DeadlineExceeded", "Internal", "NotFound", "FailedPrecondition"}

func (m *mutator) predicate() {
	spec, _ := m.document["spec"].(fieldsOf)
	ruled(spec)
	gone := spec["expect"] == "Gone"
	m.policies(gone)
	for i, variable := range listOf(spec["variables"]) {
		text, _ := variable.(fieldsOf)["expression"].(string)
		for _, changed := range expressions(m.t, text) {
			m.add(fmt.Sprintf("variables[%d] = %s", i, changed), func(spec fieldsOf) {
				listOf(spec["variables"])[i].(fieldsOf)["expression"] = changed
			})
		}
	}
	for _, group := range groups {
		for i, rule := range rulesOf(spec, group) {
			m.rule(group, i, rule.(fieldsOf), gone)
		}
	}
	m.added(gone)
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// rule changes one rule.
func (m *mutator) rule(group string, i int, rule fieldsOf, gone bool) {
	at := fmt.Sprintf("%s[%d]", group, i)
	in := func(name string, change func(rule fieldsOf)) {
		m.add(at+" "+name, func(spec fieldsOf) { change(rulesOf(spec, group)[i].(fieldsOf)) })
	}
	text, _ := rule["expression"].(string)
	if text != "" && group != "pending" {
		for _, changed := range expressions(m.t, text) {
			in("= "+changed, func(rule fieldsOf) { rule["expression"] = changed })
		}
	}
	m.add(at+" dropped", func(spec fieldsOf) {
		if left := slices.Delete(rulesOf(spec, group), i, i+1); len(left) > 0 {
			spec[group] = left
		} else {
			delete(spec, group)
		}
	})
	for _, other := range groups {
		if other == group || gone && other == "done" || text == "" {
			continue
		}
		m.add(at+" moved to "+other, func(spec fieldsOf) {
			moved := rulesOf(spec, group)[i].(fieldsOf)
			left := slices.Delete(rulesOf(spec, group), i, i+1)
			if spec[group] = left; len(left) == 0 {
				delete(spec, group)
			}
			if other == "done" || other == "pending" {
				for _, key := range []string{"code", "codeExpression", "codeMap"} {
					delete(moved, key)
				}
			}
			if other == "pending" {
				delete(moved, "for")
			}
			spec[other] = append([]any{moved}, rulesOf(spec, other)...)
		})
	}
	if n := len(rulesOf(m.document["spec"].(fieldsOf), group)); i+1 < n {
		m.add(at+" after the next", func(spec fieldsOf) {
			rules := rulesOf(spec, group)
			rules[i], rules[i+1] = rules[i+1], rules[i]
		})
	}
	in("another message", func(rule fieldsOf) {
		rule["message"] = "something else"
		delete(rule, "messageExpression")
	})
	in("another reason", func(rule fieldsOf) { rule["reason"] = "Otherwise" })
	if group == "pending" {
		return
	}
	for _, hold := range []string{"30s", "30m"} {
		in("for "+hold, func(rule fieldsOf) { rule["for"] = hold })
	}
	if rule["for"] != nil {
		in("without a time", func(rule fieldsOf) { delete(rule, "for") })
	}
	if group == "done" {
		return
	}
	for _, code := range setCodes {
		in("code "+code, func(rule fieldsOf) {
			rule["code"] = code
			delete(rule, "codeExpression")
		})
	}
	in("without a code", func(rule fieldsOf) {
		delete(rule, "code")
		delete(rule, "codeExpression")
		delete(rule, "codeMap")
	})
	in("other codes by the map", func(rule fieldsOf) {
		rule["codeMap"] = fieldsOf{"RESOURCE_EXHAUSTED": "Unavailable", "UNKNOWN": "NotFound", "DANGLING_ATTACH": "Aborted"}
	})
}

// policies changes what stands beside the rules.
func (m *mutator) policies(gone bool) {
	set := func(key string, value any) {
		m.add(fmt.Sprintf("%s: %v", key, value), func(spec fieldsOf) { spec[key] = value })
	}
	if !gone {
		set("expect", "Gone")
		m.add("expect: Gone without done", func(spec fieldsOf) {
			spec["expect"] = "Gone"
			delete(spec, "done")
		})
		for _, hold := range []string{"5s", "1h"} {
			set("stableFor", hold)
		}
	} else {
		m.add("expect: Present", func(spec fieldsOf) {
			spec["expect"] = "Present"
			spec["done"] = "object.status.state in ['Deleted', 'Detached']"
		})
	}
	for _, key := range []string{"onAbsent", "onDelete", "onTerminating"} {
		for _, word := range []string{"Pending", "Done", "Failed", "Judge"} {
			if word != "Judge" || key == "onTerminating" {
				set(key, word)
			}
		}
		for _, code := range []string{"Unavailable", "NotFound", "Internal"} {
			set(key, fieldsOf{"verdict": "Failed", "code": code})
		}
	}
	for _, word := range []string{"Require", "Ignore"} {
		set("observedGeneration", word)
	}
	set("failurePolicy", "Pending")
	params, _ := m.document["spec"].(fieldsOf)["params"].(fieldsOf)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		param, _ := params[name].(fieldsOf)
		switch value := param["default"].(type) {
		case bool:
			m.add("param "+name+" by default the other", func(spec fieldsOf) { spec["params"].(fieldsOf)[name].(fieldsOf)["default"] = !value })
		case string:
			m.add("param "+name+" by default another", func(spec fieldsOf) { spec["params"].(fieldsOf)[name].(fieldsOf)["default"] = "9" })
		}
	}
}

// atoms are conditions that a wrong rule may have, of each kind.
func atoms(kind any) []string {
	all := []string{
		"has(object.metadata.deletionTimestamp)", "!has(object.metadata.deletionTimestamp)", "has(object.status.detail)", "!has(object.status.detail)",
		"has(object.status.error)", "!has(object.status.error)", "has(object.status.annotation)", "!has(object.status)",
		"object.status.error.code == 'UNKNOWN'", "object.status.error.code == 'RESOURCE_EXHAUSTED'", "object.metadata.generation > 1",
	}
	states := texts[0]
	if kind == "AzVolumeAttachment" {
		states = texts[1]
		all = append(all,
			"object.?status.?detail.?publish_context[?'LUN'].orValue('') != ''", "object.?status.?detail.?publish_context[?'LUN'].orValue('') == ''",
			"object.?status.?detail.?role.orValue('') == 'Replica'", "object.?status.?detail.?role.orValue('') == 'Primary'",
			"object.spec.role == 'Replica'", "object.spec.role == 'Primary'",
			"!object.metadata.?annotations[?'"+prefix+"volume-attach-request'].hasValue()",
			"object.?status.?annotation[?'"+prefix+"volume-detach-request'].hasValue()",
		)
	} else {
		all = append(all, "object.status.detail.capacity_bytes > 6442450944", "object.?status.?annotation[?'"+prefix+"volume-delete-request'].hasValue()")
	}
	for _, state := range states {
		all = append(all, "object.?status.?state.orValue('') == '"+state+"'")
	}
	return all
}

// added puts a further rule before the others: every condition of one or two atoms.
func (m *mutator) added(gone bool) {
	match, _ := m.document["spec"].(fieldsOf)["match"].(fieldsOf)
	single := atoms(match["kind"])
	conditions := slices.Clone(single)
	for i, a := range single {
		for _, b := range single[i+1:] {
			conditions = append(conditions, a+" && "+b)
		}
	}
	for _, condition := range conditions {
		for _, rule := range []struct{ group, code string }{{"done", ""}, {"failed", "Internal"}, {"failed", "DeadlineExceeded"}, {"aborted", "NotFound"}} {
			if rule.group == "done" && gone || rule.group == "aborted" && strings.Contains(condition, "&&") {
				continue
			}
			m.add(strings.TrimSpace(fmt.Sprintf("%s %s if %s", rule.group, rule.code, condition)), func(spec fieldsOf) {
				added := fieldsOf{"expression": condition, "reason": "Added"}
				if rule.code != "" {
					added["code"] = rule.code
				}
				spec[rule.group] = append([]any{added}, rulesOf(spec, rule.group)...)
			})
		}
	}
	for _, group := range groups {
		if group == "done" && gone {
			continue
		}
		m.add("nothing behind an always true "+group, func(spec fieldsOf) {
			spec[group] = append([]any{fieldsOf{"expression": "true", "reason": "Always"}}, rulesOf(spec, group)...)
		})
	}
}

// binding changes a binding.
func (m *mutator) binding() {
	spec, _ := m.document["spec"].(fieldsOf)
	for _, predicate := range []string{"volume-created", "volume-deleted", "volume-settled", "volume-expanded", "attachment-ready", "attachment-settled", "attachment-gone"} {
		if predicate == spec["predicate"] {
			continue
		}
		constants := []fieldsOf{nil}
		if predicate == "attachment-ready" {
			constants = []fieldsOf{{"until": "LUN", "volumeName": "", "nodeName": ""}, {"until": "Attached", "volumeName": "", "nodeName": ""}}
		}
		if predicate == "volume-expanded" {
			constants = []fieldsOf{{"requiredBytes": 0}, {"requiredBytes": 1 << 40}}
		}
		for _, params := range constants {
			m.add(fmt.Sprintf("predicate %s %v", predicate, params), func(spec fieldsOf) {
				spec["predicate"] = predicate
				if delete(spec, "params"); params != nil {
					spec["params"] = params
				}
			})
		}
	}
	for _, timeout := range []string{"1s", "30s", "24h"} {
		m.add("timeout "+timeout, func(spec fieldsOf) { spec["timeout"] = timeout })
	}
	m.add("without a timeout", func(spec fieldsOf) { delete(spec, "timeout") })
	m.add("pinned", func(spec fieldsOf) { spec["inFlight"] = "Pin" })
	if spec["predicate"] == "attachment-ready" {
		for _, until := range []string{"LUN", "Attached"} {
			for _, mayRequest := range []bool{true, false} {
				m.add(fmt.Sprintf("until %s, mayRequest %t", until, mayRequest), func(spec fieldsOf) {
					spec["params"] = fieldsOf{"until": until, "mayRequest": mayRequest}
				})
			}
		}
	}
}
