package nativejson

import (
	"maps"
	"math"
	"slices"
	"strconv"
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
	// Tasks says that the queries are run by tasks, which group in one way only: no query is a timeseries or topN. Scans say what their columns are, and
	// sort by any.
	Tasks bool
	// Text says that plans are shown as text: a query over others names their columns as their rows do.
	Text bool
	// Leaf says what a leaf of the plan is where the query runs; nil, or where it returns nil: the datasource that it names.
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
var offRules = []string{"common_terms", "push_semi_joins", "reduce_sides", "join_keys", "join_side", "push_limits", "linear_sums", "determined_keys"}

// Translate returns the native queries of a plan as it was bound.
func Translate(n plan.Node, o Options) (Plan, error) {
	out := Plan{limit: -1}
	tables := tableColumns(n)
	written := constantsOf(n)
	apart := isUnion(n)
	n = simplified(computedKeys(countedKeys(truthsAsked(namedRows(n)))), o.Expr)
	switch x := n.(type) {
	case *plan.Write:
		n = clustered(x)
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
	for i, b := range branches {
		w := &writer{options: o, tables: tables, written: written}
		s, err := w.read(b)
		if err != nil {
			return out, err
		}
		own := names
		if i > 0 {
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

// clustered is what an INSERT or REPLACE reads, in the order that it is stored in.
func clustered(x *plan.Write) plan.Node {
	if len(x.Cluster) == 0 {
		return x.Input
	}
	keys := make([]plan.SortKey, len(x.Cluster))
	for i, c := range x.Cluster {
		keys[i] = plan.SortKey{Column: c}
	}
	return &plan.Sort{Input: x.Input, Keys: keys, Limit: -1}
}

// simplified applies the rules that keep the statement's shape. A condition that is never true stays where it is one on the rows of the statement; what
// comes of others is computed.
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

// isOfUnmet reports whether the rows of a statement, or its groups, are of a table by a condition that is never true.
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

// isUnion reports whether a statement is a union, limited or not, and does not read one as a table.
func isUnion(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Union:
		return true
	case *plan.Write:
		return isUnion(x.Input)
	case *plan.Export:
		return isUnion(x.Input)
	case *plan.Project:
		return isIdentity(x) && isUnion(x.Input)
	case *plan.Limit:
		return x.Offset == 0 && isUnion(x.Input)
	case *plan.Sort:
		return len(x.Keys) == 0 && x.Offset == 0 && isUnion(x.Input)
	}
	return false
}

// isIdentity reports whether a projection gives its input's columns as they are.
func isIdentity(x *plan.Project) bool {
	for i, e := range x.Exprs {
		if c, ok := e.(*expr.Column); !ok || c.Index != i {
			return false
		}
	}
	return len(x.Exprs) == len(x.Input.Columns())
}

// branchesOf are the branches of a union, each with its limit.
func branchesOf(n plan.Node) []plan.Node {
	switch x := n.(type) {
	case *plan.Union:
		return x.Ins
	case *plan.Project:
		if isIdentity(x) {
			return branchesOf(x.Input)
		}
	case *plan.Limit:
		if u, ok := x.Input.(*plan.Union); ok {
			out := make([]plan.Node, len(u.Ins))
			for i, in := range u.Ins {
				out[i] = &plan.Limit{Input: in, Count: x.Count}
			}
			return out
		}
	case *plan.Sort:
		if len(x.Keys) == 0 {
			return branchesOf(&plan.Limit{Input: x.Input, Count: x.Limit})
		}
	}
	return []plan.Node{n}
}

// together are the branches of a union that are queries: the first ones are one if they read tables as they are, and the same columns.
func (w *writer) together(u *plan.Union) []plan.Node {
	var in []column
	count := 0
	for i, n := range u.Ins {
		s, err := w.read(n)
		if err != nil || !s.isPlainTable() || slices.ContainsFunc(s.cols, func(e expr.Expr) bool { return !isColumn(e) }) {
			break
		}
		q, err := s.query()
		if err != nil || i > 0 && !sameColumns(q.columns(), in) {
			break
		}
		in = q.columns()
		count++
	}
	if count < 2 {
		return u.Ins
	}
	return append([]plan.Node{&plan.Union{Ins: u.Ins[:count], Out: u.Out}}, u.Ins[count:]...)
}

// Fragment returns the native query of a part of a plan as it is: nothing is optimized any more. Its columns are those of n, in their order.
func Fragment(n plan.Node, o Options) (Query, error) {
	w := &writer{options: o, asItIs: true}
	s, err := w.read(n)
	if err != nil {
		return Query{}, err
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

// tableColumns returns the columns of the datasources that a plan reads, before rules narrow its scans.
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

type writer struct {
	options Options
	// asItIs says that the plan is one that is run, whose steps are written one by one.
	asItIs bool
	// tables are all columns of the datasources.
	tables map[string][]column
	// written are the output columns of a statement that reads nothing, as they were before they were computed.
	written []expr.Expr
}

func (w *writer) native(e expr.Expr) string {
	return expr.Native(wholeElements(inPairs(plain(e))), &w.options.Expr)
}

// wholeElements are whole numbers beside an array of DOUBLEs as they are written.
func wholeElements(e expr.Expr) expr.Expr {
	whole := func(v any) any {
		if x, ok := v.(float64); ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x)
		}
		return v
	}
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Call)
		if !ok || !strings.HasPrefix(c.Fn.Name, "ARRAY_") {
			return e
		}
		out := *c
		out.Args = slices.Clone(c.Args)
		for i, a := range c.Args {
			l, ok := a.(*expr.Literal)
			if !ok {
				continue
			}
			list, isList := l.Value.([]any)
			switch {
			case l.T.Base == expr.Double:
				out.Args[i] = &expr.Literal{Value: whole(l.Value), T: l.T}
			case isList && l.T.Elem().Base == expr.Double:
				values := make([]any, len(list))
				for j, v := range list {
					values[j] = whole(v)
				}
				out.Args[i] = &expr.Literal{Value: values, T: l.T}
			}
		}
		return &out
	})
}

// typeOfFloats is the type of what is computed: a FLOAT and a whole number make a FLOAT for the reference.
func typeOfFloats(e expr.Expr) expr.Type {
	t := e.Type()
	x, ok := e.(*expr.Call)
	if !ok || t.Base != expr.Double || len(x.Args) != 2 || !slices.Contains([]string{"+", "-", "*", "/"}, x.Fn.Name) {
		return t
	}
	whole := func(e expr.Expr) bool {
		l, ok := e.(*expr.Literal)
		if !ok {
			return e.Type().IsInteger()
		}
		kind, _ := typedValue(l)
		return kind == "LONG"
	}
	l, r := stripCasts(x.Args[0]), stripCasts(x.Args[1])
	if l.Type().Base == expr.Float && whole(r) || whole(l) && r.Type().Base == expr.Float {
		return expr.Of(expr.Float)
	}
	return t
}

// inPairs joins texts two by two, as the operator is written, where the plan joins them at once.
func inPairs(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Call)
		if !ok || c.Fn.Name != "||" || len(c.Args) < 3 {
			return e
		}
		out := c.Args[0]
		for _, a := range c.Args[1:] {
			if joined := joinedTexts(out, a); joined != nil {
				out = joined
				continue
			}
			pair := *c
			pair.Args = []expr.Expr{out, a}
			out = &pair
		}
		return out
	})
}

// joinedTexts are two constant texts as one; nil: they are none.
func joinedTexts(a, b expr.Expr) expr.Expr {
	l, isConstant := a.(*expr.Literal)
	r, areConstants := b.(*expr.Literal)
	if !isConstant || !areConstants {
		return nil
	}
	if l.Value == nil || r.Value == nil {
		return &expr.Literal{T: expr.Of(expr.Varchar)}
	}
	left, isText := l.Value.(string)
	right, areTexts := r.Value.(string)
	if !isText || !areTexts {
		return nil
	}
	return &expr.Literal{Value: left + right, T: expr.Of(expr.Varchar).NotNull()}
}

// result is a finished native query. pick are the columns of the signature that are output, nil: all.
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

// virtuals are the virtual columns of a query; equal expressions share one. A number that is left out has neither an expression nor a column.
type virtuals struct {
	s      *stage
	prefix string
	exprs  []expr.Expr
	types  []expr.Type
	list   []object
}

// columns are the virtual columns. What is more than an expression inside of one is a column of its own, behind those that the query reads.
func (v *virtuals) columns() []object {
	for i := 0; i < len(v.list); i++ {
		if v.list[i].get("type") != "expression" || v.s.w.asItIs {
			continue
		}
		over := expr.Rewrite(v.exprs[i], func(e expr.Expr) expr.Expr {
			if v.special(e, "") == nil {
				return e
			}
			return &expr.Column{Name: v.column(e), T: e.Type()}
		})
		v.list[i] = v.expression(over, v.types[i], v.prefix+strconv.Itoa(i))
	}
	return slices.DeleteFunc(slices.Clone(v.list), func(o object) bool { return o == nil })
}

func (s *stage) newVirtuals() *virtuals { return &virtuals{s: s, prefix: unusedPrefix("v", s.in)} }

// column returns the column that has the value of e.
func (v *virtuals) column(e expr.Expr) string {
	if v.s.w.asItIs {
		return v.columnAs(e, e.Type())
	}
	return v.columnAs(e, typeOfFloats(e))
}

// columnAs is column for a value that is wanted as one of a type.
func (v *virtuals) columnAs(e expr.Expr, typ expr.Type) string {
	e = v.s.w.bare(plain(e))
	if c, ok := e.(*expr.Column); ok {
		return c.Name
	}
	for i, x := range v.exprs {
		if x != nil && expr.Equal(x, e) && v.types[i].Base == typ.Base {
			return v.prefix + strconv.Itoa(i)
		}
	}
	name := v.prefix + strconv.Itoa(len(v.exprs))
	v.exprs, v.types = append(v.exprs, e), append(v.types, typ)
	special := v.special(e, name)
	if special == nil {
		special = v.expression(e, typ, name)
	}
	v.list = append(v.list, special)
	return name
}

// special is the virtual column that is made for one kind of expression; nil: there is none for e.
func (v *virtuals) special(e expr.Expr, name string) object {
	if kept := filteredValues(e, name); kept != nil {
		return kept
	}
	if v.s.w.option("forceExpressionVirtualColumns") == true {
		return nil
	}
	return nestedField(e, name)
}

func (v *virtuals) expression(e expr.Expr, typ expr.Type, name string) object {
	var shown any
	if e.Type().Base != expr.Null {
		shown = runtimeName(typ)
	}
	return obj("type", "expression", "name", name, "expression", v.s.w.native(e), "outputType", shown)
}

// bare is the column that e is written as: what only changes a type that native queries do not tell apart says nothing.
func (w *writer) bare(e expr.Expr) expr.Expr {
	var columns []*expr.Column
	expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Column); ok {
			columns = append(columns, c)
		}
		return x
	})
	if len(columns) == 1 && w.native(columns[0]) == w.native(e) {
		return columns[0]
	}
	return e
}

// filteredValues is the virtual column of some of the values of a multi-value column, nil if e is anything else.
func filteredValues(e expr.Expr, name string) object {
	c, ok := e.(*expr.Call)
	if !ok || c.Fn.Name != "MV_FILTER_ONLY" && c.Fn.Name != "MV_FILTER_NONE" || len(c.Args) != 2 {
		return nil
	}
	source := c.Args[0]
	if cast, ok := source.(*expr.Cast); ok {
		source = cast.X
	}
	from, ok := source.(*expr.Column)
	values, isList := listOf(c.Args[1])
	if !ok || !isList {
		return nil
	}
	return obj("type", "mv-filtered", "name", name, "delegate", obj("type", "default", "dimension", from.Name, "outputName", from.Name, "outputType", "STRING"),
		"values", values, "isAllowList", c.Fn.Name == "MV_FILTER_ONLY")
}

// skip leaves a number out.
func (v *virtuals) skip() {
	v.exprs, v.types, v.list = append(v.exprs, nil), append(v.types, expr.Type{}), append(v.list, nil)
}

// nestedField is the virtual column of JSON_VALUE or JSON_QUERY over a column, nil if e is anything else.
func nestedField(e expr.Expr, name string) object {
	c, ok := e.(*expr.Call)
	if !ok || c.Fn.Name != "JSON_VALUE" && c.Fn.Name != "JSON_QUERY" || len(c.Args) < 2 {
		return nil
	}
	from, ok := c.Args[0].(*expr.Column)
	path, isText := textOf(c.Args[1])
	if !ok || !isText {
		return nil
	}
	parts, ok := pathParts(path)
	if !ok {
		return nil
	}
	return obj("type", "nested-field", "columnName", from.Name, "outputName", name, "expectedType", runtimeName(c.T), "pathParts", parts,
		"processFromRaw", c.Fn.Name == "JSON_QUERY")
}

// pathParts reads $.a.b and $.a[0].
func pathParts(path string) ([]object, bool) {
	parts := []object{}
	rest := path
	if len(rest) == 0 || rest[0] != '$' {
		return nil, false
	}
	rest = rest[1:]
	for rest != "" {
		end := 1
		switch rest[0] {
		case '.':
			for end < len(rest) && rest[end] != '.' && rest[end] != '[' {
				end++
			}
			if end > 1 {
				parts = append(parts, obj("type", "field", "field", rest[1:end]))
			}
		case '[':
			for end < len(rest) && rest[end] != ']' {
				end++
			}
			i, err := strconv.Atoi(rest[1:end])
			if err != nil || end == len(rest) {
				return nil, false
			}
			parts = append(parts, obj("type", "arrayElement", "index", i))
			end++
		default:
			return nil, false
		}
		rest = rest[end:]
	}
	return parts, true
}

// manyTableColumns are as many as cost no more to read than a constant.
const manyTableColumns = 5

// countedBy are the columns that are read of rows which are only counted: the one that a condition reads, or the whole of narrow rows, else a constant.
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
	if len(s.keys) == 1 && r.signature[s.keys[0].Column].name == plan.TimeColumn {
		q.set("order", direction(s.keys[0].Desc))
	} else if len(s.keys) > 0 {
		order := make([]object, len(s.keys))
		for i, k := range s.keys {
			order[i] = obj("columnName", r.signature[k.Column].name, "order", direction(k.Desc))
		}
		q.set("orderBy", order)
	}
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
