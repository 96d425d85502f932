package exec

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// indexShare is the share of a segment's rows above which reading through an index loses to scanning (the crossover lies at a few
	// percent; measured in the experiment behind this engine).
	indexShare = 0.05
	// maxIndexEntries bounds how many bitmaps are put together for one term.
	maxIndexEntries = 4096
)

// index returns the rows left by those terms of the filter that an index answers and that leave few rows, nil if there are no such
// terms. The filter still runs over what is left: an index narrows, it does not decide. It is found out once and shared by the workers.
func (t *leafScan) index(env *Env) (*roaring.Bitmap, error) {
	t.indexed.Lock()
	defer t.indexed.Unlock()
	if t.indexed.done {
		return t.indexed.rows, nil
	}
	terms := []expr.Expr{t.scan.Filter}
	if and, ok := t.scan.Filter.(*expr.And); ok {
		terms = and.Terms
	}
	for _, term := range terms {
		rows, err := t.indexTerm(term, env)
		if err != nil {
			return nil, err
		}
		switch {
		case rows == nil:
		case t.indexed.rows == nil:
			t.indexed.rows = rows
		default:
			t.indexed.rows = roaring.And(t.indexed.rows, rows)
		}
	}
	t.indexed.done = true
	return t.indexed.rows, nil
}

// indexTerm returns the rows that can satisfy a term over one text column, nil when no index says so or there are too many.
func (t *leafScan) indexTerm(term expr.Expr, env *Env) (*roaring.Bitmap, error) {
	source, values := textEquality(term)
	if source == nil {
		if source = onlyTextColumn(term); source == nil {
			return nil, nil
		}
	}
	c, err := t.leaf.Reader.Column(t.scan.Out[source.Index].Name)
	if err != nil || c == nil || !c.Info().Indexed {
		return nil, err
	}
	if k := c.Info().Type; k != vector.String && !(source.T.Multi && k == vector.ListOf(vector.String)) {
		return nil, nil
	}
	dict, err := c.Dict()
	if err != nil || dict == nil || !dict.Sorted {
		return nil, err
	}
	var codes []uint32
	if values != nil {
		for _, v := range values {
			if code, found := dict.Lookup(v); found {
				codes = append(codes, code)
			}
		}
	} else {
		var ok bool
		if codes, ok, err = t.matching(term, source, dict, env); err != nil || !ok {
			return nil, err
		}
	}
	return t.union(c, codes)
}

// union puts the rows of codes together, nil if they are too many.
func (t *leafScan) union(c segment.Column, codes []uint32) (*roaring.Bitmap, error) {
	if len(codes) > maxIndexEntries {
		return nil, nil
	}
	limit := uint64(math.Max(1, indexShare*float64(t.leaf.Reader.Info().Rows)))
	out := roaring.New()
	for _, code := range codes {
		rows, err := c.Bitmap(code)
		if err != nil || rows == nil {
			return nil, err
		}
		if out.Or(rows); out.GetCardinality() > limit {
			return nil, nil
		}
	}
	return out, nil
}

// matching returns the entries of a dictionary for which a predicate of its column is true. It reports false when an index is of no use:
// the dictionary is large beside the rows, the predicate is true of NULL, or it fails for some entry, which no row need have.
func (t *leafScan) matching(term expr.Expr, source *expr.Column, dict *vector.Dict, env *Env) (codes []uint32, ok bool, err error) {
	n := dict.Len()
	if n > t.leaf.Reader.Info().Rows/8+64 {
		return nil, false, nil
	}
	program, err := expr.Compile(term, env.Expr)
	if err != nil {
		return nil, false, err
	}
	one := func(v *vector.Vector) ([]uint32, error) {
		b := &vector.Batch{N: v.Len, Cols: make([]*vector.Vector, source.Index+1)}
		b.Cols[source.Index] = v
		return program.Filter(b)
	}
	if rows, err := one(vector.Nulls(vector.String, 1)); err != nil || len(rows) > 0 {
		return nil, false, nil
	}
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(i)
	}
	if codes, err = one(vector.FromCodes(all, dict)); err != nil {
		return nil, false, nil
	}
	return codes, true, nil
}

// onlyTextColumn returns the column of a predicate that looks at nothing but one text column, which is not multi-value.
func onlyTextColumn(e expr.Expr) *expr.Column {
	var found *expr.Column
	pure := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Column:
			if found != nil && found.Index != x.Index || !x.T.IsCharacter() || x.T.Multi {
				pure = false
			}
			found = x
		case *expr.Call:
			pure = pure && !x.Fn.Volatile
		case *expr.Each, *expr.Any, *expr.Element:
			pure = false
		}
		return pure
	})
	if !pure {
		return nil
	}
	return found
}

// textEquality recognises an equality of a text column with constants, also for some value of a multi-value one.
func textEquality(e expr.Expr) (column *expr.Column, values []string) {
	if any, ok := e.(*expr.Any); ok {
		source, isColumn := any.Source.(*expr.Column)
		if !isColumn {
			return nil, nil
		}
		if values, ok := equalTo(any.Body, func(x expr.Expr) bool { _, ok := x.(*expr.Element); return ok }); ok {
			return source, values
		}
		return nil, nil
	}
	var found *expr.Column
	values, ok := equalTo(e, func(x expr.Expr) bool {
		c, ok := x.(*expr.Column)
		if ok && c.T.IsCharacter() && !c.T.Multi {
			found = c
			return true
		}
		return false
	})
	if !ok {
		return nil, nil
	}
	return found, values
}

func equalTo(e expr.Expr, subject func(expr.Expr) bool) (values []string, ok bool) {
	switch e := e.(type) {
	case *expr.In:
		if !subject(e.X) {
			return nil, false
		}
		for _, v := range e.Values {
			text, ok := v.(string)
			if !ok {
				return nil, false
			}
			values = append(values, text)
		}
		return values, true
	case *expr.Call:
		if e.Fn.Name != "=" || len(e.Args) != 2 {
			return nil, false
		}
		for i := range e.Args {
			if l, isLiteral := e.Args[i].(*expr.Literal); isLiteral && subject(e.Args[1-i]) {
				text, ok := l.Value.(string)
				return []string{text}, ok
			}
		}
	}
	return nil, false
}
