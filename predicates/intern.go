package predicates

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/donewhen/donewhen/predicates/celexpr"
	"github.com/donewhen/donewhen/predicates/schemas"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// interned are the environments of one load by what they declare: predicates that
// declare the same share one, and so their equal expressions share one program.
// It is safe for concurrent use.
type interned struct{ environments sync.Map }

// environmentKey says what an environment declares.
func environmentKey(params []param, variables []v1alpha1.Variable, kinds []*schemas.Schema) string {
	declared := make([]any, 0, len(params)+len(variables)+len(kinds))
	for i := range params {
		declared = append(declared, []any{params[i].Name, params[i].Type, params[i].Sensitive})
	}
	for i := range kinds {
		declared = append(declared, fmt.Sprintf("%p", kinds[i]))
	}
	for _, v := range variables {
		declared = append(declared, v)
	}
	key, err := json.Marshal(declared)
	if err != nil {
		panic(fmt.Sprintf("predicates: names and texts are no JSON: %v", err))
	}
	return string(key)
}

// find returns the environment of a key, nil if there is none yet.
func (i *interned) find(key string) *celexpr.Environment {
	e, _ := i.environments.Load(key)
	environment, _ := e.(*celexpr.Environment)
	return environment
}

// keep shares a complete environment from now on, and returns the one that is
// shared: another goroutine may have been first.
func (i *interned) keep(key string, environment *celexpr.Environment) *celexpr.Environment {
	first, _ := i.environments.LoadOrStore(key, environment)
	return first.(*celexpr.Environment)
}

// fewDocuments are read and built quicker than goroutines are started for them.
const fewDocuments = 4

// parallel calls f with 0 … n-1, on all processors.
func parallel(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if n <= fewDocuments || workers < 2 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}
