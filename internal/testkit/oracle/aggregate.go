package oracle

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// aggregate collects the rows of each group and computes each call over them.
func aggregate(x *plan.Aggregate, in [][]any) [][]any {
	sets := x.Sets
	if sets == nil {
		sets = [][]int{nil}
		for i := range x.Keys {
			sets[0] = append(sets[0], i)
		}
	}
	var out [][]any
	for _, set := range sets {
		groups := map[string][][]any{}
		keys := map[string][]any{}
		var order []string
		for _, row := range in {
			key := make([]any, len(x.Keys))
			for _, i := range set {
				key[i] = row[x.Keys[i]]
			}
			text := groupKey(key)
			if _, ok := groups[text]; !ok {
				keys[text] = key
				order = append(order, text)
			}
			groups[text] = append(groups[text], row)
		}
		if len(order) == 0 && len(x.Keys) == 0 { // one group over no rows
			keys[""] = make([]any, len(x.Keys))
			order = append(order, "")
		}
		for _, text := range order {
			row := slices.Clone(keys[text])
			for i := range x.Aggs {
				row = append(row, result(&x.Aggs[i], groups[text], ofValues(&x.Aggs[i], x.Input)))
			}
			if x.Grouping {
				row = append(row, groupingID(set, len(x.Keys)))
			}
			out = append(out, row)
		}
	}
	return out
}

// groupingID has a bit for each key that is not in the set, the last key's lowest.
func groupingID(set []int, keys int) int64 {
	id := int64(0)
	for i := range keys {
		id <<= 1
		if !slices.Contains(set, i) {
			id |= 1
		}
	}
	return id
}

// ofValues reports whether an aggregate takes the values of a multi-value string one by one.
func ofValues(c *plan.AggCall, in plan.Node) bool {
	return c.Distinct && c.Agg.Name == "COUNT" && len(c.Args) > 0 && in.Columns()[c.Args[0]].Type.Multi
}

// known are the aggregates that are NULL over no rows and that result computes.
var known = map[string]bool{
	"SUM": true, "AVG": true, "MIN": true, "MAX": true, "BIT_OR": true, "BIT_XOR": true, "EVERY": true, "SOME": true, "MEDIAN": true, "PERCENTILE_DISC": true, "MODE": true,
	"MAX_BY": true, "VAR_POP": true,
}

// result computes one aggregate over the rows of a group; byValue says that it takes the values of
// a multi-value string one by one.
func result(c *plan.AggCall, rows [][]any, byValue bool) any {
	var args [][]any
	seen := map[string]bool{}
	for _, row := range rows {
		if c.Filter >= 0 && !truth(row[c.Filter]) {
			continue
		}
		arg := make([]any, len(c.Args))
		null := false
		for i, a := range c.Args {
			arg[i] = row[a]
			null = null || arg[i] == nil && (c.Agg.Name != "MAX_BY" || i == 1)
		}
		if null {
			continue
		}
		each := [][]any{arg}
		if list, ok := arg0(arg).([]any); ok && byValue {
			each = nil
			for _, v := range list {
				if v != nil {
					each = append(each, []any{v})
				}
			}
		}
		for _, arg := range each {
			if c.Distinct {
				key := groupKey(arg)
				if seen[key] {
					continue
				}
				seen[key] = true
			}
			args = append(args, arg)
		}
	}
	switch c.Agg.Name {
	case "COUNT":
		return int64(len(args))
	case "COUNT_IF":
		return int64(len(slices.DeleteFunc(args, func(a []any) bool { return !truth(a[0]) })))
	}
	if !known[c.Agg.Name] {
		panic(unknown("aggregate " + c.Agg.Name))
	}
	if len(args) == 0 {
		return nil
	}
	switch c.Agg.Name {
	case "SUM":
		if c.Agg.Args[0] == vector.Long {
			sum := int64(0)
			for _, a := range args {
				sum += a[0].(int64)
			}
			return sum
		}
		return sum(args)
	case "AVG":
		return sum(args) / float64(len(args))
	case "MIN", "MAX":
		best := args[0][0]
		for _, a := range args[1:] {
			if o := order(a[0], best); o < 0 && c.Agg.Name == "MIN" || o > 0 && c.Agg.Name == "MAX" {
				best = a[0]
			}
		}
		return best
	case "BIT_OR":
		out := int64(0)
		for _, a := range args {
			out |= a[0].(int64)
		}
		return out
	case "BIT_XOR":
		out := int64(0)
		for _, a := range args {
			out ^= a[0].(int64)
		}
		return out
	case "EVERY", "SOME":
		some := c.Agg.Name == "SOME"
		if slices.ContainsFunc(args, func(a []any) bool { return truth(a[0]) == some }) == some {
			return int64(1)
		}
		return int64(0)
	case "MEDIAN":
		slices.SortFunc(args, func(a, b []any) int { return order(a[0], b[0]) })
		low, high := number(args[(len(args)-1)/2][0]), number(args[len(args)/2][0])
		if low == high {
			return low
		}
		return low + (high-low)/2
	case "PERCENTILE_DISC":
		slices.SortFunc(args, func(a, b []any) int { return order(a[0], b[0]) })
		return args[max(0, int(math.Ceil(number(c.Agg.Params[0])*float64(len(args))))-1)][0]
	case "MODE":
		times := map[string]int{}
		best := args[0][0]
		for _, a := range args {
			times[groupKey(a)]++
		}
		for _, a := range args {
			n, most := times[groupKey(a)], times[groupKey([]any{best})]
			if n > most || n == most && order(a[0], best) < 0 {
				best = a[0]
			}
		}
		return best
	case "MAX_BY":
		return slices.MaxFunc(args, func(a, b []any) int {
			if o := order(a[1], b[1]); o != 0 {
				return o
			}
			return orderNulls(b[0], a[0])
		})[0]
	case "VAR_POP":
		mean := sum(args) / float64(len(args))
		squares := 0.0
		for _, a := range args {
			squares += (number(a[0]) - mean) * (number(a[0]) - mean)
		}
		return squares / float64(len(args))
	}
	panic(unknown("aggregate " + c.Agg.Name))
}

func arg0(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func sum(args [][]any) float64 {
	total := 0.0
	for _, a := range args {
		total += number(a[0])
	}
	if math.IsNaN(total) {
		return math.NaN()
	}
	return total
}
