package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Where the guest and its SDK are.
const (
	sdk   = "../../predicates/sdk"
	guest = "../../examples/guests/c/attachment.c"
)

// build builds a guest from the C sources as the SDK says. It skips where there is no
// compiler, but never in CI.
func build(t testing.TB, sources ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil && os.Getenv("CI") == "" {
		t.Skip("clang is not installed")
	}
	module := filepath.Join(t.TempDir(), "guest.wasm")
	source := filepath.Join(t.TempDir(), "guest.c")
	var unit []byte
	for _, s := range sources {
		path, err := filepath.Abs(s)
		if err != nil {
			t.Fatal(err)
		}
		unit = append(unit, "#include \""+path+"\"\n"...)
	}
	if err := os.WriteFile(source, unit, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(sdk+"/build", "c", source, module).CombinedOutput(); err != nil {
		t.Fatalf("build %v: %v\n%s", sources, err, out)
	}
	binary, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
