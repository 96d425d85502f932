package native

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/explain/rules"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Options contain what a plan does not specify.
type Options struct {
	// Context is the query context in the queries, with queryId and sqlQueryId if they are wanted.
	Context map[string]any
	// Expr contains the time zone and the current time of the query.
	Expr expr.Context
	// Names are the output names of the plan's columns; nil: the names in the plan.
	Names []string
	// Tasks says that tasks run the queries. Tasks have only one grouping engine, so no query is a
	// timeseries or topN. Scans contain the types of their columns, and sort by any column.
	Tasks bool
	// Text says that the plan is shown as text: a query over other queries names their columns like
	// their rows.
	Text bool
	// Leaf returns the stage input that a leaf of the plan reads. If Leaf is nil or returns nil, the
	// leaf reads the datasource that it names.
	Leaf func(plan.Node) *Leaf
}

// Leaf is a leaf of a plan that reads an input of the stage that runs the query.
type Leaf struct {
	// Number is the index of the input.
	Number int
	// Names are the names of its columns; nil: the names in the plan.
	Names []string
	// Source and Format are the source and the format of external data, as JSON; nil: the query
	// contains only the number.
	Source, Format any
}

// Query is a native query with the mapping of its columns to the columns of the statement.
type Query struct {
	Query          object
	Signature      []Field
	ColumnMappings []ColumnMapping

	result *result
}

// Plan contains the queries of a statement: one, or one per branch of an outermost UNION ALL.
type Plan struct {
	Queries []Query
	// limit is how many rows a union gives at most, -1: all.
	limit int64
}

// Field is a column of the result of a native query.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// ColumnMapping maps an output column to a column of the query.
type ColumnMapping struct {
	QueryColumn  string `json:"queryColumn"`
	OutputColumn string `json:"outputColumn"`
}

// MarshalJSON returns the members that EXPLAIN shows.
func (q Query) MarshalJSON() ([]byte, error) {
	return marshal(obj("query", q.Query, "signature", q.Signature, "columnMappings", q.ColumnMappings))
}

// shapes are what a plan goes through as a whole before it is read into stages, in this order.
var shapes = []struct {
	name  string
	apply func(plan.Node, expr.Context) plan.Node
}{
	{"named_rows", plainly(namedRows)},
	{"truths_asked", plainly(truthsAsked)},
	{"counted_sums", plainly(countedSums)},
	{"regrouped", plainly(regrouped)},
	{"counted_keys", plainly(countedKeys)},
	{"computed_keys", plainly(computedKeys)},
	{"simplified", simplified},
	{"limited_sides", plainly(limitedSides)},
}

// plainly is a shape that needs nothing of the query.
func plainly(f func(plan.Node) plan.Node) func(plan.Node, expr.Context) plan.Node {
	return func(n plan.Node, _ expr.Context) plan.Node { return f(n) }
}

// Translate returns the native queries of a bound plan.
func Translate(n plan.Node, o Options) (Plan, error) {
	out := Plan{limit: -1}
	tables := tableColumns(n)
	written := constantsOf(n)
	apart := isUnion(n)
	limit := limitOf(n)
	within := isOrderedWithin(n)
	chosen := unnestsChosen(n)
	if o.Text {
		n = scalarsInOrder(n)
	}
	for _, shape := range shapes {
		n = shape.apply(n, o.Expr)
	}
	switch x := n.(type) {
	case *plan.Write:
		n = Clustered(x, x.Input)
	case *plan.Export:
		n = x.Input
	}
	names := o.Names
	if names == nil {
		for _, c := range n.Columns() {
			names = append(names, c.Name)
		}
	}
	branches := []plan.Node{n}
	if apart {
		branches = branchesOf(n)
		out.limit = limitOf(n)
		if u, ok := n.(*plan.Union); ok {
			branches = (&writer{options: o, tables: tables}).together(u)
		}
	}
	for _, b := range branches {
		w := &writer{options: o, tables: tables, written: written, limit: -1, unnestsChosen: chosen}
		if len(branches) == 1 {
			w.limit = limit
		}
		s, err := w.read(b)
		if err != nil {
			return out, err
		}
		s.orderedWithin = s.orderedWithin || within
		own := names
		if len(branches) > 1 {
			own = rowNamesOf(b)
		}
		s.showEmpty(own)
		s.showConstants(own)
		q, err := s.query()
		if err != nil {
			return out, err
		}
		r := Query{Query: q.query, Signature: q.fields(), ColumnMappings: []ColumnMapping{}, result: q}
		for i, c := range q.columns() {
			if i < len(names) {
				r.ColumnMappings = append(r.ColumnMappings, ColumnMapping{QueryColumn: c.name, OutputColumn: names[i]})
			}
		}
		out.Queries = append(out.Queries, r)
	}
	return out, nil
}

// Clustered returns the input of an INSERT or REPLACE, sorted in storage order. rows is the input,
// possibly in an equivalent form.
func Clustered(x *plan.Write, rows plan.Node) plan.Node {
	if len(x.Cluster) == 0 {
		return rows
	}
	keys := make([]plan.SortKey, len(x.Cluster))
	for i, c := range x.Cluster {
		keys[i] = plan.SortKey{Column: c}
	}
	return &plan.Sort{Input: rows, Keys: keys, Limit: -1}
}

// simplified applies the rules that keep the statement's shape. A condition that is never true
// stays where it is one on the rows of the statement; what comes of others is computed.
func simplified(n plan.Node, context expr.Context) plan.Node {
	out := plan.Optimize(n, plan.Options{Context: context, Rules: rules.Native(true)})
	never := false
	plan.Walk(out, func(n plan.Node) bool {
		switch x := n.(type) {
		case *plan.Filter:
			never = never || isNever(x.Cond)
		case *plan.Scan:
			never = never || x.Filter != nil && isNever(x.Filter)
		}
		return !never
	})
	if !never || isOfContradiction(out, false) {
		return out
	}
	return plan.Optimize(n, plan.Options{Context: context, Rules: rules.Native(false)})
}

// isOfContradiction reports whether the rows of a statement, or its groups, come from a table
// through a condition that is never true.
func isOfContradiction(n plan.Node, grouped bool) bool {
	switch x := n.(type) {
	case *plan.Sort:
		return !grouped && x.Limit != 0 && isOfContradiction(x.Input, grouped)
	case *plan.Limit:
		return !grouped && x.Count != 0 && isOfContradiction(x.Input, grouped)
	case *plan.Project:
		return isOfContradiction(x.Input, grouped)
	case *plan.Aggregate:
		return !grouped && x.Sets == nil && isOfContradiction(x.Input, true)
	case *plan.Filter:
		_, ofTable := x.Input.(*plan.Scan)
		return ofTable && isNever(x.Cond)
	case *plan.Scan:
		return x.Filter != nil && isNever(x.Filter)
	}
	return false
}

// isOrderedWithin reports whether the rows of a statement are in the order of a query that it
// reads, which it only chooses and computes columns of.
func isOrderedWithin(n plan.Node) bool {
	depth := 0
	for {
		switch x := n.(type) {
		case *plan.Project:
			n = x.Input
			depth++
		case *plan.Limit:
			n = x.Input
		case *plan.Sort:
			return depth > 1
		default:
			return false
		}
	}
}

// limitOf is how many rows a union gives at most, -1: all.
func limitOf(n plan.Node) int64 {
	switch x := n.(type) {
	case *plan.Limit:
		return x.Count
	case *plan.Sort:
		return x.Limit
	case *plan.Project:
		return limitOf(x.Input)
	}
	return -1
}

// Fragment returns the native query of a part of a plan without optimizing it. The query has the
// columns of n, in the same order.
func Fragment(n plan.Node, o Options) (Query, error) {
	w := &writer{options: o, stepwise: true}
	s, err := w.read(n)
	if err != nil {
		return Query{}, err
	}
	if len(o.Names) > 0 {
		s.showConstants(o.Names)
	}
	q, err := s.query()
	if err != nil {
		return Query{}, err
	}
	out := Query{Query: q.query}
	for i, c := range q.columns() {
		out.Signature = append(out.Signature, Field{Name: c.name, Type: runtimeName(c.typ)})
		name := c.name
		if i < len(o.Names) {
			name = o.Names[i]
		}
		out.ColumnMappings = append(out.ColumnMappings, ColumnMapping{QueryColumn: c.name, OutputColumn: name})
	}
	return out, nil
}

// Get returns a member of the query; nil: the member does not exist.
func (q *Query) Get(name string) any {
	for _, m := range q.Query {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// SetContext sets an entry of the query's context.
func (q *Query) SetContext(key string, value any) {
	for i, m := range q.Query {
		if m.name != "context" {
			continue
		}
		context, _ := m.value.(object)
		context = slices.DeleteFunc(slices.Clone(context), func(m member) bool { return m.name == key })
		context.set(key, value)
		slices.SortFunc(context, func(a, b member) int { return strings.Compare(a.name, b.name) })
		q.Query[i].value = context
	}
}

// tableColumns returns the columns of the datasources that a plan reads, before rules narrow its
// scans.
func tableColumns(n plan.Node) map[string][]column {
	out := map[string][]column{}
	plan.Walk(n, func(n plan.Node) bool {
		if x, ok := n.(*plan.Scan); ok {
			out[x.DataSource] = columnsOf(x.Out)
		}
		return true
	})
	return out
}

// JSON returns the queries as the PLAN column of EXPLAIN shows them.
func (p *Plan) JSON() (string, error) {
	text, err := marshal(p.Queries)
	return string(text), err
}

// result is a finished native query. pick are the columns of the signature that are output, nil:
// all.
type result struct {
	query     object
	signature []column
	pick      []int
	// reads is what the query reads in the text form, nil: a datasource.
	reads *relation
}

// fields are the columns of the signature, whose type may be unknown.
func (r *result) fields() []Field {
	out := make([]Field, len(r.signature))
	for i, c := range r.signature {
		if out[i].Name = c.name; c.typ.Base != expr.Null {
			out[i].Type = runtimeName(c.typ)
		}
	}
	return out
}

func (r *result) columns() []column {
	if r.pick == nil {
		return r.signature
	}
	out := make([]column, len(r.pick))
	for i, p := range r.pick {
		out[i] = r.signature[p]
	}
	return out
}

// query finishes a stage.
func (s *stage) query() (*result, error) {
	if s.group != nil {
		return s.groupQuery()
	}
	return s.scanQuery()
}

// scanQuery makes a query without groups.
func (s *stage) scanQuery() (*result, error) {
	kind := "scan"
	if s.operator != "" {
		kind = s.operator
	}
	v := s.newVirtuals()
	if s.contradiction != nil {
		s.filterSpec(s.contradiction, v)
	}
	filter := s.filterSpec(s.filter, v)
	r := &result{pick: s.pick, reads: s.reads}
	names := []string{}
	for _, e := range s.chosen() {
		name := v.column(e)
		r.signature = append(r.signature, column{name, e.Type()})
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	read := r.signature
	if len(names) == 0 {
		names = s.countedBy(v)
		if read = s.countedColumns(names); s.w.options.Text {
			r.signature, r.pick = read, []int{}
		}
	}
	slices.Sort(names)
	order := s.scanOrder(r.signature)
	if s.orderedWithin || s.isInner && s.w.options.Text && len(r.pick) > 0 {
		r.signature, r.pick = r.columns(), nil
	}
	q := s.head(kind)
	q.set("intervals", s.intervalSpec())
	if list := v.columns(); len(list) > 0 {
		q.set("virtualColumns", list)
	}
	q.set("resultFormat", "compactedList")
	if s.offset > 0 {
		q.set("offset", s.offset)
	}
	if s.limit >= 0 {
		q.set("limit", s.limit)
	}
	q = append(q, order...)
	if filter != nil {
		q.set("filter", filter)
	}
	q.set("columns", names)
	q.set("legacy", false)
	more, err := s.scanContext(read)
	if err != nil {
		return nil, err
	}
	q.set("context", s.context(more))
	q.set("granularity", obj("type", "all"))
	r.query = q
	return r, nil
}

// scanContext is what the context of a scan says of its columns, which tasks ask for.
func (r *rows) scanContext(columns []column) (map[string]any, error) {
	if !r.w.options.Tasks {
		return nil, nil
	}
	fields := []Field{}
	for _, c := range columns {
		if f := (Field{c.name, runtimeName(c.typ)}); !slices.Contains(fields, f) {
			fields = append(fields, f)
		}
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	text, err := marshal(fields)
	return map[string]any{"scanSignature": string(text)}, err
}

func direction(desc bool) string {
	if desc {
		return "descending"
	}
	return "ascending"
}
