package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Doubles as keys are the same groups whether they are whole and near each other, as results of
// FLOOR are, or anything else, alone and beside other keys.
func TestGroupsOfDoubles(t *testing.T) {
	nan, negZero := math.NaN(), math.Copysign(0, -1)
	for name, double := range map[string]func(r *rand.Rand) any{
		"whole": func(r *rand.Rand) any { return float64(r.IntN(40) - 10) },
		"mixed": func(r *rand.Rand) any { return []any{0.0, negZero, nan, nil, 1.0, 1.5, -3.0, math.Inf(1)}[r.IntN(8)] },
		"large": func(r *rand.Rand) any {
			return []any{1e300, -1e300, 0x1p63, -0x1p63, 0x1p53, 7.0, 70_000.0, -70_000.0}[r.IntN(8)]
		},
		"fractional": func(r *rand.Rand) any { return float64(r.IntN(300)) / 7 },
		"growing":    func(r *rand.Rand) any { return float64(r.IntN(1 + r.IntN(700))) },
	} {
		r := rand.New(rand.NewPCG(3, 5))
		rows := make([][]any, 900)
		for i := range rows {
			rows[i] = []any{double(r), []any{"a", "b", nil}[r.IntN(3)], int64(r.IntN(4))}
		}
		for _, keys := range [][]int{{0}, {0, 1}, {2, 0}, {0, 0}, {1, 0, 2}} {
			t.Run(fmt.Sprint(name, keys), func(t *testing.T) {
				counts := map[string]int64{}
				for _, row := range rows {
					counts[keyOf(row, keys)]++
				}
				in := inline([]vector.Type{vector.Double, str, long}, rows...)
				node := &plan.Aggregate{Input: in, Keys: keys, Aggs: []plan.AggCall{call("COUNT", long)}}
				everywhere(t, node, func(t *testing.T, got [][]any) {
					all := make([]int, len(keys))
					for i := range all {
						all[i] = i
					}
					for _, row := range got {
						if key := keyOf(row, all); counts[key] != row[len(keys)] {
							t.Errorf("group %s has %v rows, want %d", key, row[len(keys)], counts[key])
						}
					}
					if len(got) != len(counts) {
						t.Errorf("%d groups, want %d", len(got), len(counts))
					}
				})
			})
		}
	}
}

// keyOf tells zeros of different signs apart, and no NaNs.
func keyOf(row []any, keys []int) string {
	text := ""
	for _, k := range keys {
		if x, is := row[k].(float64); is {
			text += fmt.Sprintf("%x;", vector.DoubleWord(x))
			continue
		}
		text += fmt.Sprintf("%#v;", row[k])
	}
	return text
}
