package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// eachNode is Each: the body is evaluated once over the values of all rows together.
type eachNode struct {
	source, body node
	t            vector.Type
	values       bool // it gives values, not arrays: a row of one that is NULL is NULL
}

func (c *compiler) compileEach(x *Each) (node, error) {
	source, body, err := c.compileBoth(x.Source, x.Body)
	if _, ok := mappedJSON(x); ok {
		return &jsonListNode{of: &eachNode{source: source, body: body, t: listOfJSON.Runtime()}, ctx: c.ctx}, err
	}
	return &eachNode{source: source, body: body, t: x.T.Runtime(), values: x.T.Multi}, err
}

func (c *compiler) compileAny(x *Any) (node, error) {
	source, body, err := c.compileBoth(x.Source, x.Body)
	return &anyNode{source: source, body: body}, err
}

func (c *compiler) compileBoth(source, body Expr) (node, node, error) {
	s, err := c.compile(source)
	if err != nil {
		return nil, nil, err
	}
	b, err := c.compile(body)
	return s, b, err
}

// spread is the frame of the values of a list vector, one row each; a row without values has one
// that is NULL.
type spread struct {
	*frame
	start []uint32 // by row, one more at the end: its first value in the frame
	empty bool     // some row has no values
}

func newSpread(f *frame, list *vector.Vector) *spread {
	s := &spread{start: make([]uint32, f.n+1)}
	total := 0
	for i := range f.n {
		lo, hi := list.ListAt(i)
		if list.IsNull(i) || lo == hi {
			s.empty = true
			total++
		} else {
			total += hi - lo
		}
		s.start[i+1] = uint32(total)
	}
	rows, index := make([]uint32, total), make([]uint32, total)
	nulls := vector.Bitmap(nil)
	if s.empty {
		nulls = vector.FullBitmap(total)
	}
	at := 0
	for i := range f.n {
		lo, hi := list.ListAt(i)
		if list.IsNull(i) || lo == hi {
			rows[at] = uint32(i)
			nulls.Clear(at)
			at++
			continue
		}
		for ; lo < hi; lo++ {
			rows[at], index[at] = uint32(i), uint32(lo)
			at++
		}
	}
	s.frame = f.narrow(rows)
	switch {
	case list.Child.Len == 0:
		s.elem = vector.Nulls(list.Type.Elem(), total)
	case s.empty:
		s.elem = kernel.WithValid(list.Child.Gather(index), nulls)
	default:
		s.elem = list.Child.Gather(index)
	}
	return s
}

func (n *eachNode) eval(f *frame) (*vector.Vector, error) {
	list, err := n.source.eval(f)
	if err != nil {
		return nil, err
	}
	s := newSpread(f, list)
	values, err := n.body.eval(s.frame)
	if err != nil {
		return nil, err
	}
	if values.Type == n.t {
		return flatten(values, s, n.t), nil
	}
	out := &vector.Vector{Type: n.t, Len: f.n, Offsets: s.start, Child: values}
	if values.Const {
		out.Child = values.Flat()
	}
	if values.Valid != nil && n.values {
		for i := range f.n {
			if s.start[i+1]-s.start[i] == 1 && values.IsNull(int(s.start[i])) {
				invalidate(out, i)
			}
		}
	}
	return out, nil
}

// flatten makes one list per row of the lists that its values became.
func flatten(lists *vector.Vector, s *spread, t vector.Type) *vector.Vector {
	b, single := vector.NewBuilder(t, len(s.start)-1), []int(nil)
	for i := range len(s.start) - 1 {
		count, nulls := 0, 0
		for k := int(s.start[i]); k < int(s.start[i+1]); k++ {
			lo, hi := lists.ListAt(k)
			if lists.IsNull(k) {
				b.Child().AppendNull()
				count, nulls = count+1, nulls+1
				continue
			}
			for ; lo < hi; lo++ {
				b.Child().AppendFrom(lists.Child, lo)
				count++
			}
		}
		b.AppendList()
		if count == 1 && nulls == 1 {
			single = append(single, i)
		}
	}
	out := b.Build()
	for _, i := range single {
		invalidate(out, i)
	}
	return out
}

func invalidate(v *vector.Vector, row int) {
	if v.Valid == nil {
		v.Valid = vector.FullBitmap(v.Len)
	}
	v.Valid.Clear(row)
}

// anyNode is Any.
type anyNode struct{ source, body node }

func (n *anyNode) eval(f *frame) (*vector.Vector, error) {
	list, err := n.source.eval(f)
	if err != nil {
		return nil, err
	}
	s := newSpread(f, list)
	values, err := n.body.eval(s.frame)
	if err != nil {
		return nil, err
	}
	out := kernel.NewRows[int64](f.n)
	for i := range f.n {
		unknown := false
		for k := int(s.start[i]); k < int(s.start[i+1]) && out.Out[i] == 0; k++ {
			null := values.IsNull(k)
			out.Out[i], unknown = kernel.Bool(!null && values.LongAt(k) > 0), unknown || null
		}
		if unknown && out.Out[i] == 0 {
			out.Null(i)
		}
	}
	return out.Vector(), nil
}

func (n *anyNode) filter(f *frame) ([]uint32, error) {
	list, err := n.source.eval(f)
	if err != nil {
		return nil, err
	}
	s := newSpread(f, list)
	hits, err := filter(n.body, s.frame)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, 0, len(hits))
	for _, h := range hits {
		if row := s.sel[h]; len(out) == 0 || out[len(out)-1] != row {
			out = append(out, row)
		}
	}
	return out, nil
}
