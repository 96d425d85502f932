//go:build invariants

package exec

import (
	"context"
	"testing"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// A batch that is kept beyond the next call, or beyond Close, reads as poison.
func TestBatchesAreReleasedWithTheNextCall(t *testing.T) {
	in := inline([]vector.Type{long, str}, []any{int64(1), "a"}, []any{int64(2), "b"}, []any{int64(3), "c"})
	env := &Env{BatchRows: 1, Threads: 1, Expr: &expr.Context{}}
	op, err := Build(context.Background(), &plan.Limit{Input: in, Count: 3}, env)
	if err != nil {
		t.Fatal(err)
	}
	var last *vector.Batch
	for row := range 2 {
		b, err := op.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if x := b.Cols[0].LongAt(0); x != int64(row+1) {
			t.Fatalf("row %d reads as %d", row, x)
		}
		if last != nil {
			released(t, last)
		}
		last = b
	}
	op.Close()
	released(t, last)
}

// externals opens external data of two rows, a row a batch.
type externals struct{ rows *vector.Batch }

func (e externals) Open(context.Context, *plan.External, func(string)) (Operator, error) {
	return operator.Batches(e.rows, 1), nil
}

// Batches of external data last: tasks hold them.
func TestBatchesOfExternalDataAreNotReleased(t *testing.T) {
	rows := inline([]vector.Type{long, str}, []any{int64(1), "a"}, []any{int64(2), "b"})
	env := &Env{BatchRows: 1, Threads: 1, Expr: &expr.Context{}, Externals: externals{rows.Rows}}
	op, err := Build(context.Background(), &plan.External{Out: rows.Out}, env)
	if err != nil {
		t.Fatal(err)
	}
	first, err := op.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	op.Close()
	if x, y := first.Cols[0].LongAt(0), first.Cols[1].StringAt(0); x != 1 || y != "a" {
		t.Errorf("the first row reads as %d, %q", x, y)
	}
}

func released(t *testing.T, b *vector.Batch) {
	t.Helper()
	if x := b.Cols[0].LongAt(0); x != invariant.Poisoned[int64]() {
		t.Errorf("a released number reads as %d", x)
	}
	if x := b.Cols[1].StringAt(0); x != invariant.PoisonedText {
		t.Errorf("a released string reads as %q", x)
	}
}

func TestScratchIsReleased(t *testing.T) {
	s := &indexedScratch{numbers: []uint32{1}, words: []uint64{2}, rows: []uint32{3}, groups: []uint32{4}}
	numbers, words, rows, groups := s.numbers, s.words, s.rows, s.groups
	s.release()
	p := invariant.Poisoned[uint32]()
	if numbers[0] != p || words[0] != invariant.Poisoned[uint64]() || rows[0] != p || groups[0] != p {
		t.Errorf("released memory reads as %x %x %x %x", numbers, words, rows, groups)
	}
	var b blockValues
	b.reset(vector.Long)
	b.add(7, 0, true)
	v := b.vector()
	longs := v.Longs
	b.reset(vector.Long)
	if longs[0] != invariant.Poisoned[int64]() {
		t.Errorf("a released value of a block reads as %d", longs[0])
	}
}
