package predicates_test

import (
	"fmt"
	"testing"
)

// TestParseParam: params from a command line, by their declared type.
func TestParseParam(t *testing.T) {
	p := loadOne(t, `  params:
    s: string
    i: int
    d: double
    b: bool
    t: duration
    q: quantity
    l: list(int)
    m: map(string, duration)
    e: {type: string, enum: [x, y]}
    k: {type: int, sensitive: true}
  done: params.s == ''
`)
	for _, c := range []struct{ name, text, want string }{
		{"s", "a=b c", "string a=b c"},
		{"s", "", "string "},
		{"s", "5", "string 5"},
		{"i", "-3", "int64 -3"},
		{"i", "9007199254740993", "int64 9007199254740993"},
		{"d", "0.5", "float64 0.5"},
		{"d", "3", "float64 3"},
		{"b", "true", "bool true"},
		{"t", "90s", "time.Duration 1m30s"},
		{"q", "10Gi", "resource.Quantity {{10737418240 0} {<nil>} 10Gi BinarySI}"},
		{"l", "[1, 2]", "[]interface {} [1 2]"},
		{"m", "{a: 1s}", "map[string]interface {} map[a:1s]"},
		{"e", "x", "string x"},

		{"i", "3.5", `param i must be int, "3.5" can't be read as one; write it like 3`},
		{"i", "", `param i must be int, "" can't be read as one; write it like 3`},
		{"d", "x", `param d must be double, "x" can't be read as one; write it like 0.5`},
		{"d", "Inf", `param d must be double, it is no finite number`},
		{"b", "yes", `param b must be bool, "yes" can't be read as one; write it like true or false`},
		{"t", "90", `param t must be duration, it is a string that can't be read as one; write it like 30s or 10m`},
		{"q", "x", `param q must be quantity, it is a string that can't be read as one; write it like 10Gi`},
		{"l", "1", `param l must be list(int), it is an int`},
		{"l", "[a]", `param l element 0 must be int, it is a string`},
		{"l", "[", `param l must be list(int), "[" can't be read as one; write it like [a, b]`},
		{"m", "", `param m must be map(string, duration), "" can't be read as one; write it like {k: v}`},
		{"e", "z", `param e is z, allowed: x, y`},
		{"k", "hunter2", `param k must be int, the given value can't be read as one; write it like 3`},
		{"st", "x", `predicate p has no param "st"; did you mean "s"?`},
	} {
		v, err := p.ParseParam(c.name, c.text)
		got := fmt.Sprintf("%T %v", v, v)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s=%s: %s\nwant %s", c.name, c.text, got, c.want)
		}
	}
	none := loadOne(t, "  done: 'true'")
	if _, err := none.ParseParam("x", "y"); err == nil || err.Error() != "predicate p has no params" {
		t.Error(err)
	}
}
