package exec

import (
	"context"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// unnestOp gives one row per element of list columns, which are unnested side by side.
type unnestOp struct {
	node  *plan.Unnest
	input Operator
	rows  int
	need  []bool // of the output's columns; nil: all. Long lists that nobody looks at must not be repeated for each of their elements.

	batch *vector.Batch
	row   int // of batch
	at    int // element of row
}

func newUnnest(n *plan.Unnest, need []bool, input Operator, env *Env) *unnestOp {
	return &unnestOp{node: n, input: input, rows: env.BatchRows, need: need}
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
	in := o.batch
	lists := make([]unnesting, len(o.node.Lists))
	for i, l := range o.node.Lists {
		lists[i] = unnesting{list: in.Cols[l.Column]}
	}
	var rows []uint32
	var positions []int64
	var missing []int // output rows without an element
	for o.row < in.N && len(rows) < o.rows {
		longest := 0
		for i := range lists {
			longest = max(longest, lists[i].enter(o.row))
		}
		if longest == 0 && o.node.Outer {
			missing = append(missing, len(rows))
			rows, positions = append(rows, uint32(o.row)), append(positions, 0)
			for i := range lists {
				lists[i].take(0)
			}
		}
		for ; o.at < longest && len(rows) < o.rows; o.at++ {
			rows, positions = append(rows, uint32(o.row)), append(positions, int64(o.at)+1)
			for i := range lists {
				lists[i].take(o.at)
			}
		}
		if o.at >= longest {
			o.row, o.at = o.row+1, 0
		}
	}
	if o.row >= in.N {
		o.batch = nil
	}
	if len(rows) == 0 {
		return nil
	}
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, 0, len(in.Cols)+len(lists)+1)}
	for i, c := range in.Cols {
		if o.need != nil && !o.need[i] {
			out.Cols = append(out.Cols, vector.Nulls(c.Type, len(rows)))
			continue
		}
		out.Cols = append(out.Cols, c.Gather(rows))
	}
	for i := range lists {
		out.Cols = append(out.Cols, lists[i].elements(o.node.Lists[i].Elem.Runtime()))
	}
	if o.node.Ordinality {
		out.Cols = append(out.Cols, withNulls(vector.FromLongs(positions), missing))
	}
	return out
}

// unnesting collects the elements of one list column for an output batch.
type unnesting struct {
	list    *vector.Vector
	lo, hi  int      // of the current row's elements
	taken   []uint32 // elements of list.Child
	missing []int    // output rows for which there is none
}

// enter goes to a row and returns how many elements it has.
func (u *unnesting) enter(row int) int {
	u.lo, u.hi = 0, 0
	if !u.list.IsNull(row) {
		u.lo, u.hi = u.list.ListAt(row)
	}
	return u.hi - u.lo
}

// take adds the element at a position, or NULL if the row has none there.
func (u *unnesting) take(at int) {
	if u.lo+at < u.hi {
		u.taken = append(u.taken, uint32(u.lo+at))
		return
	}
	u.missing = append(u.missing, len(u.taken))
	u.taken = append(u.taken, 0)
}

func (u *unnesting) elements(t vector.Type) *vector.Vector {
	if len(u.missing) == len(u.taken) {
		return vector.Nulls(t, len(u.taken))
	}
	return withNulls(u.list.Child.Gather(u.taken), u.missing)
}

// withNulls returns v with the given rows null.
func withNulls(v *vector.Vector, rows []int) *vector.Vector {
	if len(rows) == 0 {
		return v
	}
	valid := vector.FullBitmap(v.Len)
	for _, r := range rows {
		valid.Clear(r)
	}
	return v.Where(valid)
}

func (o *unnestOp) Close() { o.input.Close() }
