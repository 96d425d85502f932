package expr

import (
	"math/rand/v2"

	"github.com/hengedb/henge/internal/vector"
)

var randomFunction = &Function{
	Name: "RANDOM", Aliases: []string{"RAND"}, Min: 0, Max: 0, Volatile: true,
	Summary: "Returns a random number between 0 (inclusive) and 1 (exclusive), a different one for each row.",
	Forms:   []string{"$F()"},
	Bind:    func(b *Binding) (Expr, error) { return b.Call(Of(Double).NotNull()) },
	Kernel: Fixed(func(_ []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out := make([]float64, n)
		for i := range out {
			out[i] = rand.Float64()
		}
		return vector.FromDoubles(out), nil
	}),
}

// sampleFunction is what TABLESAMPLE .. REPEATABLE (seed) asks of the columns of a row: a number
// from 0 up to, not including, 1, that only the seed and the values of the row decide, so that
// neither segments nor threads matter.
var sampleFunction = &Function{
	Name: "$SAMPLE", Min: 1, Max: -1, SeesNulls: true, SeesLists: true,
	Bind: func(b *Binding) (Expr, error) { return b.Call(Of(Double).NotNull()) },
	Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		hashes := make([]uint64, n)
		vector.HashRows(args, hashes)
		out := make([]float64, n)
		for i, h := range hashes {
			out[i] = float64(vector.HashLong(h)>>11) / (1 << 53)
		}
		return vector.FromDoubles(out), nil
	}),
}
