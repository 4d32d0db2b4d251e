package celexpr_test

import (
	"context"
	"fmt"
	"time"

	"github.com/donewhen/donewhen/predicates/celexpr"
)

func Example() {
	env, err := celexpr.NewEnvironment([]celexpr.Param{{Name: "bytes", Type: "int"}})
	if err != nil {
		panic(err)
	}
	for _, issue := range env.AddVariable("detail", "object.status.detail") {
		panic(issue.Message)
	}
	done, _ := env.Compile("variables.detail.capacity_bytes >= params.bytes", celexpr.OutputBool)
	params, err := env.BindParams(map[string]any{"bytes": int64(10)})
	if err != nil {
		panic(err)
	}
	for _, object := range []map[string]any{
		{"status": map[string]any{"detail": map[string]any{"capacity_bytes": int64(10)}}},
		{"status": map[string]any{}},
	} {
		ev := env.Evaluation(context.Background(), object, params, celexpr.Limits{Timeout: time.Second})
		holds, err := done.Bool(ev)
		if err != nil {
			fmt.Println(err.Kind == celexpr.MissingData, err.Missing(ev))
		} else {
			fmt.Println(holds)
		}
		ev.Close()
	}
	_, issues := env.Compile("params.byte > 1", celexpr.OutputBool)
	fmt.Printf("%d:%d %s: %s\n", issues[0].Line, issues[0].Column, issues[0].Message, issues[0].Hint)
	// Output:
	// true
	// true object.status.detail (no such key: detail)
	// 1:1 params has no 'byte': did you mean 'bytes'?
}
