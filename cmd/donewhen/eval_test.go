package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const azureObjects = "../../provisioner/defaults/testdata/"

// rollout are the flags that judge by the set of testdata/explain.
func rollout(command string, more ...string) []string {
	return append([]string{command, "--predicates", "testdata/explain/rollout.yaml", "--predicate", "rollout-complete"}, more...)
}

// Exit codes are the verdict; what couldn't be loaded is said on the error stream.
func TestEvalExitCodes(t *testing.T) {
	image := "--param=image=app:2"
	for _, c := range []struct {
		name string
		args []string
		code int
		errs string
	}{
		{"done", []string{"eval", "--predicate", "volume-created", azureObjects + "03-azvolume-created.yaml"}, 0, ""},
		{"failed", []string{"eval", "--predicate", "volume-created", azureObjects + "04-azvolume-creation-failed.yaml"}, 1, ""},
		{"pending", []string{"eval", "--operation", "CreateVolume", azureObjects + "02-azvolume-creating.yaml"}, 5, ""},
		{"explain is the same", []string{"explain", "--operation", "CreateVolume", azureObjects + "02-azvolume-creating.yaml"}, 5, ""},
		{"of several, the worst", rollout("eval", image, "testdata/explain/several.yaml"), 1, ""},
		{"pending is worse than done", []string{"eval", "--predicate", "volume-created", azureObjects + "03-azvolume-created.yaml", azureObjects + "02-azvolume-creating.yaml"}, 5, ""},
		{"absent, pending", []string{"eval", "--operation", "CreateVolume", "--absent", "never"}, 5, ""},
		{"absent, failed", []string{"eval", "--operation", "CreateVolume", "--absent", "deleted"}, 1, ""},
		{"absent, done", []string{"eval", "--operation", "DeleteVolume", "--absent", "deleted"}, 0, ""},
		{"absent needs no params", []string{"eval", "--operation", "ControllerPublishVolume", "--absent", "deleted"}, 1, ""},
		{"constants of the binding", []string{"eval", "--operation", "ControllerExpandVolume", "--param", "requiredBytes=1", azureObjects + "03-azvolume-created.yaml"}, 0, ""},

		{"no object", []string{"eval", "--predicate", "volume-created"}, 2, "donewhen: name a file with an object, or - for the standard input: donewhen eval --predicate NAME OBJECT.yaml"},
		{"no predicate", []string{"eval", "x"}, 2, "donewhen: say what to judge by: --predicate NAME, or --operation NAME for the predicate that is bound to it"},
		{"two predicates", []string{"eval", "--predicate", "a", "--operation", "b", "x"}, 2, "donewhen: give --predicate or --operation, not both: an operation's binding names its predicate"},
		{"unknown predicate", []string{"eval", "--predicate", "volum-created", "x"}, 2, `donewhen: unknown predicate "volum-created"; did you mean "volume-created"?`},
		{"unknown operation", []string{"eval", "--operation", "CreatVolume", "x"}, 2, `donewhen: unknown operation "CreatVolume"; did you mean "CreateVolume"?`},
		{"no such file", []string{"eval", "--predicate", "volume-created", "testdata/nowhere.yaml"}, 2, "donewhen: can't read the object: open testdata/nowhere.yaml: no such file or directory"},
		{"no such predicates", []string{"eval", "--predicates", "testdata/nowhere", "--predicate", "p", "x"}, 2, "donewhen: can't read testdata/nowhere: no such file or directory"},
		{"predicates that don't load", []string{"eval", "--predicates", "testdata/lint/wrong.yaml", "--predicate", "p", "x"}, 2, "*"},
		{"another kind", rollout("eval", image, "testdata/explain/wrong.yaml"), 2, `donewhen: predicate rollout-complete judges Deployment of apps/v1, "x" is a Pod of v1`},
		{"unreadable objects", rollout("eval", image, "testdata/explain/unreadable.yaml"), 2, "*"},
		{"missing param", rollout("eval", "testdata/explain/deployment.yaml"), 2, "donewhen: predicate rollout-complete: param image (string) is missing, and has no default; give it with --param"},
		{"unknown param", rollout("eval", "--param=imag=x", "testdata/explain/deployment.yaml"), 2, `donewhen: --param: predicate rollout-complete has no param "imag"; did you mean "image"?`},
		{"param without a value", rollout("eval", "--param=image", "testdata/explain/deployment.yaml"), 2, `donewhen: --param "image": write it NAME=VALUE`},
		{"param of the wrong type", rollout("eval", "--param=minReady=two", "testdata/explain/deployment.yaml"), 2, `donewhen: --param: param minReady must be int, "two" can't be read as one; write it like 3`},
		{"list param of the wrong type", rollout("eval", "--param=zones=a", "testdata/explain/deployment.yaml"), 2, `donewhen: --param: param zones must be list(string), it is a string`},
		{"constant param", []string{"eval", "--operation", "ControllerPublishVolume", "--param", "until=Attached", "x"}, 2, "donewhen: --param until: it is a constant of the binding of ControllerPublishVolume; leave it out, or use --predicate attachment-ready"},
		{"bad absence", []string{"eval", "--predicate", "volume-created", "--absent", "gone"}, 2, `donewhen: --absent "gone": it is never (it never existed) or deleted (it was there)`},
		{"bad redact path", []string{"eval", "--predicate", "volume-created", "--redact", "spec[x]", "x"}, 2, `donewhen: redact path "spec[x]": [x] is neither an element nor a key; write a key in quotes, like ['a/b']`},
		{"junit", []string{"explain", "-o", "junit", "--predicate", "volume-created", "x"}, 2, "donewhen: unknown output format \"junit\"; there are text and json, each with =FILE to write a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := execute(t.Context(), c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if errs = strings.TrimSpace(errs); errs != c.errs && (c.errs != "*" || errs == "") {
				t.Errorf("error stream\n%s\nwant\n%s", errs, c.errs)
			}
			if (out == "") != (c.code == 2) {
				t.Errorf("standard output %q", out)
			}
		})
	}
}

// "-" is the standard input, and the formats of machines stand alone.
func TestEvalStandardInput(t *testing.T) {
	object, err := os.ReadFile("testdata/explain/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"eval", "explain"} {
		var out, errs bytes.Buffer
		args := rollout(command, "--param", "image=app:2", "-o", "json", "-")
		if code := run(t.Context(), "donewhen", args, streams{in: bytes.NewReader(object), out: &out, err: &errs}); code != exitPending || errs.Len() > 0 {
			t.Errorf("exit code %d, %s", code, errs.String())
		}
		var report struct {
			Kind  string
			Items []struct {
				Object  struct{ Name string }
				Verdict struct{ Verdict string }
				Rules   []struct{ Name, Outcome string }
			}
		}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Items) != 1 || report.Items[0].Object.Name != "web" || report.Items[0].Verdict.Verdict != "Pending" {
			t.Errorf("%+v", report)
		}
		if explained := len(report.Items[0].Rules) > 0; explained != (command == "explain") {
			t.Errorf("%s: %+v", command, report)
		}
	}
}

// What must not be shown isn't, in any form.
func TestExplainHidesSecrets(t *testing.T) {
	for _, args := range [][]string{
		rollout("explain", "--param=image=app:2", "testdata/explain/deployment.yaml"),
		rollout("explain", "--param=image=app:2", "-o=json", "--redact", "spec.replicas", "testdata/explain/deployment.yaml"),
		rollout("explain", "--param=image=app:2", "--param=registryToken=correct-horse", "testdata/explain/deployment.yaml"),
	} {
		_, out, _ := execute(t.Context(), args...)
		for _, leak := range []string{"correct-horse", "t-12345"} {
			if strings.Contains(out, leak) {
				t.Errorf("%v shows %s:\n%s", args, leak, out)
			}
		}
		if !strings.Contains(out, "•••") {
			t.Errorf("%v shows no mark:\n%s", args, out)
		}
	}
	// A bad value of a sensitive param isn't repeated either.
	_, _, errs := execute(t.Context(), "eval", "--predicates", "testdata/explain/rollout.yaml", "--predicate", "rollout-complete", "--param", "registryToken", "x")
	if strings.Contains(errs, "t-12345") {
		t.Error(errs)
	}
}
