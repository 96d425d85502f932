package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// values binds VALUES. Rows of constants become one batch.
func (b *binder) values(v *syntax.Values, in surroundings) (*relational, error) {
	blk := newBlock(b, in)
	blk.scope = &scope{}
	x := blk.exprs("VALUES")
	width, constant := len(v.Rows[0].Items), true
	for _, row := range v.Rows {
		if len(row.Items) != width {
			return nil, incompatibleRows(v)
		}
		constant = constant && !slices.ContainsFunc(row.Items, isNoConstant)
	}
	if err := b.spend(width, v); err != nil {
		return nil, err
	}
	if constant {
		return x.constantRows(v)
	}
	return x.computedRows(v)
}

func incompatibleRows(v *syntax.Values) error {
	return fault.InvalidSQL(v.At, "Values passed to VALUES operator must have compatible types")
}

func isNoConstant(e syntax.Expr) bool { return !isConstant(e) }

// constantColumn collects the values of a column of constants.
type constantColumn struct {
	common  expr.Common
	builder *vector.Builder // nil: all so far are NULL
	nulls   int             // before the builder
	base    expr.Base
	mixed   bool // they have several types, so that they must be converted when the common one is known
}

func (c *constantColumn) add(l *expr.Literal, rows int) {
	c.common.Add(l)
	switch {
	case c.mixed:
	case l.Value != nil && c.builder != nil:
		c.mixed = l.T.Base != c.base
	case l.Value != nil:
		c.base, c.builder = l.T.Base, vector.NewBuilder(l.T.Runtime(), rows)
		for range c.nulls {
			c.builder.AppendNull()
		}
	case c.builder == nil:
		c.nulls++
		return
	}
	if !c.mixed {
		c.builder.Append(l.Value)
	}
}

// constantRows binds rows of constants, of which there may be millions: none is kept but its value.
func (x exprs) constantRows(v *syntax.Values) (*relational, error) {
	found := make([]constantColumn, len(v.Rows[0].Items))
	var l expr.Literal
	for _, row := range v.Rows {
		for c, item := range row.Items {
			var err error
			if l, err = x.constant(item); err != nil {
				return nil, err
			}
			found[c].add(&l, len(v.Rows))
		}
	}
	rel := &relational{cols: make([]outColumn, len(found))}
	out := &plan.Inline{Out: make([]plan.Column, len(found)), Rows: &vector.Batch{N: len(v.Rows)}}
	for c := range found {
		t, ok := found[c].common.Type()
		if !ok {
			return nil, incompatibleRows(v)
		}
		rel.cols[c] = outColumn{name: unnamed(c), typ: t}
		out.Out[c] = plan.Column{Name: unnamed(c), Type: t}
	}
	for c := range found {
		column, err := x.constants(v, c, &found[c], rel.cols[c].typ)
		if err != nil {
			return nil, err
		}
		out.Rows.Cols = append(out.Rows.Cols, column)
	}
	rel.node = out
	return rel, nil
}

// constants returns the values of a column in the type t.
func (x exprs) constants(v *syntax.Values, column int, found *constantColumn, t expr.Type) (*vector.Vector, error) {
	if found.builder != nil && !found.mixed && found.builder.Type() == t.Runtime() {
		return found.builder.Build(), nil
	}
	return expr.CastConstants(len(v.Rows), func(i int, l *expr.Literal) (err error) {
		*l, err = x.constant(v.Rows[i].Items[column])
		return err
	}, t, v.Rows[0].Items[column].Span(), &x.b.env)
}

// convertedTo returns a value of VALUES in the type of its column, computed if that is possible.
func (x exprs) convertedTo(t expr.Type, e expr.Expr, at fault.Span) (expr.Expr, error) {
	e, err := expr.NewCast(e, t.OrNull(e.Type().Nullable), at)
	if err != nil {
		return nil, err
	}
	return expr.Fold(e, &x.b.env)
}

// computedRows binds rows of any expressions.
func (x exprs) computedRows(v *syntax.Values) (*relational, error) {
	width := len(v.Rows[0].Items)
	rows := make([][]expr.Expr, len(v.Rows))
	for i, row := range v.Rows {
		var err error
		if rows[i], err = x.list(row.Items); err != nil {
			return nil, err
		}
	}
	cols := make([]plan.Column, width)
	column := make([]expr.Expr, len(rows))
	for c := range cols {
		for i := range rows {
			column[i] = rows[i][c]
		}
		t, ok := expr.CommonType(column)
		if !ok {
			return nil, incompatibleRows(v)
		}
		cols[c] = plan.Column{Name: unnamed(c), Type: t}
	}
	rel := &relational{cols: make([]outColumn, width)}
	for c := range cols {
		rel.cols[c] = outColumn{name: cols[c].Name, typ: cols[c].Type}
	}
	constant := x.b.form.isConstant(v)
	for i := range rows {
		for c := range rows[i] {
			e, err := x.convertedTo(cols[c].Type, rows[i][c], v.Rows[i].Items[c].Span())
			if err != nil {
				return nil, err
			}
			rows[i][c] = e
			_, literal := e.(*expr.Literal)
			constant = constant && literal
		}
	}
	if constant {
		rel.node = inline(cols, rows)
		return rel, nil
	}
	names := make([]string, width)
	for c := range cols {
		names[c] = cols[c].Name
	}
	var ins []plan.Node
	for _, row := range rows {
		n, list, err := x.attach(oneRow(), row)
		if err != nil {
			return nil, err
		}
		ins = append(ins, &plan.Project{Input: n, Exprs: list, Names: names})
	}
	rel.node = ins[0]
	if len(ins) > 1 {
		rel.node = &plan.Union{Ins: ins, Out: cols}
	}
	return rel, nil
}

// inline makes a relation of rows of literals.
func inline(cols []plan.Column, rows [][]expr.Expr) *plan.Inline {
	batch := &vector.Batch{N: len(rows)}
	for c, col := range cols {
		t := col.Type.Runtime()
		builder := vector.NewBuilder(t, len(rows))
		for _, row := range rows {
			builder.Append(fitting(row[c].(*expr.Literal).Value, t))
		}
		batch.Cols = append(batch.Cols, builder.Build())
	}
	return &plan.Inline{Out: cols, Rows: batch}
}

// fitting converts a literal's value to the physical type t; what does not fit is NULL.
func fitting(v any, t vector.Type) any {
	switch x := v.(type) {
	case int64:
		switch t.Kind {
		case vector.KindLong:
			return x
		case vector.KindDouble:
			return float64(x)
		case vector.KindFloat:
			return float32(x)
		}
	case float64:
		switch t.Kind {
		case vector.KindDouble:
			return x
		case vector.KindFloat:
			return float32(x)
		}
	case float32:
		switch t.Kind {
		case vector.KindFloat:
			return x
		case vector.KindDouble:
			return float64(x)
		}
	case string:
		if t.Kind == vector.KindString || t.Kind == vector.KindComplex {
			return x
		}
	case []any:
		if t.Kind == vector.KindList {
			out := make([]any, len(x))
			for i, e := range x {
				out[i] = fitting(e, t.Elem())
			}
			return out
		}
	}
	return nil
}
