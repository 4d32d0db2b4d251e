package sdk_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/donewhen/donewhen/predicates/wasm"
)

// readmes are the languages by the file that their README's guest is in.
var readmes = map[string]string{"c": "guest.c", "rust": "guest.rs", "assemblyscript": "guest.ts", "go": "guest.go"}

var (
	block = regexp.MustCompile("(?s)```([a-z]*)\n(.*?)```")
	// sizes are those of the guest above, or of it as everything is, and of the example.
	sizes = regexp.MustCompile(`\*\*Size\*\*: (?:the guest above )?([0-9.]+) (KB|MB)(?:, the example ([0-9.]+) (KB|MB))?`)
)

// TestReadmes does what each SDK's README says: its guest, built by its commands from
// where the repository is, does what one reads there, and is as big.
func TestReadmes(t *testing.T) {
	for language, file := range readmes {
		t.Run(language, func(t *testing.T) {
			text, err := os.ReadFile(language + "/README.md")
			if err != nil {
				t.Fatal(err)
			}
			_, instructions, ok := strings.Cut(string(text), "**Build**")
			source, commands := block.FindStringSubmatch(string(text)), block.FindStringSubmatch(instructions)
			if !ok || source == nil || commands == nil {
				t.Fatal("it has no guest, or no commands")
			}
			dir := readmeDir(t, language)
			if err := os.WriteFile(filepath.Join(dir, file), []byte(source[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			compile := exec.Command("bash", "-e", "-c", commands[2])
			compile.Dir = dir
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			binary, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
			if err != nil {
				t.Fatal(err)
			}
			guest := use(t, load(t, binary), nil)
			for state, want := range map[string]wasm.Result{
				"":         {Decision: wasm.Pending, Code: "NoStatus", Message: "nobody has written a status yet"},
				"Attached": {Decision: wasm.Done, Code: "Attached"},
				"Broken":   {Decision: wasm.Failed, Code: "Internal/BadState"},
			} {
				status := map[string]any{}
				if state != "" {
					status["state"] = state
				}
				got, err := guest.Evaluate(t.Context(), &wasm.Document{Object: attachment(status)}, true)
				if err != nil || got.Decision != want.Decision || got.Code != want.Code || state != "Broken" && got.Message != want.Message {
					t.Errorf("state %q: %+v, %v; want %+v", state, got, err, want)
				}
			}
			said := sizes.FindStringSubmatch(instructions)
			if said == nil {
				t.Fatal("it says no sizes")
			}
			holdSize(t, "the guest above", said[1], said[2], len(binary))
			if said[3] != "" {
				holdSize(t, "the example", said[3], said[4], len(example(t, language)))
			}
		})
	}
}

// holdSize holds a size as it is said to what it is, within a tenth.
func holdSize(t *testing.T, what, said, unit string, is int) {
	t.Helper()
	n, err := strconv.ParseFloat(said, 64)
	if err != nil {
		t.Fatal(err)
	}
	n *= map[string]float64{"KB": 1e3, "MB": 1e6}[unit]
	if math.Abs(n-float64(is)) > max(n/10, 60) {
		t.Errorf("%s is said to have %s %s, it has %d bytes", what, said, unit, is)
	}
}

// readmeDir returns an empty directory in which the SDK is where a README says, with
// the compilers in PATH. It skips where there is none, but never in CI.
func readmeDir(t *testing.T, language string) string {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	command, path := map[string]string{"c": "clang", "rust": "rustc", "go": "go"}[language], os.Getenv("PATH")
	switch language {
	case "rust": // Debian's first, as rustup's may have no libraries for wasm32
		path = "/usr/bin:" + path
	case "assemblyscript":
		sdk := filepath.Join(here, "sdk", "assemblyscript")
		command = filepath.Join(sdk, "node_modules", ".bin", "asc")
		err = errors.Join(copyFile(filepath.Join(sdk, "dw.ts"), filepath.Join(dir, "dw.ts")), os.Symlink(filepath.Join(sdk, "node_modules"), filepath.Join(dir, "node_modules")))
	case "go": // the module isn't published where there is no network
		module := "module guest\n\ngo 1.24\n\nrequire github.com/donewhen/donewhen/predicates/sdk/go v0.0.0\n\n" +
			"replace github.com/donewhen/donewhen/predicates/sdk/go => ./predicates/sdk/go\n"
		err = os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o600)
	}
	if err = errors.Join(err, os.Symlink(here, filepath.Join(dir, "predicates"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	if _, err := exec.LookPath(command); err != nil && os.Getenv("CI") == "" {
		t.Skipf("%s is not installed", command)
	}
	return dir
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
