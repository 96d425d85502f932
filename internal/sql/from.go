package sql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/infoschema"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// source is an item of a FROM clause: a plan and the names of its columns.
type source struct {
	node  plan.Node
	scope *scope
}

// from binds FROM; without one a block reads one row without columns.
func (blk *block) from(t syntax.TableExpr) error {
	if t == nil {
		blk.node, blk.scope = oneRow(), &scope{}
		return nil
	}
	s, err := blk.table(t)
	if err != nil {
		return err
	}
	if err := uniqueRelations(s.scope); err != nil {
		return err
	}
	blk.node, blk.scope = s.node, s.scope
	return nil
}

func uniqueRelations(s *scope) error {
	seen := make(map[string]bool, len(s.relations))
	for i := range s.relations {
		r := &s.relations[i]
		if r.name == "" {
			continue
		}
		if seen[r.name] {
			return fault.InvalidSQL(r.at, "Duplicate relation name '%s' in FROM clause", r.name)
		}
		seen[r.name] = true
	}
	return nil
}

// table binds one item of FROM.
func (blk *block) table(t syntax.TableExpr) (source, error) {
	switch x := t.(type) {
	case *syntax.Table:
		return blk.namedTable(x)
	case *syntax.Derived:
		return blk.derived(x, blk.in)
	case *syntax.Aliased:
		s, err := blk.table(x.X)
		if err != nil {
			return source{}, err
		}
		return s.as(x)
	case *syntax.Join:
		return blk.join(x)
	case *syntax.Unnest:
		return blk.unnest(source{node: oneRow(), scope: &scope{}}, x, false, nil)
	case *syntax.TableFunction:
		s, err := blk.tableFunction(x)
		return s, fault.WithPosition(err, x.Span())
	case *syntax.Pivot:
		return blk.pivot(x)
	case *syntax.Unpivot:
		return blk.unpivot(x)
	case *syntax.TableSample:
		return blk.tableSample(x)
	}
	return source{}, notYet(t.Span(), "This item of FROM")
}

// sourceOf returns a bound query as a source without a name.
func sourceOf(rel *relational, at fault.Span) source {
	n, r := rel.withTime("")
	r.at = at
	return source{node: n, scope: &scope{relations: []relation{r}}}
}

// derived binds a query in FROM. It sees what surrounds the block, not the block's other sources.
func (blk *block) derived(x *syntax.Derived, in surroundings) (source, error) {
	in.ordered = false
	rel, err := blk.b.queryIn(x.Query, in)
	if err != nil {
		return source{}, err
	}
	return sourceOf(rel, x.At), nil
}

// as gives s an alias, and its columns new names if the text has some.
func (s source) as(x *syntax.Aliased) (source, error) {
	stars, err := s.scope.star(&syntax.Star{})
	if err != nil {
		return source{}, err
	}
	if err := differentNames(x.Columns, "column alias list"); err != nil {
		return source{}, err
	}
	if len(x.Columns) > 0 && len(x.Columns) != len(stars) {
		quoted := make([]string, len(stars))
		for i, c := range stars {
			quoted[i] = "'" + c.name + "'"
		}
		return source{}, fault.InvalidSQL(x.Columns[0].At.To(x.Columns[len(x.Columns)-1].At),
			"List of column aliases must have same degree as table; table has %d columns (%s), whereas alias list has %d columns",
			len(stars), strings.Join(quoted, ", "), len(x.Columns))
	}
	r := relation{name: x.Alias.Name, at: x.At}
	simple := len(s.scope.merged) == 0 && len(x.Columns) == 0
	if simple && len(s.scope.relations) == 1 {
		r.cols = s.scope.relations[0].cols
		r.sole = len(r.cols) == 1 && isNameless(x.X)
		return source{node: s.node, scope: &scope{relations: []relation{r}}}, nil
	}
	p := &plan.Project{Input: s.node}
	for i, c := range stars {
		name := c.name
		if len(x.Columns) > 0 {
			name = x.Columns[i].Name
		}
		p.Exprs, p.Names = append(p.Exprs, c.x), append(p.Names, name)
	}
	r.cols = relationOf("", p.Columns(), 0).cols
	return source{node: p, scope: &scope{relations: []relation{r}}}, nil
}

// differentNames refuses a list of names for columns, called what, in which a name occurs twice.
func differentNames(list []syntax.Ident, what string) error {
	if i := repeated(len(list), func(i int) string { return list[i].Name }); i >= 0 {
		return fault.InvalidSQL(list[i].At, "Duplicate name '%s' in %s", list[i].Name, what)
	}
	return nil
}

// isNameless reports whether the columns of an item of FROM have no names but those an alias gives
// them.
func isNameless(t syntax.TableExpr) bool {
	switch x := t.(type) {
	case *syntax.Unnest:
		return true
	case *syntax.Derived:
		q := x.Query
		_, values := q.Body.(*syntax.Values)
		return values && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil
	}
	return false
}

// isDataSchema reports whether name is a fixed name of the schema of datasources; an API alias is a
// further one.
func isDataSchema(name string) bool { return name == "service" || name == "druid" }

func (b *binder) schema(name string) (Schema, bool) {
	switch {
	case isDataSchema(name), name == b.request.Dialect:
		return SchemaData, true
	case name == string(SchemaInformation), name == string(SchemaSystem), name == string(SchemaLookup):
		return Schema(name), true
	}
	return "", false
}

// dialect is the name of the schema of datasources that this request's client knows.
func (b *binder) dialect() string {
	if b.request.Dialect == "" {
		return "service"
	}
	return b.request.Dialect
}

// namedTable binds a table by name: a WITH query, a datasource, a lookup or a system table.
func (blk *block) namedTable(x *syntax.Table) (source, error) {
	parts := x.Name.Parts
	if x.File {
		return blk.file(x, parts[0].Name)
	}
	if len(parts) == 1 {
		if c := blk.in.findCTE(parts[0].Name); c != nil {
			return blk.withQuery(c, x)
		}
	}
	if len(parts) == 3 {
		if _, ok := blk.b.schema(parts[0].Name); ok {
			parts = parts[1:] // the catalog's name
		}
	}
	b := blk.b
	name := parts[len(parts)-1].Name
	schema, shown := SchemaData, b.dialect()
	switch len(parts) {
	case 1:
	case 2:
		var ok bool
		if schema, ok = b.schema(parts[0].Name); !ok {
			known := []string{b.dialect(), string(SchemaInformation), string(SchemaSystem), string(SchemaLookup)}
			return source{}, notFound(x.Name.At, parts[0].Name, known, "Object '%s' not found", parts[0].Name)
		}
		shown = parts[0].Name
	default:
		return source{}, fault.InvalidSQL(x.Name.At, "Object '%s' not found", parts[0].Name)
	}
	if _, local := b.catalog.(Files); local && schema == SchemaData {
		if t, err := b.catalog.Table(b.ctx, schema, name); err != nil || t != nil && t.Query != "" {
			if err != nil {
				return source{}, err
			}
			return blk.view(x, t, name)
		}
	}
	n, known, err := b.tableNode(schema, name)
	if err != nil {
		return source{}, err
	}
	if n == nil {
		message := fmt.Sprintf("Object '%s' not found", shortened(name))
		if len(parts) > 1 {
			message += fmt.Sprintf(" within '%s'", shown)
		}
		return source{}, suggest(fault.InvalidSQL(x.Name.At, "%s", message), name, known())
	}
	r := relationOf(name, n.Columns(), 0)
	r.at, r.path, r.data = x.At, []string{shown, name}, schema == SchemaData
	return source{node: n, scope: &scope{relations: []relation{r}}}, nil
}

// file binds a file in the place of a table.
func (blk *block) file(x *syntax.Table, path string) (source, error) {
	files, ok := blk.b.catalog.(Files)
	if !ok {
		return source{}, NoFiles(x.At, path)
	}
	t, err := files.File(blk.b.ctx, path)
	if err != nil {
		return source{}, fault.WithPosition(err, x.At)
	}
	return blk.view(x, t, "")
}

// NoFiles is the error for a file in place of a table if files are not supported.
func NoFiles(at fault.Span, path string) error {
	return fault.InvalidSQL(at, "File '%s' can't be read in place of a table here: only henge sql without a server does that. "+
		"Write instead: TABLE(EXTERN(..)), or load it with henge ingest", shortened(path))
}

// view binds a table that stands for a query, under a name; "": none.
func (blk *block) view(x *syntax.Table, t *Table, name string) (source, error) {
	b := blk.b
	if b.expansions++; b.expansions > maxExpansions {
		return source{}, fault.InvalidSQL(x.At, "Tables that are defined by queries are used more than [%d] times", maxExpansions)
	}
	script, err := syntax.Parse(t.Query)
	if err != nil {
		return source{}, err
	}
	q, ok := script.Statement.(*syntax.Query)
	if !ok {
		return source{}, fault.Defensive("The definition of table [%s] is not a query", name)
	}
	rel, err := b.queryIn(q, surroundings{})
	if err != nil {
		return source{}, err
	}
	n, r := rel.withTime(name)
	r.at = x.At
	return source{node: n, scope: &scope{relations: []relation{r}}}, nil
}

// tableNode returns the plan that reads a table and notes the permission it takes; nil if there is
// no such table, and then the names there are.
func (b *binder) tableNode(schema Schema, name string) (n plan.Node, known func() []string, err error) {
	switch schema {
	case SchemaInformation, SchemaSystem:
		cols := infoschema.Columns(string(schema), name)
		if cols == nil {
			return nil, func() []string { return infoschema.Tables(string(schema)) }, nil
		}
		if schema == SchemaSystem {
			b.resources[Resource{Name: name, Type: "SYSTEM_TABLE"}] = true
		}
		return &plan.System{Schema: string(schema), Table: name, Out: cols}, nil, nil
	}
	t, err := b.catalog.Table(b.ctx, schema, name)
	if err != nil {
		return nil, nil, err
	}
	if t == nil {
		return nil, func() []string { return b.catalog.Names(b.ctx, schema) }, nil
	}
	if schema == SchemaLookup {
		return &plan.System{Schema: string(schema), Table: name, Out: t.Columns}, nil, nil
	}
	b.resources[Resource{Name: name, Type: "DATASOURCE"}] = true
	n, err = b.shown(&plan.Scan{DataSource: name, Out: t.Columns, Limit: -1})
	return n, nil, err
}

// withQuery binds a WITH query where it is used.
func (blk *block) withQuery(c *cte, x *syntax.Table) (source, error) {
	b := blk.b
	if b.expansions++; b.expansions > maxExpansions {
		return source{}, fault.InvalidSQL(x.At, "WITH queries are used more than [%d] times", maxExpansions)
	}
	rel, err := b.withRows(c)
	if err != nil {
		return source{}, err
	}
	n, r := rel.withTime(c.def.Name.Name)
	r.at = x.At
	return source{node: n, scope: &scope{relations: []relation{r}}}, nil
}

// withRows binds the query of a WITH and names its columns.
func (b *binder) withRows(c *cte) (*relational, error) {
	c.bound = true
	in := c.in
	in.ordered = false
	rel, err := b.queryIn(c.def.Query, in)
	if err != nil {
		return nil, err
	}
	if len(c.def.Columns) == 0 {
		cols := rel.planColumns()
		if i := repeated(len(cols), func(i int) string { return cols[i].Name }); i >= 0 {
			return nil, fault.InvalidSQL(c.def.Query.At, "Column has duplicate column name '%s' and no column list specified", cols[i].Name)
		}
		return rel, nil
	}
	if len(c.def.Columns) != len(rel.cols) {
		return nil, fault.InvalidSQL(c.def.Columns[0].At, "Number of columns must match number of query columns")
	}
	if err := differentNames(c.def.Columns, "column list"); err != nil {
		return nil, err
	}
	for i := range rel.cols {
		rel.cols[i].name = c.def.Columns[i].Name
	}
	return rel, nil
}

// join binds a join. A right side that is an UNNEST or LATERAL sees the left one.
func (blk *block) join(x *syntax.Join) (source, error) {
	left, err := blk.table(x.Left)
	if err != nil {
		return source{}, err
	}
	right, alias := x.Right, (*syntax.Aliased)(nil)
	if a, ok := right.(*syntax.Aliased); ok {
		right, alias = a.X, a
	}
	switch r := right.(type) {
	case *syntax.Unnest:
		return blk.joinUnnest(left, x, r, alias)
	case *syntax.Derived:
		if r.Lateral {
			return blk.joinLateral(left, x, r, alias)
		}
	}
	other, err := blk.table(x.Right)
	if err != nil {
		return source{}, err
	}
	return blk.joinSources(x, left, other, nil)
}

// joinSources joins two sources whose columns keys pair, beside what the text says.
func (blk *block) joinSources(x *syntax.Join, left, right source, keys []plan.EquiKey) (source, error) {
	kind := [...]plan.JoinKind{syntax.InnerJoin: plan.Inner, syntax.LeftJoin: plan.Left, syntax.RightJoin: plan.Right, syntax.FullJoin: plan.Full,
		syntax.CrossJoin: plan.Inner, syntax.CommaJoin: plan.Inner}[x.Kind]
	width := plan.Width(left.node)
	if width+plan.Width(right.node) >= maxColumns {
		return source{}, fault.InvalidSQL(x.At, "A query can't have more than [%d] columns", maxColumns)
	}
	moved := right.scope.shift(width)
	combined := &scope{relations: append(append([]relation(nil), left.scope.relations...), moved.relations...)}
	combined.merged = append(append([]mergedColumn(nil), left.scope.merged...), moved.merged...)
	if err := uniqueRelations(combined); err != nil {
		return source{}, err
	}
	j := &plan.Join{Kind: kind, Left: left.node, Right: right.node, Keys: keys}
	on := newBlock(blk.b, blk.in)
	on.scope = combined
	var shared []string
	joined := plan.Node(j)
	switch {
	case x.Natural:
		shared = commonColumns(left.scope, moved)
	case len(x.Using) > 0:
		shared = names(x.Using)
	case x.On != nil:
		cond, err := on.exprs("ON").condition(x.On)
		if err != nil {
			return source{}, err
		}
		if hasPlaceholder(cond, subqueryBase, correlatedBase) {
			if kind == plan.Inner {
				n, err := on.filter(j, cond)
				return source{node: n, scope: combined}, err
			}
			if joined, err = on.joinOnSubqueries(j, cond, x.On.Span()); err != nil {
				return source{}, err
			}
			break
		}
		if err := joinable(cond, x.On.Span()); err != nil {
			return source{}, err
		}
		j.On = cond
	case x.Kind < syntax.CrossJoin:
		return source{}, fault.InvalidSQL(x.Word.At, "INNER, LEFT, RIGHT or FULL join requires a condition (NATURAL keyword or ON or USING clause)")
	}
	out := &scope{merged: combined.merged}
	leftScope, rightScope := left.scope, moved
	if kind == plan.Right || kind == plan.Full {
		leftScope = leftScope.allowNulls()
	}
	if kind == plan.Left || kind == plan.Full {
		rightScope = rightScope.allowNulls()
	}
	out.relations = append(append([]relation(nil), leftScope.relations...), rightScope.relations...)
	if shared != nil {
		if err := mergeColumns(x, j, shared, leftScope, rightScope, out); err != nil {
			return source{}, err
		}
	}
	return source{node: joined, scope: out}, nil
}

// commonColumns returns the names that both sides of a NATURAL join have, in the order of the left
// side. It is never nil. What a query's text calls two columns is no name for either.
func commonColumns(left, right *scope) []string {
	out := []string{}
	for _, name := range left.columnNames() {
		if slices.Contains(right.columnNames(), name) && left.names(name) && right.names(name) {
			out = append(out, name)
		}
	}
	return out
}

// mergeColumns adds the equality of the columns of USING or NATURAL to the join and makes each pair
// one column of the scope.
func mergeColumns(x *syntax.Join, j *plan.Join, shared []string, left, right, out *scope) error {
	var terms []expr.Expr
	var merged []mergedColumn
	for i, name := range shared {
		at := x.At
		if i < len(x.Using) {
			at = x.Using[i].At
		}
		id := syntax.Ident{Pos: syntax.Pos{At: at}, Name: name}
		var sides [2]expr.Expr
		for k, s := range []*scope{left, right} {
			e, err := s.lookup(id)
			if err != nil {
				return err
			}
			if e == nil {
				return suggest(fault.InvalidSQL(at, "Column '%s' not found in any table", name), name, s.columnNames())
			}
			sides[k] = e
		}
		equal, err := expr.NewCompare("=", sides[0], sides[1], at)
		if err != nil {
			return err
		}
		if err := joinable(equal, at); err != nil {
			return err
		}
		terms = append(terms, equal)
		value := sides[0]
		switch j.Kind {
		case plan.Right:
			value = sides[1]
		case plan.Full:
			if value, err = expr.NewCall(catalog.MustLookup("COALESCE"), sides[:], at); err != nil {
				return err
			}
		}
		merged = append(merged, mergedColumn{name: name, value: value})
	}
	j.On = plan.Conjunction(terms)
	for _, m := range out.merged {
		taken := false
		for _, n := range merged {
			taken = taken || n.name == m.name
		}
		if !taken {
			merged = append(merged, m)
		}
	}
	out.merged = merged
	return nil
}

// joinable says what is wrong with a join on cond: JSON values have no keys to find partners by.
func joinable(cond expr.Expr, at fault.Span) error {
	return comparesJSON(cond, at, func(a, b expr.Expr) bool { return true })
}

// joinableWhere says the same of conditions between relations that are joined without ON.
func (s *scope) joinableWhere(cond expr.Expr, at fault.Span) error {
	if len(s.relations) < 2 {
		return nil
	}
	of := map[int]int{}
	for i, r := range s.relations {
		for _, c := range r.cols {
			of[c.col.Index] = i
		}
	}
	relation := func(e expr.Expr) int {
		found := -1
		expr.Walk(e, func(e expr.Expr) bool {
			if c, ok := e.(*expr.Column); ok {
				if i, ok := of[c.Index]; ok {
					found = i
				}
			}
			return true
		})
		return found
	}
	return comparesJSON(cond, at, func(a, b expr.Expr) bool {
		i, j := relation(a), relation(b)
		return i >= 0 && j >= 0 && i != j
	})
}

// comparesJSON refuses a join whose condition compares JSON values that join says are of different
// sides. What is compared to compute an operand, as in TO_JSON_STRING(NULLIF(j, k)), is no
// condition of the join.
func comparesJSON(cond expr.Expr, at fault.Span, join func(a, b expr.Expr) bool) error {
	refused := false
	expr.Walk(cond, func(e expr.Expr) bool {
		if e.Type().Base != expr.Boolean {
			return false
		}
		if c, ok := e.(*expr.Call); ok && len(c.Args) == 2 {
			a, b := c.Args[0], c.Args[1]
			refused = refused || a.Type().ComplexName() == "json" && b.Type().ComplexName() == "json" && join(a, b)
		}
		return !refused
	})
	if !refused {
		return nil
	}
	return fault.InvalidSQL(at, "Cannot join when the join condition has column of type [%s]", expr.JSON)
}
