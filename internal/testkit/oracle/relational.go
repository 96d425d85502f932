package oracle

import (
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/fixture"
)

// Tables are the rows of datasources.
type Tables map[string]*fixture.Table

// Run evaluates a plan. The error says what the oracle does not know.
func Run(n plan.Node, tables Tables) (rows [][]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			u, ok := p.(unknown)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("the oracle does not know %s", string(u))
		}
	}()
	return tables.run(n), nil
}

func (t Tables) run(n plan.Node) [][]any {
	switch x := n.(type) {
	case *plan.Scan:
		return t.scan(x)
	case *plan.Inline:
		var rows [][]any
		for i := range x.Rows.N {
			row := make([]any, len(x.Rows.Cols))
			for c, v := range x.Rows.Cols {
				row[c] = v.ValueAt(i)
			}
			rows = append(rows, row)
		}
		return rows
	case *plan.Filter:
		return slices.DeleteFunc(t.run(x.Input), func(row []any) bool { return !truth(eval(x.Cond, row, nil)) })
	case *plan.Project:
		in := t.run(x.Input)
		out := make([][]any, len(in))
		for i, row := range in {
			for _, e := range x.Exprs {
				out[i] = append(out[i], eval(e, row, nil))
			}
		}
		return out
	case *plan.Aggregate:
		return aggregate(x, t.run(x.Input))
	case *plan.Sort:
		rows := t.run(x.Input)
		slices.SortStableFunc(rows, func(a, b []any) int { return orderRows(a, b, x.Keys) })
		return cut(rows, x.Offset, x.Limit)
	case *plan.Limit:
		return cut(t.run(x.Input), x.Offset, x.Count)
	case *plan.Join:
		return join(x, t.run(x.Left), t.run(x.Right))
	case *plan.Union:
		var rows [][]any
		for _, in := range x.Ins {
			rows = append(rows, t.run(in)...)
		}
		return rows
	case *plan.SetOp:
		return setOp(x, t.run(x.Left), t.run(x.Right))
	case *plan.Shared:
		return t.run(x.Input)
	case *plan.Unnest:
		return unnest(x, t.run(x.Input))
	case *plan.Window:
		return window(x, t.run(x.Input))
	}
	panic(unknown(fmt.Sprintf("node %T", n)))
}

func (t Tables) scan(x *plan.Scan) [][]any {
	table := t[x.DataSource]
	if x.Intervals != nil || x.Limit >= 0 || x.Time != 0 {
		panic(unknown("optimized scans"))
	}
	at := make([]int, len(x.Out))
	for i, c := range x.Out {
		at[i] = slices.IndexFunc(table.Columns, func(f fixture.Column) bool { return f.Name == c.Name })
	}
	var rows [][]any
	for _, r := range table.Rows {
		row := make([]any, len(at))
		for i, a := range at {
			row[i] = r[a]
		}
		if x.Filter == nil || truth(eval(x.Filter, row, nil)) {
			rows = append(rows, row)
		}
	}
	return rows
}

func orderRows(a, b []any, keys []plan.SortKey) int {
	for _, k := range keys {
		x, y := a[k.Column], b[k.Column]
		c := 0
		switch {
		case x == nil && y == nil:
		case x == nil || y == nil:
			if c = 1; (x == nil) == k.NullsFirst {
				c = -1
			}
		default:
			if c = order(x, y); k.Desc {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// cut skips offset rows and keeps at most limit, -1: all.
func cut(rows [][]any, offset, limit int64) [][]any {
	rows = rows[min(offset, int64(len(rows))):]
	if limit >= 0 {
		rows = rows[:min(limit, int64(len(rows)))]
	}
	return rows
}

func join(x *plan.Join, left, right [][]any) [][]any {
	if x.Kind == plan.AntiNull {
		return notIn(x, left, right)
	}
	partners := func(l, r []any) bool {
		for _, k := range x.Keys {
			a, b := l[k.Left], r[k.Right]
			if k.NullSafe && !same(a, b) || !k.NullSafe && (a == nil || b == nil || !equal(a, b)) {
				return false
			}
		}
		return x.On == nil || truth(eval(x.On, slices.Concat(l, r), nil))
	}
	leftNulls, rightNulls := make([]any, len(x.Left.Columns())), make([]any, len(x.Right.Columns()))
	met := make([]bool, len(right))
	var out [][]any
	for _, l := range left {
		any := false
		for j, r := range right {
			if !partners(l, r) {
				continue
			}
			if any && x.Kind == plan.Single {
				panic(unknown("scalar subqueries of several rows"))
			}
			met[j], any = true, true
			if x.Kind != plan.Semi && x.Kind != plan.Anti {
				out = append(out, slices.Concat(l, r))
			}
		}
		switch {
		case !any && (x.Kind == plan.Left || x.Kind == plan.Full || x.Kind == plan.Single):
			out = append(out, slices.Concat(l, rightNulls))
		case any && x.Kind == plan.Semi, !any && x.Kind == plan.Anti:
			out = append(out, l)
		}
	}
	if x.Kind == plan.Right || x.Kind == plan.Full {
		for j, r := range right {
			if !met[j] {
				out = append(out, slices.Concat(leftNulls, r))
			}
		}
	}
	return out
}

// notIn keeps the rows whose key is certainly not among those of the right side.
func notIn(x *plan.Join, left, right [][]any) [][]any {
	if len(x.Keys) != 1 || x.On != nil {
		panic(unknown("NOT IN of several columns or with a condition"))
	}
	k := x.Keys[0]
	return slices.DeleteFunc(left, func(l []any) bool {
		for _, r := range right {
			if l[k.Left] == nil || r[k.Right] == nil || equal(l[k.Left], r[k.Right]) {
				return true
			}
		}
		return false
	})
}

func setOp(x *plan.SetOp, left, right [][]any) [][]any {
	there := map[string]bool{}
	count := map[string]int{}
	for _, r := range right {
		there[groupKey(r)] = true
		count[groupKey(r)]++
	}
	if x.All { // each row of the right takes away, or lets stay, one of the left
		return slices.DeleteFunc(left, func(row []any) bool {
			key := groupKey(row)
			count[key]--
			return (count[key] >= 0) != (x.Kind == plan.Intersect)
		})
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(left, func(row []any) bool {
		key := groupKey(row)
		drop := seen[key] || there[key] != (x.Kind == plan.Intersect)
		seen[key] = true
		return drop
	})
}

func unnest(x *plan.Unnest, in [][]any) [][]any {
	var out [][]any
	for _, row := range in {
		longest := 0
		lists := make([][]any, len(x.Lists))
		for i, l := range x.Lists {
			lists[i], _ = row[l.Column].([]any)
			longest = max(longest, len(lists[i]))
		}
		if longest == 0 && x.Outer {
			row = slices.Clone(row)
			for range len(x.Lists) + int(b2i(x.Ordinality)) {
				row = append(row, nil)
			}
			out = append(out, row)
		}
		for i := range longest {
			elements := make([]any, len(lists))
			for k, list := range lists {
				if i < len(list) {
					elements[k] = list[i]
				}
			}
			if x.Ordinality {
				elements = append(elements, int64(i)+1)
			}
			out = append(out, slices.Concat(row, elements))
		}
	}
	return out
}
