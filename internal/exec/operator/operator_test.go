package operator

import (
	"errors"
	"io"
	"testing"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

func longs(t *testing.T, op Operator) (out []int64, batches int) {
	t.Helper()
	if err := Drain(t.Context(), op, func(b *vector.Batch) error {
		batches++
		b = b.Compact()
		for i := range b.N {
			out = append(out, b.Cols[0].LongAt(i))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out, batches
}

func TestBatchesComeInPieces(t *testing.T) {
	for _, c := range []struct{ rows, most, batches int }{{0, 3, 0}, {1, 3, 1}, {3, 3, 1}, {7, 3, 3}} {
		op := Batches(&vector.Batch{N: c.rows, Cols: []*vector.Vector{vector.FromLongs(make([]int64, c.rows))}}, c.most)
		if rows, n := longs(t, op); len(rows) != c.rows || n != c.batches {
			t.Errorf("[%d] rows in [%d] batches, want %+v", len(rows), n, c)
		}
		op.Close()
	}
	if _, err := (None{}).Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("got %v of no rows", err)
	}
}

// In checked builds a batch that is kept too long is poisoned.
func TestLentBatchesAreValidUntilTheNextCall(t *testing.T) {
	op := CheckLifetime(Batches(&vector.Batch{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{7, 8})}}, 1))
	defer op.Close()
	first, err := op.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := first.Cols[0].LongAt(0); got != 7 {
		t.Errorf("got [%d], want [7]", got)
	}
	if _, err := op.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := first.Cols[0].Longs[0]; (got != 7) != invariant.Enabled {
		t.Errorf("the batch has [%d] after the next call; poisoned: %v", got, invariant.Enabled)
	}
}
