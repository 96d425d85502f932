package exec

import (
	"context"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// unnestOp gives one row per element of a list column.
type unnestOp struct {
	node  *plan.Unnest
	input Operator
	rows  int
	elem  vector.Type

	batch *vector.Batch
	row   int // of batch
	at    int // element of row
}

func newUnnest(n *plan.Unnest, input Operator, env *Env) *unnestOp {
	return &unnestOp{node: n, input: input, rows: env.BatchRows, elem: n.Elem.Runtime()}
}

func (o *unnestOp) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		if o.batch == nil {
			b, err := o.input.Next(ctx)
			if err != nil {
				return nil, err
			}
			o.batch, o.row, o.at = b.Compact(), 0, 0
		}
		if b := o.step(); b != nil {
			return b, nil
		}
	}
}

// step expands as many rows as fill an output batch; nil when they have no elements.
func (o *unnestOp) step() *vector.Batch {
	list := o.batch.Cols[o.node.Column]
	var rows, elems []uint32
	var positions []int64
	var missing []int // output rows without an element
	for o.row < o.batch.N && len(rows) < o.rows {
		lo, hi := 0, 0
		if !list.IsNull(o.row) {
			lo, hi = list.ListAt(o.row)
		}
		if lo == hi && o.node.Outer {
			missing = append(missing, len(rows))
			rows, elems, positions = append(rows, uint32(o.row)), append(elems, 0), append(positions, 0)
		}
		for ; lo+o.at < hi && len(rows) < o.rows; o.at++ {
			rows, elems = append(rows, uint32(o.row)), append(elems, uint32(lo+o.at))
			positions = append(positions, int64(o.at)+1)
		}
		if lo+o.at >= hi {
			o.row, o.at = o.row+1, 0
		}
	}
	in := o.batch
	if o.row >= in.N {
		o.batch = nil
	}
	if len(rows) == 0 {
		return nil
	}
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, 0, len(in.Cols)+2)}
	for _, c := range in.Cols {
		out.Cols = append(out.Cols, c.Gather(rows))
	}
	out.Cols = append(out.Cols, o.elements(list, elems, missing))
	if o.node.Ordinality {
		out.Cols = append(out.Cols, withNulls(vector.FromLongs(positions), missing))
	}
	return out
}

func (o *unnestOp) elements(list *vector.Vector, elems []uint32, missing []int) *vector.Vector {
	if len(missing) == len(elems) {
		return vector.Nulls(o.elem, len(elems))
	}
	return withNulls(list.Child.Gather(elems), missing)
}

// withNulls returns v with the given rows null.
func withNulls(v *vector.Vector, rows []int) *vector.Vector {
	if len(rows) == 0 {
		return v
	}
	if v.Const {
		v = v.Flat()
	}
	out := *v
	out.Valid = vector.FullBitmap(v.Len)
	if v.Valid != nil {
		copy(out.Valid, v.Valid)
	}
	for _, r := range rows {
		out.Valid.Clear(r)
	}
	return &out
}

func (o *unnestOp) Close() { o.input.Close() }
