package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

func windowOf(fn string, typ vector.Type, f plan.Frame, args ...int) plan.WindowCall {
	c := plan.WindowCall{Fn: fn, AggCall: plan.AggCall{Args: args, Filter: -1, Name: fn, Type: expr.FromRuntime(typ, false)}, Frame: f}
	return c
}

func windowAgg(name string, typ vector.Type, f plan.Frame, args ...int) plan.WindowCall {
	c := windowOf("", typ, f, args...)
	c.Agg = agg.Spec{Name: name}
	for _, a := range args {
		c.Agg.Args = append(c.Agg.Args, testTypes[a])
	}
	return c
}

var (
	wholeFrame = plan.Frame{FromUnbounded: true, ToUnbounded: true, FromColumn: -1, ToColumn: -1}
	running    = plan.Frame{Range: true, FromUnbounded: true, FromColumn: -1, ToColumn: -1}
)

func rowsFrame(from, to int64) plan.Frame {
	return plan.Frame{FromOffset: from, ToOffset: to, FromColumn: -1, ToColumn: -1}
}

// frameRows finds a frame the slow way: by looking at each row of the partition.
func frameRows(part [][]any, i int, f plan.Frame, order int) (rows [][]any) {
	peer := func(j int) bool { return part[i][order] == part[j][order] }
	group := func(j int) int { // how many runs of peers lie between
		n := 0
		for k := min(i, j); k < max(i, j); k++ {
			if part[k][order] != part[k+1][order] {
				n++
			}
		}
		if j < i {
			return -n
		}
		return n
	}
	for j := range part {
		after, before := f.FromUnbounded, f.ToUnbounded
		switch {
		case f.Groups:
			after, before = after || int64(group(j)) >= f.FromOffset, before || int64(group(j)) <= f.ToOffset
		case f.Range:
			x, xok := part[i][order].(int64)
			y, yok := part[j][order].(int64)
			switch {
			case !xok: // offsets from NULL reach its peers only
				after, before = after || j > i || peer(j), before || j < i || peer(j)
			default:
				after = after || yok && y >= x+f.FromOffset
				before = before || !yok && j < i || yok && y <= x+f.ToOffset
			}
		default:
			after, before = after || int64(j-i) >= f.FromOffset, before || int64(j-i) <= f.ToOffset
		}
		if after && before {
			rows = append(rows, part[j])
		}
	}
	return rows
}

func TestWindowAggregatesAgreeWithLookingAtEachFrame(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(8, 1)), 400)
	frames := map[string]plan.Frame{
		"whole": wholeFrame, "running": running, "rows 2 before": rowsFrame(-2, 0), "rows around": rowsFrame(-3, 3), "rows after": rowsFrame(1, 4),
		"rows far": rowsFrame(-150, 150), "empty": rowsFrame(3, 1), "past the end": rowsFrame(1<<62, 1<<62),
		"range around":  {Range: true, FromOffset: -1, ToOffset: 2, FromColumn: -1, ToColumn: -1},
		"range to end":  {Range: true, FromOffset: 1, ToUnbounded: true, FromColumn: -1, ToColumn: -1},
		"groups around": {Groups: true, FromOffset: -1, ToOffset: 1, FromColumn: -1, ToColumn: -1},
		"to end":        {FromOffset: 0, ToUnbounded: true, FromColumn: -1, ToColumn: -1},
	}
	for name, f := range frames {
		for _, partition := range [][]int{{1}, {}} {
			t.Run(fmt.Sprint(strings.ReplaceAll(name, " ", "_"), len(partition)), func(t *testing.T) {
				// Ordered by k, then by id so that the order is total; peers are told by k alone unless the
				// frame counts rows.
				order := []plan.SortKey{{Column: 4, NullsFirst: true}}
				if !f.Range && !f.Groups {
					order = append(order, plan.SortKey{Column: 0})
				}
				var want [][]any
				for _, part := range parts(rows, partition) {
					for i, r := range part {
						count, sum, distinct := int64(0), any(nil), map[any]bool{}
						sums := map[any]bool{}
						var low, once any
						for _, x := range frameRows(part, i, f, 4) {
							count++
							if x[2] != nil {
								s, _ := sum.(float64)
								sum = s + x[2].(float64)
								if !sums[x[2]] {
									s, _ := once.(float64)
									once = s + x[2].(float64)
								}
								sums[x[2]] = true
							}
							if x[3] != nil && (low == nil || x[3].(string) < low.(string)) {
								low = x[3]
							}
							if x[1] != nil {
								distinct[x[1]] = true
							}
						}
						want = append(want, append(slices.Clone(r), count, sum, low, int64(len(distinct)), once))
					}
				}
				calls := []plan.WindowCall{windowAgg("COUNT", long, f), windowAgg("SUM", double, f, 2), windowAgg("MIN", str, f, 3), windowAgg("COUNT", long, f, 1), windowAgg("SUM", double, f, 2)}
				calls[3].Distinct, calls[4].Distinct = true, true
				node := &plan.Window{Input: inline(testTypes, rows...), Partition: partition, Order: order, Calls: calls}
				for _, c := range configs[1:3] {
					sameRows(t, want, mustRows(t, node, c.env(t)))
				}
			})
		}
	}
}

// parts cuts rows by the partition columns, each part ordered by k (nulls first) and id.
func parts(rows [][]any, partition []int) [][][]any {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b []any) int {
		for _, p := range append(slices.Clone(partition), 4, 0) {
			if c := compareValue(a[p], b[p]); c != 0 {
				return c
			}
		}
		return 0
	})
	var out [][][]any
	for i, r := range sorted {
		same := i > 0
		for _, p := range partition {
			same = same && r[p] == sorted[i-1][p]
		}
		if !same {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

func TestWindowFunctions(t *testing.T) {
	l := func(x int) any { return int64(x) }
	types := []vector.Type{long, long, str}
	// (partition, order, value)
	in := inline(types,
		[]any{l(1), l(10), "a"}, []any{l(1), l(10), nil}, []any{l(1), l(20), "c"}, []any{l(1), l(30), "d"}, []any{l(2), l(5), nil})
	node := &plan.Window{Input: in, Partition: []int{0}, Order: []plan.SortKey{{Column: 1}, {Column: 2, NullsFirst: false}}}
	ranks := &plan.Window{Input: in, Partition: []int{0}, Order: []plan.SortKey{{Column: 1}}, Calls: []plan.WindowCall{
		windowOf("RANK", long, running), windowOf("DENSE_RANK", long, running), windowOf("PERCENT_RANK", double, running), windowOf("CUME_DIST", double, running)}}
	column := func(rows [][]any, c int) (out []any) {
		for _, r := range rows {
			out = append(out, r[c])
		}
		return out
	}
	everywhere(t, ranks, func(t *testing.T, got [][]any) {
		for c, want := range map[int][]any{
			3: {l(1), l(1), l(3), l(4), l(1)}, 4: {l(1), l(1), l(2), l(3), l(1)},
			5: {0.0, 0.0, 2.0 / 3, 1.0, 0.0}, 6: {0.5, 0.5, 0.75, 1.0, 1.0},
		} {
			sameOrder(t, [][]any{want}, [][]any{column(got, c)})
		}
	})
	param := func(c plan.WindowCall, params ...any) plan.WindowCall { c.Agg.Params = params; return c }
	ignore := func(c plan.WindowCall) plan.WindowCall { c.IgnoreNulls = true; return c }
	for _, c := range []struct {
		call plan.WindowCall
		want []any
	}{
		{windowOf("ROW_NUMBER", long, wholeFrame), []any{l(1), l(2), l(3), l(4), l(1)}},
		{param(windowOf("NTILE", long, wholeFrame), int64(3)), []any{l(1), l(1), l(2), l(3), l(1)}},
		{param(windowOf("NTILE", long, wholeFrame), int64(9)), []any{l(1), l(2), l(3), l(4), l(1)}},
		{windowOf("LAG", str, wholeFrame, 2), []any{nil, "a", nil, "c", nil}},
		{windowOf("LEAD", str, wholeFrame, 2), []any{nil, "c", "d", nil, nil}},
		{param(windowOf("LAG", str, wholeFrame, 2), int64(2)), []any{nil, nil, "a", nil, nil}},
		{windowOf("LAG", long, wholeFrame, 1, 0, 0), []any{l(1), l(10), l(10), l(20), l(2)}},
		{ignore(windowOf("LAG", str, wholeFrame, 2)), []any{nil, "a", "a", "c", nil}},
		{windowOf("FIRST_VALUE", str, running, 2), []any{"a", "a", "a", "a", nil}},
		{windowOf("LAST_VALUE", str, running, 2), []any{"a", nil, "c", "d", nil}},
		{windowOf("LAST_VALUE", str, wholeFrame, 2), []any{"d", "d", "d", "d", nil}},
		{ignore(windowOf("FIRST_VALUE", str, rowsFrame(1, 2), 2)), []any{"c", "c", "d", nil, nil}},
		{param(windowOf("NTH_VALUE", str, wholeFrame, 2), int64(3)), []any{"c", "c", "c", "c", nil}},
	} {
		node.Calls = []plan.WindowCall{c.call}
		for _, cfg := range configs {
			got := mustRows(t, node, cfg.env(t))
			sameOrder(t, [][]any{c.want}, [][]any{column(got, 3)})
		}
	}
	node.Calls = []plan.WindowCall{param(windowOf("NTILE", long, wholeFrame), int64(0))}
	if _, err := rowsOf(t, node, configs[0].env(t)); err == nil {
		t.Error("NTILE(0) gave rows")
	}
}

// Calls that look back only carry on from one part of a partition to the next, so that it need not
// fit in memory.
func TestLongPartitionsArePartedWhereCallsAllow(t *testing.T) {
	const n = 20_000
	in := make([][]any, n)
	for i := range in {
		in[i] = []any{int64(i / 15_000), int64(i / 3), int64(i)} // partitions of 15,000 and 5,000 rows, peers of three
	}
	from := func(i int) int { return i / 15_000 * 15_000 }
	call := func(fn string) plan.WindowCall { return windowOf(fn, long, wholeFrame) }
	total := func(f plan.Frame) plan.WindowCall {
		c := windowOf("", long, f, 2)
		c.Agg = agg.Spec{Name: "SUM", Args: []vector.Type{long}}
		return c
	}
	upToRow := plan.Frame{FromUnbounded: true, FromColumn: -1, ToColumn: -1}
	for name, calls := range map[string][]plan.WindowCall{
		"anywhere": {call("ROW_NUMBER"), total(upToRow)},
		"at peers": {call("ROW_NUMBER"), total(upToRow), call("RANK"), call("DENSE_RANK"), total(running)},
	} {
		t.Run(name, func(t *testing.T) {
			node := &plan.Window{Input: inline([]vector.Type{long, long, long}, in...), Partition: []int{0}, Order: []plan.SortKey{{Column: 1}, {Column: 2}}, Calls: calls}
			if name == "at peers" {
				node.Order = node.Order[:1]
			}
			rows := mustRows(t, node, config{batch: 64, spill: 60 << 10}.env(t))
			if len(rows) != n {
				t.Fatalf("%d rows", len(rows))
			}
			sum := int64(0)
			for i, row := range rows {
				start := from(i)
				if i == start {
					sum = 0
				}
				sum += row[2].(int64)
				if row[3] != int64(i-start)+1 {
					t.Fatalf("row %d: number %v", i, row[3])
				}
				if name == "anywhere" {
					if row[4] != sum {
						t.Fatalf("row %d: sum %v, want %d", i, row[4], sum)
					}
					continue
				}
				peer := i - i%3
				if row[5] != int64(max(peer-start, 0))+1 || row[6] != int64((peer-start)/3)+1 {
					t.Fatalf("row %d: rank %v, dense %v", i, row[5], row[6])
				}
				if i%3 == 2 && (row[4] != sum || row[7] != sum || rows[i-1][7] != sum || rows[i-2][7] != sum) {
					t.Fatalf("row %d: sums %v and %v, want %d", i, row[4], row[7], sum)
				}
			}
		})
	}
}
