package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/donewhen/donewhen/predicates/wasm"
)

// wasmOptions are the flags about WebAssembly modules. A size of zero is the default.
type wasmOptions struct {
	cacheDir   string
	memory     byteSize
	moduleSize byteSize
}

// byteSize is a quantity that says in plain words what it can't read.
type byteSize struct{ resource.QuantityValue }

// Set reads the flag's text.
func (s *byteSize) Set(text string) error {
	if err := s.QuantityValue.Set(text); err != nil {
		return errors.New("give a size such as 256Mi")
	}
	return nil
}

func addWasmFlags(flags *pflag.FlagSet, o *wasmOptions) {
	o.memory.Quantity = *resource.NewQuantity(wasm.DefaultTotalMemory, resource.BinarySI)
	o.moduleSize.Quantity = *resource.NewQuantity(wasm.DefaultModuleSize, resource.BinarySI)
	flags.StringVar(&o.cacheDir, "wasm-cache-dir", "", "a `DIRECTORY` that keeps compiled WebAssembly modules, so that a start needn't compile them; made if it isn't there. Nobody but the driver's user may write it")
	flags.Var(&o.memory, "wasm-memory", "how much memory all WebAssembly predicates may have together")
	flags.Var(&o.moduleSize, "wasm-module-size", fmt.Sprintf("how big a WebAssembly module may be, unzipped; %dMi at most", wasm.MaxModuleSize>>20))
}

// check returns what is wrong with the flags.
func (o *wasmOptions) check() error {
	for _, size := range []struct {
		flag        string
		value       byteSize
		least, most int64
	}{
		{"--wasm-memory", o.memory, wasm.DefaultMemory, 1 << 40},
		{"--wasm-module-size", o.moduleSize, 1, wasm.MaxModuleSize},
	} {
		least, most := resource.NewQuantity(size.least, resource.BinarySI), resource.NewQuantity(size.most, resource.BinarySI)
		if size.value.Cmp(*least) < 0 || size.value.Cmp(*most) > 0 {
			return fmt.Errorf("%s is %s: give a size from %s to %s", size.flag, size.value.String(), least, most)
		}
	}
	return nil
}

// runtime returns what runs modules. A cache directory that can't be used costs time and
// not the start.
func (o *wasmOptions) runtime(logger klog.Logger) (*wasm.Runtime, error) {
	var options []wasm.Option
	if n := o.memory.Value(); n > 0 {
		options = append(options, wasm.WithTotalMemory(uint64(n)))
	}
	if n := o.moduleSize.Value(); n > 0 {
		options = append(options, wasm.WithModuleSize(n))
	}
	if o.cacheDir == "" {
		return wasm.New(options...)
	}
	runtime, err := wasm.New(append(options, wasm.WithCacheDir(o.cacheDir))...)
	if err == nil {
		return runtime, nil
	}
	logger.Error(err, "Compiled WebAssembly modules aren't kept: every start compiles them", "flag", "--wasm-cache-dir")
	return wasm.New(options...)
}
