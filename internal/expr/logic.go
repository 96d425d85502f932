package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// andNode is AND: a term is evaluated for the rows that the terms before it did not make false.
type andNode struct{ terms []node }

func (n *andNode) eval(f *frame) (*vector.Vector, error) { return evalTerms(n.terms, f, 0) }

func (n *andNode) filter(f *frame) ([]uint32, error) {
	var sel []uint32
	at := f
	for i, t := range n.terms {
		hits, err := filter(t, at)
		if err != nil {
			return nil, err
		}
		if i > 0 && len(hits) < at.n {
			for k, r := range hits {
				hits[k] = sel[r]
			}
		}
		if i == 0 || len(hits) < at.n {
			sel = hits
		}
		if len(sel) == 0 {
			return sel, nil
		}
		if len(sel) < at.n {
			at = f.narrow(sel)
		}
	}
	return sel, nil
}

// orNode is OR: a term is evaluated for the rows that the terms before it did not make true.
type orNode struct{ terms []node }

func (n *orNode) eval(f *frame) (*vector.Vector, error) { return evalTerms(n.terms, f, 1) }

func (n *orNode) filter(f *frame) ([]uint32, error) {
	found, count := vector.NewBitmap(f.n), 0
	rest, at := []uint32(nil), f // rest nil: all rows
	for _, t := range n.terms {
		hits, err := filter(t, at)
		if err != nil {
			return nil, err
		}
		if len(hits) == 0 {
			continue
		}
		for _, r := range hits {
			if rest != nil {
				r = rest[r]
			}
			found.Set(int(r))
		}
		if count += len(hits); count == f.n {
			break
		}
		rest = without(found, f.n)
		at = f.narrow(rest)
	}
	out := make([]uint32, 0, count)
	for i := range f.n {
		if found.Get(i) {
			out = append(out, uint32(i))
		}
	}
	return out, nil
}

// without returns the rows up to n that are not in set.
func without(set vector.Bitmap, n int) []uint32 {
	out := make([]uint32, 0, n)
	for i := range n {
		if !set.Get(i) {
			out = append(out, uint32(i))
		}
	}
	return out
}

// evalTerms computes AND (decisive 0) or OR (decisive 1) of terms with SQL's three truth values: a
// decisive term settles a row, else a NULL makes it NULL.
func evalTerms(terms []node, f *frame, decisive int64) (*vector.Vector, error) {
	out := kernel.NewRows[int64](f.n)
	for i := range out.Out {
		out.Out[i] = 1 - decisive
	}
	sel, at := []uint32(nil), f // sel nil: all rows
	for _, t := range terms {
		v, err := t.eval(at)
		if err != nil {
			return nil, err
		}
		rest := make([]uint32, 0, at.n)
		for i := range at.n {
			row := uint32(i)
			if sel != nil {
				row = sel[i]
			}
			switch {
			case v.IsNull(i):
				out.Null(int(row))
				rest = append(rest, row)
			case kernel.Bool(v.LongAt(i) > 0) == decisive:
				out.Out[row] = decisive
				if out.Valid != nil {
					out.Valid.Set(int(row))
				}
			default:
				rest = append(rest, row)
			}
		}
		if len(rest) == 0 {
			break
		}
		if len(rest) < at.n {
			sel = rest
			at = f.narrow(sel)
		}
	}
	return out.Vector(), nil
}

// notNode is NOT.
type notNode struct{ in node }

func (n *notNode) eval(f *frame) (*vector.Vector, error) {
	v, err := n.in.eval(f)
	if err != nil {
		return nil, err
	}
	out := *v
	out.Longs = make([]int64, len(v.Longs))
	for i, x := range v.Longs {
		out.Longs[i] = kernel.Bool(x <= 0)
	}
	return &out, nil
}

// inNode is IN with constants.
type inNode struct {
	in      node
	hasNull bool
	has     func(v *vector.Vector, out []int64)
}

func newInNode(in node, x *In) node {
	n := &inNode{in: in, hasNull: x.HasNull}
	switch x.X.Type().Runtime().Kind {
	case vector.KindDouble:
		n.has = membership(constants[float64](x.Values, vector.Double))
	case vector.KindString, vector.KindComplex:
		n.has = membership(constants[string](x.Values, vector.String))
	default:
		n.has = membership(constants[int64](x.Values, vector.Long))
	}
	return n
}

func constants[T kernel.Scalar](values []any, t vector.Type) []T {
	out := make([]T, 0, len(values))
	for _, v := range values {
		if x, ok := runtimeValue(v, t).(T); ok {
			out = append(out, x)
		}
	}
	return out
}

func (n *inNode) eval(f *frame) (*vector.Vector, error) {
	v, err := n.in.eval(f)
	if err != nil {
		return nil, err
	}
	size := v.Len
	if v.Const {
		size = min(size, 1)
	}
	out := kernel.NewRows[int64](size)
	n.has(v, out.Out)
	for i, hit := range out.Out {
		if v.IsNull(i) || hit == 0 && n.hasNull {
			out.Null(i)
		}
	}
	result := out.Vector()
	if v.Const && v.Len > 0 {
		result.Const, result.Len = true, v.Len
	}
	return result, nil
}

// membership returns a function that sets out[i] to 1 where row i is in set. Sets are sorted and
// searched; small ones are compared one by one.
func membership[T kernel.Scalar](set []T) func(*vector.Vector, []int64) {
	set = sortedSet(set)
	if len(set) <= 8 {
		return func(v *vector.Vector, out []int64) {
			c := kernel.ColumnOf[T](v)
			for i := range out {
				x := c.At(i)
				if slices.Contains(set, x) {
					out[i] = 1
				}
			}
		}
	}
	return func(v *vector.Vector, out []int64) {
		c := kernel.ColumnOf[T](v)
		for i := range out {
			x, lo, hi := c.At(i), 0, len(set)
			for lo < hi {
				if mid := int(uint(lo+hi) >> 1); set[mid] < x {
					lo = mid + 1
				} else {
					hi = mid
				}
			}
			if lo < len(set) && set[lo] == x {
				out[i] = 1
			}
		}
	}
}
