package oracle

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// unknown is the panic of the oracle for what it does not know; Run turns it into an error.
type unknown string

// eval computes an expression over one row. elements are the present values of the Each and Any
// around it, innermost first.
func eval(e expr.Expr, row []any, elements []any) any {
	switch x := e.(type) {
	case *expr.Column:
		return row[x.Index]
	case *expr.Literal:
		return x.Value
	case *expr.Element:
		return elements[x.Depth]
	case *expr.Cast:
		return cast(eval(x.X, row, elements), x.X.Type(), x.T)
	case *expr.Case:
		for _, w := range x.Whens {
			if truth(eval(w.Cond, row, elements)) {
				return eval(w.Then, row, elements)
			}
		}
		if x.Else == nil {
			return nil
		}
		return eval(x.Else, row, elements)
	case *expr.And:
		return all(x.Terms, row, elements, false)
	case *expr.Or:
		return all(x.Terms, row, elements, true)
	case *expr.Not:
		if v := eval(x.X, row, elements); v != nil {
			return b2i(!truth(v))
		}
		return nil
	case *expr.In:
		return in(eval(x.X, row, elements), x)
	case *expr.Each:
		var out []any
		for _, v := range values(eval(x.Source, row, elements)) {
			switch r := eval(x.Body, row, append([]any{v}, elements...)).(type) {
			case []any:
				out = append(out, r...)
			default:
				out = append(out, r)
			}
		}
		if len(out) == 1 && out[0] == nil {
			return nil
		}
		return out
	case *expr.Any:
		source := eval(x.Source, row, elements)
		if list, _ := source.([]any); len(list) == 0 {
			return eval(x.Body, row, append([]any{nil}, elements...))
		}
		var out any = int64(0)
		for _, v := range values(source) {
			switch of := eval(x.Body, row, append([]any{v}, elements...)); {
			case truth(of):
				return int64(1)
			case of == nil:
				out = nil
			}
		}
		return out
	case *expr.Loop:
		return loop(x, row, elements)
	case *expr.Call:
		return call(x, row, elements)
	}
	panic(unknown(fmt.Sprintf("expression %T", e)))
}

// loop goes over the combinations of the values of lists one by one.
func loop(x *expr.Loop, row []any, elements []any) any {
	lists := make([][]any, len(x.Lists))
	for i, l := range x.Lists {
		list, ok := eval(l, row, elements).([]any)
		if !ok {
			if x.Kind == expr.LoopSome || x.Kind == expr.LoopEvery {
				return int64(0)
			}
			return nil
		}
		lists[i] = list
	}
	turns := [][]any{nil}
	if x.Zip {
		turns = nil
		for i := range lists[0] {
			var turn []any
			for _, l := range lists {
				if i < len(l) {
					turn = append([]any{l[i]}, turn...)
				}
			}
			if len(turn) == len(lists) {
				turns = append(turns, turn)
			}
		}
	} else {
		for _, l := range lists {
			var longer [][]any
			for _, turn := range turns {
				for _, v := range l {
					longer = append(longer, append([]any{v}, turn...))
				}
			}
			turns = longer
		}
	}
	out := []any{}
	var made any
	if x.Initial != nil {
		made = eval(x.Initial, row, elements)
	}
	for _, turn := range turns {
		if x.Kind == expr.LoopFold {
			made = eval(x.Body, row, slices.Concat([]any{made}, turn, elements))
			continue
		}
		v := eval(x.Body, row, slices.Concat(turn, elements))
		switch holds := v != nil && truth(v); {
		case x.Kind == expr.LoopMap:
			out = append(out, v)
		case x.Kind == expr.LoopKeep && holds:
			out = append(out, turn[0])
		case x.Kind == expr.LoopSome && holds:
			return int64(1)
		case x.Kind == expr.LoopEvery && !holds:
			return int64(0)
		}
	}
	switch x.Kind {
	case expr.LoopFold:
		return made
	case expr.LoopSome:
		return int64(0)
	case expr.LoopEvery:
		return int64(1)
	}
	return out
}

// values lists the values of a multi-value string; none is one NULL.
func values(v any) []any {
	if list, _ := v.([]any); len(list) > 0 {
		return list
	}
	return []any{nil}
}

// all is OR (until true) or AND (until false) in three values.
func all(terms []expr.Expr, row, elements []any, until bool) any {
	var out any = b2i(!until)
	for _, t := range terms {
		v := eval(t, row, elements)
		if v == nil {
			out = nil
		} else if truth(v) == until {
			return b2i(until)
		}
	}
	return out
}

func in(v any, x *expr.In) any {
	if v == nil {
		return nil
	}
	for _, w := range x.Values {
		if equal(v, w) {
			return int64(1)
		}
	}
	if x.HasNull {
		return nil
	}
	return int64(0)
}

// cast converts between the types that random queries cast between.
func cast(v any, from, to expr.Type) any {
	if v == nil {
		return nil
	}
	if list, ok := v.([]any); ok && to.Base == expr.Array && (from.Multi || from.Base == expr.Array) {
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = cast(e, from.Elem(), to.Elem())
		}
		return out
	}
	if to.Base == expr.Array && from.IsCharacter() && to.Elem().IsCharacter() {
		return []any{v}
	}
	if from.Multi || from.Base == expr.Array || to.Base == expr.Array {
		panic(unknown(fmt.Sprintf("cast of %s to %s", from, to)))
	}
	switch x := v.(type) {
	case string:
		switch {
		case to.IsCharacter():
			return x
		case to.IsInteger():
			n, err := strconv.ParseInt(x, 10, 64)
			if err == nil {
				return n
			}
			if f, err := strconv.ParseFloat(x, 64); err == nil {
				return saturate(f)
			}
			return nil
		}
	case int64:
		switch {
		case to.IsCharacter() && from.IsInteger():
			return strconv.FormatInt(x, 10)
		case to.Base == expr.Boolean:
			return b2i(x > 0)
		case to.Base == expr.Date:
			return x - mod(x, dayMillis)
		case to.Runtime() == vector.Long:
			return x
		case to.Base == expr.Float:
			return float32(x)
		case to.Runtime() == vector.Double:
			return float64(x)
		}
	case float32, float64:
		f := number(x)
		switch {
		case to.Base == expr.Boolean:
			return b2i(f > 0)
		case to.IsInteger():
			return saturate(f)
		case to.Base == expr.Float:
			return float32(f)
		case to.Runtime() == vector.Double:
			return f
		}
	}
	panic(unknown(fmt.Sprintf("cast of %s to %s", from, to)))
}

func saturate(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}
