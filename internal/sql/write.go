package sql

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/timeline"
)

// placedAt is refuse with the place in the context. The message, which clients know, does not name
// it.
func placedAt(at fault.Span, format string, args ...any) error {
	return fault.WithPosition(refuse(format, args...), at)
}

// refuse is the error for an INSERT or REPLACE that can't be, without a place: the clause at fault
// may be one that is missing.
func refuse(format string, args ...any) *fault.Error {
	return fault.InvalidSQL(fault.Span{}, format, args...)
}

// writeStatement binds INSERT and REPLACE.
func (b *binder) writeStatement(x *syntax.Insert, s *Statement) error {
	s.Kind = Insert
	if x.Replace {
		s.Kind = Replace
	}
	if err := b.checkWrite(x, s.Kind); err != nil {
		return err
	}
	if x.Export != nil {
		return b.export(x, s)
	}
	target, err := b.target(x.Target, s.Kind)
	if err != nil {
		return err
	}
	granularity, err := b.partitionedBy(x, s.Kind)
	if err != nil {
		return err
	}
	w := &plan.Write{DataSource: target, Replace: x.Replace, PartitionBy: granularity}
	s.Target = &Target{DataSource: target, Granularity: granularity}
	if x.Replace {
		if err := b.overwrite(x, w, s.Target); err != nil {
			return err
		}
	}
	rel, err := b.writeQuery(x, s.Kind, granularity)
	if err != nil {
		return err
	}
	if !w.ReplaceAll {
		if err := b.checkStoredTypes(target, rel); err != nil {
			return err
		}
	}
	w.Input = rel.node
	if err := b.clusteredBy(x, rel, w); err != nil {
		return err
	}
	for i, c := range w.Cluster {
		s.Target.ClusteredBy = append(s.Target.ClusteredBy, clusterName(x.ClusteredBy[i].X, c, rel))
	}
	if w.Rollup = !b.settings.finalizeAggregations && groups(x.Query); w.Rollup {
		for i := range rel.cols {
			rel.cols[i].typ = keepSketch(rel.node, i, rel.cols[i].typ)
		}
	}
	b.resources[Resource{Name: target, Type: "DATASOURCE", Write: true}] = true
	s.Plan, s.Columns = w, outerColumns(rel.cols)
	return nil
}

// writeEndpoint is where to send what writes.
const writeEndpoint = "POST /service/v2/sql/task"

// checkWrite refuses what can be seen without binding anything.
func (b *binder) checkWrite(x *syntax.Insert, kind Kind) error {
	switch {
	case b.request.Engine == Native && kind == Insert:
		return refuse("INSERT operations are not supported by requested SQL engine [native], consider using MSQ.").With("suggestion", writeEndpoint)
	case b.request.Engine == Native:
		return refuse("REPLACE operations are not supported by the requested SQL engine [native].  Consider using MSQ.").With("suggestion", writeEndpoint)
	case x.Export != nil:
		return b.checkExport(x)
	case len(x.Columns) > 0:
		return refuse("Operation [%s] cannot be run with a target column list, given [%s (`%s`)]", kind, joinIdents(x.Target.Parts),
			strings.Join(names(x.Columns), "`, `"))
	case x.PartitionedBy == nil:
		at := x.Span()
		at.Line, at.Column = at.EndLine, at.EndColumn
		missing := refuse("Operation [%s] requires a PARTITIONED BY to be explicitly defined, but none was found.", kind)
		return fault.WithPosition(advised(missing,
			"PARTITIONED BY DAY at the end of the statement, or HOUR, MONTH, YEAR; PARTITIONED BY ALL without a __time"), at)
	case len(x.Query.OrderBy) > 0:
		return placedAt(x.Query.OrderBy[0].X.Span(), "Cannot use an ORDER BY clause on a Query of type [%s], use CLUSTERED BY instead", kind)
	case x.Replace && x.Overwrite == nil:
		return placedAt(x.Target.Span(), "Missing time chunk information in OVERWRITE clause for REPLACE. "+
			"Use OVERWRITE WHERE <__time based condition> or "+
			"OVERWRITE ALL to overwrite the entire table.")
	case b.settings.outerLimit >= 0:
		return refuse("Context parameter [sqlOuterLimit] cannot be provided on operator [%s]", kind)
	}
	for _, item := range x.ClusteredBy {
		if item.Desc {
			return refuse("Invalid CLUSTERED BY clause [%s DESC]: cannot sort in descending order.", backquoted(item.X))
		}
	}
	return nil
}

// backquoted prints an expression with names in backquotes, as the messages of Druid show them. See
// quirk Q011.
func backquoted(e syntax.Expr) string {
	if n, ok := e.(*syntax.Name); ok {
		return "`" + strings.Join(names(n.Parts), "`.`") + "`"
	}
	return syntax.Print(e)
}

// target returns the datasource an INSERT or REPLACE names.
func (b *binder) target(n *syntax.Name, kind Kind) (string, error) {
	switch len(n.Parts) {
	case 1:
	case 2:
		if schema, ok := b.schema(n.Parts[0].Name); !ok || schema != SchemaData {
			return "", refuse("Table [%s] does not support operation [%s] because it is not a Druid datasource", joinIdents(n.Parts), kind)
		}
	default:
		return "", refuse("Druid does not support 3+ part names: [%s]", joinIdents(n.Parts))
	}
	name := n.Parts[len(n.Parts)-1].Name
	return name, checkName(name)
}

// checkName applies the rules for names of datasources.
func checkName(name string) error {
	if name == "" {
		return refuse("Invalid value for field [table]: must not be null or empty.")
	}
	if refusal := timeline.DataSourceRefusal("table", name); refusal != "" {
		return refuse("%s", refusal)
	}
	return nil
}

// writeQuery binds the query of an INSERT or REPLACE and checks the columns it gives.
func (b *binder) writeQuery(x *syntax.Insert, kind Kind, g chrono.Granularity) (*relational, error) {
	if !g.IsAll() && x.Query.Limit != nil {
		return nil, refuse("INSERT and REPLACE queries cannot have a LIMIT unless PARTITIONED BY is \"ALL\".")
	}
	if x.Query.Offset != nil {
		return nil, refuse("INSERT and REPLACE queries cannot have an OFFSET.")
	}
	rel, err := b.query(x.Query)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	hasTime := false
	for _, c := range rel.cols {
		if !c.named && strings.HasPrefix(c.name, "EXPR$") {
			return nil, refuse("Insertion requires columns to be named, but at least one of the columns was unnamed.  This is usually the result of " +
				"applying a function without having an AS clause, please ensure that all function calls" +
				"are named with an AS clause as in \"func(X) as myColumn\".")
		}
		if seen[c.name] {
			return nil, refuse("Duplicate field in SELECT: [%s]", c.name)
		}
		seen[c.name] = true
		if c.name == plan.TimeColumn {
			hasTime = true
			if c.typ.Base != expr.Timestamp {
				return nil, refuse("Field [__time] was the wrong type [%s], expected TIMESTAMP", c.typ)
			}
		}
	}
	if !hasTime && !g.IsAll() {
		return nil, refuse("The granularity [%s] specified in the PARTITIONED BY clause of the %s query is different from ALL. Therefore, the query "+
			"must specify a time column (named __time).", granularityText(g), kind)
	}
	// The names of the plan's columns are what is stored.
	p := plan.Select(rel.node, firstN(len(rel.cols)))
	for i, c := range rel.cols {
		p.Names[i] = c.name
	}
	rel.node = p
	return rel, nil
}

// checkStoredTypes refuses to mix arrays and multi-value strings in one column of a datasource: a
// filter means different things on them.
func (b *binder) checkStoredTypes(target string, rel *relational) error {
	existing, err := b.catalog.Table(b.ctx, SchemaData, target)
	if err != nil || existing == nil {
		return err
	}
	mode, _ := querycontext.ArrayIngestMode.In(b.settings.merged).(string)
	if mode == "" {
		mode = "array"
	}
	skip := namesIn(querycontext.SkipTypes.In(b.settings.merged))
	for _, c := range rel.cols {
		for _, old := range existing.Columns {
			if old.Name != c.name || slices.Contains(skip, c.name) {
				continue
			}
			stringArray := c.typ.Base == expr.Array && c.typ.Elem().IsCharacter() && !strings.EqualFold(mode, "mvd")
			oldArray := old.Type.Base == expr.Array && old.Type.Elem().IsCharacter()
			advice := ""
			switch {
			case stringArray && old.Type.IsCharacter():
				advice = "Try wrapping this field using ARRAY_TO_MV(...) AS [" + c.name + "]."
			case oldArray && (c.typ.IsCharacter() || c.typ.Base == expr.Array && c.typ.Elem().IsCharacter() && !stringArray):
				advice = "Try adjusting your query to make this column an ARRAY instead of VARCHAR."
			default:
				continue
			}
			return refuse("Cannot write into field[%s] using type[%s] and arrayIngestMode[%s], since the existing type is[%s]. %s", c.name, c.typ, mode,
				old.Type, advice)
		}
	}
	return nil
}

// namesIn reads a list of names: an array, its JSON text, or names between commas.
func namesIn(value any) []string {
	var out []string
	switch value := value.(type) {
	case string:
		if json.Unmarshal([]byte(value), &out) == nil {
			return out
		}
		for name := range strings.SplitSeq(value, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	case []any:
		for _, v := range value {
			if name, ok := v.(string); ok {
				out = append(out, name)
			}
		}
	}
	return out
}

// granularityText shows a granularity as Druid's messages do. See quirk Q011.
func granularityText(g chrono.Granularity) string {
	if p, ok := g.Period(); ok {
		return "{type=period, period=" + p.String() + ", timeZone=" + g.Zone().Name() + ", origin=null}"
	}
	return g.String()
}

// segmentPeriods are the granularities that segments may have.
var segmentPeriods = "PT1S PT1M PT5M PT10M PT15M PT30M PT1H PT6H PT8H P1D P1W P1M P3M P1Y"

// partitionedBy reads PARTITIONED BY.
func (b *binder) partitionedBy(x *syntax.Insert, kind Kind) (chrono.Granularity, error) {
	all, err := chrono.ParseGranularity("ALL")
	if err != nil {
		return all, err
	}
	e := x.PartitionedBy.Granularity
	switch e := e.(type) {
	case nil:
		return all, nil
	case *syntax.Name:
		if len(e.Parts) == 1 {
			return b.segmentGranularity(e.Parts[0].Name, e)
		}
	case *syntax.Symbol:
		return b.segmentGranularity(e.Word, e)
	case *syntax.String:
		return b.segmentGranularity(e.Value, e)
	case *syntax.Call:
		return b.granularityCall(e)
	}
	return all, badGranularity(e)
}

func badGranularity(e syntax.Expr) error {
	return refuse("Invalid granularity [%s] after PARTITIONED BY.  Expected HOUR, DAY, MONTH, YEAR, ALL TIME, FLOOR() or TIME_FLOOR()",
		strings.Trim(backquoted(e), "`"))
}

// segmentGranularity returns the granularity called name or of that period.
func (b *binder) segmentGranularity(name string, e syntax.Expr) (chrono.Granularity, error) {
	if strings.EqualFold(name, "ALL TIME") {
		name = "ALL"
	}
	g, err := chrono.ParseGranularity(strings.ToUpper(name))
	if err == nil && (g.IsAll() || isSegmentGranularity(g)) {
		return g, nil
	}
	period, err := chrono.ParsePeriod(strings.ToUpper(name))
	if err == nil {
		if g, err = chrono.PeriodGranularity(period, chrono.UTC, nil); err == nil && isSegmentGranularity(g) {
			return g, nil
		}
	}
	return chrono.Granularity{}, badGranularity(e)
}

func isSegmentGranularity(g chrono.Granularity) bool {
	p, ok := g.Period()
	if !ok {
		return false
	}
	_, hasOrigin := g.Origin()
	for allowed := range strings.FieldsSeq(segmentPeriods) {
		if p.String() == allowed {
			return !hasOrigin && g.Zone().IsUTC()
		}
	}
	return false
}

// granularityCall reads FLOOR(__time TO unit) and TIME_FLOOR(__time, period).
func (b *binder) granularityCall(e *syntax.Call) (chrono.Granularity, error) {
	none := chrono.Granularity{}
	if e.Name != "FLOOR" && e.Name != "TIME_FLOOR" {
		return none, refuse("PARTITIONED BY clause only supports FLOOR(__time TO <unit> and TIME_FLOOR(__time, period) functions")
	}
	if len(e.Args) != 2 {
		return none, refuse("%s in PARTITIONED BY clause must have 2 arguments, but only [%d] provided.", e.Name, len(e.Args))
	}
	if n, ok := e.Args[0].(*syntax.Name); !ok || n.Parts[len(n.Parts)-1].Name != plan.TimeColumn {
		return none, refuse("The first argument to %s in PARTITIONED BY clause can only be __time", e.Name)
	}
	switch arg := e.Args[1].(type) {
	case *syntax.Symbol:
		return b.segmentGranularity(arg.Word, arg)
	case *syntax.String:
		if _, err := chrono.ParsePeriod(arg.Value); err != nil {
			return none, refuse("granularity['%s'] is an invalid period string", arg.Value)
		}
		return b.segmentGranularity(arg.Value, arg)
	}
	return none, badGranularity(e.Args[1])
}

// clusteredBy gives w the columns of CLUSTERED BY.
func (b *binder) clusteredBy(x *syntax.Insert, rel *relational, w *plan.Write) error {
	blk := newBlock(b, surroundings{})
	blk.scope = &scope{relations: []relation{relationOf("", rel.planColumns(), 0)}}
	for _, item := range x.ClusteredBy {
		if n, ok := item.X.(*syntax.Number); ok && n.Kind == syntax.Integer {
			i, err := b.ordinal(n, len(rel.cols))
			if err != nil {
				if strings.Trim(n.Text, "0") == "" {
					return refuse("Ordinal [%s] specified in the CLUSTERED BY clause is invalid. It must be a positive integer.", n.Text)
				}
				return err
			}
			w.Cluster = append(w.Cluster, i)
			continue
		}
		if u, ok := item.X.(*syntax.Unary); ok && u.Op == syntax.Neg {
			return refuse("Ordinal [%s] specified in the CLUSTERED BY clause is invalid. It must be a positive integer.", syntax.Print(u))
		}
		e, err := blk.exprs("CLUSTERED BY").bind(item.X)
		c, ok := e.(*expr.Column)
		if err != nil || !ok {
			return b.clusteredByHidden(x, w)
		}
		w.Cluster = append(w.Cluster, c.Index)
	}
	return nil
}

// clusterName returns the name of column c of CLUSTERED BY, which is e in the statement: for a
// number, the name of the output column.
func clusterName(e syntax.Expr, c int, rel *relational) string {
	switch x := e.(type) {
	case *syntax.Number:
		return rel.cols[c].name
	case *syntax.Name:
		return x.Parts[len(x.Parts)-1].Name
	}
	return syntax.PrintQuoted(e)
}

// clusteredByHidden adds to w the columns of a CLUSTERED BY that is not only over output columns.
// It may contain the same expressions as an ORDER BY: the query is bound with it as its order, and
// the sort keys become columns after the stored columns.
func (b *binder) clusteredByHidden(x *syntax.Insert, w *plan.Write) error {
	q := *x.Query
	q.OrderBy = x.ClusteredBy
	rel, err := b.query(&q)
	if err != nil {
		return err
	}
	n := rel.node
	if p, ok := n.(*plan.Project); ok {
		n = p.Input
	}
	sort, ok := n.(*plan.Sort)
	if !ok {
		return fault.Defensive("A query with CLUSTERED BY has no order")
	}
	if sort.Limit < 0 && sort.Offset == 0 {
		n = sort.Input
	}
	width := len(rel.cols)
	keep := firstN(width)
	w.Cluster = nil
	for _, k := range sort.Keys {
		at := slices.Index(keep, k.Column)
		if at < 0 {
			at = len(keep)
			keep = append(keep, k.Column)
		}
		w.Cluster = append(w.Cluster, at)
	}
	p := plan.Select(n, keep)
	for i, c := range rel.cols {
		p.Names[i] = c.name
	}
	w.Input, w.Hidden = p, len(keep)-width
	return nil
}

// overwrite reads the OVERWRITE clause of a REPLACE.
func (b *binder) overwrite(x *syntax.Insert, w *plan.Write, t *Target) error {
	if x.Overwrite.Where == nil {
		w.ReplaceAll = true
		t.Overwrite = []chrono.Interval{chrono.Eternity}
		return nil
	}
	list, err := b.timeChunks(x.Overwrite.Where)
	if err != nil {
		return err
	}
	if list = chrono.IntersectAll(list, []chrono.Interval{chrono.Eternity}); len(list) == 0 {
		return refuse("The OVERWRITE WHERE clause [%s] produced no time intervals, are the bounds overly restrictive?", syntax.Print(x.Overwrite.Where))
	}
	for _, iv := range list {
		if !w.PartitionBy.IsAll() && !w.PartitionBy.Aligned(iv) || w.PartitionBy.IsAll() && iv != chrono.Eternity {
			return refuse("OVERWRITE WHERE clause identified interval [%s] which is not aligned with PARTITIONED BY granularity [%s]", iv,
				granularityText(w.PartitionBy))
		}
	}
	w.Intervals, t.Overwrite = list, list
	return nil
}

// timeChunks returns the instants that a condition of OVERWRITE WHERE allows.
func (b *binder) timeChunks(e syntax.Expr) ([]chrono.Interval, error) {
	switch x := e.(type) {
	case *syntax.Chain:
		if x.Op != syntax.And && x.Op != syntax.Or {
			break
		}
		var out []chrono.Interval
		for i, a := range x.Args {
			list, err := b.timeChunks(a)
			switch {
			case err != nil:
				return nil, err
			case i == 0:
				out = list
			case x.Op == syntax.And:
				out = chrono.IntersectAll(out, list)
			default:
				out = chrono.Union(out, list)
			}
		}
		return out, nil
	case *syntax.Unary:
		if x.Op != syntax.Not {
			break
		}
		list, err := b.timeChunks(x.X)
		return chrono.Subtract([]chrono.Interval{chrono.Eternity}, list), err
	case *syntax.Between:
		low, err := b.chunkBound(x.X, x.Low)
		if err != nil {
			return nil, err
		}
		high, err := b.chunkBound(x.X, x.High)
		if err != nil {
			return nil, err
		}
		list := []chrono.Interval{{Start: low, End: high + 1}}
		if x.Symmetric && low > high {
			list = []chrono.Interval{{Start: high, End: low + 1}}
		}
		if x.Not {
			list = chrono.Subtract([]chrono.Interval{chrono.Eternity}, list)
		}
		return list, nil
	case *syntax.Binary:
		op, column, value := x.Op, x.Left, x.Right
		if _, ok := column.(*syntax.Name); !ok {
			flipped := map[syntax.Operator]syntax.Operator{syntax.Less: syntax.Greater, syntax.LessEqual: syntax.GreaterEqual,
				syntax.Greater: syntax.Less, syntax.GreaterEqual: syntax.LessEqual}
			if _, ok := value.(*syntax.Name); ok {
				op, column, value = flipped[op], value, column
			}
		}
		if op < syntax.Less || op > syntax.GreaterEqual {
			break
		}
		ms, err := b.chunkBound(column, value)
		if err != nil {
			return nil, err
		}
		iv := chrono.Eternity
		switch op {
		case syntax.Less:
			iv.End = ms
		case syntax.LessEqual:
			iv.End = ms + 1
		case syntax.Greater:
			iv.Start = ms + 1
		default:
			iv.Start = ms
		}
		return []chrono.Interval{iv}, nil
	}
	return nil, refuse("Invalid OVERWRITE WHERE clause [%s]: expected clause including AND, OR, NOT, >, <, >=, <= OR BETWEEN operators", syntax.Print(e))
}

// chunkBound reads "__time op literal".
func (b *binder) chunkBound(column, value syntax.Expr) (int64, error) {
	n, ok := column.(*syntax.Name)
	if !ok || n.Parts[len(n.Parts)-1].Name != plan.TimeColumn {
		return 0, refuse("OVERWRITE WHERE clause only supports filtering on the __time column, got [%s]", strings.Trim(backquoted(column), "`"))
	}
	blk := newBlock(b, surroundings{})
	blk.scope = &scope{}
	e, err := blk.exprs("OVERWRITE WHERE").bind(value)
	if err != nil {
		return 0, err
	}
	if e, err = expr.NewCast(e, expr.Of(expr.Timestamp), value.Span()); err != nil || e.Type().IsNumeric() {
		return 0, refuse("Cannot get a timestamp from sql expression [%s]", syntax.Print(value))
	}
	if e, err = expr.Fold(e, &b.env); err != nil {
		return 0, err
	}
	l, ok := e.(*expr.Literal)
	if !ok {
		return 0, refuse("Cannot get a timestamp from sql expression [%s]", syntax.Print(value))
	}
	ms, ok := l.Value.(int64)
	if _, number := value.(*syntax.Number); !ok || number {
		return 0, refuse("Cannot get a timestamp from sql expression [%s]", syntax.Print(value))
	}
	return ms, nil
}

// groups reports whether the outermost SELECT of q groups.
func groups(q *syntax.Query) bool {
	switch body := q.Body.(type) {
	case *syntax.Select:
		return body.GroupBy != nil
	case *syntax.Query:
		return groups(body)
	}
	return false
}
