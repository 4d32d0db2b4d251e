package predicates

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/internal/document"
	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/internal/nearest"
	"github.com/donewhen/donewhen/predicates/wasm"
)

// loadTime bounds how long making a module's first instance may take at load, when
// all memory for WebAssembly is in use.
const loadTime = 10 * time.Second

// isModule reports whether a file holds a WebAssembly module, perhaps gzipped, and
// no documents.
func isModule(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\x00asm")) || bytes.HasPrefix(data, []byte("\x1f\x8b"))
}

// WithModules returns the files and behind them those that their predicates name
// (WebAssembly modules, and the schemas of match.schemaFrom), if they aren't among
// them; of an OCI image layout, the files that lead to the module. Open gets a file's
// name, which is relative to what the document's own is relative to. What can't be
// read, or is bigger than any module may be, is left out, and loading says that it
// isn't there.
func WithModules(files []File, open func(name string) (io.ReadCloser, error)) []File {
	read, reader := readModule(open), document.NewReader()
	all := slices.Clone(files)
	for _, f := range files {
		if f.Binary || isModule(f.Data) || !bytes.Contains(f.Data, []byte("wasm")) && !bytes.Contains(f.Data, []byte("schemaFrom")) {
			continue
		}
		for _, e := range readFile(reader, Source{Files: files}, f, &problems{}) { // what is wrong is said by Load
			if e.predicate == nil {
				continue
			}
			add := func(file string, binary bool) {
				if _, ok := sibling(f.Name, file, all); ok || file == "" {
					return
				}
				name := path.Join(path.Dir(f.Name), file)
				if data, err := read(name); err == nil {
					all = append(all, File{Name: name, Data: data, Binary: binary})
				}
			}
			if w := e.predicate.Spec.Wasm; w != nil {
				add(w.Module.File, true)
				if w.Module.OCI != nil {
					all = withLayout(all, f.Name, w.Module.OCI, read)
				}
			}
			if from := e.predicate.Spec.Match.SchemaFrom; from != nil {
				add(from.File, false)
			}
		}
	}
	return all
}

func closeModule(m *wasm.Module) {
	if m != nil {
		m.Close()
	}
}

// loadModule compiles the module that the document names; nil if it names none or
// there is a problem. The document's own copy then has the module's sha256.
func (b *builder) loadModule(l *Loader) *wasm.Module {
	w := b.spec.Wasm
	if w == nil {
		return nil
	}
	at := []any{"spec", "wasm", "module", "file"}
	switch {
	case l.wasm == nil:
		b.key([]any{"spec", "wasm"}, "write the rules in CEL", "spec.wasm: this program runs no WebAssembly")
		return nil
	case w.Module.OCI != nil:
		at[len(at)-1] = "oci"
		data, ok := b.fromLayout()
		if !ok {
			return nil
		}
		return b.compileModule(l, data, at)
	case !b.required(w.Module.File, at...):
		return nil
	}
	file, ok := sibling(b.file, w.Module.File, b.files)
	if !ok {
		var names []string
		for _, f := range b.files {
			if f.Binary || isModule(f.Data) {
				names = append(names, f.Name, path.Base(f.Name))
			}
		}
		hint := "it would be " + path.Join(path.Dir(b.file), w.Module.File) // beside the document
		if len(names) > 0 {
			hint = nearest.Hint(w.Module.File, "modules", names)
		}
		b.at(at, hint, "spec.wasm.module: the source has no file %q%s", w.Module.File, b.elsewhere())
		return nil
	}
	return b.compileModule(l, file.Data, at)
}

// elsewhere says where a module can be that isn't in a source which holds little.
func (b *builder) elsewhere() string {
	if !strings.HasPrefix(b.source, "configmap ") {
		return ""
	}
	return "; a ConfigMap holds 1 MiB in all: a bigger module is gzipped, or comes from a directory, as a file or an OCI image layout"
}

// compileModule loads a module, which the document names at the path.
func (b *builder) compileModule(l *Loader, data []byte, at []any) *wasm.Module {
	m, err := l.wasm.Load(context.Background(), data, b.spec.Wasm.SHA256)
	if err != nil {
		b.moduleProblem(at, err)
		return nil
	}
	b.spec.Wasm.SHA256 = m.Digest()
	return m
}

// moduleProblem reports what is wrong with a module, in its reason's word.
func (b *builder) moduleProblem(at []any, err error) {
	reason := ""
	if r := wasm.ReasonOf(err); r != "" {
		reason = string(r) + ": "
	}
	b.at(at, "", "spec.wasm: %s%v", reason, err)
}

// module checks the rest of the wasm block and puts the module in the place of
// rules.
func (b *builder) module(spec *judge.Spec, m *wasm.Module, params []param) {
	w := b.spec.Wasm
	if w == nil {
		return
	}
	b.withoutRules()
	spec.ModuleCode = codes.Internal
	if w.Code != "" {
		spec.ModuleCode = b.code(w.Code, []any{"spec", "wasm", "code"})
	}
	w.Code = spec.ModuleCode.String()
	spec.ModuleCodeMap = b.moduleCodeMap()
	if s := b.spec.StableFor; s != nil {
		if spec.ModuleStableFor = s.Duration; s.Duration <= 0 && b.sound {
			b.at([]any{"spec", "stableFor"}, "write it like 10s", "spec.stableFor must be more than 0")
		}
	}
	limits := b.moduleLimits()
	if err := limits.Check(); err != nil {
		b.at([]any{"spec", "limits"}, "", "spec.limits: %v", err)
		return
	}
	if m == nil || !b.sound {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	guest, err := m.Guest(ctx, wasm.Use{Settings: w.Settings, Limits: limits})
	if err == nil && len(params) == 0 {
		// Every use is this one.
		err = guest.Validate(ctx, nil)
	}
	if err != nil {
		b.moduleProblem([]any{"spec", "wasm"}, err)
		return
	}
	module := &guestModule{guest: guest, silent: b.spec.Match.Kind == "Secret"}
	for i := range params {
		if params[i].Sensitive {
			module.sensitive = append(module.sensitive, params[i].Name)
		}
	}
	spec.Module = module
}

// withoutRules refuses what a module is in the place of.
func (b *builder) withoutRules() {
	s := b.spec
	for field, written := range map[string]bool{
		fieldAborted: len(s.Aborted) > 0, fieldDone: len(s.Done) > 0, fieldFailed: len(s.Failed) > 0, fieldPending: len(s.Pending) > 0,
	} {
		if written {
			b.key([]any{"spec", field}, "remove it, or spec.wasm", "spec.%s: a module judges instead of rules", field)
		}
	}
	if len(s.Variables) > 0 {
		b.key([]any{"spec", "variables"}, "remove them: a module doesn't see them", "spec.variables are for rules")
	}
	if s.Limits != nil && s.Limits.Cost != nil {
		b.key([]any{"spec", "limits", "cost"}, "write spec.limits.fuel", "spec.limits.cost is for rules")
	}
}

func (b *builder) moduleCodeMap() map[string]codes.Code {
	w := b.spec.Wasm
	m := make(map[string]codes.Code, len(w.CodeMap))
	for _, from := range slices.Sorted(maps.Keys(w.CodeMap)) {
		m[from] = b.code(w.CodeMap[from], []any{"spec", "wasm", "codeMap", from})
		w.CodeMap[from] = m[from].String()
	}
	return m
}

func (b *builder) moduleLimits() wasm.Limits {
	limits := wasm.Limits{}
	if l := b.spec.Limits; l != nil {
		if l.Fuel != nil {
			limits.Fuel = l.Fuel.Value()
		}
		if l.Memory != nil {
			limits.Memory = l.Memory.Value()
		}
		if l.Timeout != nil {
			limits.Timeout = l.Timeout.Duration
		}
	}
	return limits
}

// guestModule is a guest as the judge takes it.
type guestModule struct {
	guest *wasm.Guest
	// sensitive params' values are hidden in what the guest says; silent hides all
	// of it, as the guest reads nothing but secrets.
	sensitive []string
	silent    bool
}

var _ judge.Module = (*guestModule)(nil)

// Bind implements judge.Module.
func (m *guestModule) Bind(params map[string]any) judge.BoundModule {
	values, _ := plain(params).(map[string]any)
	b := &boundModule{guestModule: m, params: values, veil: m.veil(values)}
	b.shown = b.said
	return b
}

// veil returns what hides the sensitive ones of the params.
func (m *guestModule) veil(params map[string]any) veil {
	var hidden []any
	for _, name := range m.sensitive {
		hidden = append(hidden, params[name])
	}
	return newVeil(hidden...)
}

// boundModule is a guest with its params.
type boundModule struct {
	*guestModule
	params map[string]any
	veil   veil
	shown  func(string) string // said, made once
}

// Evaluate implements judge.BoundModule.
func (b *boundModule) Evaluate(ctx context.Context, object metav1.Object, meta *metav1.TypeMeta, words bool) (judge.Answer, error) {
	r, err := b.guest.Evaluate(ctx, &wasm.Document{Object: object, TypeMeta: meta, Params: b.params, Hide: b.shown}, words)
	if e, ok := errors.AsType[*wasm.Error](err); ok {
		return judge.Answer{}, &judge.ModuleError{Reason: string(e.Reason), Message: b.said(e.Message)}
	}
	if err != nil {
		return judge.Answer{}, err
	}
	if b.veil.finds(r.Code) {
		return judge.Answer{}, &judge.ModuleError{Reason: string(wasm.BadResult), Message: "the module gave a code or reason that has the value of a sensitive param"}
	}
	answer := judge.Answer{Code: r.Code, Message: b.said(r.Message)}
	switch r.Decision {
	case wasm.Done:
		answer.Decision = engine.Done
	case wasm.Failed:
		answer.Decision = engine.Failed
	}
	return answer, nil
}

// said hides what must not be shown in the guest's words.
func (b *boundModule) said(text string) string {
	if b.silent && text != "" {
		return "•••"
	}
	return b.veil.over(text)
}

// validate asks the module whether it accepts a binding's constants.
func (p *Predicate) validate(constants engine.Params) error {
	if p.module == nil || len(p.params) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), loadTime)
	defer cancel()
	values, _ := plain(map[string]any(constants)).(map[string]any)
	err := p.module.guest.Validate(ctx, values)
	if e, ok := errors.AsType[*wasm.Error](err); ok {
		veil := p.module.veil(values)
		return &wasm.Error{Reason: e.Reason, Message: veil.over(e.Message)}
	}
	return err
}
