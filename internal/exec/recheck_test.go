package exec

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// panicking is an operator whose rows a bug, or what it reads, keeps it from.
type panicking struct{ list []int }

func (p *panicking) Next(context.Context) (*vector.Batch, error) {
	return &vector.Batch{N: p.list[7]}, nil
}
func (*panicking) Close() {}

// giving has one batch.
type giving struct{}

func (giving) Next(context.Context) (*vector.Batch, error) { return &vector.Batch{N: 2}, nil }
func (giving) Close()                                      {}

// A panic over bytes that have changed since they were verified is damage: the query begins anew.
// Over bytes that have not it is a bug.
func TestAPanicOverChangedBytesIsDamage(t *testing.T) {
	s := &store{t: t}
	s.addSegment(chrono.Eternity, []segment.ColumnSpec{{Name: "__time", Type: long}, {Name: "k", Type: long}}, true,
		[][]any{{int64(1), int64(70)}, {int64(2), int64(700)}})
	file, err := os.ReadFile(s.leaves[0].Reader.(*segment.Segment).Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "copy.segment")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		seg, err := segment.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := seg.Verify(); err != nil { // all is found good
			t.Fatal(err)
		}
		if changed {
			bad := append([]byte(nil), file...)
			bad[64] ^= 1
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made := 0
		op, err := begin(t.Context(), (&Env{}).withDefaults(t.Context()), func(ctx context.Context) (Operator, *sharing, error) {
			readFrom(ctx, seg, []string{"__time", "k"})
			if made++; made == 1 {
				return &panicking{}, &sharing{}, nil
			}
			return giving{}, &sharing{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := op.Next(t.Context())
		op.Close()
		f := fault.Find(err)
		if changed && (err != nil || b.N != 2 || !seg.Damaged()) || !changed && (f == nil || f.Category != fault.CategoryDefensive || made != 1 || seg.Damaged()) {
			t.Errorf("changed=%v: made [%d] times, %v, %v", changed, made, b, err)
		}
		seg.Release()
		if seg.Acquire() {
			t.Error("the query still holds the segment")
		}
	}
}
