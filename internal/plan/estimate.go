package plan

import "github.com/hengedb/henge/internal/expr"

// groups is how many groups there are for a row.
const groups = 0.25

// rows estimates how many rows n gives, -1 when nothing is known.
func (o *optimizer) rows(n Node) float64 {
	switch x := n.(type) {
	case *Scan:
		if o.options.Rows == nil {
			return -1
		}
		rows := o.options.Rows(x)
		if x.Filter != nil && rows > 0 {
			rows *= selectivity(x.Filter)
		}
		if x.Limit >= 0 && (rows < 0 || rows > float64(x.Limit)) {
			rows = float64(x.Limit)
		}
		return rows
	case *Inline:
		return float64(x.Rows.Rows())
	case *Filter:
		return times(o.rows(x.Input), selectivity(x.Cond))
	case *Project:
		return o.rows(x.Input)
	case *Shared:
		return o.rows(x.Input)
	case *Sort:
		return atMost(o.rows(x.Input), x.Limit)
	case *Limit:
		return atMost(o.rows(x.Input), x.Count)
	case *Aggregate:
		if len(x.Keys) == 0 {
			return 1
		}
		return times(o.rows(x.Input), groups)
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
		return o.sizeOf(x).rows
	case *Unnest:
		const elements = 2 // of a list
		return times(o.rows(x.Input), elements)
	}
	return -1
}

// joinSize is what is known of a join's result.
type joinSize struct{ rows, distinct float64 }

// sizeOf returns the size of a join, which is computed once: each of a chain of joins asks for
// those below it several times.
func (o *optimizer) sizeOf(x *Join) joinSize {
	size, ok := o.sizes[x]
	if !ok {
		size = joinSize{rows: o.joinRows(x), distinct: o.joinDistinct(x)}
		if o.sizes == nil {
			o.sizes = map[*Join]joinSize{}
		}
		o.sizes[x] = size
	}
	return size
}

func (o *optimizer) joinDistinct(x *Join) float64 {
	left := o.distinct(x.Left)
	if x.LeftOnly() || x.Kind == Single {
		return left
	}
	return max(left, o.distinct(x.Right))
}

// joinRows is rows of a join.
func (o *optimizer) joinRows(x *Join) float64 {
	left, right := o.rows(x.Left), o.rows(x.Right)
	switch {
	case x.Kind == Semi && left >= 0 && right >= 0: // as many as there are of the right side's keys
		return left * min(1, right/max(1, o.distinct(x.Right)))
	case x.Kind == Semi, x.Kind == Anti, x.Kind == AntiNull, x.Kind == Single:
		return left
	case left < 0 || right < 0:
		return -1
	}
	rows := left * right
	width, keyed := Width(x.Left), len(x.Keys) > 0
	for e := range Terms(x.On) {
		if _, _, _, equal := equality(e, width); equal {
			keyed = true
		} else {
			rows *= otherSelectivity
		}
	}
	if keyed {
		rows /= max(1, min(o.distinct(x.Left), o.distinct(x.Right)))
	}
	switch x.Kind {
	case Left:
		return max(rows, left)
	case Right:
		return max(rows, right)
	case Full:
		return max(rows, left, right)
	}
	return rows
}

// distinct estimates how many different values a key of n's rows would have, did no condition take
// some away; -1 when nothing is known.
func (o *optimizer) distinct(n Node) float64 {
	switch x := n.(type) {
	case *Scan:
		if o.options.Rows == nil {
			return -1
		}
		return o.options.Rows(&Scan{DataSource: x.DataSource, Limit: -1})
	case *Filter, *Project, *Shared, *Sort, *Limit, *Window:
		return o.distinct(n.Inputs()[0])
	case *Aggregate:
		if len(x.Keys) > 0 {
			return times(o.distinct(x.Input), groups)
		}
	case *Join:
		return o.sizeOf(x).distinct
	}
	return o.rows(n)
}

// times is a part of a number of rows that may be unknown.
func times(rows, part float64) float64 {
	if rows < 0 {
		return -1
	}
	return rows * part
}

func atMost(rows float64, limit int64) float64 {
	if limit >= 0 && (rows < 0 || rows > float64(limit)) {
		return float64(limit)
	}
	return rows
}

// otherSelectivity is what part of its rows a condition keeps of which nothing is known.
const otherSelectivity = 0.25

// selectivity guesses what part of its rows a condition keeps.
func selectivity(e expr.Expr) float64 {
	const (
		equal = 0.05 // one value of a column
		like  = 0.1
		most  = 0.9
	)
	switch x := e.(type) {
	case *expr.Literal:
		if x.Value == int64(1) {
			return 1
		}
		return 0
	case *expr.And:
		part := 1.0
		for _, t := range x.Terms {
			part *= selectivity(t)
		}
		return part
	case *expr.Or:
		part := 0.0
		for _, t := range x.Terms {
			part += selectivity(t)
		}
		return min(part, most)
	case *expr.Not:
		return max(1-selectivity(x.X), 1-most)
	case *expr.In:
		return min(equal*float64(len(x.Values)), most)
	case *expr.Call:
		switch x.Fn.Name {
		case fnEqual, fnNotDistinct, fnIsNull:
			return equal
		case "LIKE":
			return like
		case fnIsNotNull, "<>":
			return most
		}
	}
	return otherSelectivity
}
