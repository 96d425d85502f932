package oracle

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/expr"
)

const dayMillis = 24 * 60 * 60 * 1000

// mod is the remainder that is never negative.
func mod(a, b int64) int64 { return ((a % b) + b) % b }

// strict are the functions that are NULL if an argument is.
var strict = map[string]bool{
	"=": true, "<>": true, "<": true, ">": true, "<=": true, ">=": true, "-": true, "+": true, "*": true, "/": true, "%": true, "DIV": true, "MOD": true, "SAFE_DIVIDE": true,
	"ABS": true, "FLOOR": true, "CEIL": true, "SIGN": true, "LENGTH": true, "CHAR_LENGTH": true, "UPPER": true, "LOWER": true, "REVERSE": true, "TRIM": true, "BTRIM": true,
	"||": true, "CONCAT": true, "SUBSTRING": true, "LEFT": true, "REPLACE": true, "STRPOS": true, "LIKE": true, "TIME_FLOOR": true, "TIME_EXTRACT": true,
}

// call applies a function of the catalog.
func call(c *expr.Call, row, elements []any) any {
	name := c.Fn.Name
	if name == "COALESCE" || name == "NVL" || name == "IFNULL" {
		for _, a := range c.Args {
			if v := eval(a, row, elements); v != nil {
				return v
			}
		}
		return nil
	}
	args := make([]any, len(c.Args))
	null := false
	for i, a := range c.Args {
		args[i] = eval(a, row, elements)
		null = null || args[i] == nil
	}
	if v, ok := arrayCall(name, args, null); ok {
		return v
	}
	switch name {
	case "IS NULL":
		return b2i(hasNull(c.Args[0], args[0]))
	case "IS NOT NULL":
		return b2i(!hasNull(c.Args[0], args[0]))
	case "IS TRUE":
		return b2i(truth(args[0]))
	case "IS NOT TRUE":
		return b2i(!truth(args[0]))
	case "IS FALSE":
		return b2i(args[0] != nil && !truth(args[0]))
	case "IS NOT FALSE":
		return b2i(args[0] == nil || truth(args[0]))
	case "IS DISTINCT FROM", "IS NOT DISTINCT FROM":
		return b2i(same(args[0], args[1]) == (name == "IS NOT DISTINCT FROM"))
	case "GREATEST", "LEAST":
		var best any
		for _, v := range args {
			if v == nil {
				continue
			}
			if best == nil || name == "GREATEST" && order(v, best) > 0 || name == "LEAST" && order(v, best) < 0 {
				best = v
			}
		}
		return best
	case "TIME_FLOOR":
		null = args[0] == nil // no origin and no zone are NULL
	}
	if null {
		if !strict[name] {
			panic(unknown("function " + name + " of NULL"))
		}
		return nil
	}
	if len(args) == 2 && c.Args[1].Type().Base == expr.IntervalMonth {
		return addMonths(args[0].(int64), longs(name, 0, args[1].(int64)).(int64))
	}
	if v, ok := compared(name, args); ok {
		return v
	}
	switch len(args) {
	case 1:
		return one(name, args[0])
	case 2:
		switch x := args[0].(type) {
		case int64:
			if y, ok := args[1].(int64); ok {
				return longs(name, x, y)
			}
		case float64:
			if y, ok := args[1].(float64); ok {
				return doubles(name, x, y)
			}
		}
	}
	return strung(name, args)
}

// compared is a comparison of two values that are not nil. NaN is above every number, and yet
// equals nothing.
func compared(name string, args []any) (v any, ok bool) {
	if len(args) != 2 {
		return nil, false
	}
	a, b := args[0], args[1]
	c := func() int {
		if equal(a, b) { // zeros of both signs
			return 0
		}
		return order(a, b)
	}
	switch name {
	case "=":
		return b2i(equal(a, b)), true
	case "<>":
		return b2i(!equal(a, b)), true
	case "<":
		return b2i(c() < 0), true
	case ">":
		return b2i(c() > 0), true
	case "<=":
		return b2i(c() <= 0), true
	case ">=":
		return b2i(c() >= 0), true
	}
	return nil, false
}

func one(name string, arg any) any {
	switch x := arg.(type) {
	case int64:
		switch name {
		case "-":
			return -x
		case "ABS":
			return max(x, -x)
		case "FLOOR", "CEIL":
			return x
		case "SIGN":
			return b2i(x > 0) - b2i(x < 0)
		}
	case float64:
		switch name {
		case "-":
			return -x
		case "ABS":
			return math.Abs(x)
		case "FLOOR":
			return math.Floor(x)
		case "CEIL":
			return math.Ceil(x)
		}
	case string:
		switch name { // random text is ASCII
		case "LENGTH", "CHAR_LENGTH":
			return int64(len(x))
		case "UPPER":
			return strings.ToUpper(x)
		case "LOWER":
			return strings.ToLower(x)
		case "REVERSE":
			b := []byte(x)
			for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
				b[i], b[j] = b[j], b[i]
			}
			return string(b)
		case "TRIM", "BTRIM":
			return strings.Trim(x, " ")
		}
	}
	panic(unknown("function " + name))
}

// addMonths keeps the day of the month, or takes the last of a month that has no such day.
func addMonths(ms, months int64) int64 {
	t := time.UnixMilli(ms).UTC()
	first := t.AddDate(0, int(months), 1-t.Day())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1).UnixMilli()
}

func longs(name string, x, y int64) any {
	switch name {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/", "DIV":
		return x / y
	case "%", "MOD":
		return x % y
	case "SAFE_DIVIDE":
		if y == 0 {
			return nil
		}
		return x / y
	}
	panic(unknown("function " + name + " of whole numbers"))
}

func doubles(name string, x, y float64) any {
	switch name {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	}
	panic(unknown("function " + name + " of doubles"))
}

func strung(name string, args []any) any {
	switch name {
	case "||", "CONCAT":
		var b strings.Builder
		for _, a := range args {
			b.WriteString(a.(string))
		}
		return b.String()
	case "SUBSTRING":
		s, from := args[0].(string), int(args[1].(int64))
		end := len(s)
		if len(args) == 3 {
			end = min(end, from-1+int(args[2].(int64)))
		}
		if from > len(s) {
			return nil
		}
		return s[from-1 : end]
	case "LEFT":
		s := args[0].(string)
		return s[:min(len(s), int(args[1].(int64)))]
	case "TRIM", "BTRIM":
		return strings.Trim(args[0].(string), args[1].(string))
	case "REPLACE":
		return strings.ReplaceAll(args[0].(string), args[1].(string), args[2].(string))
	case "STRPOS":
		return int64(strings.Index(args[0].(string), args[1].(string)) + 1)
	case "LIKE":
		return b2i(like(args[0].(string), args[1].(string)))
	case "TIME_FLOOR":
		ms := args[0].(int64)
		switch args[1].(string) {
		case "PT1H":
			return ms - mod(ms, dayMillis/24)
		case "PT6H":
			return ms - mod(ms, dayMillis/4)
		case "P1D":
			return ms - mod(ms, dayMillis)
		case "P1M":
			t := time.UnixMilli(ms).UTC()
			return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		}
	case "TIME_EXTRACT":
		t := time.UnixMilli(args[0].(int64)).UTC()
		switch args[1].(string) {
		case "YEAR":
			return int64(t.Year())
		case "MONTH":
			return int64(t.Month())
		case "DAY":
			return int64(t.Day())
		case "HOUR":
			return int64(t.Hour())
		}
	}
	panic(unknown("function " + name))
}

// like matches a pattern of % and _ without escapes.
func like(s, pattern string) bool {
	if pattern == "" {
		return s == ""
	}
	if pattern[0] == '%' {
		for i := 0; i <= len(s); i++ {
			if like(s[i:], pattern[1:]) {
				return true
			}
		}
		return false
	}
	return s != "" && (pattern[0] == '_' || pattern[0] == s[0]) && like(s[1:], pattern[1:])
}

// hasNull reports whether a value is NULL. A multi-value string is if it has no value, or if one of
// its values is.
func hasNull(e expr.Expr, v any) bool {
	if e.Type().Multi {
		return slices.Contains(values(v), nil)
	}
	return v == nil
}
