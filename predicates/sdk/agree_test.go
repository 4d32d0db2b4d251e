package sdk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// rules are what the example means, in CEL.
const rules = `
apiVersion: donewhen.dev/v1alpha1
kind: Predicate
metadata: {name: rules}
spec:
  match: {apiVersion: disk.csi.azure.com/v1beta2, kind: AzVolumeAttachment}
  params:
    lun: {type: string, default: ''}
  variables:
  - name: state
    expression: object.?status.?state.orValue('')
  - name: leaving
    expression: |-
      object.?status.?annotation[?'disk.csi.azure.com/volume-detach-request'].orValue(dyn(null)) != null ||
      variables.state in ['Detaching', 'Detached', 'DetachmentFailed', 'ForceDetachPending']
  - name: value
    expression: object.?status.?detail.?publish_context[?'LUN'].orValue(dyn(null))
  - name: text
    expression: |-
      type(variables.value) == string ? string(variables.value) : 'no text'
  - name: sane
    expression: |-
      variables.text.matches('^(/dev/disk/azure/scsi[0-9]+/lun)?([0-9]|[1-5][0-9]|6[0-3])$')
  - name: lun
    expression: |-
      variables.text.substring(variables.text.startsWith('/dev/') && variables.sane ? variables.text.lastIndexOf('lun') + 3 : 0)
  - name: want
    expression: |-
      params.lun.substring(params.lun.startsWith('/dev/') ? params.lun.lastIndexOf('lun') + 3 : 0)
  done: |-
    variables.state == 'Attached' && !variables.leaving && variables.sane && variables.want in ['', variables.lun]
  failed:
  - expression: variables.leaving
    code: Aborted
    reason: DetachRequested
    messageExpression: |-
      'state is "' + variables.state + '", the disk is being detached'
  - expression: variables.state == 'Attached' && (variables.value == null || variables.value == '')
    reason: LUNMissing
    message: the attachment is complete but has no LUN
  - expression: variables.state == 'Attached' && !variables.sane
    reason: BadLUN
  - expression: variables.state == 'AttachmentFailed'
    reason: AttachFailed
    codeExpression: object.?status.?error.?code.orValue('')
    codeMap: {DANGLING_ATTACH: FailedPrecondition}
    messageExpression: object.?status.?error.?message.orValue('attach failed, no error was recorded')
`

// TestRulesAndEveryLanguageAgree judges 10,000 random objects by rules and by the
// example in every language.
func TestRulesAndEveryLanguageAgree(t *testing.T) {
	runtime, err := wasm.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	loader, err := predicates.NewLoader(nil, predicates.WithWasm(runtime))
	if err != nil {
		t.Fatal(err)
	}
	source := predicates.Source{Files: []predicates.File{{Name: "rules.yaml", Data: []byte(rules)}}}
	names := []string{"rules"}
	for language := range examples {
		document, err := os.ReadFile(filepath.Join(guests, language, "predicate.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("name: attachment-lun", "name: "+language, "../bin/", "").Replace(string(document))
		source.Files = append(source.Files,
			predicates.File{Name: language + ".yaml", Data: []byte(text)},
			predicates.File{Name: language + ".wasm", Data: example(t, language), Binary: true})
		names = append(names, language)
	}
	set, err := loader.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	luns := []string{"", "0", "7", "12", "63", "/dev/disk/azure/scsi1/lun7", "/dev/disk/azure/scsi10/lun12"}
	judges := map[string]map[string]engine.Judge{} // by the predicate's name and params.lun
	for _, name := range names {
		p, err := set.Predicate(name)
		if err != nil {
			t.Fatal(err)
		}
		judges[name] = map[string]engine.Judge{}
		for _, lun := range luns {
			if judges[name][lun], err = p.Bind(engine.Params{"lun": lun}); err != nil {
				t.Fatal(err)
			}
		}
	}
	random := rand.New(rand.NewPCG(5, 10_000))
	seen := map[string]int{}
	for range 10_000 {
		status := randomStatus(random)
		lun := luns[random.IntN(len(luns))]
		o := engine.Observation{Presence: engine.Present, Object: attachment(status)}
		want := judges["rules"][lun].Describe(t.Context(), o).Verdict
		for _, name := range names[1:] {
			got := judges[name][lun].Describe(t.Context(), o).Verdict
			if got.Decision != want.Decision || got.Code != want.Code || got.Cause != want.Cause ||
				want.Decision == engine.Failed && (got.Reason != want.Reason || want.Reason != "BadLUN" && got.Message != want.Message) {
				t.Fatalf("status %v, params.lun %q: rules say %+v, the guest in %s %+v", status, lun, want, name, got)
			}
		}
		seen[fmt.Sprint(want.Decision, " ", want.Code, " ", want.Reason)]++
	}
	t.Log(seen)
	for _, kind := range []string{"Done OK ", "Failed Aborted DetachRequested", "Failed Internal LUNMissing", "Failed Internal BadLUN", "Failed NotFound AttachFailed", "Failed FailedPrecondition AttachFailed"} {
		if seen[kind] < 50 {
			t.Errorf("%q was said %d times only", kind, seen[kind])
		}
	}
}

// randomStatus is a status that may lack anything, and has what tools and people
// write.
func randomStatus(random *rand.Rand) map[string]any {
	states := []any{"", "Pending", "Attaching", "Attached", "Attached", "Attached", "Attached", "AttachmentFailed", "AttachmentFailed", "Detaching", "Detached", "DetachmentFailed", "ForceDetachPending", "attached", "Attached2"}
	luns := []any{
		nil, "", "0", "7", "07", "12", "63", "64", "-1", " 3", "3 ", "x", "lun7", "99999999999999999999", int64(3), true,
		map[string]any{},
		"/dev/disk/azure/scsi1/lun7", "/dev/disk/azure/scsi1/lun12", "/dev/disk/azure/scsi22/lun0", "/dev/disk/azure/scsi/lun7", "/dev/disk/azure/scsi1/lun", "/dev/disk/azure/scsi1/lun64", "/dev/disk/azure/scsi1/lun7-part1", "/dev/sdc", strings.Repeat("7", 100),
	}
	codes := []any{nil, "NOT_FOUND", "DANGLING_ATTACH", "INTERNAL", "ABORTED", "WHATEVER"}
	messages := []any{"no such disk", "grün ☃", "a \"quoted\" \\ word", strings.Repeat("long ", 100)}
	set := func(in map[string]any, key string, one int, value any) {
		if random.IntN(one) > 0 { // else it is absent
			in[key] = value
		}
	}
	pick := func(of []any) any { return of[random.IntN(len(of))] }
	context, detail, failure, status := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	set(context, "LUN", 12, pick(luns))
	set(detail, "publish_context", 16, context)
	set(status, "detail", 16, detail)
	set(failure, "message", 16, pick(messages))
	if code := pick(codes); code != nil {
		failure["code"] = code
	}
	set(status, "error", 8, failure)
	set(status, "state", 16, pick(states))
	if random.IntN(12) == 0 {
		status["annotation"] = map[string]any{"disk.csi.azure.com/volume-detach-request": pick([]any{"crdProvisioner", "", nil})}
	}
	return status
}

// TestExamplesAreStateless asks the example in every language a thousand times, in
// random order across instances: the same question gets the same answer, in the same
// words, for the same fuel.
func TestExamplesAreStateless(t *testing.T) {
	const workers, rounds = 4, 1_000
	runtime, err := wasm.New(wasm.WithInstances(workers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	type question struct {
		language string
		row      int
	}
	asked := map[string]*wasm.Guest{}
	var questions []question
	for language := range examples {
		module, err := runtime.Load(t.Context(), example(t, language), "")
		if err != nil {
			t.Fatal(err)
		}
		asked[language] = use(t, module, nil)
		for row := range judged {
			questions = append(questions, question{language, row})
		}
	}
	var mu sync.Mutex
	first := map[question]wasm.Result{}
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(worker)))
			order := slices.Clone(questions)
			for n := range rounds * len(examples) / workers {
				if n%len(order) == 0 {
					random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				}
				q := order[n%len(order)]
				d := &wasm.Document{Object: attachment(judged[q.row].status)}
				if lun := judged[q.row].lun; lun != nil {
					d.Params = map[string]any{"lun": lun}
				}
				got, err := asked[q.language].Evaluate(context.Background(), d, true)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if want, ok := first[q]; ok && got != want {
					t.Errorf("%s, %s: %+v, at first %+v", q.language, judged[q.row].name, got, want)
				}
				first[q] = got
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(first) != len(questions) {
		t.Errorf("%d of %d questions were asked", len(first), len(questions))
	}
}
