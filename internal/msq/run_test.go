package msq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Columns of mixedBatches: a time chunk, a boost, then a value of every shape.
const (
	chunkAt = iota
	boostAt
	textAt
	doubleAt
	multiAt
	listAt
	jsonAt
)

// mixedBatches returns batches of n rows in which texts come flat, with dictionaries and as
// constants, multi-value columns as lists and plain, with and without nulls.
func mixedBatches(r *rand.Rand, n, chunks int, ordered bool) []*vector.Batch {
	shared := vector.NewDict([]string{"a", "b", "c"})
	var out []*vector.Batch
	for at := 0; at < n; {
		m := min(1+r.IntN(40), n-at)
		b := &vector.Batch{N: m}
		column := func(t vector.Type, value func(i int) any) *vector.Vector {
			v := vector.NewBuilder(t, m)
			for i := range m {
				v.Append(value(i))
			}
			return v.Build()
		}
		maybe := func(x any) any {
			if r.IntN(6) == 0 {
				return nil
			}
			return x
		}
		text := func(int) any { return maybe(fmt.Sprintf("t%d", r.IntN(9))) }
		b.Cols = append(b.Cols, column(vector.Long, func(i int) any {
			if ordered {
				return int64((at + i) * chunks / n)
			}
			return int64(r.IntN(chunks))
		}))
		b.Cols = append(b.Cols, column(vector.Long, func(i int) any { return int64(at + i) }))
		switch r.IntN(4) {
		case 0:
			b.Cols = append(b.Cols, column(vector.String, text))
		case 1:
			b.Cols = append(b.Cols, vector.Constant(vector.String, maybe("t5"), m))
		default:
			codes, dict := make([]uint32, m), shared
			if r.IntN(2) == 0 {
				dict = vector.NewDict([]string{"t8", "t1", "x", "a"})
			}
			for i := range codes {
				codes[i] = uint32(r.IntN(dict.Len()))
			}
			v := vector.FromCodes(codes, dict)
			if r.IntN(2) == 0 {
				v.Valid = vector.FullBitmap(m)
				v.Valid.Clear(r.IntN(m))
			}
			b.Cols = append(b.Cols, v)
		}
		b.Cols = append(b.Cols, column(vector.Double, func(int) any { return maybe(float64(r.IntN(5))) }))
		list := func(int) any {
			l := make([]any, r.IntN(3))
			for k := range l {
				l[k] = text(0)
			}
			return maybe(l)
		}
		if r.IntN(2) == 0 {
			b.Cols = append(b.Cols, column(vector.String, text))
		} else {
			b.Cols = append(b.Cols, column(vector.ListOf(vector.String), list))
		}
		b.Cols = append(b.Cols, column(vector.ListOf(vector.String), list))
		b.Cols = append(b.Cols, column(vector.JSON, func(int) any { return maybe(fmt.Sprintf("[%d]", r.IntN(9))) }))
		at += m
		out = append(out, b)
	}
	return out
}

// boxed returns the rows of batches as values; a plain multi-value is the list of it.
func boxed(batches ...*vector.Batch) (rows [][]any) {
	for _, b := range batches {
		for i := range b.N {
			row := make([]any, len(b.Cols))
			for c, v := range b.Cols {
				row[c] = v.ValueAt(i)
				if s, ok := row[c].(string); ok && c == multiAt {
					row[c] = []any{s}
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// inOrderOf returns the rows of batches in an order, equal ones as they are, by the plainest means.
func inOrderOf(o *sortOrder, batches []*vector.Batch) [][]any {
	rows := boxed(batches...)
	keys := make([][]byte, 0, len(rows))
	for _, b := range batches {
		for i := range b.N {
			keys = append(keys, o.key(b, i, len(o.columns)))
		}
	}
	numbers := make([]int, len(rows))
	for i := range numbers {
		numbers[i] = i
	}
	slices.SortStableFunc(numbers, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	out := make([][]any, len(rows))
	for i, n := range numbers {
		out[i] = rows[n]
	}
	return out
}

func bucketedOrder(cluster ...plan.SortKey) sortOrder {
	keys := append([]plan.SortKey{{Column: chunkAt, NullsFirst: true}}, cluster...)
	o := orderOf(append(keys, plan.SortKey{Column: boostAt, NullsFirst: true}))
	o.bucketed = true
	return o
}

// TestSortedOutputs writes rows in every order and reads them back: all at once, and by partitions.
func TestSortedOutputs(t *testing.T) {
	orders := map[string]sortOrder{
		"chunks":           bucketedOrder(),
		"chunks and texts": bucketedOrder(plan.SortKey{Column: textAt, NullsFirst: true}, plan.SortKey{Column: doubleAt, NullsFirst: true}),
		"rows":             orderOf([]plan.SortKey{{Column: doubleAt, Desc: true}, {Column: textAt, NullsFirst: true}}),
	}
	for name, order := range orders {
		for _, ordered := range []bool{true, false} {
			for _, limit := range []int64{1, 100 << 10, 10 << 20} { // a run per batch, some, one
				for _, h := range []holding{holdCopy, holdTexts, holdAsIs} {
					t.Run(fmt.Sprint(name, ordered, limit, h), func(t *testing.T) {
						r := rand.New(rand.NewPCG(uint64(limit), uint64(h)))
						batches := mixedBatches(r, 700, 4, ordered)
						want := inOrderOf(&order, batches)
						out := writeSorted(t, order, batches, limit, h)
						defer out.close()
						if d := cmp.Diff(want, readSorted(t, &order, out, nil, nil)); d != "" {
							t.Fatal(d)
						}
						if !order.bucketed {
							return
						}
						var parts [][]any
						for _, p := range divide([]*output{out}, true, 60) {
							parts = append(parts, readSorted(t, &order, out, p.lo, p.hi)...)
						}
						if d := cmp.Diff(want, parts); d != "" {
							t.Fatal("by partitions:", d)
						}
					})
				}
			}
		}
	}
}

func writeSorted(t *testing.T, order sortOrder, batches []*vector.Batch, limit int64, h holding) *output {
	t.Helper()
	w, err := newSortedWriter(order, 64, limit, h, t.TempDir(), "x", nil, nil, nil, nil, newCounters())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if h == holdCopy { // which promises that b may change after add
			b = &vector.Batch{N: b.N, Cols: slices.Clone(b.Cols)}
			for i, v := range b.Cols {
				b.Cols[i] = copyVector(v)
			}
		}
		if err := w.add(b); err != nil {
			t.Fatal(err)
		}
		if h == holdCopy {
			for _, v := range b.Cols {
				clear(v.Longs)
				clear(v.Doubles)
				clear(v.Codes)
				clear(v.Strings)
				clear(v.Offsets)
			}
		}
	}
	out, err := w.finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readSorted(t *testing.T, order *sortOrder, out *output, lo, hi []byte) (rows [][]any) {
	t.Helper()
	m := newMergeReader(order, []*output{out}, lo, hi, func(*output, *frameRef, int) {})
	for {
		b, err := m.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.N == 0 {
			t.Error("a batch is empty")
		}
		rows = append(rows, boxed(b)...)
	}
}

func TestOrderedRowsAreNotCopied(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var x run
	for _, b := range mixedBatches(r, 500, 3, true) {
		x.add(b, holdAsIs, nil)
	}
	order := bucketedOrder()
	if places := x.sorted(&order); places != nil {
		t.Errorf("rows that came in order are sorted: %v", places)
	}
	first := x.batches[0].Cols[boostAt].Longs
	for b := range x.frames(nil, len(first), false) {
		if &b.Cols[boostAt].Longs[0] != &first[0] {
			t.Error("the rows of a whole batch were copied")
		}
		break
	}
}

// TestSortingWithoutMemory sorts under a budget that gives nothing: every batch is a run, and
// nothing stays reserved.
func TestSortingWithoutMemory(t *testing.T) {
	batches := mixedBatches(rand.New(rand.NewPCG(2, 2)), 300, 2, false)
	order := bucketedOrder()
	memory := budget.Root(1)
	w, err := newSortedWriter(order, 64, 1<<20, holdAsIs, t.TempDir(), "x", memory, nil, nil, nil, newCounters())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.add(b); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.finish()
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	if out.runs != len(batches) || memory.Used() != 0 {
		t.Errorf("[%d] runs of [%d] batches, [%d] bytes reserved", out.runs, len(batches), memory.Used())
	}
	if d := cmp.Diff(inOrderOf(&order, batches), readSorted(t, &order, out, nil, nil)); d != "" {
		t.Error(d)
	}
}

// TestFullDiskEndsSorting fails in the goroutine that writes runs; the failure reaches add or
// finish, and abort leaves nothing.
func TestFullDiskEndsSorting(t *testing.T) {
	dir := t.TempDir()
	disk := budget.DiskRoot(20 << 10)
	w, err := newSortedWriter(bucketedOrder(), 64, 64<<10, holdAsIs, dir, "x", nil, disk, nil, nil, newCounters())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range mixedBatches(rand.New(rand.NewPCG(3, 3)), 5000, 2, false) {
		if err = w.add(b); err != nil {
			break
		}
	}
	if err == nil {
		_, err = w.finish()
	}
	if err == nil {
		t.Error("all rows fitted")
	}
	w.abort()
	if left, _ := os.ReadDir(dir); len(left) > 0 || disk.Used() != 0 {
		t.Errorf("left: %v, [%d] bytes", left, disk.Used())
	}
}

func TestMergeStopsWhenCancelled(t *testing.T) {
	order := bucketedOrder()
	out := writeSorted(t, order, mixedBatches(rand.New(rand.NewPCG(4, 4)), 300, 2, false), 1, holdAsIs)
	defer out.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	m := newMergeReader(&order, []*output{out}, nil, nil, func(*output, *frameRef, int) {})
	if _, err := m.Next(ctx); err != nil {
		t.Fatal(err)
	}
	cancel(ErrUserRequest)
	if _, err := m.Next(ctx); !errors.Is(err, ErrUserRequest) {
		t.Errorf("Next after cancelling = %v", err)
	}
}

func TestPlainValues(t *testing.T) {
	list := func(rows ...any) *vector.Vector {
		b := vector.NewBuilder(vector.ListOf(vector.String), 0)
		for _, r := range rows {
			b.Append(r)
		}
		return b.Build()
	}
	for _, c := range []struct {
		name string
		in   *vector.Vector
		want []any // nil: it stays a list
	}{
		{"single", list([]any{"a"}, []any{"b"}), []any{"a", "b"}},
		{"slice", list([]any{"x"}, []any{"a"}, nil, []any{"b"}).Slice(1, 4), []any{"a", nil, "b"}},
		{"nulls only", list(nil, nil), []any{nil, nil}},
		{"several", list([]any{"a"}, []any{"b", "c"}), nil},
		{"none", list([]any{"a"}, []any{}), nil},
		{"a null within", list([]any{"a"}, []any{nil}), nil},
		{"no list", vector.FromStrings([]string{"a"}), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := plainValues(c.in)
			var got []any
			if v != nil {
				for i := range v.Len {
					got = append(got, v.ValueAt(i))
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEmptyListsAreStoredAsNull(t *testing.T) {
	b := vector.NewBuilder(vector.ListOf(vector.String), 0)
	for _, row := range []any{[]any{}, []any{nil}, []any{""}, []any{"a"}, nil, []any{nil, "b"}, []any{nil, nil}} {
		b.Append(row)
	}
	v := withoutEmpty(b.Build())
	want := []any{nil, nil, []any{""}, []any{"a"}, nil, []any{nil, "b"}, []any{nil, nil}}
	for i, row := range want {
		if d := cmp.Diff(row, v.ValueAt(i)); d != "" {
			t.Errorf("row %d (-want +got):\n%s", i, d)
		}
	}
}
