package native

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Joins. Druid knows one kind of condition: equalities of something on the left with a column on
// the right. What is computed on the right is computed by the query there, what else a statement
// asks for is a condition on the rows of the join, and NOT IN is two joins. See quirk Q015.

// join is a join in the making.
type join struct {
	kind  plan.JoinKind
	left  object
	right *stage
	// leftQuery and rightQuery are those of the sides, in the text form.
	leftQuery, rightQuery *result
	// width is how many columns the left side has.
	width  int
	prefix string
	terms  []expr.Expr
	// onlyJoined says that nothing asks for the right side's columns, ofTables that the sides are
	// tables with all their columns.
	onlyJoined, ofTables bool
	// changed says that a condition on its rows has become a part of it.
	changed bool
	// full is the FULL JOIN that a condition on its rows has made another kind of; nil: none.
	full object
}

var joinNames = map[plan.JoinKind]string{
	plan.Inner: "INNER", plan.Left: "LEFT", plan.Right: "RIGHT", plan.Full: "FULL", plan.Semi: "INNER", plan.Anti: "ANTI", plan.AntiNull: "ANTI",
	plan.Single: "LEFT",
}

// datasource is the join as a datasource; of is what the right side of it is.
func (j *join) datasource(w *writer, of object) object {
	condition := "1"
	if len(j.terms) > 0 {
		condition = w.native(plan.Conjunction(j.terms))
	}
	return obj("type", "join", "left", j.left, "right", of, "rightPrefix", j.prefix, "condition", condition, "joinType", joinNames[j.kind])
}

// readSubquery reads a join that is a condition of the form IN. A condition beside it is one on the
// rows of the join.
func (w *writer) readSubquery(x *plan.Join) (*stage, error) {
	scan, ok := x.Left.(*plan.Scan)
	if !ok || w.stepwise || scan.Filter == nil && scan.Intervals == nil {
		return w.readJoin(x)
	}
	whole, joined := *scan, *x
	whole.Filter, whole.Intervals = nil, nil
	joined.Left = &whole
	s, err := w.readJoin(&joined)
	if err != nil {
		return nil, err
	}
	s.intervals = scan.Intervals
	if scan.Filter != nil {
		beside := s.over(scan.Filter)
		if s.filter != nil {
			beside = and(beside, s.filter)
		}
		s.where(beside)
	}
	return s, nil
}

func (w *writer) readJoin(x *plan.Join) (*stage, error) {
	if x.Kind == plan.AntiNull && x.On == nil && len(x.Keys) == 1 && !w.stepwise {
		return w.readNotIn(x)
	}
	left, values, err := w.readLeft(x)
	if err != nil {
		return nil, err
	}
	right, err := w.readRight(x)
	if err != nil {
		return nil, err
	}
	keys := x.Keys
	if x.Kind == plan.Semi && x.On == nil && right.onlyRows() && !w.stepwise && !right.isRelation() {
		keys = right.distinct(x) // so that no row is found twice
	}
	if x.Kind == plan.Inner || x.Kind == plan.Right {
		maps.Copy(values, right.outputValues(len(left.in)))
	}
	inner, computed, onlyJoined := w.joinedWhole(x, right)
	right = inner
	if !right.isRelation() && (!w.stepwise || !right.isPlainTable() || right.source[0].value != "inputNumber") {
		if right, err = right.side(); err != nil {
			return nil, err
		}
	}
	j := &join{kind: x.Kind, left: left.source, right: inner, width: len(left.in), onlyJoined: onlyJoined, prefix: unusedJoinPrefix(left.in, left.source, right.source)}
	j.ofTables = left.isPlainTable() && inner.isPlainTable() && len(left.in) == len(left.rowNames) && len(inner.cols) == len(inner.rowNames)
	if w.options.Text {
		if err := j.readSides(left, right); err != nil {
			return nil, err
		}
	}
	s := w.joinedStage(j, left, right, computed)
	j.terms = j.conditions(x.On, keys, s, len(left.cols))
	s.source = j.datasource(w, right.source)
	if w.options.Text {
		s.reads = j.reads()
	}
	if len(values) > 0 {
		s.values = values
	}
	if x.Kind != plan.Semi && x.Kind != plan.Anti && x.Kind != plan.AntiNull {
		s.join = j
	}
	if len(x.Columns()) < len(s.cols) {
		s.cols = s.cols[:len(x.Columns())]
	}
	return s, nil
}

// unusedJoinPrefix is what the columns of the right side of a join are called with: no columns of
// the left side are, and none of a join within one of the sides.
func unusedJoinPrefix(left []column, sides ...object) string {
	taken := slices.Clone(left)
	for _, side := range sides {
		taken = append(taken, joinPrefixes(side)...)
	}
	return unusedPrefix("j", taken) + "0."
}

// joinPrefixes are the prefixes of the joins within a datasource or query.
func joinPrefixes(v any) []column {
	var out []column
	switch x := v.(type) {
	case object:
		for _, m := range x {
			if prefix, ok := m.value.(string); ok && m.name == "rightPrefix" {
				out = append(out, column{name: prefix})
			}
			if m.name == "left" || m.name == "right" || m.name == "query" || m.name == "dataSource" || m.name == "base" || m.name == "dataSources" {
				out = append(out, joinPrefixes(m.value)...)
			}
		}
	case []object:
		for _, o := range x {
			out = append(out, joinPrefixes(o)...)
		}
	}
	return out
}

// readLeft reads the left side of a join, and the constants that its rows have, by column.
func (w *writer) readLeft(x *plan.Join) (left *stage, values map[int]*expr.Literal, err error) {
	if left, err = w.read(x.Left); err != nil {
		return nil, nil, err
	}
	if left.isPlainTable() {
		left = left.unprunedText()
	}
	values = map[int]*expr.Literal{}
	if left.isNothing() {
		left.rowOfConstants()
		return left, values, nil
	}
	if left.isPlainTable() || left.isJoin() || left.isRelation() && !w.stepwise {
		return left, values, nil
	}
	if x.Kind == plan.Inner || x.Kind == plan.Semi || x.Kind == plan.Left {
		values = left.outputValues(0)
	}
	left, err = left.side()
	return left, values, err
}

// readRight reads the right side of a join.
func (w *writer) readRight(x *plan.Join) (*stage, error) {
	right, err := w.read(x.Right)
	if err == nil && x.Kind == plan.Semi && x.On == nil && right.group == nil && right.sorted && !w.stepwise {
		return right.nest()
	}
	if err == nil && x.Kind == plan.Semi && x.On == nil && right.group != nil && len(right.group.dims) > 0 &&
		len(x.Keys) == 1 && !w.stepwise &&
		!isGroupOf(x.Right, x.Keys[0].Right) {
		return right.nest() // of its values some may be the same
	}
	if err == nil {
		right.showsPicked = x.Kind == plan.Semi
	}
	return right, err
}

// joinedWhole returns the right side of a join with all columns, where rows are only joined, or
// something is computed of them behind the join.
func (w *writer) joinedWhole(x *plan.Join, right *stage) (whole *stage, computed []expr.Expr, onlyJoined bool) {
	onlyJoined = len(right.cols) == 0 && right.onlyRows() && right.rowNames != nil && !w.stepwise
	if computesBeside(x, right) {
		right = right.unpruned()
		computed = right.cols
	}
	if !onlyJoined && computed == nil {
		return right, nil, false
	}
	right = right.unpruned()
	right.cols, right.names = nil, nil
	for i, c := range right.in {
		right.cols, right.names = append(right.cols, &expr.Column{Index: i, Name: c.name, T: c.typ}), append(right.names, c.name)
	}
	return right, computed, onlyJoined
}

// joinedStage returns the stage of the rows of a join: the columns of the left side, then those of
// the right one or what is computed of them.
func (w *writer) joinedStage(j *join, left, right *stage, computed []expr.Expr) *stage {
	in := append([]column(nil), left.in...)
	var joined []expr.Expr
	missing := j.kind == plan.Left || j.kind == plan.Full || j.kind == plan.Single
	for i, c := range right.in {
		name := j.prefix + c.name
		if w.options.Text {
			name = unusedName(c.name, in)
		}
		c.typ = c.typ.OrNull(missing)
		in = append(in, column{name, c.typ})
		joined = append(joined, &expr.Column{Index: len(left.in) + i, Name: name, T: c.typ})
	}
	if computed != nil {
		columns := joined
		joined = make([]expr.Expr, len(computed))
		for i, e := range computed {
			joined[i] = expr.Rewrite(e, func(e expr.Expr) expr.Expr {
				if c, ok := e.(*expr.Column); ok {
					return columns[c.Index]
				}
				return e
			})
		}
	}
	s := w.newStage(nil, in)
	s.cols = slices.Concat(left.cols, joined)
	return s
}

// conditions are what a join asks of its pairs, each once: the equalities of its keys, and the
// terms of its condition. The left side has width columns.
func (j *join) conditions(on expr.Expr, keys []plan.EquiKey, s *stage, width int) []expr.Expr {
	var terms []expr.Expr
	for _, k := range keys {
		op := "="
		if k.NullSafe {
			op = "IS NOT DISTINCT FROM"
		}
		terms = append(terms, test(op, s.cols[k.Left], s.cols[width+k.Right]))
	}
	if on == nil {
		return terms
	}
	for _, t := range plan.Split(s.over(on)) {
		if c, ok := t.(*expr.Call); ok && c.Fn.Name == "IS TRUE" {
			t = c.Args[0]
		}
		if equal := j.equality(t); equal != nil {
			t = equal
		}
		if !slices.ContainsFunc(terms, func(o expr.Expr) bool { return expr.Equal(o, t) }) {
			terms = append(terms, t)
		}
	}
	return terms
}

// computesBeside reports whether the right side of a join is a table of whose columns something is
// computed that the join does not compare.
func computesBeside(x *plan.Join, right *stage) bool {
	if right.w.stepwise || !right.isTable || !right.onlyRows() || right.rowNames == nil || x.Kind != plan.Inner && x.Kind != plan.Left && x.Kind != plan.Right && x.Kind != plan.Full {
		return false
	}
	if !slices.ContainsFunc(right.cols, func(e expr.Expr) bool { return !isColumn(e) }) {
		return false
	}
	compared := make([]int, 0, len(x.Keys))
	for _, k := range x.Keys {
		compared = append(compared, k.Right)
	}
	if x.On != nil {
		width := len(x.Left.Columns())
		for _, c := range columnsOfExpr(x.On) {
			if c >= width {
				compared = append(compared, c-width)
			}
		}
	}
	return !slices.ContainsFunc(compared, func(i int) bool { return !isColumn(right.cols[i]) })
}

// outputValues are the columns of the query that s becomes which have one value, counted from an
// offset on.
func (s *stage) outputValues(offset int) map[int]*expr.Literal {
	out := map[int]*expr.Literal{}
	if !s.onlyRows() || s.filter == nil {
		return out
	}
	values := s.equalities()
	for i, e := range s.cols {
		if c, ok := e.(*expr.Column); ok && values[c.Index] != nil {
			out[offset+i] = values[c.Index]
		}
	}
	return out
}

// distinct groups s, the right side of a join, by the keys of the join, and returns these with
// their places among the groups.
func (s *stage) distinct(x *plan.Join) []plan.EquiKey {
	groups := &plan.Aggregate{Input: x.Right}
	for _, k := range x.Keys {
		groups.Keys = append(groups.Keys, k.Right)
	}
	slices.Sort(groups.Keys)
	groups.Keys = slices.Compact(groups.Keys)
	keys := slices.Clone(x.Keys)
	for i := range keys {
		keys[i].Right = slices.Index(groups.Keys, keys[i].Right)
	}
	s.aggregate(groups)
	return keys
}

// readNotIn reads NOT IN as Druid does: joined with how many rows and values the list has, and with
// its values. A row stays where the list is empty, or where it has a value, that is none of the
// list's, and all of these are known. See quirk Q015.
func (w *writer) readNotIn(x *plan.Join) (*stage, error) {
	key := x.Keys[0]
	width := len(x.Left.Columns())
	whole := expr.Of(expr.BigInt).NotNull()
	value := plan.ColumnAt(x.Right, key.Right)
	count := func(name string, args ...int) plan.AggCall {
		spec := agg.Spec{Name: "COUNT"}
		for range args {
			spec.Args = append(spec.Args, value.Type.Runtime())
		}
		return plan.AggCall{Agg: spec, Args: args, Filter: -1, Name: name, Type: whole}
	}
	list := x.Right
	if isGroupOf(list, key.Right) {
		list = &plan.Limit{Input: list, Count: -1} // a query as it is, with the condition on its groups
	}
	counts := &plan.Aggregate{Input: list, Aggs: []plan.AggCall{count("c"), count("ck", key.Right)}}
	marked := withMark(x.Right, &expr.Literal{Value: int64(1), T: whole})
	var values plan.Node = plan.Select(marked, []int{key.Right, len(marked.Columns()) - 1})
	if !isGroupOf(x.Right, key.Right) {
		values = &plan.Aggregate{Input: values, Keys: []int{0, 1}}
	}
	all := &plan.Join{Left: &plan.Join{Left: x.Left, Right: counts, Kind: plan.Inner}, Right: values, Kind: plan.Left, Keys: []plan.EquiKey{{Left: key.Left, Right: 0}}}
	columns := all.Columns()
	column := func(i int) expr.Expr { return &expr.Column{Index: i, Name: columns[i].Name, T: columns[i].Type} }
	rows, known := column(width), column(width+1)
	cond := &expr.Or{Terms: []expr.Expr{
		test("=", rows, &expr.Literal{Value: int64(0), T: whole}),
		&expr.And{Terms: []expr.Expr{test("IS NULL", column(width+3)), test(">=", known, rows), test("IS NOT NULL", column(key.Left))}},
	}}
	return w.read(plan.Select(&plan.Filter{Input: all, Cond: cond}, places(width)))
}

// places are the first n numbers.
func places(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// withMark is n with a constant as its last column, which is chosen where the rows are.
func withMark(n plan.Node, mark *expr.Literal) plan.Node {
	switch x := n.(type) {
	case *plan.Sort:
		return plan.WithInputs(x, []plan.Node{withMark(x.Input, mark)})
	case *plan.Limit:
		return plan.WithInputs(x, []plan.Node{withMark(x.Input, mark)})
	case *plan.Project:
		out := *x
		out.Input = withMark(x.Input, mark)
		out.Exprs = append(slices.Clone(x.Exprs), &expr.Column{Index: len(x.Input.Columns()), Name: "i", T: mark.T})
		out.Names = append(slices.Clone(x.Names), "i")
		return &out
	}
	out := &plan.Project{Input: n}
	for i, c := range n.Columns() {
		out.Exprs, out.Names = append(out.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(out.Names, c.Name)
	}
	out.Exprs, out.Names = append(out.Exprs, mark), append(out.Names, "i")
	return out
}

// isGroupOf reports whether the rows of n are groups by one of its columns alone.
func isGroupOf(n plan.Node, column int) bool {
	switch x := n.(type) {
	case *plan.Sort:
		return isGroupOf(x.Input, column)
	case *plan.Limit:
		return isGroupOf(x.Input, column)
	case *plan.Filter:
		return isGroupOf(x.Input, column)
	case *plan.Project:
		c, ok := x.Exprs[column].(*expr.Column)
		return ok && isGroupOf(x.Input, c.Index)
	case *plan.Aggregate:
		return len(x.Keys) == 1 && column == 0 && x.Sets == nil
	}
	return false
}

// isPlainTable reports whether s is a table and nothing has been done to its rows.
func (s *stage) isPlainTable() bool { return s.isTable && s.onlyRows() }

// isJoin reports whether s is a join and nothing has been done to its rows.
func (s *stage) isJoin() bool {
	return len(s.source) > 0 && s.source[0].value == "join" && s.onlyRows() && s.filter == nil && s.intervals == nil
}

// intoJoin makes a condition on the rows of a join, over the join's columns, a part of the join
// where Druid does: all of it, or it only says that a side has a row. What is left of it is
// returned; nil: nothing. See quirk Q015.
func (r *rows) intoJoin(cond expr.Expr) (expr.Expr, error) {
	j := r.join
	if j == nil || r.w.stepwise {
		return cond, nil
	}
	terms := plan.Split(cond)
	onLeft := func(c int) bool { return c < j.width }
	onRight := func(c int) bool { return c >= j.width }
	needs := func(side func(int) bool) bool {
		return slices.ContainsFunc(terms, func(t expr.Expr) bool { return plan.RejectsNull(t, side) })
	}
	kind := j.kind
	if (kind == plan.Left || kind == plan.Single || kind == plan.Full) && needs(onRight) {
		kind = map[plan.JoinKind]plan.JoinKind{plan.Left: plan.Inner, plan.Single: plan.Inner, plan.Full: plan.Right}[kind]
	}
	if (kind == plan.Right || kind == plan.Full) && needs(onLeft) {
		kind = map[plan.JoinKind]plan.JoinKind{plan.Right: plan.Inner, plan.Full: plan.Left}[kind]
	}
	if kind != plan.Inner {
		if kind == j.kind {
			return cond, nil
		}
		if j.kind == plan.Full && !r.w.options.Text {
			right, _ := r.source.get("right").(object)
			j.full = j.datasource(r.w, right)
		}
		return cond, r.rejoin(kind, j.terms)
	}
	var added []expr.Expr
	for _, t := range terms {
		if r.isKnownKey(t) {
			continue
		}
		equal := j.equality(t)
		if equal == nil && len(terms) == 1 {
			var err error
			if equal, err = r.computedEquality(t); err != nil {
				return nil, err
			}
		}
		if equal == nil {
			return r.intoCross(cond, terms)
		}
		added = append(added, equal)
	}
	if j.kind == plan.Inner && len(j.terms) > 0 && len(added) > 0 {
		return cond, nil
	}
	return nil, r.rejoin(plan.Inner, append(slices.Clone(j.terms), added...))
}

// withoutKnown is a condition on the rows of a join in which what the query on the right side has
// as its condition already only says that there is a value.
func (r *rows) withoutKnown(cond expr.Expr) expr.Expr {
	j := r.join
	if j == nil || r.w.stepwise || j.kind != plan.Inner && j.kind != plan.Right || j.right.filter == nil || j.right.group != nil || j.right.sorted {
		return cond
	}
	known := plan.Split(j.right.filter)
	terms := slices.Clone(plan.Split(cond))
	for i, t := range terms {
		columns := columnsOfExpr(t)
		if len(columns) != 1 || columns[0] < j.width || columns[0]-j.width >= len(j.right.cols) {
			continue
		}
		var column expr.Expr
		below := r.w.condition(expr.Rewrite(t, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				column = c
				return j.right.cols[c.Index-j.width]
			}
			return e
		}))
		if slices.ContainsFunc(known, func(k expr.Expr) bool { return expr.Equal(k, below) }) {
			terms[i] = notNull(column)
		}
	}
	return plan.Conjunction(terms)
}

// intoCross makes the only condition on the rows of a join without one, which is of the right side,
// a column of the query there.
func (r *rows) intoCross(cond expr.Expr, terms []expr.Expr) (expr.Expr, error) {
	j := r.join
	if j.kind != plan.Inner || len(j.terms) > 0 {
		return cond, nil
	}
	c, isCall := terms[0].(*expr.Call)
	if len(terms) > 1 || !isCall || c.Fn.Name == "=" || !j.isOnRight(c) || j.right.group != nil || j.right.sorted || j.right.operator != "" || j.right.isRelation() {
		return cond, nil
	}
	met, err := r.onRight(c)
	if err != nil {
		return nil, err
	}
	j.terms = []expr.Expr{test("=", &expr.Literal{Value: int64(1), T: expr.Of(expr.BigInt).NotNull()}, met)}
	right, _ := r.source.get("right").(object)
	r.source = j.datasource(r.w, right)
	if r.w.options.Text {
		r.reads = j.reads()
	}
	return nil, nil
}

// onRight has the query on the right side of the join compute e, which is over its columns, and
// returns the column.
func (r *rows) onRight(e expr.Expr) (*expr.Column, error) {
	j := r.join
	right := *j.right
	right.cols = append(slices.Clone(right.cols), expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return j.right.cols[c.Index-j.width]
		}
		return e
	}))
	j.right = &right
	nested, err := right.side()
	if err != nil {
		return nil, err
	}
	last := nested.in[len(nested.in)-1]
	met := &expr.Column{Index: len(r.in), Name: j.prefix + last.name, T: last.typ}
	if r.w.options.Text {
		met.Name = unusedName(last.name, r.in)
		if err := j.readSides(nil, nested); err != nil {
			return nil, err
		}
	}
	r.in = append(slices.Clone(r.in), column{met.Name, met.T})
	r.source = j.datasource(r.w, nested.source)
	return met, nil
}

// computedEquality is an equality with what is computed of the groups on the right side of a join
// without a condition; nil: t is none.
func (r *rows) computedEquality(t expr.Expr) (expr.Expr, error) {
	j := r.join
	c, ok := t.(*expr.Call)
	if !ok || c.Fn.Name != "=" || len(c.Args) != 2 || len(j.terms) > 0 || j.right.group == nil || j.right.sorted || j.right.operator != "" {
		return nil, nil
	}
	left, right := c.Args[0], c.Args[1]
	if j.isOnRight(left) {
		left, right = right, left
	}
	if !j.isOnRight(right) || !j.isOnLeft(left) {
		return nil, nil
	}
	met, err := r.onRight(right)
	if err != nil {
		return nil, err
	}
	return test("=", left, met), nil
}

// rejoin changes the kind and the condition of a join.
func (r *rows) rejoin(kind plan.JoinKind, terms []expr.Expr) error {
	j := r.join
	j.kind, j.terms, j.changed = kind, terms, true
	right, _ := r.source.get("right").(object)
	r.source = j.datasource(r.w, right)
	if r.w.options.Text {
		r.reads = j.reads()
	}
	for _, t := range terms {
		c, ok := t.(*expr.Call)
		if !ok || len(c.Args) != 2 {
			continue
		}
		l, isConstant := c.Args[0].(*expr.Literal)
		if column, ok := c.Args[1].(*expr.Column); ok && isConstant {
			if r.values == nil {
				r.values = map[int]*expr.Literal{}
			}
			r.values[column.Index] = l
		}
	}
	return nil
}

func (j *join) isOnRight(e expr.Expr) bool {
	some, only := false, true
	expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			some, only = true, only && c.Index >= j.width
		}
		return e
	})
	return some && only
}

func (j *join) isOnLeft(e expr.Expr) bool {
	only := true
	expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			only = only && c.Index < j.width
		}
		return e
	})
	return only
}

// equality is a condition that a join can have: that something on the left, or a constant, is what
// a column on the right is. nil: it is another.
func (j *join) equality(t expr.Expr) expr.Expr {
	c, ok := t.(*expr.Call)
	if !ok || len(c.Args) != 2 || c.Fn.Name != "=" && c.Fn.Name != "IS NOT DISTINCT FROM" {
		return nil
	}
	left, right := c.Args[0], c.Args[1]
	if isColumn(left) && j.isOnRight(left) {
		left, right = right, left
	}
	if !isColumn(right) || !j.isOnRight(right) || !j.isOnLeft(left) {
		return nil
	}
	return test(c.Fn.Name, left, right)
}

// isKnownKey reports whether a condition only says that there is a value which an equality of an
// inner join demands anyway.
func (r *rows) isKnownKey(t expr.Expr) bool {
	c, ok := t.(*expr.Call)
	if !ok || c.Fn.Name != "IS NOT NULL" {
		return false
	}
	column, ok := c.Args[0].(*expr.Column)
	if !ok {
		return false
	}
	return slices.ContainsFunc(r.join.terms, func(t expr.Expr) bool {
		equal, ok := t.(*expr.Call)
		return ok && equal.Fn.Name == "=" && slices.ContainsFunc(equal.Args, func(a expr.Expr) bool {
			x, ok := a.(*expr.Column)
			return ok && x.Index == column.Index
		})
	})
}

// computedKeys has what a join compares computed on its sides: on its right, and on its left where
// that is not a table as it is.
func computedKeys(n plan.Node) plan.Node {
	n = plan.MapInputs(n, computedKeys)
	if f, ok := n.(*plan.Filter); ok {
		return withRowsRead(f)
	}
	x, ok := n.(*plan.Join)
	if !ok {
		return withoutUnreadColumns(n)
	}
	if x.On == nil {
		return n
	}
	if of := withComparedRows(x); of != plan.Node(x) {
		return of
	}
	width, total := len(x.Left.Columns()), len(x.Left.Columns())+len(x.Right.Columns())
	j := &join{width: width}
	onLeft := !isTableOrJoin(x.Left)
	var lefts, rights []expr.Expr
	terms := slices.Clone(plan.Split(x.On))
	for i, t := range terms {
		c, ok := t.(*expr.Call)
		if !ok || c.Fn.Name != "=" || len(c.Args) != 2 {
			continue
		}
		left, right := c.Args[0], c.Args[1]
		if j.isOnRight(left) {
			left, right = right, left
		}
		if !j.isOnRight(right) || !j.isOnLeft(left) {
			continue
		}
		if !isColumn(right) {
			rights = append(rights, right)
			right = &expr.Column{Index: total + len(rights) - 1, T: right.Type()}
		}
		if _, constant := left.(*expr.Literal); onLeft && !isColumn(left) && !constant {
			lefts = append(lefts, left)
			left = &expr.Column{Index: -len(lefts), T: left.Type()}
		}
		terms[i] = test("=", left, right)
	}
	if len(lefts)+len(rights) == 0 {
		return n
	}
	wide := *x
	wide.Left, wide.Right = withComputed(x.Left, lefts, 0), withComputed(x.Right, rights, width)
	wide.On = expr.Rewrite(plan.Conjunction(terms), func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Column)
		switch {
		case ok && c.Index < 0:
			return &expr.Column{Index: width - 1 - c.Index, Name: c.Name, T: c.T}
		case ok && c.Index >= width:
			return &expr.Column{Index: c.Index + len(lefts), Name: c.Name, T: c.T}
		}
		return e
	})
	wide.Keys = slices.Clone(x.Keys)
	keep := make([]int, len(x.Columns()))
	for i := range keep {
		if keep[i] = i; i >= width {
			keep[i] += len(lefts)
		}
	}
	return plan.Select(&wide, keep)
}

// limitedSides has the limit of the rows of an outer join hold for the side all of whose rows are
// kept, too, where that is a query.
func limitedSides(n plan.Node) plan.Node {
	x, ok := n.(*plan.Limit)
	if !ok || x.Offset > 0 {
		return plan.MapInputs(n, limitedSides)
	}
	return plan.WithInputs(x, []plan.Node{limitedBelow(x.Input, x.Count)})
}

// limitedBelow is limitedSides for what is directly below a limit.
func limitedBelow(n plan.Node, count int64) plan.Node {
	switch x := n.(type) {
	case *plan.Project:
		return plan.WithInputs(x, []plan.Node{limitedBelow(x.Input, count)})
	case *plan.Join:
		left, right := limitedSides(x.Left), limitedSides(x.Right)
		switch {
		case x.Kind == plan.Right:
			right = &plan.Limit{Input: right, Count: count}
		case x.Kind == plan.Left && !isTableOrJoin(left):
			left = &plan.Limit{Input: left, Count: count}
		}
		return plan.WithInputs(x, []plan.Node{left, right})
	}
	return limitedSides(n)
}

// isTableOrJoin reports whether n is a table, of whose columns some may have been chosen or
// computed, or a join.
func isTableOrJoin(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return x.Filter == nil && x.Intervals == nil
	case *plan.Join:
		return true
	case *plan.Project:
		return isTableOrJoin(x.Input)
	}
	return false
}

// withComputed is n with further columns, which are over the columns of a join that begin at an
// offset.
func withComputed(n plan.Node, list []expr.Expr, offset int) plan.Node {
	if len(list) == 0 {
		return n
	}
	out := &plan.Project{Input: n}
	for i, c := range n.Columns() {
		out.Exprs, out.Names = append(out.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(out.Names, c.Name)
	}
	for i, e := range list {
		out.Exprs = append(out.Exprs, expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				return &expr.Column{Index: c.Index - offset, Name: c.Name, T: c.T}
			}
			return e
		}))
		out.Names = append(out.Names, "computed"+strconv.Itoa(i))
	}
	return out
}
