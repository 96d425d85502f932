package window

import (
	"context"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// function computes one column over whole partitions.
type function interface {
	compute(ctx context.Context, p *partitionSet) (*vector.Vector, error)
}

// newFunction returns the function of a call. Constants (the n of NTILE, offset and default
// of LAG and LEAD, the n of NTH_VALUE) are further arguments, columns like all, or parameters of
// the call's Spec.
func newFunction(c *plan.WindowCall) (function, error) {
	want := func(n int) error {
		if len(c.Args) < n {
			return fault.InvalidInput("Window function [%s] needs [%d] arguments", c.Fn, n)
		}
		return nil
	}
	switch c.Fn {
	case "":
		return newAggregate(c)
	case "ROW_NUMBER":
		return rankFunction(func(p *partitionSet, i int, _ int64) int64 { return int64(i-p.start(i)) + 1 }), nil
	case "RANK":
		return rankFunction(func(p *partitionSet, i int, _ int64) int64 { return int64(int(p.peerLo[i])-p.start(i)) + 1 }), nil
	case "DENSE_RANK":
		return rankFunction(func(p *partitionSet, i int, before int64) int64 {
			switch {
			case i == p.start(i):
				return 1
			case int(p.peerLo[i]) == i:
				return before + 1
			}
			return before
		}), nil
	case "PERCENT_RANK":
		return shareFunction(func(p *partitionSet, i int) float64 {
			if n := p.end(i) - p.start(i); n > 1 {
				return float64(int(p.peerLo[i])-p.start(i)) / float64(n-1)
			}
			return 0
		}), nil
	case "CUME_DIST":
		return shareFunction(func(p *partitionSet, i int) float64 {
			return float64(int(p.peerHi[i])-p.start(i)) / float64(p.end(i)-p.start(i))
		}), nil
	case "NTILE":
		return &ntile{constant: constantOf(c, 0)}, nil
	case "LAG", "LEAD":
		return &shifted{call: c, forward: c.Fn == "LEAD", offset: constantOf(c, 1)}, want(1)
	case "FIRST_VALUE", "LAST_VALUE":
		return &picked{call: c, last: c.Fn == "LAST_VALUE"}, want(1)
	case "NTH_VALUE":
		return &picked{call: c, nth: constantOf(c, 1)}, want(1)
	}
	return nil, fault.Unsupported("Window function [%s] is not known", c.Fn)
}

// rankFunction gives a whole number per row, knowing that of the row before.
type rankFunction func(p *partitionSet, i int, before int64) int64

func (f rankFunction) compute(_ context.Context, p *partitionSet) (*vector.Vector, error) {
	out := make([]int64, p.rows.N)
	before := int64(0)
	for i := range out {
		before = f(p, i, before)
		out[i] = before
	}
	return vector.FromLongs(out), nil
}

// shareFunction gives a fraction per row.
type shareFunction func(p *partitionSet, i int) float64

func (f shareFunction) compute(_ context.Context, p *partitionSet) (*vector.Vector, error) {
	out := make([]float64, p.rows.N)
	for i := range out {
		out[i] = f(p, i)
	}
	return vector.FromDoubles(out), nil
}

// argument is a whole number that is an argument column or a parameter of a call.
type argument struct {
	column int // -1: param
	param  int64
	given  bool
}

// constantOf returns argument number i.
func constantOf(c *plan.WindowCall, i int) argument {
	if i < len(c.Args) {
		return argument{column: c.Args[i], given: true}
	}
	if at := i - len(c.Args); at < len(c.Agg.Params) {
		if x, ok := c.Agg.Params[at].(int64); ok {
			return argument{column: -1, param: x, given: true}
		}
	}
	return argument{column: -1}
}

// at returns the number for row i; ok is false if it is NULL.
func (a argument) at(b *vector.Batch, i int) (n int64, ok bool) {
	return offsetAt(b, a.column, a.param, i)
}

// position returns the number for row i as a position in a frame, 1 if there is none.
func (a argument) position(b *vector.Batch, i int) (int64, error) {
	if !a.given {
		return 1, nil
	}
	n, ok := a.at(b, i)
	if !ok || n <= 0 {
		return 0, fault.InvalidInput("NTH_VALUE needs a positive position")
	}
	return n, nil
}

// tile returns in which of so many tiles row i lies, that is number at of rows: the larger tiles
// come first.
func (a argument) tile(b *vector.Batch, i int, at, rows int64) (int64, error) {
	n, ok := a.at(b, i)
	if !ok || !a.given || n <= 0 {
		return 0, fault.InvalidInput("NTILE needs a positive number of tiles")
	}
	size, larger := rows/n, rows%n
	if at < larger*(size+1) {
		return at/(size+1) + 1, nil
	}
	return larger + (at-larger*(size+1))/max(size, 1) + 1, nil
}

// ntile cuts each partition into n tiles, the larger ones first.
type ntile struct{ constant argument }

func (f *ntile) compute(_ context.Context, p *partitionSet) (*vector.Vector, error) {
	out := make([]int64, p.rows.N)
	for i := range out {
		var err error
		if out[i], err = f.constant.tile(p.rows, i, int64(i-p.start(i)), int64(p.end(i)-p.start(i))); err != nil {
			return nil, err
		}
	}
	return vector.FromLongs(out), nil
}

// shifted is LAG and LEAD.
type shifted struct {
	call    *plan.WindowCall
	forward bool
	offset  argument
}

func (f *shifted) compute(_ context.Context, p *partitionSet) (*vector.Vector, error) {
	arg := p.rows.Cols[f.call.Args[0]]
	out := vector.NewBuilder(f.call.Type.Runtime(), p.rows.N)
	for i := range p.rows.N {
		n, ok := int64(1), true
		if f.offset.given {
			n, ok = f.offset.at(p.rows, i)
		}
		if !ok {
			out.AppendNull()
			continue
		}
		if f.forward {
			n = -n
		}
		switch at := f.back(p, arg, i, n); {
		case at >= 0:
			out.AppendFrom(arg, at)
		case len(f.call.Args) > 2:
			out.AppendFrom(p.rows.Cols[f.call.Args[2]], i)
		default:
			out.AppendNull()
		}
	}
	return out.Build(), nil
}

// back returns the row n rows before i, or -n after it, -1 if that is outside the partition. With
// IGNORE NULLS only rows with a value count.
func (f *shifted) back(p *partitionSet, arg *vector.Vector, i int, n int64) int {
	lo, hi := p.start(i), p.end(i)
	if !f.call.IgnoreNulls || n == 0 {
		if n > int64(i-lo) || n < int64(i-hi+1) {
			return -1
		}
		return i - int(n)
	}
	step := -1
	if n < 0 {
		step, n = 1, -n
	}
	for at := i + step; at >= lo && at < hi; at += step {
		if !arg.IsNull(at) {
			if n--; n == 0 {
				return at
			}
		}
	}
	return -1
}

// picked is FIRST_VALUE, LAST_VALUE and NTH_VALUE: a row of the frame.
type picked struct {
	call *plan.WindowCall
	last bool
	nth  argument // given for NTH_VALUE
}

func (f *picked) compute(_ context.Context, p *partitionSet) (*vector.Vector, error) {
	arg := p.rows.Cols[f.call.Args[0]]
	fr, err := newFrames(p, f.call.Frame)
	if err != nil {
		return nil, err
	}
	out := vector.NewBuilder(f.call.Type.Runtime(), p.rows.N)
	for i := range p.rows.N {
		rows := fr.rows(i)
		n, err := f.nth.position(p.rows, i)
		if err != nil {
			return nil, err
		}
		if at := f.find(arg, &rows, n); at >= 0 {
			out.AppendFrom(arg, at)
		} else {
			out.AppendNull()
		}
	}
	return out.Build(), nil
}

// find returns the nth row of a frame that counts, from the end for LAST_VALUE, or -1.
func (f *picked) find(arg *vector.Vector, rows *frame, n int64) int {
	for k := range rows.n {
		part := rows.parts[k]
		if f.last {
			part = rows.parts[rows.n-1-k]
		}
		if !f.call.IgnoreNulls {
			switch size := int64(part.hi - part.lo); {
			case n > size:
				n -= size
				continue
			case f.last:
				return part.hi - int(n)
			default:
				return part.lo + int(n) - 1
			}
		}
		at, step := part.lo, 1
		if f.last {
			at, step = part.hi-1, -1
		}
		for ; at >= part.lo && at < part.hi; at += step {
			if !arg.IsNull(at) {
				if n--; n == 0 {
					return at
				}
			}
		}
	}
	return -1
}
