package oracle

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Values are nil, int64, float64, float32, string or []any.

// order compares two values of one type that are not nil: -1, 0 or 1. NaN is above all numbers and
// equal to itself, -0.0 below 0.0.
func order(a, b any) int {
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case string:
		return strings.Compare(x, b.(string))
	case []any:
		y := b.([]any)
		for i := 0; i < len(x) && i < len(y); i++ {
			if c := orderNulls(x[i], y[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	}
	x, y := number(a), number(b)
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	case x == 0 && y == 0:
		return cmp.Compare(b2i(math.Signbit(y)), b2i(math.Signbit(x)))
	}
	return cmp.Compare(x, y)
}

// orderNulls is order with nil below everything.
func orderNulls(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return order(a, b)
}

// equal is SQL's = for two values that are not nil: zeros are equal, NaN is not.
func equal(a, b any) bool {
	switch x := a.(type) {
	case int64:
		return x == b.(int64)
	case string:
		return x == b.(string)
	case []any:
		return order(a, b) == 0
	}
	return number(a) == number(b)
}

// same is SQL's IS NOT DISTINCT FROM: nils are the same, NaNs are, zeros are.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return equal(a, b) || order(a, b) == 0
}

// groupKey is a text that is equal for values of one group: nils are, NaNs are, zeros are.
func groupKey(row []any) string {
	var b strings.Builder
	for _, v := range row {
		switch x := v.(type) {
		case float64, float32:
			f := number(x)
			if f == 0 {
				f = 0
			}
			fmt.Fprintf(&b, "%x;", f)
		case []any:
			fmt.Fprintf(&b, "[%s];", groupKey(x))
		default:
			fmt.Fprintf(&b, "%T%q;", v, fmt.Sprint(v))
		}
	}
	return b.String()
}

func number(v any) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case float32:
		return float64(x)
	case float64:
		return x
	}
	panic(fmt.Sprintf("oracle: %T is no number", v))
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func truth(v any) bool { return v != nil && v.(int64) > 0 }
