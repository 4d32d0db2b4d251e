package predicates

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/engine"
)

// TestVeil: a value is hidden however programs write it by habit, and when the text
// ends in the middle of it.
func TestVeil(t *testing.T) {
	const secret = "pä\"ss<wörd>\n+/&\\7777"
	v := newVeil(map[string]any{"key": secret, "list": []any{"another one", true, nil, int64(7)}}, 123456)
	inJSON, err := json.Marshal(map[string]any{"key": secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"raw": secret, "twice": secret + secret, "quoted": fmt.Sprintf("panic: %q", secret), "ASCII": fmt.Sprintf("%+q", secret),
		"JSON": string(inJSON), "JSON as it is": `{"key":"pä\"ss<wörd>\n+/&\\7777"}`,
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64 in URLs": base64.URLEncoding.EncodeToString([]byte(secret)),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": fmt.Sprintf("%X", secret),
		"in a list": "another one", "number": "n is 123456", "cut": "it is " + secret[:12], "cut by the host": strings.Repeat("x", 1021) + secret[:3] + "…",
	} {
		got := v.over("says " + text)
		for _, part := range []string{"pä", "7777", "wörd", "w\\u", "another", "1234", "cMOk", "70c3", "70C3", "%C3"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q shows %q", name, got, part)
			}
		}
		if !strings.HasPrefix(got, "says ") || !strings.Contains(got, "•••") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, text := range []string{"", "pä", "true and 7 are in any text", "a path"} {
		if got := v.over(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	var none veil
	if got := none.over("text"); got != "text" || none.finds("text") {
		t.Errorf("without values: %q", got)
	}
}

// TestModuleWordsHide: a sensitive param isn't in the message or the reason of a
// verdict, nor in what a module says when it refuses a binding.
func TestModuleWordsHide(t *testing.T) {
	l, _ := wasmLoader(t)
	spec := "  params: {key: {type: string, sensitive: true}}\n  wasm: {module: {file: tell.wasm}}\n"
	v := verdictOf(t, l, spec, "tell", "x", engine.Params{"key": "Hunter2hunter2"}).Verdict
	if shown := fmt.Sprintf("%+v", v); strings.Contains(strings.ToLower(shown), "hunter") || v.Reason != "BadResult" || v.Cause != engine.CauseJudge {
		t.Errorf("a reason that is a secret: %s", shown)
	}
	v = verdictOf(t, l, spec, "tell", "x", engine.Params{"key": "hunter 2 hunter 2"}).Verdict // no reason
	if shown := fmt.Sprintf("%+v", v); strings.Contains(shown, "hunter") {
		t.Errorf("a reason that is none: %s", shown)
	}
	_, err := l.Load(modules(t, []string{predicate("p", spec), binding("CreateVolume", "p", "  params: {key: Secret-hunter2}")}, "tell"))
	if err == nil || strings.Contains(strings.SplitN(err.Error(), "\n", 2)[0], "hunter") || !strings.Contains(err.Error(), "refuses params and settings: •••") {
		t.Errorf("a module that refuses a binding: %v", err)
	}
	// Where the host cuts the message, what is left of the value is hidden too.
	spec = strings.Replace("  params: {path: string, text: string, key: {type: string, sensitive: true}}\n"+spec[strings.Index(spec, "  wasm"):], "tell", "echo", 1)
	v = verdictOf(t, l, spec, "echo", "x", engine.Params{"path": "/params/text", "text": strings.Repeat("x", 1020) + "hunter2hunter2", "key": "hunter2hunter2"}).Verdict
	if !strings.HasSuffix(v.Message, "xxxx•••") {
		t.Errorf("a message that is cut ends with %q", v.Message[max(0, len(v.Message)-20):])
	}
}
