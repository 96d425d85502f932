package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// renewing hands out a damaged copy of a store's segment so many times, and then the good one, as
// the owner of a copy does that fetches it again.
type renewing struct {
	good, bad *store
	times     int
	asked     int
}

func (r *renewing) Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]Leaf, error) {
	if r.asked++; r.asked <= r.times {
		return r.bad.Leaves(ctx, scan, columns)
	}
	return r.good.Leaves(ctx, scan, columns)
}

// A query that finds a copy to be damaged before it has given rows begins anew, once, and gives the
// rows of the better copy.
func TestADamagedCopyIsAskedForOnceMore(t *testing.T) {
	good := &store{t: t}
	good.addSegment(chrono.Eternity, []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "k", Type: long}}, true,
		[][]any{{int64(1), int64(70)}, {int64(2), int64(700)}})
	file, err := os.ReadFile(good.leaves[0].Reader.(*segment.Segment).Name())
	if err != nil {
		t.Fatal(err)
	}
	file[64] ^= 1 // in the values of the first column
	path := filepath.Join(t.TempDir(), "damaged.seg")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	seg, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer seg.Release()
	bad := &store{t: t, leaves: []Leaf{{Reader: seg, Visible: chrono.Eternity}}}
	scan := scanOf(nil, "__time", "k")
	const always = 100
	for name, node := range map[string]plan.Node{
		"scan":    scan,
		"groups":  &plan.Aggregate{Input: scan, Keys: []int{0}, Aggs: typed([]vector.Type{long, long}, call("SUM", long, 1))},
		"ordered": &plan.Sort{Input: scan, Keys: []plan.SortKey{{Column: 1}}, Limit: -1},
		"join":    &plan.Join{Left: scan, Right: scan, Keys: []plan.EquiKey{{}}},
	} {
		for _, times := range []int{0, 1, always} {
			for _, cfg := range configs {
				env := cfg.env(t)
				env.Tables = &renewing{good: good, bad: bad, times: times}
				rows, err := rowsOf(t, node, env)
				if times == always && !errors.Is(err, segment.ErrCorrupt) || times < always && (err != nil || len(rows) != 2) {
					t.Errorf("%s, damaged %d times: %d rows, %v", name, times, len(rows), err)
				}
				if n := good.out.Load() + bad.out.Load(); n != 0 || env.Budget.Used() != 0 {
					t.Errorf("%s, damaged %d times: %d segments and %d bytes are held", name, times, n, env.Budget.Used())
				}
			}
		}
	}
	if !seg.Damaged() {
		t.Error("the segment does not know that it is damaged")
	}
}
