package native

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// What is chosen and computed of constant rows is computed beforehand: native queries show the rows
// that come of it.

// maxFoldedRows is how many rows are computed beforehand.
const maxFoldedRows = 1000

// namedRows gives constant rows and aggregates the names that an alias gives their columns.
func namedRows(n plan.Node) plan.Node {
	n = plan.MapInputs(n, namedRows)
	p, ok := n.(*plan.Project)
	if ok {
		if f, chosen := p.Input.(*plan.Filter); chosen {
			return namedChosen(p, f)
		}
	}
	if !ok || !isIdentity(p) {
		return n
	}
	if groups, ok := p.Input.(*plan.Aggregate); ok {
		named := *groups
		named.Aggs = slices.Clone(groups.Aggs)
		for i := range named.Aggs {
			named.Aggs[i].Name = p.Names[len(groups.Keys)+i]
		}
		named.Input = namedKeys(groups, p.Names)
		return plan.WithInputs(n, []plan.Node{&named})
	}
	rows, ok := p.Input.(*plan.Inline)
	if !ok {
		return n
	}
	named := *rows
	named.Out = slices.Clone(rows.Out)
	for i := range named.Out {
		named.Out[i].Name = p.Names[i]
	}
	return plan.WithInputs(n, []plan.Node{&named})
}

// namedKeys is what is grouped, with computed keys under the names that the groups have.
func namedKeys(groups *plan.Aggregate, names []string) plan.Node {
	p, ok := groups.Input.(*plan.Project)
	if !ok {
		return groups.Input
	}
	named := *p
	named.Names = slices.Clone(p.Names)
	for i, k := range groups.Keys {
		if !isColumn(p.Exprs[k]) {
			named.Names[k] = names[i]
		}
	}
	return &named
}

// namedChosen gives aggregates the names that a projection behind a condition on them gives their
// columns; others that the condition reads are numbered.
func namedChosen(p *plan.Project, f *plan.Filter) plan.Node {
	groups, ok := f.Input.(*plan.Aggregate)
	if !ok || slices.ContainsFunc(p.Exprs, func(e expr.Expr) bool { return !isColumn(e) }) {
		return p
	}
	named := *groups
	named.Aggs = slices.Clone(groups.Aggs)
	for i := range named.Aggs {
		named.Aggs[i].Name = "$f" + strconv.Itoa(len(groups.Keys)+i)
	}
	for i, e := range p.Exprs {
		if c, ok := e.(*expr.Column); ok && c.Index >= len(groups.Keys) {
			named.Aggs[c.Index-len(groups.Keys)].Name = p.Names[i]
		}
	}
	return plan.WithInputs(p, []plan.Node{plan.WithInputs(f, []plan.Node{&named})})
}

// readRows reads constant rows. Arrays of a single one are computed of nothing.
func (w *writer) readRows(x *plan.Inline) *stage {
	s := w.newStage(inlineSource(x), columnsOf(x.Out))
	rows, ok := s.source.get("rows").([][]any)
	if !ok || len(rows) != 1 || w.stepwise || !slices.ContainsFunc(x.Out, func(c plan.Column) bool { return c.Type.Base == expr.Array }) {
		return s
	}
	values := make([]expr.Expr, len(x.Out))
	for i, c := range x.Out {
		v := cell(rows[0][i])
		if list, isList := v.([]any); isList {
			elements := make([]any, len(list))
			for j, e := range list {
				elements[j] = cell(e)
			}
			v = elements
		}
		values[i] = &expr.Literal{Value: v, T: c.Type}
	}
	out := w.newStage(emptySource(nil), nil)
	out.setRows(nil, [][]any{{}})
	out.cols = values
	return out
}

// constantRows are the rows of a stage that has done nothing but name them.
func (s *stage) constantRows() ([][]any, bool) {
	if !s.onlyRows() {
		return nil, false
	}
	return s.constants()
}

// constants are the rows of a datasource that has them itself, if few and all are read.
func (r *rows) constants() ([][]any, bool) {
	list, ok := r.source.get("rows").([][]any)
	ok = ok && r.source.get("type") == "inline" && r.isWhole() && r.operator == "" && !r.named
	return list, ok && len(list) > 0 && len(list) <= maxFoldedRows && len(r.in) > 0
}

// isWhole reports whether no condition chooses of the rows.
func (r *rows) isWhole() bool {
	return r.filter == nil && r.contradicted == nil && r.contradiction == nil
}

// ofRow is e over a constant row; false if it can't be computed.
func (r *rows) ofRow(e expr.Expr, row []any) (any, bool) {
	over := expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		if !ok {
			return e
		}
		return &expr.Literal{Value: cell(row[c.Index]), T: c.T}
	})
	if l, ok := over.(*expr.Literal); ok {
		return l.Value, true
	}
	folded, err := expr.Fold(over, &r.w.options.Expr)
	l, ok := folded.(*expr.Literal)
	if err != nil || !ok {
		return nil, false
	}
	return l.Value, true
}

// chooseRows leaves out the constant rows that a condition is not true of; false if it can't be
// told.
func (s *stage) chooseRows(cond expr.Expr) bool {
	rows, ok := s.constantRows()
	if !ok {
		return false
	}
	var kept [][]any
	for _, row := range rows {
		v, ok := s.ofRow(cond, row)
		if !ok {
			return false
		}
		if v == int64(1) {
			kept = append(kept, row)
		}
	}
	if kept == nil {
		kept = [][]any{}
	}
	s.setRows(s.in, kept)
	return true
}

// computeRows makes the constant rows those of a projection; false if they can't be computed.
func (s *stage) computeRows(exprs []expr.Expr, names []string) bool {
	rows, ok := s.constantRows()
	if !ok {
		return false
	}
	if len(exprs) == 0 { // of rows that are only counted one column is enough
		if len(s.in) > 1 {
			s.setRows([]column{{"DUMMY", expr.Of(expr.BigInt)}}, slices.Repeat([][]any{{0}}, len(rows)))
		}
		s.cols = nil
		return true
	}
	in := make([]column, len(exprs))
	for i, e := range exprs {
		if t := e.Type().Base; t == expr.Array || t == expr.Other || slices.Contains(names[:i], names[i]) || !isColumn(e) && s.w.isOfUnknown(e) {
			return false
		}
		in[i] = column{names[i], e.Type()}
	}
	out := make([][]any, len(rows))
	for i, row := range rows {
		for _, e := range exprs {
			v, ok := s.ofRow(e, row)
			if !ok {
				return false
			}
			out[i] = append(out[i], shownConstant(v))
		}
	}
	s.setRows(in, out)
	return true
}

// isNothing reports whether s is the one row without columns of a statement that reads nothing.
func (s *stage) isNothing() bool {
	rows, ok := s.source.get("rows").([][]any)
	return ok && len(rows) == 1 && len(s.in) == 0 && len(s.cols) == 0 && !s.w.stepwise && s.onlyRows()
}

// rowOfConstants has constants that are aggregated of a statement which reads nothing be its row;
// where there are none, that is a zero.
func (s *stage) rowOfConstants() {
	rows, ok := s.source.get("rows").([][]any)
	if !ok || len(rows) != 1 || len(s.in) > 0 || s.w.stepwise || !s.onlyRows() || !s.isWhole() {
		return
	}
	in, row := make([]column, len(s.cols)), make([]any, len(s.cols))
	for i, e := range s.cols {
		l, ok := e.(*expr.Literal)
		if !ok || l.T.Base == expr.Null || l.T.Base == expr.Array || l.T.Base == expr.Other {
			return
		}
		in[i], row[i] = column{"$f" + strconv.Itoa(i), l.T}, shownConstant(l.Value)
	}
	if len(in) == 0 {
		s.setRows([]column{{"ZERO", expr.Of(expr.BigInt).NotNull()}}, [][]any{{0}})
		s.cols = nil
		return
	}
	s.setRows(in, [][]any{row})
}

// isOfUnknown reports whether what is computed may be NULL, or is chosen by what may be: Druid
// leaves that to the query. See quirk Q015.
func (w *writer) isOfUnknown(e expr.Expr) bool {
	if _, constant := e.(*expr.Literal); constant || w.stepwise {
		return false
	}
	if e.Type().Nullable {
		return true
	}
	chosen := false
	expr.Walk(e, func(e expr.Expr) bool {
		c, isCall := firstKnownOf(e)
		chosen = chosen || isCall && c.Args[0].Type().Nullable
		return !chosen
	})
	return chosen
}

// areInOrder reports whether constant rows are in an order already.
func (s *stage) areInOrder(keys []plan.SortKey) bool {
	rows, ok := s.constantRows()
	if !ok || s.w.stepwise {
		return false
	}
	for i := range max(len(rows)-1, 0) {
		for _, k := range keys {
			c, isColumn := s.cols[k.Column].(*expr.Column)
			if !isColumn || k.Desc || rows[i][c.Index] == nil || rows[i+1][c.Index] == nil {
				return false
			}
			order := compareValues(cell(rows[i][c.Index]), cell(rows[i+1][c.Index]))
			if order > 0 {
				return false
			}
			if order < 0 {
				break
			}
		}
	}
	return true
}

// cell is what a constant row shows as a number or text.
func cell(v any) any {
	if n, ok := v.(json.Number); ok {
		if x, err := n.Float64(); err == nil {
			return x
		}
	}
	return v
}

// setRows makes constant rows the datasource.
func (s *stage) setRows(in []column, rows [][]any) {
	source := emptySource(in)
	for i := range source {
		if source[i].name == "rows" {
			source[i].value = rows
		}
	}
	s.source, s.in, s.cols = source, in, allOf(in)
}

// isRelation reports whether s is constant rows as they are, which a join takes as a datasource.
func (s *stage) isRelation() bool {
	_, ok := s.constantRows()
	return ok
}

// eachItsGroup reads groups of constant rows that are a group each as these rows; false if some are
// more, or an aggregate does not follow from one row.
func (s *stage) eachItsGroup(x *plan.Aggregate) bool {
	rows, ok := s.constantRows()
	if !ok || x.Sets != nil || len(x.Keys) == 0 || s.w.stepwise {
		return false
	}
	var cols []expr.Expr
	for _, k := range x.Keys {
		cols = append(cols, s.cols[k])
	}
	seen := map[string]bool{}
	for _, row := range rows {
		var key []any
		for _, e := range cols {
			c, ok := e.(*expr.Column)
			if !ok {
				return false
			}
			key = append(key, row[c.Index])
		}
		text, err := marshal(key)
		if err != nil || seen[string(text)] {
			return false
		}
		seen[string(text)] = true
	}
	for _, a := range x.Aggs {
		if a.Filter >= 0 {
			return false
		}
		switch fn := functionOf(&a); {
		case fn.Counts:
			if len(a.Args) > 0 && s.cols[a.Args[0]].Type().Nullable {
				return false
			}
			cols = append(cols, &expr.Literal{Value: int64(1), T: a.Type})
		case fn.MergesItself():
			cols = append(cols, s.cols[a.Args[0]])
		default:
			return false
		}
	}
	s.cols, s.named = cols, true
	return true
}
