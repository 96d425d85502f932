package expr

import (
	"cmp"
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// sortedSet returns the distinct values of set, ascending; NaN, which equals nothing, is left out.
func sortedSet[T kernel.Scalar](set []T) []T {
	out := slices.DeleteFunc(slices.Clone(set), func(x T) bool { return x != x })
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a, b) })
	return slices.Compact(out)
}

// caseNode is CASE: conditions are evaluated for the rows no condition before took, and results for
// the rows their condition took.
type caseNode struct {
	conds, thens []node
	other        node // nil: NULL
	t            vector.Type
}

func (c *compiler) compileCase(x *Case) (node, error) {
	if n, err := c.compileSwitch(x); n != nil || err != nil {
		return n, err
	}
	n := &caseNode{t: x.T.Runtime()}
	for _, w := range x.Whens {
		cond, err := c.compile(w.Cond)
		if err != nil {
			return nil, err
		}
		then, err := c.compile(w.Then)
		if err != nil {
			return nil, err
		}
		n.conds, n.thens = append(n.conds, cond), append(n.thens, then)
	}
	if x.Else != nil {
		other, err := c.compile(x.Else)
		if err != nil {
			return nil, err
		}
		n.other = other
	}
	return n.chosen(c.ctx), nil
}

func (n *caseNode) eval(f *frame) (*vector.Vector, error) {
	m := merger{t: n.t, n: f.n}
	sel, at := []uint32(nil), f // rows not taken yet; nil: all
	for i, cond := range n.conds {
		hits, err := filter(cond, at)
		if err != nil {
			return nil, err
		}
		if len(hits) == 0 {
			continue
		}
		rest := remaining(at.n, hits, sel)
		if sel != nil {
			for k, r := range hits {
				hits[k] = sel[r]
			}
		}
		if err := m.add(n.thens[i], f, hits); err != nil {
			return nil, err
		}
		if len(rest) == 0 {
			return m.merge(), nil
		}
		sel, at = rest, f.narrow(rest)
	}
	return m.otherwise(n.other, f, sel)
}

// remaining returns the rows of a frame of n rows that are not in hits, as rows of the frame around
// if sel maps them.
func remaining(n int, hits, sel []uint32) []uint32 {
	if sel == nil && len(hits) == 0 {
		return all(n)
	}
	rest := make([]uint32, n+1)
	hits = append(slices.Clip(hits), uint32(n)) // a row to stop at
	taken, left := 0, 0
	for i := range n {
		rest[left] = uint32(i)
		hit := one(hits[taken] == uint32(i))
		taken += hit
		left += 1 - hit
	}
	rest = rest[:left]
	if sel != nil {
		for i, r := range rest {
			rest[i] = sel[r]
		}
	}
	return rest
}

// merger puts vectors for sets of rows together. Where a row is in several sets, the last one that
// has a value for it counts.
type merger struct {
	t      vector.Type
	n      int
	rows   [][]uint32
	pieces []*vector.Vector
}

// add evaluates a node for the given rows of f, ascending.
func (m *merger) add(n node, f *frame, rows []uint32) error {
	at := f
	if len(rows) < f.n {
		at = f.narrow(rows)
	}
	v, err := n.eval(at)
	if err != nil {
		return err
	}
	m.rows, m.pieces = append(m.rows, rows), append(m.pieces, v)
	return nil
}

// otherwise computes other, the ELSE, for the rows that no arm took, and returns the results of all
// rows. sel is nil when no arm took any; other is nil when there is no ELSE.
func (m *merger) otherwise(other node, f *frame, sel []uint32) (*vector.Vector, error) {
	if other == nil {
		return m.merge(), nil
	}
	if sel == nil {
		return other.eval(f)
	}
	if err := m.add(other, f, sel); err != nil {
		return nil, err
	}
	return m.merge(), nil
}

// merge returns the vector of all rows; rows that were not added are NULL.
func (m *merger) merge() *vector.Vector {
	if len(m.pieces) == 0 {
		return vector.Nulls(m.t, m.n)
	}
	if len(m.pieces) == 1 && len(m.rows[0]) == m.n {
		return m.pieces[0]
	}
	if m.t.Kind == vector.KindList {
		return m.mergeLists()
	}
	out := vector.New(m.t, m.n)
	valid, covered, nulls := vector.NewBitmap(m.n), 0, false
	for i, v := range m.pieces {
		rows := m.rows[i]
		covered += len(rows)
		if v.AllNull() {
			nulls = true
			continue
		}
		switch m.t.Kind {
		case vector.KindLong:
			scatter(out.Longs, rows, kernel.ColumnOf[int64](v))
		case vector.KindDouble:
			scatter(out.Doubles, rows, kernel.ColumnOf[float64](v))
		case vector.KindFloat:
			scatter(out.Floats, rows, kernel.ColumnOf[float32](v))
		default:
			scatter(out.Strings, rows, kernel.ColumnOf[string](v))
		}
		for k, r := range rows {
			if v.IsNull(k) {
				nulls = true
			} else {
				valid.Set(int(r))
			}
		}
	}
	if nulls || covered < m.n {
		out.Valid = valid
	}
	return out
}

func scatter[T kernel.Scalar](out []T, rows []uint32, from kernel.Column[T]) {
	for k, r := range rows {
		out[r] = from.At(k)
	}
}

func (m *merger) mergeLists() *vector.Vector {
	piece, index := make([]int32, m.n), make([]int32, m.n)
	for p, rows := range m.rows {
		for k, r := range rows {
			piece[r], index[r] = int32(p+1), int32(k)
		}
	}
	b := vector.NewBuilder(m.t, m.n)
	for i, p := range piece {
		if p == 0 || m.pieces[p-1].IsNull(int(index[i])) {
			b.AppendNull()
		} else {
			b.AppendFrom(m.pieces[p-1], int(index[i]))
		}
	}
	return b.Build()
}

// coalesceNode is COALESCE: an argument is evaluated for the rows for which all before it are NULL.
type coalesceNode struct {
	args []node
	t    vector.Type
}

func (n *coalesceNode) eval(f *frame) (*vector.Vector, error) {
	m := merger{t: n.t, n: f.n}
	sel, at := []uint32(nil), f
	for _, a := range n.args {
		v, err := a.eval(at)
		if err != nil {
			return nil, err
		}
		rows := sel
		if rows == nil {
			rows = all(at.n)
		}
		var rest []uint32
		if v.Valid != nil {
			for i, r := range rows {
				if v.IsNull(i) {
					rest = append(rest, r)
				}
			}
		}
		// Rows that are NULL go in too: merge lets the arguments that follow overwrite them.
		if !v.AllNull() {
			m.rows, m.pieces = append(m.rows, rows), append(m.pieces, v)
		}
		if len(rest) == 0 {
			break
		}
		sel, at = rest, f.narrow(rest)
	}
	return m.merge(), nil
}
