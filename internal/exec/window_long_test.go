package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// longTypes are (id, s, d, word, k, part, offset, kept): random rows with what long partitions need
// beside.
var longTypes = append(slices.Clone(testTypes), long, long, long)

func longRows(n int, parts func(i int) int64) [][]any {
	r := rand.New(rand.NewPCG(15, 8))
	rows := randomRows(r, n)
	for i := range rows {
		var offset any
		if r.IntN(9) > 0 {
			offset = r.Int64N(40)
		}
		rows[i] = append(rows[i], parts(i), offset, r.Int64N(2))
	}
	return rows
}

// sameLong runs a window in plenty of memory and in little, which must give the same and, where
// spilling is off, too little.
func sameLong(t *testing.T, node *plan.Window, memory int64) {
	t.Helper()
	want := mustRows(t, node, config{batch: 100}.env(t))
	little := config{batch: 100, spill: memory}
	got := mustRows(t, node, little.env(t))
	sameRows(t, want, got)
	env := little.env(t)
	env.Spill = nil
	if _, err := rowsOf(t, node, env); err == nil {
		t.Error("the rows fit in memory")
	}
}

func TestPartitionsOnDiskGiveWhatThoseInMemoryGive(t *testing.T) {
	rows := longRows(1200, func(i int) int64 { return int64(i / 1000) })
	frames := map[string]plan.Frame{
		"whole": wholeFrame, "running": running, "rows before": rowsFrame(-2, 0), "rows far before": rowsFrame(-400, -100), "rows around": rowsFrame(-30, 300),
		"empty": rowsFrame(3, 1), "past the end": rowsFrame(1<<62, 1<<62), "to end": {ToUnbounded: true, FromColumn: -1, ToColumn: -1},
		"up to before":    {FromUnbounded: true, ToOffset: -100, FromColumn: -1, ToColumn: -1},
		"range around":    {Range: true, FromOffset: -1, ToOffset: 2, FromColumn: -1, ToColumn: -1},
		"range to end":    {Range: true, FromOffset: 1, ToUnbounded: true, FromColumn: -1, ToColumn: -1},
		"range up to":     {Range: true, FromUnbounded: true, ToOffset: 1, FromColumn: -1, ToColumn: -1},
		"groups around":   {Groups: true, FromOffset: -1, ToOffset: 1, FromColumn: -1, ToColumn: -1},
		"groups up to":    {Groups: true, FromUnbounded: true, ToOffset: -2, FromColumn: -1, ToColumn: -1},
		"by row":          {FromUnbounded: true, FromColumn: -1, ToColumn: 6},
		"range by row":    {Range: true, FromColumn: 6, ToUnbounded: true, ToColumn: -1},
		"range of values": {Range: true, FromColumn: 6, ToColumn: 2, Values: true},
		"but the row":     {Range: true, FromUnbounded: true, FromColumn: -1, ToColumn: -1, Exclude: plan.ExcludeCurrentRow},
		"but its peers":   {FromOffset: -400, ToUnbounded: true, FromColumn: -1, ToColumn: -1, Exclude: plan.ExcludeGroup},
		"but its ties":    {Groups: true, FromOffset: -3, ToOffset: 1, FromColumn: -1, ToColumn: -1, Exclude: plan.ExcludeTies},
	}
	for name, f := range frames {
		t.Run(name, func(t *testing.T) {
			calls := []plan.WindowCall{
				windowAgg("COUNT", long, f), windowAgg("SUM", double, f, 2), windowAgg("MIN", str, f, 3), windowAgg("SUM", long, f, 4), windowAgg("COUNT", long, f, 1),
				windowOf("FIRST_VALUE", str, f, 1), windowOf("LAST_VALUE", double, f, 2), windowOf("NTH_VALUE", long, f, 4),
				windowOf("LAST_VALUE", str, f, 1), windowOf("NTH_VALUE", str, f, 3),
			}
			calls[3].Filter = 7
			calls[4].Distinct, calls[4].Filter = true, 7
			calls[7].Agg.Params = []any{int64(3)}
			calls[8].IgnoreNulls = true
			calls[9].Agg.Params, calls[9].IgnoreNulls = []any{int64(2)}, true
			order := []plan.SortKey{{Column: 4, Desc: len(name)%2 == 0, NullsFirst: len(name)%3 == 0}}
			if !f.Range { // so that rows have positions
				order = append(order, plan.SortKey{Column: 0})
			} else {
				calls = calls[:5]
			}
			sameLong(t, &plan.Window{Input: inline(longTypes, rows...), Partition: []int{5}, Order: order, Calls: calls}, 40<<10)
		})
	}
}

func TestFunctionsOfPlacesOverPartitionsOnDisk(t *testing.T) {
	rows := longRows(1500, func(i int) int64 { return int64(i%7) / 6 }) // one partition of most rows, and a small one
	param := func(n int64, c plan.WindowCall) plan.WindowCall { c.Agg.Params = []any{n}; return c }
	known := func(c plan.WindowCall) plan.WindowCall { c.IgnoreNulls = true; return c }
	places := []plan.WindowCall{
		windowOf("ROW_NUMBER", long, wholeFrame), param(7, windowOf("NTILE", long, wholeFrame)), param(5000, windowOf("NTILE", long, wholeFrame)),
		windowOf("LAG", str, wholeFrame, 1), param(300, windowOf("LEAD", double, wholeFrame, 2)), windowOf("LAG", str, wholeFrame, 1, 6, 3),
		known(windowOf("LAG", str, wholeFrame, 1)), known(param(40, windowOf("LEAD", double, wholeFrame, 2))), known(param(0, windowOf("LEAD", str, wholeFrame, 1))),
		known(windowOf("LEAD", long, wholeFrame, 4, 6, 0)),
	}
	ranks := []plan.WindowCall{
		windowOf("RANK", long, wholeFrame), windowOf("DENSE_RANK", long, wholeFrame), windowOf("PERCENT_RANK", double, wholeFrame), windowOf("CUME_DIST", double, wholeFrame),
	}
	in := inline(longTypes, rows...)
	sameLong(t, &plan.Window{Input: in, Partition: []int{5}, Order: []plan.SortKey{{Column: 4}, {Column: 0}}, Calls: places}, 40<<10)
	sameLong(t, &plan.Window{Input: in, Partition: []int{5}, Order: []plan.SortKey{{Column: 4}}, Calls: ranks}, 40<<10)
	sameLong(t, &plan.Window{Input: in, Calls: []plan.WindowCall{windowAgg("SUM", double, wholeFrame, 2)}}, 40<<10)
	// Peers that do not fit, behind some that do: calls that look back only go on with what they have.
	for i := range rows {
		if rows[i][4] != nil && i > 150 {
			rows[i][4] = int64(77)
		}
	}
	back := []plan.WindowCall{windowOf("ROW_NUMBER", long, wholeFrame), ranks[0], ranks[1], windowAgg("SUM", double, running, 2), windowAgg("MAX", str, running, 3)}
	many := &plan.Window{Input: inline(longTypes, rows...), Order: []plan.SortKey{{Column: 4}}, Calls: back[1:]}
	sameLong(t, many, 40<<10)
	many.Partition = []int{5}
	sameLong(t, many, 40<<10)
}

// Equal strings of bytes are equal values, and a value counts once in a frame wherever it stands.
func TestDistinctOverPartitionsOnDiskFollowsEqualRows(t *testing.T) {
	var rows [][]any
	for i := range 1200 {
		rows = append(rows, []any{int64(i), "v" + fmt.Sprint(i*i%11), []any{0.0, 1.5, nil}[i%3]})
	}
	rows[4][2] = negativeZero()
	types := []vector.Type{long, str, double}
	var calls []plan.WindowCall
	for _, f := range []plan.Frame{wholeFrame, running, rowsFrame(-100, 5), {FromOffset: -50, ToUnbounded: true, FromColumn: -1, ToColumn: -1, Exclude: plan.ExcludeCurrentRow}} {
		for _, c := range []plan.WindowCall{windowOf("", long, f, 1), windowOf("", long, f, 2), windowOf("", long, f, 1, 2)} {
			c.Agg.Name, c.Distinct = "COUNT", true
			for _, a := range c.Args {
				c.Agg.Args = append(c.Agg.Args, types[a])
			}
			calls = append(calls, c)
		}
	}
	sameLong(t, &plan.Window{Input: inline(types, rows...), Order: []plan.SortKey{{Column: 0}}, Calls: calls}, 40<<10)
}

func negativeZero() float64 { zero := 0.0; return -zero }
