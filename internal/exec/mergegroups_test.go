package exec

import (
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Near keys of several workers are merged into tables that are near from the beginning.
func TestNearKeysOfManyWorkers(t *testing.T) {
	const part = 20_000
	rows := make([][]any, 3*part)
	r := rand.New(rand.NewPCG(42, 1))
	for i := range rows {
		rows[i] = []any{r.Int64N(45_000) - 20_000, int64(i)}
	}
	s := &store{t: t}
	for i := range 3 {
		of := make([][]any, 0, part)
		for k, row := range rows[i*part : (i+1)*part] {
			of = append(of, []any{int64(k), "", 0.0, "", row[0], nil})
		}
		s.addSegment(chrono.Eternity, eventSchema, true, of)
	}
	node := &plan.Aggregate{Input: scanOf(nil, "k"), Keys: []int{0}, Aggs: typed([]vector.Type{long}, call("COUNT", long))}
	counts := map[int64]int64{}
	for _, row := range rows {
		counts[row[0].(int64)]++
	}
	for _, threads := range []int{1, 3} {
		env := config{batch: 4096}.env(t)
		env.Tables, env.Threads = s, threads
		got := mustRows(t, node, env)
		if len(got) != len(counts) {
			t.Fatalf("[%d] groups, want [%d]", len(got), len(counts))
		}
		for _, row := range got {
			if row[1] != counts[row[0].(int64)] {
				t.Fatalf("key %v has count %v, want [%d]", row[0], row[1], counts[row[0].(int64)])
			}
		}
	}
}
