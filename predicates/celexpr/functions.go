package celexpr

import (
	"fmt"

	"github.com/google/cel-go/cel"
)

// Functions returns the signature of every function and operator that expressions
// can call, by "name/overload", and of every macro, by "macro name:arguments". A
// test compares it with Kubernetes' own environment.
func (c *Compiler) Functions() map[string]string { return Signatures(c.base) }

// Signatures returns the signatures of an environment's functions, operators and
// macros, as Compiler.Functions does.
func Signatures(env *cel.Env) map[string]string {
	out := map[string]string{}
	for name, f := range env.Functions() {
		for _, o := range f.OverloadDecls() {
			form := "function"
			if o.IsMemberFunction() {
				form = "method"
			}
			out[name+"/"+o.ID()] = fmt.Sprintf("%s %v: %v", form, o.ArgTypes(), o.ResultType())
		}
	}
	for _, m := range env.Macros() {
		out["macro "+m.MacroKey()] = m.Function()
	}
	return out
}
