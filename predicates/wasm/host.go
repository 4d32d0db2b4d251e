package wasm

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// function is a host function: its params and results are i32 but where it says
// otherwise. Arguments of type i32 come with dirty upper halves: only their lower
// 32 bits count. It pays for each call, priceCall at least.
type function struct {
	module, name    string
	params, results []api.ValueType
	call            func(c *call, stack []uint64)
}

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// functions are all that a guest can import.
var functions = append([]function{
	{"dw", "get", []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i64}, get},
	{"dw", "result", []api.ValueType{i32, i32, i32, i32}, nil, func(c *call, stack []uint64) {
		c.charge(priceCall)
		code := c.view("result", uint32(stack[0]), uint32(stack[1]))
		message := c.view("result", uint32(stack[2]), uint32(stack[3]))
		c.setResult(code, message)
	}},
	{"dw", "log", []api.ValueType{i32, i32, i32}, nil, func(c *call, stack []uint64) {
		c.charge(priceCall)
		text := c.view("log", uint32(stack[1]), uint32(stack[2]))
		c.charge(uint64(min(len(text), maxLog)) * priceEncoded)
		c.log(uint32(stack[0]), text)
	}},
}, wasi...)

// importTypes are the types of functions by "module.name".
var importTypes = func() map[string]string {
	types := map[string]string{}
	for _, f := range functions {
		types[f.module+"."+f.name] = f.typeName()
	}
	return types
}()

// typeName writes the type as the rewriter does.
func (f function) typeName() string {
	names := func(types []api.ValueType) string {
		var list []string
		for _, t := range types {
			list = append(list, api.ValueTypeName(t))
		}
		return strings.Join(list, ", ")
	}
	text := "func (" + names(f.params) + ")"
	if len(f.results) > 0 {
		text += " -> " + names(f.results)
	}
	return text
}

// host makes the modules that guests of the engine import from.
func (r *Runtime) host(ctx context.Context, engine wazero.Runtime) error {
	for _, module := range []string{"dw", "wasi_snapshot_preview1"} {
		b := engine.NewHostModuleBuilder(module)
		for _, f := range functions {
			if f.module != module {
				continue
			}
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
				c := callOf(ctx)
				if err := c.late(); err != nil {
					panic(err)
				}
				f.call(c, stack)
			}), f.params, f.results).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("make the host module %s: %w", module, err)
		}
	}
	return nil
}
