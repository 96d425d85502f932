package native

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// metricsLast lists the columns of a source: of a table, its metrics stand by name behind all
// others.
func (t *translator) metricsLast(columns []plan.Column, source DataSource) []string {
	metrics := t.metrics(source)
	var names, last []string
	for _, c := range columns {
		if slices.Contains(metrics, c.Name) {
			last = append(last, c.Name)
		} else {
			names = append(names, c.Name)
		}
	}
	slices.Sort(last)
	return append(names, last...)
}

// metrics are those of the table that the rows of a source are of.
func (t *translator) metrics(source DataSource) []string {
	if table, ok := leftmost(source).(*TableSource); ok {
		return t.catalog.Metrics(table.Name)
	}
	return nil
}

// scan translates a scan: the columns asked for, or all. The rows of its offset come, too: who
// reads them leaves them out. shown says that the rows are the answer, and not what another query
// reads: expressions are then shown as they are computed, whatever type is wanted.
func (t *translator) scan(q *Scan, shown bool) (*Plan, error) {
	node, s, err := t.input(&q.Common, false)
	if err != nil {
		return nil, err
	}
	names := q.Columns
	if len(names) == 0 {
		names = t.metricsLast(s.columns, q.DataSource.DataSource)
		at := min(1, len(names)) // virtual columns come after the time
		for _, v := range q.VirtualColumns {
			if v.VirtualColumn != nil && !slices.Contains(names, v.output()) {
				names = slices.Insert(names, at, v.output())
				at++
			}
		}
	}
	names = q.legacyNames(names)
	out := &Plan{Unknown: map[string]bool{}, Declared: map[string]string{}}
	typeless := untyped(q.DataSource.DataSource)
	p := &plan.Project{Input: node}
	for _, name := range names {
		if q.isLegacyTime(name) {
			x, err := s.legacyTime(q.flag(querycontext.LongTimes, false))
			if err != nil {
				return nil, err
			}
			p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name)
			continue
		}
		x, err := s.column(name)
		if err != nil {
			return nil, err
		}
		v, virtual := s.virtual[name]
		if own, declared, err := s.asShown(v); err != nil {
			return nil, err
		} else if own != nil && shown {
			t, want := own.Type(), x.Type()
			if x = own; t.OrNull(true) != want.OrNull(true) && !(t.IsNumeric() && want.IsCharacter()) {
				out.Declared[name] = declared.Runtime().String()
			}
		}
		c, bare := plain(x).(*expr.Column)
		if bare && typeless && c.Name != plan.TimeColumn || !virtual && !slices.ContainsFunc(s.columns, func(c plan.Column) bool { return c.Name == name }) {
			out.Unknown[name] = true
		}
		if name != plan.TimeColumn {
			x = plain(x)
		}
		p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, name)
	}
	out.Shown, out.Time = len(p.Exprs), -1
	order := q.order()
	var keys []plan.SortKey
	for _, o := range order {
		i := slices.Index(p.Names, o.ColumnName)
		if i < 0 {
			x, err := s.column(o.ColumnName)
			if err != nil {
				return nil, err
			}
			i = len(p.Exprs)
			p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, o.ColumnName)
		}
		desc := o.Order == "descending"
		keys = append(keys, plan.SortKey{Column: i, Desc: desc, NullsFirst: !desc})
	}
	limit := int64(-1)
	if q.Limit != nil && *q.Limit > 0 { // 0 is no limit
		limit = int64(*q.Limit)
		if offset := int64(q.Offset); limit <= math.MaxInt64-offset {
			limit += offset
		}
	}
	out.Node = p
	if len(keys) > 0 {
		out.Node = narrow(&plan.Sort{Input: p, Keys: keys, Limit: limit}, out.Shown)
		if _, table := leftmost(q.DataSource.DataSource).(*TableSource); table && limit < 0 && len(order) == 1 && order[0].ColumnName == plan.TimeColumn {
			out.Time, out.Node = keys[0].Column, &plan.Sort{Input: p, Keys: keys, Limit: limit}
		}
		return out, nil
	}
	if ReadsTables(q.DataSource.DataSource) {
		if out.Time = slices.Index(p.Names, plan.TimeColumn); out.Time < 0 {
			x, err := s.column(plan.TimeColumn)
			if err != nil {
				return nil, err
			}
			if !isNullConstant(x) {
				out.Time = len(p.Exprs)
				p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, plan.TimeColumn)
			}
		}
	}
	if limit >= 0 {
		out.Node = &plan.Limit{Input: p, Count: limit}
	}
	return out, nil
}

// asShown is the value of a virtual column before it gets the type that it is to have, declared;
// nil: that is the same.
func (s *scope) asShown(v VirtualColumn) (x expr.Expr, declared expr.Type, err error) {
	switch v := v.(type) {
	case *ExpressionColumn:
		if v.OutputType == "" {
			return nil, declared, nil
		}
		x, err = s.asComputed(v)
		return x, v.OutputType.orText(), err
	case *NestedColumn:
		if bool(v.ProcessFromRaw) {
			return nil, declared, nil
		}
		declared = v.ExpectedType.orText()
		x, err = s.plainNested(v)
		return x, declared, err
	}
	return nil, declared, nil
}

// LegacyTime is the name of the time column in scans of old clients.
const LegacyTime = "timestamp"

// isLegacyTime reports whether a column of q is the time as old clients know it.
func (q *Scan) isLegacyTime(name string) bool { return bool(q.Legacy) && name == LegacyTime }

// legacyNames puts the time that old clients know before the other columns, in the place of the
// time where all columns are wanted.
func (q *Scan) legacyNames(names []string) []string {
	if !bool(q.Legacy) || slices.Contains(names, LegacyTime) {
		return names
	}
	out := []string{LegacyTime}
	for _, name := range names {
		if len(q.Columns) > 0 || name != plan.TimeColumn {
			out = append(out, name)
		}
	}
	return out
}

// time is the time of a row as a time, also where a subquery gives a number for it.
func (s *scope) time() (expr.Expr, error) {
	x, err := s.column(plan.TimeColumn)
	if err != nil || x.Type().Base == expr.Timestamp {
		return x, err
	}
	if x, err = cast(x, longType); err != nil {
		return nil, err
	}
	return asTime(x), nil
}

func (s *scope) legacyTime(asLong bool) (expr.Expr, error) {
	x, err := s.time()
	if err != nil || asLong {
		return x, err
	}
	return call("TIME_FORMAT", x, textLiteral("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"), textLiteral("UTC"))
}

// Ordered reports whether the query requests an order of the rows.
func (q *Scan) Ordered() bool { return len(q.order()) > 0 }

// order is by what the rows are sorted; none: as they come.
func (q *Scan) order() []ScanOrder {
	if len(q.OrderBy) == 0 && q.Order != "" && q.Order != "none" {
		return []ScanOrder{{ColumnName: plan.TimeColumn, Order: string(q.Order)}}
	}
	return q.OrderBy
}
