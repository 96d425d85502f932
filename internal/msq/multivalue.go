package msq

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// multiValueInputs makes VARCHAR columns of external data multi-value where they go into segments
// unchanged: a list in the input then stays one. Where an expression uses the column as a single
// value it stays single, and a row with several values is refused.
func multiValueInputs(w *plan.Write) *plan.Write {
	keep := allOf(len(w.Input.Columns()))
	for _, i := range w.Cluster {
		keep[i] = false // sorted by, and told apart by ranges of, single values
	}
	input, changed := multiValue(w.Input, keep)
	if !changed {
		return w
	}
	c := *w
	c.Input = input
	return &c
}

func allOf(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = true
	}
	return out
}

// multiValue returns n with its output columns that may be multi-value made so as far as they come
// straight from external data.
func multiValue(n plan.Node, keep []bool) (plan.Node, bool) {
	switch n := n.(type) {
	case *plan.External:
		c := *n
		c.Out = append([]plan.Column(nil), n.Out...)
		changed := false
		for i, col := range c.Out {
			if keep[i] && col.Type.Base == expr.Varchar && !col.Type.Multi {
				c.Out[i].Type = expr.MultiString
				changed = true
			}
		}
		if !changed {
			return n, false
		}
		return &c, true
	case *plan.Filter:
		keep = append([]bool(nil), keep...)
		for _, i := range expr.Columns(n.Cond) {
			keep[i] = false
		}
		in, changed := multiValue(n.Input, keep)
		return plan.WithInputs(n, []plan.Node{in}), changed
	case *plan.Sort:
		keep = append([]bool(nil), keep...)
		for _, k := range n.Keys {
			keep[k.Column] = false
		}
		in, changed := multiValue(n.Input, keep)
		return plan.WithInputs(n, []plan.Node{in}), changed
	case *plan.Limit:
		in, changed := multiValue(n.Input, keep)
		return plan.WithInputs(n, []plan.Node{in}), changed
	case *plan.Project:
		return multiValueProject(n, keep)
	}
	return n, false
}

func multiValueProject(n *plan.Project, keep []bool) (plan.Node, bool) {
	below := make([]bool, len(n.Input.Columns()))
	for i, e := range n.Exprs {
		if c, ok := e.(*expr.Column); ok && keep[i] {
			below[c.Index] = true
		}
	}
	for i, e := range n.Exprs {
		if _, bare := e.(*expr.Column); !bare || !keep[i] {
			for _, at := range expr.Columns(e) {
				below[at] = false
			}
		}
	}
	in, changed := multiValue(n.Input, below)
	if !changed {
		return n, false
	}
	out := *n
	out.Input = in
	out.Exprs = append([]expr.Expr(nil), n.Exprs...)
	for i, e := range out.Exprs {
		if c, ok := e.(*expr.Column); ok {
			if t := plan.ColumnAt(in, c.Index).Type; t.Multi {
				out.Exprs[i] = &expr.Column{Index: c.Index, Name: c.Name, T: t}
			}
		}
	}
	return &out, true
}

// hasSeveral reports whether a row of a multi-value column has more than one value.
func hasSeveral(v *vector.Vector) bool {
	if v.Type.Kind != vector.KindList {
		return false
	}
	if v.Const {
		lo, hi := v.ListAt(0)
		return hi-lo > 1
	}
	for i := range v.Len {
		if v.Offsets[i+1]-v.Offsets[i] > 1 && !v.IsNull(i) {
			return true
		}
	}
	return false
}

// plainValues returns the rows of a list of strings as plain strings if that says the same: each
// row is null or one value that is not. Else it returns nil.
func plainValues(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindList || v.Const || v.Child.Const || v.Child.Valid != nil {
		return nil
	}
	single := true // every row has one value
	for i, end := range v.Offsets[1 : v.Len+1] {
		if end-v.Offsets[i] != 1 {
			if v.Valid.Get(i) {
				return nil
			}
			single = false
		}
	}
	if single && v.Valid == nil {
		return v.Child.Slice(int(v.Offsets[0]), int(v.Offsets[v.Len]))
	}
	if v.Offsets[0] == v.Offsets[v.Len] {
		return vector.Nulls(vector.String, v.Len).Flat()
	}
	rows := make([]uint32, v.Len)
	for i := range rows {
		rows[i] = v.Offsets[0] // for null rows any that is there
		if v.Valid.Get(i) {
			rows[i] = v.Offsets[i]
		}
	}
	out := v.Child.Gather(rows)
	out.Valid = v.Valid
	return out
}

// singleValues returns the one value of each row of a list; rows without values are null.
func singleValues(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindList {
		return v
	}
	b := vector.NewBuilder(v.Type.Elem(), v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		if lo, hi := v.ListAt(i); lo < hi {
			b.AppendFrom(v.Child, lo)
		} else {
			b.AppendNull()
		}
	}
	return b.Build()
}

// withoutEmpty returns the rows of a list as a multi-value string is stored: no value and nothing
// but one null are null (docs/sql.md).
func withoutEmpty(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindList {
		return v
	}
	empty := func(i int) bool {
		if v.IsNull(i) {
			return false
		}
		lo, hi := v.ListAt(i)
		return lo == hi || hi-lo == 1 && v.Child.IsNull(lo)
	}
	first := 0
	for first < v.Len && !empty(first) {
		first++
	}
	if first == v.Len {
		return v
	}
	b := vector.NewBuilder(v.Type, v.Len)
	for i := range v.Len {
		if v.IsNull(i) || empty(i) {
			b.AppendNull()
		} else {
			b.AppendFrom(v, i)
		}
	}
	return b.Build()
}

// Stored returns the rows of a multi-value string in the form that segments store: a row without
// values or with a single null is null; h determines the order of the values of other rows.
func (h MultiValue) Stored(v *vector.Vector) *vector.Vector { return h.ordered(withoutEmpty(v)) }

// Single returns the rows of a multi-value string as plain strings; false: a row has several
// values.
func Single(v *vector.Vector) (*vector.Vector, bool) {
	if plain := plainValues(v); plain != nil {
		return plain, true
	}
	if hasSeveral(v) {
		return nil, false
	}
	return singleValues(v), true
}

// ordered returns v with the values of each row as h says.
func (h MultiValue) ordered(v *vector.Vector) *vector.Vector {
	switch h {
	case SortedSet:
		return distinctValues(sortedValues(v))
	case AsArray:
		return v
	}
	return sortedValues(v)
}

// distinctValues returns v, whose rows have their values in order, with each value of a row once.
func distinctValues(v *vector.Vector) *vector.Vector {
	if !hasSeveral(v) {
		return v
	}
	b := vector.NewBuilder(v.Type, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		lo, hi := v.ListAt(i)
		for k := lo; k < hi; k++ {
			if k == lo || compareValues(v.Child, k-1, k) != 0 {
				b.Child().AppendFrom(v.Child, k)
			}
		}
		b.AppendList()
	}
	return b.Build()
}

// sortedValues returns v with the values of each row in order, nulls first (multiValueHandling
// SORTED_ARRAY).
func sortedValues(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindList {
		return v
	}
	ordered := true
	for i := 0; i < v.Len && ordered; i++ {
		if v.IsNull(i) {
			continue
		}
		lo, hi := v.ListAt(i)
		for k := lo + 1; k < hi && ordered; k++ {
			ordered = compareValues(v.Child, k-1, k) <= 0
		}
	}
	if ordered {
		return v
	}
	b := vector.NewBuilder(v.Type, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		lo, hi := v.ListAt(i)
		places := make([]int, 0, hi-lo)
		for ; lo < hi; lo++ {
			places = append(places, lo)
		}
		slices.SortStableFunc(places, func(x, y int) int { return compareValues(v.Child, x, y) })
		for _, p := range places {
			b.Child().AppendFrom(v.Child, p)
		}
		b.AppendList()
	}
	return b.Build()
}

func compareValues(v *vector.Vector, i, j int) int {
	switch a, b := v.IsNull(i), v.IsNull(j); {
	case a && b:
		return 0
	case a:
		return -1
	case b:
		return 1
	}
	return vector.Compare(v, i, v, j)
}

// textValues returns the rows of a multi-value string as results show them: a single value as it
// is, several as the text of a JSON array.
func textValues(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != vector.KindList || !hasSeveral(v) {
		return singleValues(v)
	}
	b := vector.NewBuilder(vector.String, v.Len)
	for i := range v.Len {
		if v.IsNull(i) {
			b.AppendNull()
			continue
		}
		lo, hi := v.ListAt(i)
		switch {
		case lo == hi:
			b.AppendNull()
		case hi-lo == 1:
			b.AppendFrom(v.Child, lo)
		default:
			values := make([]*string, 0, hi-lo)
			for ; lo < hi; lo++ {
				if v.Child.IsNull(lo) {
					values = append(values, nil)
					continue
				}
				s := v.Child.StringAt(lo)
				values = append(values, &s)
			}
			text, err := jsontext.Marshal(values)
			if err != nil { // strings always have a JSON form
				text = nil
			}
			b.AppendString(string(text))
		}
	}
	return b.Build()
}
