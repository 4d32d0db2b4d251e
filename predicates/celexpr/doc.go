// Package celexpr compiles and evaluates the CEL expressions of predicates: one
// environment per predicate (its params and variables), compile errors with
// positions and hints, and evaluation that tells missing data from real errors.
//
//	compiler, err := celexpr.NewCompiler()
//	env, err := celexpr.NewEnvironment([]celexpr.Param{{Name: "bytes", Type: "int"}}, celexpr.WithCompiler(compiler))
//	issues := env.AddVariable("detail", "object.status.detail")
//	done, issues := env.Compile("variables.detail.capacity_bytes >= params.bytes", celexpr.OutputBool)
//	params, err := env.BindParams(map[string]any{"bytes": int64(1 << 30)})
//	ev := env.Evaluation(ctx, object, params, celexpr.Limits{Timeout: time.Second})
//	defer ev.Close()
//	holds, evalErr := done.Bool(ev)
package celexpr
