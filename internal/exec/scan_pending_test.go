package exec

import (
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Pending rows come once each, whatever follows them: few more, a batch of many, blocks that
// are summed up, or the end of a segment.
func TestPendingRowsComeOnce(t *testing.T) {
	const rows = 9 * 4096
	s := &store{t: t}
	want := map[any][2]int64{}
	for part := range 2 {
		var list [][]any
		for i := range rows {
			k := int64(i % 1000) // few rows of each block
			switch i / 4096 {
			case 2, 6:
				k = 7 // the whole block
			case 3:
				k = int64(i % 3 * 7) // a third of it
			case 5:
				k = 8 // nothing
			}
			at := int64(part*rows + i)
			word := fmt.Sprint("w", k)
			list = append(list, []any{at, word, 0.5, word, k, nil})
			if k == 7 {
				w := want[word]
				want[word] = [2]int64{w[0] + 1, w[1] + at}
			}
		}
		s.addSegment(chrono.Interval{Start: 0, End: 1 << 40}, eventSchema, true, list)
	}
	filters := map[string]expr.Expr{
		"number": compare(t, "=", &expr.Column{Index: 2, Name: "k", T: expr.Of(expr.BigInt)}, number1(7)),
		"text":   compare(t, "=", &expr.Column{Index: 1, Name: "word", T: expr.Of(expr.Varchar)}, text1("w7")),
		"like":   likeExpr(t, &expr.Column{Index: 1, Name: "word", T: expr.Of(expr.Varchar)}, "%w7"),
	}
	for name, filter := range filters {
		t.Run(name, func(t *testing.T) {
			scan := scanOf(filter, "__time", "word", "k")
			calls := typed(types(scan.Out), call("COUNT", long), call("SUM", long, 0))
			var wanted [][]any
			for word, w := range want {
				wanted = append(wanted, []any{word, w[0], w[1]})
			}
			total := [][]any{{wanted[0][1], wanted[0][2]}}
			for _, cfg := range configs {
				env := cfg.env(t)
				env.Tables = s
				sameRows(t, wanted, mustRows(t, &plan.Aggregate{Input: scan, Keys: []int{1}, Aggs: calls}, env))
				env = cfg.env(t)
				env.Tables = s
				sameRows(t, total, mustRows(t, &plan.Aggregate{Input: scan, Aggs: calls}, env))
			}
		})
	}
}
