package plan

import "github.com/hengedb/henge/internal/expr"

// joinKeys takes the equalities between the two sides out of a join condition and makes them keys,
// so that the join can hash. A side of an equality that is no column is computed by a projection
// below the join.
func (o *optimizer) joinKeys(n Node) Node {
	n = MapInputs(n, o.joinKeys)
	x, ok := n.(*Join)
	if !ok || x.On == nil {
		return n
	}
	width := Width(x.Left)
	left, right := newWidening(x.Left), newWidening(x.Right)
	keys := append([]EquiKey(nil), x.Keys...)
	var on []expr.Expr
	for _, e := range Split(x.On) {
		a, b, nullSafe, ok := equality(e, width)
		if !ok {
			on = append(on, e)
			continue
		}
		keys = append(keys, EquiKey{Left: left.column(a), Right: right.column(ShiftColumns(b, -width)), NullSafe: nullSafe})
	}
	if len(keys) == len(x.Keys) {
		return n
	}
	o.fired()
	return rejoin(x, left, right, keys, on)
}

// rejoin builds the join of the widened sides and cuts the extra columns off again.
func rejoin(x *Join, left, right *widening, keys []EquiKey, on []expr.Expr) Node {
	width, wide := left.width, left.width+left.extra()
	c := *x
	c.Left, c.Right, c.Keys = left.node(), right.node(), keys
	c.On = Conjunction(on)
	if c.On != nil && wide > width {
		c.On = replaceColumns(c.On, func(col *expr.Column) expr.Expr {
			if col.Index < width {
				return col
			}
			return &expr.Column{Index: col.Index + wide - width, Name: col.Name, T: col.T}
		})
	}
	if left.extra() == 0 && right.extra() == 0 {
		return &c
	}
	var keep []int
	for i := range x.Columns() {
		if i >= width {
			i += wide - width
		}
		keep = append(keep, i)
	}
	return Select(&c, keep)
}

// Select returns n restricted to the columns keep, in that order.
func Select(n Node, keep []int) *Project {
	p := &Project{Input: n, Exprs: make([]expr.Expr, len(keep)), Names: make([]string, len(keep))}
	cols := make([]expr.Column, len(keep))
	for i, k := range keep {
		c := ColumnAt(n, k)
		cols[i] = expr.Column{Index: k, Name: c.Name, T: c.Type}
		p.Exprs[i], p.Names[i] = &cols[i], c.Name
	}
	return p
}

// equality takes e apart if it compares an expression of the left side for equality with one of the
// right side, of one physical type.
func equality(e expr.Expr, width int) (left, right expr.Expr, nullSafe, ok bool) {
	c, is := e.(*expr.Call)
	if !is || len(c.Args) != 2 || c.Fn.Name != fnEqual && c.Fn.Name != fnNotDistinct {
		return nil, nil, false, false
	}
	onLeft := func(c int) bool { return c < width }
	onRight := func(c int) bool { return c >= width }
	a, b := c.Args[0], c.Args[1]
	if ReadsOnly(a, onRight) && ReadsOnly(b, onLeft) {
		a, b = b, a
	}
	if !readsSome(a) || !readsSome(b) || !ReadsOnly(a, onLeft) || !ReadsOnly(b, onRight) {
		return nil, nil, false, false
	}
	if a.Type().Runtime() != b.Type().Runtime() || IsVolatile(a) || IsVolatile(b) {
		return nil, nil, false, false
	}
	return a, b, c.Fn.Name == fnNotDistinct, true
}

// widening is a node to which columns are being added.
type widening struct {
	input Node
	width int
	added []expr.Expr
}

func newWidening(n Node) *widening { return &widening{input: n, width: Width(n)} }

// column returns the position of e, adding it if it is no column of the input.
func (w *widening) column(e expr.Expr) int {
	if c, ok := e.(*expr.Column); ok {
		return c.Index
	}
	for i, x := range w.added {
		if expr.Equal(x, e) {
			return w.width + i
		}
	}
	w.added = append(w.added, e)
	return w.width + len(w.added) - 1
}

func (w *widening) extra() int { return len(w.added) }

func (w *widening) node() Node {
	if len(w.added) == 0 {
		return w.input
	}
	return Extend(w.input, w.added, nil)
}

// Extend returns n with exprs as additional columns; names may be nil.
func Extend(n Node, exprs []expr.Expr, names []string) *Project {
	cols := n.Columns()
	p := &Project{Input: n}
	for i := range cols {
		p.Exprs = append(p.Exprs, columnRefOf(cols, i))
		p.Names = append(p.Names, cols[i].Name)
	}
	for i, e := range exprs {
		name := "$x"
		if names != nil {
			name = names[i]
		}
		p.Exprs = append(p.Exprs, e)
		p.Names = append(p.Names, name)
	}
	return p
}

func columnRefOf(cols []Column, i int) *expr.Column {
	return &expr.Column{Index: i, Name: cols[i].Name, T: cols[i].Type}
}
