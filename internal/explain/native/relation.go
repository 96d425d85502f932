package native

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// The text form of plans, which useNativeQueryExplain=false asks for, is a tree: a query over
// others stands above them, names a table that does not exist in their place, and their columns as
// the rows below it are called. What a join or an unnest has on its left is not narrowed.

// relation is what a query reads that stands above others.
type relation struct {
	name       string
	properties []string
	source     string
	inputs     []*result
	// last is a further line below.
	last string
}

// Text returns the queries as a tree.
func (p *Plan) Text() (string, error) {
	var b strings.Builder
	unions := len(p.Queries) - 1 // each is one of all before it and the next
	for i := range unions {
		b.WriteString(strings.Repeat("  ", i) + "DruidUnionRel(limit=[" + strconv.FormatInt(p.limit, 10) + "])\n")
	}
	for i, q := range p.Queries {
		depth := unions
		if i > 0 {
			depth = unions - i + 1
		}
		if err := q.result.writeText(&b, depth); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (r *result) writeText(b *strings.Builder, depth int) error {
	text, err := r.query.MarshalJSON()
	if err != nil {
		return err
	}
	signature := make([]string, len(r.signature))
	for i, f := range r.fields() {
		if f.Type == "" {
			f.Type = "null"
		}
		signature[i] = f.Name + ":" + f.Type
	}
	reads := r.reads
	if reads == nil {
		reads = &relation{name: "DruidQueryRel"}
	}
	properties := append(slices.Clone(reads.properties), "query=["+string(text)+"]", "signature=[{"+strings.Join(signature, ", ")+"}]")
	b.WriteString(strings.Repeat("  ", depth) + reads.name + "(" + strings.Join(properties, ", ") + ")\n")
	for _, in := range reads.inputs {
		if err := in.writeText(b, depth+1); err != nil {
			return err
		}
	}
	if reads.last != "" {
		b.WriteString(strings.Repeat("  ", depth+1) + reads.last + "\n")
	}
	return nil
}

// outer is a stage that reads the results of q, which is the query of s.
func (s *stage) outer(q *result) *stage {
	out := s.w.newStage(obj("type", "query", "query", q.query), s.rowColumns(q))
	if s.w.options.Text {
		out.reads = &relation{name: "DruidOuterQueryRel", source: "__subquery__", inputs: []*result{q}}
	}
	return out
}

// rowColumns are the columns of q, the query of s, under the names that those above know them by.
func (s *stage) rowColumns(q *result) []column {
	cols := q.columns()
	if len(cols) == 0 && s.group != nil && s.sorted && !s.w.options.Text { // of groups in an order that are only counted nothing is left out
		return q.signature
	}
	if !s.w.options.Text || len(s.names) != len(cols) {
		return cols
	}
	var out []column
	for i, c := range cols {
		out = append(out, column{unusedName(s.names[i], out), c.typ})
	}
	return out
}

// unusedName is a name, with the first number behind it that makes it another than those in use.
func unusedName(name string, in []column) string {
	out := name
	for i := 0; slices.ContainsFunc(in, func(c column) bool { return c.name == out }); i++ {
		out = name + strconv.Itoa(i)
	}
	return out
}

// unprunedText is s, in the text form over all columns of its table.
func (s *stage) unprunedText() *stage {
	if !s.w.options.Text {
		return s
	}
	return s.unpruned()
}

// unpruned is s over all columns of its table, if it reads one.
func (s *stage) unpruned() *stage {
	name, _ := s.source.get("name").(string)
	all := s.w.tables[name]
	if s.reads != nil || s.source.get("type") != "table" || !s.onlyRows() || len(all) == 0 {
		return s
	}
	moved := func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				if i := slices.IndexFunc(all, func(a column) bool { return a.name == s.in[c.Index].name }); i >= 0 {
					return &expr.Column{Index: i, Name: c.Name, T: c.T}
				}
			}
			return e
		})
	}
	out := *s
	out.in = all
	out.cols = make([]expr.Expr, len(s.cols))
	for i, e := range s.cols {
		out.cols[i] = moved(e)
	}
	if s.filter != nil {
		out.filter = moved(s.filter)
	}
	return &out
}

// noElementFilter says of an unnest that it takes all elements. With a condition on them it says
// nothing.
const noElementFilter = ", filter=[null]"

// unnested is what is read where the elements of e are rows beside those of r.
func (r *rows) unnested(e expr.Expr) (*relation, error) {
	base, err := r.asRead()
	if err != nil {
		return nil, err
	}
	var required []string
	for i, c := range r.in {
		if slices.Contains(r.read([]expr.Expr{e}), c) {
			required = append(required, strconv.Itoa(i))
		}
	}
	number := r.w.unnests
	r.w.unnests++
	if r.w.unnestsChosen { // the rows are told apart once more
		number++
	}
	row := "$cor" + strconv.Itoa(number)
	arrays := !r.w.unnestsChosen && slices.ContainsFunc(r.in, func(c column) bool { return c.typ.Base == expr.Array })
	over := expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		c, ok := x.(*expr.Column)
		if !ok {
			return stripCasts(x)
		}
		name := r.in[c.Index].name
		if arrays { // rows with arrays are taken apart: their columns are numbered
			name += "_" + strconv.Itoa(c.Index)
		}
		return &expr.Column{Index: c.Index, Name: name, T: c.T}
	})
	elements := plan.FormatOperatorsOver(over, func(c *expr.Column) string { return row + "." + c.Name })
	return &relation{
		name: "DruidCorrelateUnnestRel", source: "__correlate_unnest__", inputs: []*result{base}, last: "DruidUnnestRel(expr=[" + elements + "]" + noElementFilter + ")",
		properties: []string{"correlation=[" + row + "]", "joinType=[inner]", "requiredColumns=[{" + strings.Join(required, ", ") + "}]"},
	}, nil
}

// scalarsInOrder has the values of a correlated subquery behind what they are found by, as groups
// have them, and gives aggregates that are output beside values of subqueries the names of the
// output.
func scalarsInOrder(n plan.Node) plan.Node {
	n = plan.MapInputs(n, scalarsInOrder)
	switch x := n.(type) {
	case *plan.Project:
		return withAggregatesNamed(x)
	case *plan.Join:
		p, ok := x.Right.(*plan.Project)
		if !ok || x.On != nil || !slices.Contains(p.Names, plan.OuterColumn) || slices.ContainsFunc(p.Exprs, func(e expr.Expr) bool { return !isColumn(e) }) {
			return n
		}
		if groups, ok := p.Input.(*plan.Aggregate); ok {
			return groupsInOrder(x, p, groups)
		}
	}
	return n
}

// groupsInOrder is a join with the columns that p chooses of groups in the order of these.
func groupsInOrder(x *plan.Join, p *plan.Project, groups *plan.Aggregate) plan.Node {
	at := func(i int) int { return columnsOfExpr(p.Exprs[i])[0] }
	order := places(len(p.Exprs))
	slices.SortStableFunc(order, func(a, b int) int { return at(a) - at(b) })
	right := &plan.Project{Input: groups}
	width := len(x.Left.Columns())
	keep := places(width + len(order))
	for i, k := range order {
		name := p.Names[k]
		if a := at(k) - len(groups.Keys); a >= 0 {
			name = "EXPR$" + strconv.Itoa(a)
		}
		right.Exprs, right.Names = append(right.Exprs, p.Exprs[k]), append(right.Names, name)
		keep[width+k] = width + i
	}
	out := *x
	out.Right, out.Keys = right, slices.Clone(x.Keys)
	for i, k := range x.Keys {
		out.Keys[i].Right = slices.Index(order, k.Right)
	}
	return plan.Select(&out, keep)
}

// withAggregatesNamed gives the aggregates on the left side of a join with subqueries the names
// that a projection gives them.
func withAggregatesNamed(p *plan.Project) plan.Node {
	x, ok := p.Input.(*plan.Join)
	if !ok || x.Kind != plan.Single {
		return p
	}
	groups, ok := x.Left.(*plan.Aggregate)
	if !ok {
		return p
	}
	named := *groups
	named.Aggs = slices.Clone(groups.Aggs)
	for i, e := range p.Exprs {
		if c, ok := e.(*expr.Column); ok && c.Index >= len(groups.Keys) && c.Index < len(groups.Columns()) {
			named.Aggs[c.Index-len(groups.Keys)].Name = p.Names[i]
		}
	}
	return plan.WithInputs(p, []plan.Node{plan.WithInputs(x, []plan.Node{&named, x.Right})})
}

// readSides makes the queries of the sides of a join; nil: as it was.
func (j *join) readSides(left, right *stage) error {
	var err error
	if left != nil {
		if j.leftQuery, err = left.asRead(); err != nil {
			return err
		}
	}
	if right != nil {
		j.rightQuery, err = right.asRead()
	}
	return err
}

// asRead is the query of all that r has, as a side of a join or what an unnest is of: if r only
// reads a query, that.
func (r *rows) asRead() (*result, error) {
	if r.reads != nil && r.reads.name == "DruidOuterQueryRel" {
		return r.reads.inputs[0], nil
	}
	return r.whole()
}

// unnestsChosen reports whether the only lists that a plan unnests are of rows that a query chose
// or limited.
func unnestsChosen(n plan.Node) bool {
	var all []*plan.Unnest
	plan.Walk(n, func(n plan.Node) bool {
		if x, ok := n.(*plan.Unnest); ok {
			all = append(all, x)
		}
		return true
	})
	return len(all) == 1 && isChosen(all[0].Input, false)
}

// isChosen reports whether n are rows of a table of which some, or some columns, are chosen.
func isChosen(n plan.Node, chosen bool) bool {
	switch x := n.(type) {
	case *plan.Scan:
		return chosen
	case *plan.Project:
		return isChosen(x.Input, chosen || !passesFirst(x))
	case *plan.Filter, *plan.Limit, *plan.Sort:
		return isChosen(n.Inputs()[0], true)
	}
	return false
}

// passesFirst reports whether the first columns of a projection are those of its input.
func passesFirst(x *plan.Project) bool {
	width := len(x.Input.Columns())
	return len(x.Exprs) >= width && isIdentity(&plan.Project{Input: x.Input, Exprs: x.Exprs[:width]})
}

// reads is the join in the text form.
func (j *join) reads() *relation {
	condition := "true"
	if len(j.terms) > 0 {
		condition = plan.FormatOperators(plain(plan.Conjunction(j.terms)))
	}
	return &relation{
		name: "DruidJoinQueryRel", source: "__join__", inputs: []*result{j.leftQuery, j.rightQuery},
		properties: []string{"condition=[" + condition + "]", "joinType=[" + strings.ToLower(joinNames[j.kind]) + "]"},
	}
}
