package sdk_test

import (
	"go/ast"
	gobuild "go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goGuests are the packages in Go that TinyGo should compile as well.
var goGuests = []string{"go", guests + "/go"}

// TestTinyGosRules holds the SDK for Go and its example to what TinyGo compiles: it
// can't be had as a package, so it isn't run here.
func TestTinyGosRules(t *testing.T) {
	known := packages{}
	for _, dir := range goGuests {
		cmd := exec.Command("go", "list", "-deps", ".")
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		deps := strings.Fields(string(out))
		if !slices.Contains(deps, "strconv") {
			t.Fatalf("%s: it depends on %v", dir, deps)
		}
		// What TinyGo lacks in part, or what makes modules large there.
		for _, not := range []string{"reflect", "fmt", "encoding/json", "os", "net", "regexp", "text/template", "plugin", "runtime/cgo", "time"} {
			if slices.Contains(deps, not) {
				t.Errorf("%s depends on %s", dir, not)
			}
		}
		for _, complaint := range notForTinyGo(t, dir, known) {
			t.Error(complaint)
		}
	}
}

// Sources that break each rule, so that the test above can fail.
func TestTinyGosRulesAreBroken(t *testing.T) {
	for source, want := range map[string]string{
		"func f() { go f() }":                                  "a goroutine",
		"var c chan int":                                       "a channel",
		"func f() { select {} }":                               "a select",
		"func f() { defer recover() }":                         "recover",
		"//go:linkname f runtime.f\nfunc f()":                  "go:linkname",
		"//go:wasmexport f\nfunc f(s string) {}":               "string in what f takes",
		"//go:wasmimport dw f\nfunc f(b []byte)":               "[]byte in what f takes",
		"type T int\n//go:wasmexport f\nfunc f() T":            "int in what f returns",
		"//go:wasmimport dw f\nfunc f(a int32) (int32, int32)": "2 results of f",
	} {
		got := complaints(t, "package p\n"+source+"\n")
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %s", source, got, want)
		}
	}
	if got := complaints(t, "package p\nimport \"unsafe\"\ntype V int32\n//go:wasmimport dw f\nfunc f(s string, p unsafe.Pointer, n uint32) uint64\n//go:wasmexport g\nfunc g() V { return 0 }\n"); len(got) > 0 {
		t.Errorf("what is right: %q", got)
	}
}

// packages are those that have been read, by path; it imports them.
type packages map[string]*types.Package

func (p packages) Import(path string) (*types.Package, error) {
	if known, ok := p[path]; ok {
		return known, nil
	}
	return importer.Default().Import(path)
}

// notForTinyGo returns what breaks a rule in a package, which is known then.
func notForTinyGo(t *testing.T, dir string, known packages) []string {
	t.Helper()
	context := gobuild.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "wasip1", "wasm", false
	p, err := context.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return broken(set, files, known)
}

func complaints(t *testing.T, source string) []string {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "p.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return broken(set, []*ast.File{f}, packages{})
}

// broken returns what breaks a rule in the files of a package.
func broken(set *token.FileSet, files []*ast.File, known packages) []string {
	var list []string
	complain := func(n ast.Node, what string) { list = append(list, set.Position(n.Pos()).String()+": "+what) }
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: known, IgnoreFuncBodies: true}
	checked, _ := config.Check(files[0].Name.Name, set, files, info) // it compiles, other tests say
	if checked.Name() == "dw" {
		known["github.com/donewhen/donewhen/predicates/sdk/go"] = checked
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				complain(n, "a goroutine")
			case *ast.ChanType:
				complain(n, "a channel")
			case *ast.SelectStmt:
				complain(n, "a select")
			case *ast.Ident:
				if n.Name == "recover" {
					complain(n, "recover: a panic ends the program there")
				}
			case *ast.Comment:
				if strings.HasPrefix(n.Text, "//go:linkname") {
					complain(n, "go:linkname")
				}
			case *ast.FuncDecl:
				for _, what := range boundary(n, info) {
					complain(n, what)
				}
			}
			return true
		})
	}
	return list
}

// boundary returns what TinyGo doesn't take in a function that is imported from the host
// or exported to it.
func boundary(f *ast.FuncDecl, info *types.Info) []string {
	imported, exported := false, false
	if f.Doc != nil {
		for _, c := range f.Doc.List {
			imported = imported || strings.HasPrefix(c.Text, "//go:wasmimport ")
			exported = exported || strings.HasPrefix(c.Text, "//go:wasmexport ")
		}
	}
	object, ok := info.Defs[f.Name].(*types.Func)
	if !ok || !imported && !exported {
		return nil
	}
	var list []string
	signature := object.Signature()
	if n := signature.Results().Len(); n > 1 {
		return []string{"there are " + strconv.Itoa(n) + " results of " + f.Name.Name}
	}
	for tuple, what := range map[*types.Tuple]string{signature.Params(): " takes", signature.Results(): " returns"} {
		for v := range tuple.Variables() {
			basic, ok := v.Type().Underlying().(*types.Basic)
			switch {
			case !ok:
			case basic.Kind() == types.String && imported && what == " takes":
				continue
			case slices.Contains([]types.BasicKind{types.Int32, types.Uint32, types.Int64, types.Uint64, types.Float32, types.Float64, types.UnsafePointer}, basic.Kind()):
				continue
			}
			list = append(list, "there is "+v.Type().Underlying().String()+" in what "+f.Name.Name+what)
		}
	}
	return list
}
