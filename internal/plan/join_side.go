package plan

import "github.com/hengedb/henge/internal/expr"

// joinSide makes the side of an inner join that has fewer rows the right one, which is built into a hash table while the left one streams.
func (o *optimizer) joinSide(n Node) Node {
	n = mapInputs(n, o.joinSide)
	x, ok := n.(*Join)
	if !ok || x.Kind != Inner && x.Kind != Left && x.Kind != Right {
		return n
	}
	left, right := o.rows(x.Left), o.rows(x.Right)
	// An unknown side is taken to be large. A swap must pay for the projection that restores the order of columns.
	const worthwhile = 1.5
	if left < 0 || right >= 0 && right <= left*worthwhile {
		return n
	}
	o.fired()
	kind := map[JoinKind]JoinKind{Inner: Inner, Left: Right, Right: Left}[x.Kind]
	wl, wr := len(x.Left.Columns()), len(x.Right.Columns())
	c := &Join{Kind: kind, Left: x.Right, Right: x.Left}
	for _, k := range x.Keys {
		c.Keys = append(c.Keys, EquiKey{Left: k.Right, Right: k.Left, NullSafe: k.NullSafe})
	}
	if x.On != nil {
		c.On = replaceColumns(x.On, func(col *expr.Column) expr.Expr {
			i := col.Index + wr
			if col.Index >= wl {
				i = col.Index - wl
			}
			return &expr.Column{Index: i, Name: col.Name, T: col.T}
		})
	}
	keep := make([]int, 0, wl+wr)
	for i := range wl {
		keep = append(keep, wr+i)
	}
	for i := range wr {
		keep = append(keep, i)
	}
	return Select(c, keep)
}

// rows estimates how many rows n gives, -1 when nothing is known.
func (o *optimizer) rows(n Node) float64 {
	const selectivity = 0.25 // of a condition, and of grouping
	switch x := n.(type) {
	case *Scan:
		if o.options.Rows == nil {
			return -1
		}
		rows := o.options.Rows(x)
		if x.Filter != nil && rows > 0 {
			rows *= selectivity
		}
		if x.Limit >= 0 && (rows < 0 || rows > float64(x.Limit)) {
			rows = float64(x.Limit)
		}
		return rows
	case *Inline:
		return float64(x.Rows.Rows())
	case *Filter:
		return o.rows(x.Input) * selectivity
	case *Project:
		return o.rows(x.Input)
	case *Sort:
		return atMost(o.rows(x.Input), x.Limit)
	case *Limit:
		return atMost(o.rows(x.Input), x.Count)
	case *Aggregate:
		if len(x.Keys) == 0 {
			return 1
		}
		return o.rows(x.Input) * selectivity
	case *Window:
		return o.rows(x.Input)
	case *Union:
		sum := 0.0
		for _, c := range x.Ins {
			r := o.rows(c)
			if r < 0 {
				return -1
			}
			sum += r
		}
		return sum
	case *SetOp:
		return o.rows(x.Left)
	case *Join:
		left, right := o.rows(x.Left), o.rows(x.Right)
		if x.Kind == Semi || x.Kind == Anti || x.Kind == AntiNull || x.Kind == Single {
			return left
		}
		if left < 0 || right < 0 {
			return -1
		}
		if len(x.Keys) == 0 {
			return left * right
		}
		return max(left, right)
	}
	return -1
}

func atMost(rows float64, limit int64) float64 {
	if limit >= 0 && (rows < 0 || rows > float64(limit)) {
		return float64(limit)
	}
	return rows
}
