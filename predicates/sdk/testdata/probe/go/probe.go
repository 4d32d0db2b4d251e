// Command probe reads the field /params/path as /params/as says, and gives it back
// in words.
package main

import (
	"math"
	"strconv"

	dw "github.com/donewhen/donewhen/predicates/sdk/go"
)

func main() {}

//go:wasmexport dw_evaluate
func evaluate() dw.Verdict {
	path, _ := dw.String("/params/path")
	as, _ := dw.String("/params/as")
	out, ok := "", false
	switch as {
	case "string":
		out, ok = dw.String(path)
	case "int":
		var n int64
		n, ok = dw.Int(path)
		out = strconv.FormatInt(n, 10)
	case "float":
		var f float64
		f, ok = dw.Float(path)
		out = strconv.FormatInt(int64(math.Float64bits(f)), 10)
	case "bool":
		var b bool
		b, ok = dw.Bool(path)
		out = strconv.FormatBool(b)
	case "has":
		out, ok = "there", dw.Has(path)
	case "type":
		out, ok = strconv.Itoa(int(dw.TypeOf(path))), true
	case "json":
		var t dw.Type
		out, t = dw.JSON(path)
		ok = t != dw.TypeAbsent
	case "escape":
		out, ok = dw.Escape(path), true
	case "failed":
		return dw.Failed("NotFound/DiskMissing", "no such disk")
	case "cannot":
		return dw.CannotJudge("it makes no sense")
	case "log":
		dw.Log(dw.Warn, "a line")
	case "crash":
		panic("it crashes")
	}
	if !ok {
		return dw.Pending("Missing", "")
	}
	return dw.Done("Read", out)
}

//go:wasmexport dw_validate
func validate() dw.Answer {
	if dw.Has("/params/bad") {
		return dw.Refuse("bad is there")
	}
	return dw.Accept()
}
