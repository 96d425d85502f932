package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// chunkFunction gives the start of the time chunk that a time lies in, in milliseconds: the last
// that is not after it, and the first for times before all. Its second argument is a text of the
// starts, ascending, with commas between them. Native queries that answer segment by segment group
// by it.
var chunkFunction = &Function{
	Name: "$CHUNK", Min: 2, Max: 2,
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		if text := b.constantText(1, "starts"); b.err == nil {
			_, b.err = parseStarts(text)
		}
		return b.strict(Of(BigInt))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		text, _ := literalValue(c.Args[1])
		s, _ := text.(string)
		starts, err := parseStarts(s)
		if err != nil {
			return nil, err
		}
		return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
			times, out := columnOf[int64](args[0]), make([]int64, n)
			last := 0 // rows mostly ascend in time
			for i := range out {
				t := times.at(i)
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
