package redact

import "testing"

func TestValuesAreLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"Disk is full":                 "Disk is full",
		"Column [a] of [b] is unknown": "Column [...] of [...] is unknown",
		`Row [{"a":[1]}] (Line: 2)`:    "Row [...] (Line: 2)",
		"Row [a] more]":                "Row [...] more]",
		"Row [never closed Alice":      "Row [...",
		"can't parse 'Alice' or \"Bob\" or `Eve`": "can't parse '...' or \"...\" or `...`",
		"value 'Alice":           "value '...",
		"first\nAlice":           "first ...",
		`{"a":"Alice"} is wrong`: "{...} is wrong",
	} {
		if got := Message(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, c := range []struct{ in, want string }{
		{
			`time=2 level=INFO msg="a b" task=t ms=3 error="row [Alice]" other=x`,
			`time=2 level=INFO msg="a b" task=t ms=3 error="row [...]" other=x`,
		},
		{`msg=x statement="SELECT \"Alice\"" rows=1`, `msg=x statement=... rows=1`},
		{`msg="never closed Alice`, `msg="...`},
		{
			`{"msg":"x","error":"row [Alice]","statement":"Alice","list":["Alice"],"ms":1}`,
			`{"error":"row [...]","list":"...","ms":1,"msg":"x","statement":"..."}`,
		},
		{`{"msg": broken 'Alice'`, `{...`},
		{"goroutine 1 [running]:", "goroutine 1 [...]:"},
	} {
		if got := LogLine(c.in); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.in, got, c.want)
		}
	}
}
