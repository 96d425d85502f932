package timefn

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// chunkFunction gives the start of the time chunk that a time lies in, in milliseconds: the last
// that is not after it, and the first for times before all. Its second argument is a text of the
// starts, ascending, with commas between them. Native queries that answer segment by segment group
// by it.
var chunkFunction = &expr.Function{
	Name: "$CHUNK", Min: 2, Max: 2,
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		if text := b.ConstantText(1, "starts"); b.Err == nil {
			_, b.Err = parseStarts(text)
		}
		return b.Strict(expr.Of(expr.BigInt))
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		text, _ := expr.LiteralValue(c.Args[1])
		s, _ := text.(string)
		starts, err := parseStarts(s)
		if err != nil {
			return nil, err
		}
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			times, out := kernel.ColumnOf[int64](args[0]), make([]int64, n)
			last := 0 // rows mostly ascend in time
			for i := range out {
				t := times.At(i)
				if t < starts[last] || last+1 < len(starts) && t >= starts[last+1] {
					found, exact := slices.BinarySearch(starts, t)
					if last = found; !exact {
						last = max(found-1, 0)
					}
				}
				out[i] = starts[last]
			}
			return vector.FromLongs(out), nil
		}, nil
	},
}

func parseStarts(text string) ([]int64, error) {
	var out []int64
	for s := range strings.SplitSeq(text, ",") {
		start, err := strconv.ParseInt(s, 10, 64)
		if err != nil || len(out) > 0 && start <= out[len(out)-1] {
			return nil, fault.InvalidInput("Starts of time chunks are ascending milliseconds, not [%.100s]", text)
		}
		out = append(out, start)
	}
	return out, nil
}
