package native

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// column is a column of a datasource or of a query's result.
type column struct {
	name string
	typ  expr.Type
}

// stage is one native query in the making: the rows that it reads, the groups that it makes of
// them, and what is output of these. Each step of a plan changes the last of them, or starts a
// stage that reads the results of this one.
type stage struct {
	rows
	// group are the groups of the rows; nil: the rows are output.
	group *grouped
	ordered
}

func (w *writer) newStage(source object, in []column) *stage {
	return &stage{rows: rows{w: w, source: source, in: in}, ordered: ordered{cols: allOf(in), limit: -1}}
}

func columnsOf(cols []plan.Column) []column {
	out := make([]column, len(cols))
	for i, c := range cols {
		out[i] = column{c.Name, c.Type}
	}
	return out
}

// read returns the stage that gives n's rows.
func (w *writer) read(n plan.Node) (*stage, error) {
	s, err := w.readNode(n)
	if err == nil && w.options.Text {
		s.names = rowNamesOf(n)
	}
	return s, err
}

// rowNamesOf are the names of a node's columns: those of aggregates without one are numbered.
func rowNamesOf(n plan.Node) []string {
	columns := n.Columns()
	out := make([]string, len(columns))
	x, grouped := n.(*plan.Aggregate)
	for i, c := range columns {
		out[i] = c.Name
		if a := i - len(columns); grouped {
			if a += len(x.Aggs); a >= 0 && a < len(x.Aggs) && x.Aggs[a].Agg.Name == c.Name {
				out[i] = "EXPR$" + strconv.Itoa(a)
			}
		}
	}
	return out
}

func (w *writer) readNode(n plan.Node) (*stage, error) {
	switch x := n.(type) {
	case *plan.External:
		return w.readExternal(x), nil
	case *plan.Scan:
		return w.readScan(x)
	case *plan.Inline:
		return w.readRows(x), nil
	case *plan.System:
		if x.Schema == "lookup" {
			return w.newStage(obj("type", "lookup", "lookup", x.Table), columnsOf(x.Out)), nil
		}
		return w.newStage(obj("type", "table", "name", x.Schema+"."+x.Table), columnsOf(x.Out)), nil
	case *plan.Join:
		if x.Kind == plan.Semi || x.Kind == plan.AntiNull {
			return w.readSubquery(x)
		}
		return w.readJoin(x)
	case *plan.Union:
		return w.readUnion(x)
	case *plan.SetOp:
		return w.readOperator(x, x.Kind.String())
	case *plan.Window:
		return w.readOperator(x, "windowOperator")
	case *plan.Write:
		return w.read(x.Input)
	case *plan.Export:
		return w.read(x.Input)
	case *plan.Unnest:
		if len(x.Lists) > 1 || x.Ordinality {
			return w.readOperator(x, "unnestOperator")
		}
	case *plan.Aggregate:
		if joined := w.joinedCounts(x); joined != nil {
			return w.read(joined)
		}
		if sets := w.countedInSets(x); sets != nil {
			return w.read(sets)
		}
	}
	s, err := w.read(n.Inputs()[0])
	if err != nil {
		return nil, err
	}
	switch x := n.(type) {
	case *plan.Filter:
		return s.filtered(x)
	case *plan.Project:
		return s.project(x)
	case *plan.Aggregate:
		if !s.onlyRows() {
			if s, err = s.nestGroups(x); err != nil {
				return nil, err
			}
		}
		if !s.eachItsGroup(x) {
			s.aggregate(x)
		}
	case *plan.Sort:
		return s.sort(x)
	case *plan.Limit:
		if !s.isOneRow() || x.Offset > 0 || x.Count == 0 {
			s.bound(x.Offset, x.Count)
		}
	case *plan.Unnest:
		return s.unnest(x)
	}
	return s, nil
}

func (w *writer) readScan(x *plan.Scan) (*stage, error) {
	source := obj("type", "table", "name", x.DataSource)
	if leaf := w.leaf(x); leaf != nil {
		source = inputNumber(leaf)
	}
	s := w.newStage(source, columnsOf(x.Out))
	s.isTable = x.Filter == nil && x.Intervals == nil
	for _, c := range w.tables[x.DataSource] {
		s.rowNames = append(s.rowNames, c.name)
	}
	s.intervals = x.Intervals
	rest, err := s.joinLists(x.Filter)
	if err != nil {
		return nil, err
	}
	s.where(rest)
	return s, nil
}

// filtered keeps the rows, or groups, for which a condition is true.
func (s *stage) filtered(x *plan.Filter) (out *stage, err error) {
	if s.sorted || s.group == nil && s.isOvergrown(x.Cond) {
		if s, err = s.nest(); err != nil {
			return nil, err
		}
	}
	cond := s.over(x.Cond)
	if s.isJoin() {
		if cond, err = s.intoJoin(s.withoutKnown(cond)); err != nil || cond == nil {
			return s, err
		}
	}
	if s.elements != "" && s.group == nil {
		if cond = s.whereElements(cond); cond == nil {
			return s, nil
		}
	}
	if s.group != nil {
		if s.group.having = s.w.condition(and(s.group.having, s.group.withKeys(cond))); isAlways(s.group.having) {
			s.group.having = nil
		}
		return s, nil
	}
	if !s.chooseRows(cond) {
		s.where(and(s.filter, cond))
	}
	s.isTable = false
	return s, nil
}

// sort puts the rows in order, unless they are, and cuts them.
func (s *stage) sort(x *plan.Sort) (out *stage, err error) {
	if s.isOneRow() && x.Offset == 0 && x.Limit != 0 {
		return s, nil
	}
	if x.Offset == 0 && x.Limit < 0 && s.areInOrder(x.Keys) {
		s.sorted, s.pick = true, make([]int, len(s.cols))
		for i := range s.pick {
			s.pick[i] = i
		}
		return s, nil
	}
	if s, err = s.bounded(); err != nil {
		return nil, err
	}
	s.sorted, s.keys, s.offset, s.limit = true, x.Keys, x.Offset, x.Limit
	if s.group == nil && !s.w.stepwise && !s.w.options.Tasks {
		s.orderByTime()
	}
	return s, nil
}

func (w *writer) leaf(n plan.Node) *Leaf {
	if w.options.Leaf == nil {
		return nil
	}
	return w.options.Leaf(n)
}

func inputNumber(l *Leaf) object { return obj("type", "inputNumber", "inputNumber", l.Number) }

// readExternal reads data from outside, or what stands for another stage's rows.
func (w *writer) readExternal(x *plan.External) *stage {
	in := columnsOf(x.Out)
	var source, format any = x.Source, x.Format
	if leaf := w.leaf(x); leaf != nil {
		for i, name := range leaf.Names {
			in[i].name = name
		}
		if leaf.Source == nil {
			s := w.newStage(inputNumber(leaf), in)
			s.isTable = true
			return s
		}
		source, format = leaf.Source, leaf.Format
	}
	signature := make([]object, len(x.Signature()))
	for i, c := range x.Signature() {
		signature[i] = obj("name", c.Name, "type", runtimeName(c.Type))
	}
	return w.newStage(obj("type", "external", "inputSource", source, "inputFormat", format, "signature", signature), in)
}

// bounded returns a stage that has no order and no limit yet.
func (s *stage) bounded() (*stage, error) {
	if s.sorted {
		return s.nest()
	}
	return s, nil
}

// isOneRow reports whether s is the aggregates of all rows, without a condition. Groups that tasks
// make are limited all the same.
func (s *stage) isOneRow() bool {
	if s.w.options.Tasks && !s.w.stepwise {
		return false
	}
	return s.group != nil && s.group.having == nil && !s.sorted && len(s.group.dims) == 0 && s.group.node.Sets == nil
}

func and(a, b expr.Expr) expr.Expr {
	if a == nil {
		return b
	}
	return plan.Conjunction(append(plan.Split(a), plan.Split(b)...))
}

func (s *stage) project(x *plan.Project) (*stage, error) {
	if s.sorted {
		pick := make([]int, len(x.Exprs))
		if s.group == nil && len(s.keys) == 0 && s.pick == nil && s.operator == "" {
			s.compute(x)
			return s, nil
		}
		if s.group != nil && s.limit >= 0 && !s.w.stepwise {
			s.computeBehind(x)
			return s, nil
		}
		if s.group == nil && len(s.keys) > 0 && s.operator == "" && !s.w.stepwise && !s.w.options.Tasks {
			s.computeOrdered(x, s.w)
			return s, nil
		}
		for i, e := range x.Exprs {
			c, ok := e.(*expr.Column)
			if !ok {
				n, err := s.nest()
				if err != nil {
					return nil, err
				}
				return n.project(x)
			}
			pick[i] = c.Index
			if s.pick != nil {
				pick[i] = s.pick[c.Index]
			}
		}
		s.pick = pick
		return s, nil
	}
	if s.group == nil && slices.ContainsFunc(x.Exprs, s.isOvergrown) {
		n, err := s.nest()
		if err != nil {
			return nil, err
		}
		s = n
	}
	s.compute(x)
	return s, nil
}

// compute makes the columns of s those of a projection.
func (s *stage) compute(x *plan.Project) {
	cols := make([]expr.Expr, len(x.Exprs))
	for i, e := range x.Exprs {
		cols[i] = s.w.withoutNever(shown(value(s.over(e))))
	}
	if !s.computeRows(cols, x.Names) {
		s.cols = cols
	}
}

// nest makes s the datasource of a new stage that reads its results.
func (s *stage) nest() (*stage, error) {
	s.isInner = !s.w.stepwise
	return s.side()
}

// side makes s the datasource of a new stage, as it is: a side of a join.
func (s *stage) side() (*stage, error) {
	q, err := s.query()
	if err != nil {
		return nil, err
	}
	return s.outer(q), nil
}

// columnsOfExpr are the columns that e reads.
func columnsOfExpr(e expr.Expr) []int {
	var out []int
	expr.Walk(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok {
			out = append(out, c.Index)
		}
		return true
	})
	return out
}

// readUnion reads a union of plain tables as one datasource, and any other as one of queries.
func (w *writer) readUnion(x *plan.Union) (*stage, error) {
	sources := make([]object, len(x.Ins))
	var in []column
	var queries []*result
	plain := true
	for i, n := range x.Ins {
		s, err := w.read(n)
		if err != nil {
			return nil, err
		}
		q, err := s.query()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			in = q.columns()
		}
		queries = append(queries, q)
		if s.isPlainTable() && sameColumns(q.columns(), in) {
			sources[i] = s.source
			continue
		}
		plain = false
		sources[i] = obj("type", "query", "query", q.query)
	}
	if !plain || len(in) != len(x.Out) {
		in = columnsOf(x.Out)
	}
	if w.options.Text {
		in = slices.Clone(in)
		for i, c := range x.Out {
			in[i].name = c.Name
		}
	}
	s := w.newStage(obj("type", "union", "dataSources", sources), in)
	if w.options.Text {
		s.reads = &relation{name: "DruidUnionDataSourceRel", source: "__union__", inputs: queries}
	}
	return s, nil
}

func sameColumns(a, b []column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].name != b[i].name {
			return false
		}
	}
	return true
}

// readOperator reads what no native query does as an operator over the queries of its inputs.
func (w *writer) readOperator(n plan.Node, name string) (*stage, error) {
	var sources []object
	for _, c := range n.Inputs() {
		s, err := w.read(c)
		if err != nil {
			return nil, err
		}
		q, err := s.query()
		if err != nil {
			return nil, err
		}
		sources = append(sources, obj("type", "query", "query", q.query))
	}
	source := sources[0]
	if len(sources) > 1 {
		source = obj("type", "union", "dataSources", sources)
	}
	var in []column
	for i, c := range n.Columns() {
		in = append(in, column{"w" + strconv.Itoa(i), c.Type})
	}
	s := w.newStage(source, in)
	s.operator = name
	return s.nest()
}

// inlineSource shows the rows of a constant relation.
func inlineSource(x *plan.Inline) object {
	names, types := make([]string, len(x.Out)), make([]any, len(x.Out))
	for i, c := range x.Out {
		if names[i] = c.Name; c.Type.Base != expr.Null {
			types[i] = runtimeName(c.Type)
		}
	}
	rows := make([][]any, 0, x.Rows.Rows())
	batch := x.Rows.Compact()
	for r := range batch.N {
		row := make([]any, len(batch.Cols))
		for c, v := range batch.Cols {
			row[c] = valueAt(v, r)
		}
		rows = append(rows, row)
	}
	return obj("type", "inline", "columnNames", names, "columnTypes", types, "rows", rows)
}

func valueAt(v *vector.Vector, i int) any {
	if v.IsNull(i) {
		return nil
	}
	switch v.Type.Kind {
	case vector.KindLong:
		return v.LongAt(i)
	case vector.KindDouble, vector.KindFloat:
		return number(v.DoubleAt(i))
	case vector.KindList:
		lo, hi := v.ListAt(i)
		out := make([]any, 0, hi-lo)
		for ; lo < hi; lo++ {
			out = append(out, valueAt(v.Child, lo))
		}
		return out
	}
	return v.StringAt(i)
}

func runtimeName(t expr.Type) string {
	if t.Multi {
		t = t.Elem()
	}
	return t.Runtime().String()
}

// unusedPrefix puts underscores before base until no name is base and a digit.
func unusedPrefix(base string, in []column) string {
	for {
		used := false
		for _, c := range in {
			n := len(base)
			if len(c.name) > n && c.name[:n] == base && c.name[n] >= '0' && c.name[n] <= '9' {
				used = true
			}
		}
		if !used {
			return base
		}
		base = "_" + base
	}
}

// onlyRows reports whether the rows are neither grouped nor in an order yet.
func (s *stage) onlyRows() bool { return s.group == nil && !s.sorted }
