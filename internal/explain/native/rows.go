package native

import (
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// rows are what a query reads: a datasource, and a condition that chooses of its rows. Expressions
// are over the columns of the datasource.
type rows struct {
	w       *writer
	source  object
	reads   *relation // what source is in the text form, nil: a datasource
	isTable bool      // source is a table and nothing has been done to it yet
	in      []column
	// rowNames are all columns of the datasource, if that is a table.
	rowNames  []string
	intervals []chrono.Interval
	filter    expr.Expr
	// contradicted are the columns that a condition reads that is never true, in the order of the
	// datasource; nil: there is no such condition. contradiction is such a condition on computed
	// values.
	contradicted  []column
	contradiction expr.Expr
	// elements is the column of an unnest whose elements have no condition yet.
	elements string
	// alias is what the statement calls the elements of an unnest.
	alias string
	// named says that the columns of constant rows have their names already.
	named bool
	// operator is the name of an operator that native queries do not have.
	operator string
	// join is the join that the datasource is, nil: it is none, or something has been done to its
	// rows.
	join *join
	// values are columns of a join to which the queries it joins give one value, compared those that
	// its condition compares, which a condition on its rows makes no constants.
	values map[int]*expr.Literal
}

// where sets the condition of a stage's rows. Times that a join or a union is asked for are its
// intervals, as a table's are already.
func (r *rows) where(cond expr.Expr) {
	if kind := r.source.get("type"); cond != nil && (kind == "join" || kind == "union") {
		if i := slices.IndexFunc(r.in, func(c column) bool { return c.name == plan.TimeColumn && c.typ.Base == expr.Timestamp }); i >= 0 {
			r.intervals, cond = plan.TimeBounds(cond, i, r.w.options.Expr.Zone, r.intervals)
		}
	}
	simple := r.w.condition(cond)
	r.filter = simple
	if isAlways(simple) {
		r.filter = nil
	}
	if cond == nil || !isNever(simple) {
		return
	}
	computed := false
	for _, t := range plan.Split(plain(cond)) {
		if isNever(r.w.condition(t)) { // known without the others
			computed = false
			break
		}
		a, ok := r.w.operand(t)
		computed = computed || ok && !isColumn(stripCasts(a.x))
	}
	if computed {
		r.filter, r.contradiction, r.intervals = nil, cond, []chrono.Interval{}
		return
	}
	r.contradicted = r.read([]expr.Expr{cond})
}

// read are the columns that expressions read, in the order of the datasource.
func (r *rows) read(list []expr.Expr) []column {
	used := make([]bool, len(r.in))
	for _, e := range list {
		expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				used[c.Index] = true
			}
			return e
		})
	}
	out := []column{}
	for i, c := range r.in {
		if used[i] {
			out = append(out, c)
		}
	}
	if len(r.rowNames) > 0 {
		slices.SortStableFunc(out, func(a, b column) int { return slices.Index(r.rowNames, a.name) - slices.Index(r.rowNames, b.name) })
	}
	return out
}

// become gives the stage another datasource of the same columns.
func (r *rows) become(source object) {
	r.source, r.filter, r.contradicted, r.intervals = source, nil, nil, nil
}

// whole is the query of all that the datasource of r has.
func (r *rows) whole() (*result, error) {
	all := r.w.newStage(r.source, r.in)
	all.reads = r.reads
	return all.query()
}

// head starts a query: type, datasource.
func (r *rows) head(kind string) object {
	source := r.source
	if r.reads != nil {
		source = obj("type", "table", "name", r.reads.source)
	}
	return obj("queryType", kind, "dataSource", source)
}

func (r *rows) intervalSpec() object {
	list := r.intervals
	if list == nil {
		list = []chrono.Interval{chrono.Eternity}
	}
	return obj("type", "intervals", "intervals", list)
}

// context returns the query context with further members, sorted.
func (r *rows) context(extra map[string]any) object {
	all := maps.Clone(r.w.options.Context)
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

// countedBy are the columns that are read of rows which are only counted: the one that a condition
// reads, or the whole of narrow rows, else a constant.
func (r *rows) countedBy(v *virtuals) []string {
	if r.rowNames == nil || r.w.stepwise {
		return r.rowNames
	}
	var read []string
	if r.filter != nil {
		for _, c := range r.read([]expr.Expr{r.filter}) {
			read = append(read, c.name)
		}
	}
	if r.intervals != nil && !slices.Contains(read, plan.TimeColumn) {
		read = append(read, plan.TimeColumn)
	}
	switch {
	case len(read) == 1:
		return read
	case len(read) == 0 && len(r.rowNames) <= manyTableColumns:
		return slices.Clone(r.rowNames)
	}
	return []string{v.column(&expr.Literal{Value: int64(0), T: expr.Of(expr.BigInt).NotNull()})}
}

// countedColumns are the columns of those names, in the datasource's order.
func (r *rows) countedColumns(names []string) []column {
	all := r.in
	if r.rowNames != nil {
		name, _ := r.source.get("name").(string)
		all = r.w.tables[name]
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
