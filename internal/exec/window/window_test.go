package window

import (
	"errors"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// numbers is ROW_NUMBER over a column of partitions and one of order.
func numbers(partitions, order []int64) (*plan.Window, *vector.Batch) {
	rows := &vector.Batch{N: len(order), Cols: []*vector.Vector{vector.FromLongs(partitions), vector.FromLongs(order)}}
	bigint := expr.FromRuntime(vector.Long, false)
	in := &plan.Inline{Out: []plan.Column{{Name: "p", Type: bigint}, {Name: "o", Type: bigint}}, Rows: rows}
	call := plan.WindowCall{Fn: "ROW_NUMBER", AggCall: plan.AggCall{Filter: -1, Name: "n", Type: bigint}}
	return &plan.Window{Input: in, Partition: []int{0}, Order: []plan.SortKey{{Column: 1}}, Calls: []plan.WindowCall{call}}, rows
}

func TestRowsAreSortedAndNumberedByPartition(t *testing.T) {
	n, rows := numbers([]int64{2, 1, 2, 1, 2}, []int64{30, 20, 10, 10, 20})
	b := budget.Root(1 << 20)
	op, err := New(n, operator.Batches(rows, 2), nil, Options{Resources: operator.Resources{Budget: b, BatchRows: 2}})
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]int64
	if err := operator.Drain(t.Context(), op, func(b *vector.Batch) error {
		b = b.Compact()
		for i := range b.N {
			got = append(got, [3]int64{b.Cols[0].LongAt(i), b.Cols[1].LongAt(i), b.Cols[2].LongAt(i)})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	op.Close()
	want := [][3]int64{{1, 10, 1}, {1, 20, 2}, {2, 10, 1}, {2, 20, 2}, {2, 30, 3}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d is %v, want %v", i, got[i], want[i])
		}
	}
	if b.Used() != 0 {
		t.Errorf("[%d] bytes are left", b.Used())
	}
}

func TestPartitionsWithTooManyRowsAreRefused(t *testing.T) {
	n, rows := numbers([]int64{1, 1, 2, 2, 2}, []int64{1, 2, 1, 2, 3})
	options := Options{Resources: operator.Resources{Budget: budget.Root(1 << 20), BatchRows: 2}, MaxRows: 2}
	op, err := New(n, operator.Batches(rows, 2), nil, options)
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	err = operator.Drain(t.Context(), op, func(*vector.Batch) error { return nil })
	var long *RowsError
	if !errors.As(err, &long) || long.Rows != 3 || long.Max != 2 {
		t.Errorf("got %v, want an error for [3] rows", err)
	}
}

// A call that no package knows is refused when the operator is made.
func TestUnknownFunctionsAreRefused(t *testing.T) {
	n, rows := numbers([]int64{1}, []int64{1})
	n.Calls[0].Fn = "GUESS"
	in := operator.Batches(rows, 1)
	defer in.Close()
	if _, err := New(n, in, nil, Options{Resources: operator.Resources{Budget: budget.Root(1 << 20), BatchRows: 2}}); err == nil {
		t.Error("the function is known")
	}
}
