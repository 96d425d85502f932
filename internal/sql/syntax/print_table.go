package syntax

import (
	"strconv"
	"strings"
)

func (w *printer) table(t TableExpr) {
	switch t := t.(type) {
	case *Table:
		if t.File {
			w.put(QuoteString(t.Name.Parts[0].Name))
			break
		}
		w.path(t.Name.Parts)
		w.hint(t.Hint)
	case *Derived:
		if t.Lateral {
			w.put("LATERAL ")
		}
		w.put("(")
		w.query(t.Query)
		w.put(")")
	case *TableFunction:
		if t.Lateral {
			w.put("LATERAL ")
		}
		w.put("TABLE(")
		w.expr(t.Call, precNone)
		w.put(")")
		if t.Columns != nil {
			w.put(" EXTEND ")
			w.columnDefs(t.Columns)
		}
	case *Unnest:
		w.put("UNNEST(")
		w.exprs(t.Args)
		w.put(")")
		if t.Ordinality {
			w.put(" WITH ORDINALITY")
		}
	case *Join:
		w.join(t)
	case *Aliased:
		_, again := t.X.(*Aliased)
		w.joined(t.X, again)
		w.alias(t.Alias)
		if t.Columns != nil {
			w.put(" ")
			w.idents(t.Columns)
		}
	case *Pivot:
		w.pivot(t)
	case *Unpivot:
		w.unpivot(t)
	case *TableSample:
		w.joined(t.X, false)
		w.put(" TABLESAMPLE ")
		if t.System {
			w.put("SYSTEM(")
		} else {
			w.put("BERNOULLI(")
		}
		w.expr(t.Percent, precNone)
		w.put(")")
		if t.Repeatable != nil {
			w.put(" REPEATABLE(")
			w.expr(t.Repeatable, precNone)
			w.put(")")
		}
	}
}

// hasComma reports whether a comma that a join behind t would bind tighter than stands in t.
func hasComma(t TableExpr) bool {
	for {
		j, ok := t.(*Join)
		switch {
		case !ok:
			return false
		case j.Kind == CommaJoin:
			return true
		}
		t = j.Left
	}
}

// joined writes a table expression where a join needs parentheses.
func (w *printer) joined(t TableExpr, inParens bool) {
	if _, isJoin := t.(*Join); !isJoin && !inParens {
		w.table(t)
		return
	}
	w.put("(")
	w.table(t)
	w.put(")")
}

func (w *printer) join(j *Join) {
	if (j.Kind == RightJoin || j.Kind == FullJoin) && hasComma(j.Left) {
		w.joined(j.Left, true)
	} else {
		w.table(j.Left)
	}
	switch j.Kind {
	case CommaJoin:
		w.put(",")
	default:
		if j.Natural {
			w.put(" NATURAL")
		}
		w.put(" ", j.Kind.String())
	}
	w.hint(j.Hint)
	w.put(" ")
	w.joined(j.Right, false)
	if j.On != nil {
		w.put(" ON ")
		w.expr(j.On, precNone)
	}
	if j.Using != nil {
		w.put(" USING ")
		w.idents(j.Using)
	}
}

func (w *printer) columnDefs(list []ColumnDef) {
	w.put("(")
	w.each(len(list), ", ", func(i int) { w.columnDef(&list[i]) })
	w.put(")")
}

func (w *printer) columnDef(c *ColumnDef) {
	w.ident(c.Name)
	w.put(" ")
	w.typeName(c.Type)
	if c.NotNull {
		w.put(" NOT NULL")
	}
}

func (w *printer) pivot(v *Pivot) {
	w.joined(v.X, false)
	w.put(" PIVOT (")
	w.each(len(v.Aggregates), ", ", func(i int) { w.selectItem(&v.Aggregates[i]) })
	w.put(" FOR ")
	w.names(v.Axes)
	w.put(" IN (")
	w.each(len(v.Values), ", ", func(i int) { w.pivotValue(&v.Values[i]) })
	w.put("))")
}

func (w *printer) pivotValue(v *PivotValue) {
	w.oneOrList(v.Items)
	w.alias(v.Alias)
}

// oneOrList writes an expression, or several in parentheses.
func (w *printer) oneOrList(list []Expr) {
	if len(list) == 1 {
		w.expr(list[0], precNone)
		return
	}
	w.put("(")
	w.exprs(list)
	w.put(")")
}

func (w *printer) unpivot(u *Unpivot) {
	list := func(ids []Ident) {
		if len(ids) == 1 {
			w.ident(ids[0])
			return
		}
		w.idents(ids)
	}
	w.joined(u.X, false)
	w.put(" UNPIVOT ")
	if u.IncludeNulls {
		w.put("INCLUDE NULLS ")
	}
	w.put("(")
	list(u.Measures)
	w.put(" FOR ")
	list(u.Axes)
	w.put(" IN (")
	w.each(len(u.Columns), ", ", func(i int) { w.unpivotColumn(&u.Columns[i]) })
	w.put("))")
}

func (w *printer) unpivotColumn(c *UnpivotColumn) {
	w.names(c.Columns)
	if c.Values != nil {
		w.put(" AS ")
		w.oneOrList(c.Values)
	}
}

func (w *printer) typeName(t *TypeName) {
	switch {
	case t.Name == upper(t.Name) && (isPlainWord(t.Name) && !IsReserved(t.Name) || strings.HasPrefix(t.Name, "INTERVAL ")):
		w.put(t.Name)
	default:
		for i, part := range strings.Split(t.Name, ".") {
			if i > 0 {
				w.put(".")
			}
			w.put(`"`, strings.ReplaceAll(part, `"`, `""`), `"`)
		}
	}
	if t.Native != "" {
		w.put("(", QuoteString(t.Native), ")")
	}
	if t.Fields != nil {
		w.columnDefs(t.Fields)
	}
	if t.Args != nil {
		w.put("(")
		w.each(len(t.Args), ", ", func(i int) { w.put(strconv.Itoa(t.Args[i])) })
		w.put(")")
	}
	w.put([...]string{"", " WITH TIME ZONE", " WITH LOCAL TIME ZONE"}[t.Zone])
	w.put(strings.Repeat(" ARRAY", t.Arrays))
}
