package nativejson

import (
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Options are what a plan does not say.
type Options struct {
	// Context is the query context the queries show, with queryId and sqlQueryId if they are wanted.
	Context map[string]any
	// Expr is the time zone and time of the query.
	Expr expr.Context
	// Names are the outer names of the plan's columns; nil: their own.
	Names []string
	// Tasks says that the queries are run by tasks, which group in one way only: no query is a
	// timeseries or topN. Scans say what their columns are, and sort by any.
	Tasks bool
	// Text says that plans are shown as text: a query over others names their columns as their rows
	// do.
	Text bool
	// Leaf says what a leaf of the plan is where the query runs; nil, or where it returns nil: the
	// datasource that it names.
	Leaf func(plan.Node) *Leaf
}

// Leaf is a leaf of a plan that is an input of the stage that runs the query.
type Leaf struct {
	// Number is its place among the inputs.
	Number int
	// Names are its columns' names; nil: their own.
	Names []string
	// Source and Format are those of external data, as JSON; nil: the query only says the number.
	Source, Format any
}

// Query is a native query and how its columns become the statement's.
type Query struct {
	Query          object
	Signature      []Field
	ColumnMappings []ColumnMapping

	result *result
}

// Plan is the queries of a statement: one, or one per branch of an outermost UNION ALL.
type Plan struct {
	Queries []Query
	// limit is how many rows a union gives at most, -1: all.
	limit int64
}

// Field is a column of a native query's result.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// ColumnMapping says which column of the query an output column is.
type ColumnMapping struct {
	QueryColumn  string `json:"queryColumn"`
	OutputColumn string `json:"outputColumn"`
}

// MarshalJSON writes the members that EXPLAIN shows.
func (q Query) MarshalJSON() ([]byte, error) {
	return marshal(obj("query", q.Query, "signature", q.Signature, "columnMappings", q.ColumnMappings))
}

// offRules are those that make a plan cheaper to run and further from the statement.
var offRules = []string{"set_ops", "common_terms", "push_semi_joins", "reduce_sides", "join_keys", "anti_joins", "outer_joins", "join_side", "push_limits", "linear_sums", "determined_keys", "share"}

// Translate returns the native queries of a plan as it was bound.
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
	n = limitedSides(simplified(computedKeys(countedKeys(regrouped(countedSums(truthsAsked(namedRows(n)))))), o.Expr))
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

// Clustered is what an INSERT or REPLACE reads, in the order that it is stored in. Rows is its
// input, or what that says in another way.
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
	o := plan.Options{Context: context, Off: offRules, KeepFilters: true, KeepUnmet: true}
	out := plan.Optimize(n, o)
	unmet := false
	plan.Walk(out, func(n plan.Node) bool {
		switch x := n.(type) {
		case *plan.Filter:
			unmet = unmet || isNever(x.Cond)
		case *plan.Scan:
			unmet = unmet || x.Filter != nil && isNever(x.Filter)
		}
		return !unmet
	})
	if !unmet || isOfUnmet(out, false) {
		return out
	}
	o.KeepUnmet = false
	return plan.Optimize(n, o)
}

// isOfUnmet reports whether the rows of a statement, or its groups, are of a table by a condition
// that is never true.
func isOfUnmet(n plan.Node, grouped bool) bool {
	switch x := n.(type) {
	case *plan.Sort:
		return !grouped && x.Limit != 0 && isOfUnmet(x.Input, grouped)
	case *plan.Limit:
		return !grouped && x.Count != 0 && isOfUnmet(x.Input, grouped)
	case *plan.Project:
		return isOfUnmet(x.Input, grouped)
	case *plan.Aggregate:
		return !grouped && x.Sets == nil && isOfUnmet(x.Input, true)
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

// Fragment returns the native query of a part of a plan as it is: nothing is optimized any more.
// Its columns are those of n, in their order.
func Fragment(n plan.Node, o Options) (Query, error) {
	w := &writer{options: o, asItIs: true}
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

// Get returns a member of the query; nil: it has none of that name.
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

// JSON writes the queries as the PLAN column of EXPLAIN shows them.
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

// whole is the query of all that the datasource of s has.
func (s *stage) whole() (*result, error) {
	all := s.w.newStage(s.source, s.in)
	all.reads = s.reads
	return all.query()
}

// countedBy are the columns that are read of rows which are only counted: the one that a condition
// reads, or the whole of narrow rows, else a constant.
func (s *stage) countedBy(v *virtuals) []string {
	if s.rowNames == nil || s.w.asItIs {
		return s.rowNames
	}
	var read []string
	if s.filter != nil {
		for _, c := range s.read([]expr.Expr{s.filter}) {
			read = append(read, c.name)
		}
	}
	if s.intervals != nil && !slices.Contains(read, plan.TimeColumn) {
		read = append(read, plan.TimeColumn)
	}
	switch {
	case len(read) == 1:
		return read
	case len(read) == 0 && len(s.rowNames) <= manyTableColumns:
		return slices.Clone(s.rowNames)
	}
	return []string{v.column(&expr.Literal{Value: int64(0), T: expr.Of(expr.BigInt).NotNull()})}
}

// countedColumns are the columns of those names, in the datasource's order.
func (s *stage) countedColumns(names []string) []column {
	all := s.in
	if s.rowNames != nil {
		name, _ := s.source.get("name").(string)
		all = s.w.tables[name]
	}
	var out []column
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c column) bool { return c.name == name }) {
			out = append(out, column{name, expr.Of(expr.BigInt)})
		}
	}
	for _, c := range all {
		if slices.Contains(names, c.name) {
			out = append(out, c)
		}
	}
	return out
}

// head starts a query: type, datasource.
func (s *stage) head(kind string) object {
	source := s.source
	if s.reads != nil {
		source = obj("type", "table", "name", s.reads.source)
	}
	return obj("queryType", kind, "dataSource", source)
}

func (s *stage) intervalSpec() object {
	list := s.intervals
	if list == nil {
		list = []chrono.Interval{chrono.Eternity}
	}
	return obj("type", "intervals", "intervals", list)
}

// context returns the query context with further members, sorted.
func (s *stage) context(extra map[string]any) object {
	all := maps.Clone(s.w.options.Context)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, extra)
	out := object{}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out.set(k, all[k])
	}
	return out
}

// scanQuery makes a query without groups.
func (s *stage) scanQuery() (*result, error) {
	kind := "scan"
	if s.operator != "" {
		kind = s.operator
	}
	v := s.newVirtuals()
	if s.unmetPart != nil {
		s.filterSpec(s.unmetPart, v)
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

// scanOrder is how a scan says in which order its rows are.
func (s *stage) scanOrder(columns []column) object {
	switch {
	case len(s.keys) == 0:
		return nil
	case len(s.keys) == 1 && columns[s.keys[0].Column].name == plan.TimeColumn:
		return obj("order", direction(s.keys[0].Desc))
	}
	order := make([]object, len(s.keys))
	for i, k := range s.keys {
		order[i] = obj("columnName", columns[k.Column].name, "order", direction(k.Desc))
	}
	return obj("orderBy", order)
}

// scanContext is what the context of a scan says of its columns, which tasks ask for.
func (s *stage) scanContext(columns []column) (map[string]any, error) {
	if !s.w.options.Tasks {
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
