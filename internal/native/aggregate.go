package native

import (
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sketch"
)

// simpleAggregator says how a native aggregator of one column is run.
type simpleAggregator struct {
	// name is the aggregate of package agg; cast is what its argument is converted to, INVALID:
	// nothing.
	name string
	cast expr.Base
	// population is the aggregate in its place if all values are known, and not a sample of them; "":
	// that makes no difference.
	population string
	// byTime adds the time column as second argument.
	byTime bool
	// times says that what is compared are times, which are shown as texts.
	times bool
}

var simpleAggregators = map[string]simpleAggregator{
	"count":       {name: "COUNT"},
	"longSum":     {name: "SUM", cast: expr.BigInt},
	"doubleSum":   {name: "SUM", cast: expr.Double},
	"floatSum":    {name: "SUM", cast: expr.Float},
	"longMin":     {name: "MIN", cast: expr.BigInt},
	"doubleMin":   {name: "MIN", cast: expr.Double},
	"floatMin":    {name: "MIN", cast: expr.Float},
	"longMax":     {name: "MAX", cast: expr.BigInt},
	"doubleMax":   {name: "MAX", cast: expr.Double},
	"floatMax":    {name: "MAX", cast: expr.Float},
	"doubleMean":  {name: "AVG", cast: expr.Double},
	"longFirst":   {name: "EARLIEST", cast: expr.BigInt, byTime: true},
	"doubleFirst": {name: "EARLIEST", cast: expr.Double, byTime: true},
	"floatFirst":  {name: "EARLIEST", cast: expr.Float, byTime: true},
	"stringFirst": {name: "EARLIEST", cast: expr.Varchar, byTime: true},
	"longLast":    {name: "LATEST", cast: expr.BigInt, byTime: true},
	"doubleLast":  {name: "LATEST", cast: expr.Double, byTime: true},
	"floatLast":   {name: "LATEST", cast: expr.Float, byTime: true},
	"stringLast":  {name: "LATEST", cast: expr.Varchar, byTime: true},
	"longAny":     {name: "ANY_VALUE", cast: expr.BigInt},
	"doubleAny":   {name: "ANY_VALUE", cast: expr.Double},
	"floatAny":    {name: "ANY_VALUE", cast: expr.Float},
	"stringAny":   {name: "ANY_VALUE", cast: expr.Varchar},
	"variance":    {name: "VAR_SAMP", population: "VAR_POP", cast: expr.Double},

	"varianceFold": {name: "VAR_SAMP", population: "VAR_POP", cast: expr.Double},
	"timeMin":      {name: "MIN", cast: expr.BigInt, times: true},
	"timeMax":      {name: "MAX", cast: expr.BigInt, times: true},
}

// inputs collects the expressions of the projection below an Aggregate.
type inputs struct {
	exprs []expr.Expr
	names []string
	// shaped has the numbers of the first noted of exprs by their shape; more are noted when they are
	// looked for.
	shaped map[string][]int
	noted  int
}

func (in *inputs) add(x expr.Expr, name string) int {
	if in.shaped == nil {
		in.shaped = map[string][]int{}
	}
	for ; in.noted < len(in.exprs); in.noted++ {
		shape := shapeOf(in.exprs[in.noted])
		in.shaped[shape] = append(in.shaped[shape], in.noted)
	}
	for _, i := range in.shaped[shapeOf(x)] {
		if e := in.exprs[i]; expr.Equal(e, x) && e.Type() == x.Type() {
			return i
		}
	}
	in.exprs, in.names = append(in.exprs, x), append(in.names, name)
	return len(in.exprs) - 1
}

// maxShape is how long a shape may become.
const maxShape = 256

// shapeOf is a text that is the same for equal expressions, and mostly another one for others.
func shapeOf(x expr.Expr) string {
	var out []byte
	expr.Walk(x, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Column:
			out = strconv.AppendInt(append(out, 'c'), int64(e.Index), 36)
		case *expr.Call:
			out = append(append(out, 'f'), e.Fn.Name...)
		case *expr.In:
			out = strconv.AppendInt(append(out, 'i'), int64(len(e.Values)), 36)
			if len(e.Values) > 0 {
				out = appendShape(out, e.Values[0])
			}
		case *expr.Literal:
			out = appendShape(out, e.Value)
		default:
			out = append(out, '.')
		}
		return len(out) < maxShape
	})
	return string(out)
}

func appendShape(out []byte, value any) []byte {
	switch v := value.(type) {
	case int64:
		return strconv.AppendInt(append(out, 'n'), v, 36)
	case string:
		return append(append(out, '\''), v[:min(len(v), maxShape)]...)
	}
	return append(out, 'v')
}

// newCall makes an AggCall of an aggregate of package agg over arguments of the given types; Args
// and Name are the caller's.
func newCall(name string, args []expr.Type, params []any) (plan.AggCall, error) {
	fn := agg.Lookup(name)
	if fn == nil {
		return plan.AggCall{}, fault.Unsupported("Aggregate function [%s] is not supported", lower(name))
	}
	c := plan.AggCall{Agg: agg.Spec{Name: fn.Name, Params: params}, Filter: -1}
	for _, t := range args {
		c.Agg.Args = append(c.Agg.Args, t.Runtime())
	}
	result, err := c.Agg.ResultType()
	if err != nil {
		return plan.AggCall{}, err
	}
	c.Type = expr.FromRuntime(result, false)
	if fn.EmptyIsZero {
		c.Type = c.Type.NotNull()
	}
	return c, nil
}

// aggregator translates an aggregator; cond, if not nil, chooses its rows.
func (s *scope) aggregator(in *inputs, a Aggregator, cond expr.Expr) (plan.AggCall, error) {
	exprs, names := len(in.exprs), len(in.names)
	call, err := s.plainAggregator(in, a, cond)
	if err != nil && s.mayRetry() {
		in.exprs, in.names = in.exprs[:exprs], in.names[:names]
		return s.aggregatorOfSingles(in, a, cond, err)
	}
	return call, err
}

func (s *scope) plainAggregator(in *inputs, a Aggregator, cond expr.Expr) (plan.AggCall, error) {
	var call plan.AggCall
	var err error
	switch a := a.(type) {
	case *FilteredAggregator:
		if a.Aggregator.Aggregator == nil || a.Filter.Filter == nil {
			return call, invalid("Aggregator [%s] of type [filtered] needs a filter and an aggregator", a.Name)
		}
		c, err := s.chosen(a, cond)
		if err != nil {
			return call, err
		}
		call, err := s.aggregator(in, a.Aggregator.Aggregator, c)
		call.Name = a.output()
		return call, err
	case *SimpleAggregator:
		call, err = s.simple(in, a)
	case *SketchAggregator:
		call, err = s.sketch(in, a)
	case *SummaryAggregator:
		call, err = s.summary(in, a)
	case *CardinalityAggregator:
		call, err = s.cardinality(in, a)
	case *ExpressionAggregator:
		call, err = s.folded(in, a)
	default:
		return call, fault.Unsupported("Aggregator [%s] is of a type that is not supported here", a.output())
	}
	if err != nil {
		return call, err
	}
	call.Name = a.output()
	err = in.choose(&call, cond)
	return call, err
}

// chosen is the condition of the rows that a filtered aggregator takes of those for which cond is
// true; nil: of all.
func (s *scope) chosen(a *FilteredAggregator, cond expr.Expr) (expr.Expr, error) {
	c, err := s.filterOfRecords(a.Filter.Filter)
	if err != nil || cond == nil {
		return c, err
	}
	return expr.NewAnd([]expr.Expr{cond, c}, fault.Span{})
}

// choose makes a call count only rows for which cond is true, too; nil: all.
func (in *inputs) choose(c *plan.AggCall, cond expr.Expr) error {
	if cond == nil {
		return nil
	}
	if c.Filter >= 0 {
		var err error
		if cond, err = expr.NewAnd([]expr.Expr{in.exprs[c.Filter], cond}, fault.Span{}); err != nil {
			return err
		}
	}
	c.Filter = in.add(cond, "$filter")
	return nil
}

// function is the aggregate of package agg.
func (d simpleAggregator) function() *agg.Function { return agg.Lookup(d.name) }

// summed reports whether the aggregator is one of those that take an expression in place of a
// field.
func (d simpleAggregator) summed() bool { return d.function().MergesItself() }

func (d simpleAggregator) isMean() bool     { return d.function().Native.Kind == agg.NativeMean }
func (d simpleAggregator) isVariance() bool { return d.population != "" }

// isAny reports whether the aggregator takes the value of any row.
func (d simpleAggregator) isAny() bool { return d.function().PicksRow && !d.byTime }

func (a *SimpleAggregator) check() error {
	d := simpleAggregators[a.Type]
	switch {
	case d.function().Counts:
	case d.summed() && a.Expression != "":
		return checkExpression(a.Expression)
	case a.MaxStringBytes < 0:
		return invalid("[maxStringBytes] of aggregator [%s] must be greater than 0", a.Name)
	}
	return nil
}

func (s *scope) simple(in *inputs, a *SimpleAggregator) (plan.AggCall, error) {
	d := simpleAggregators[a.Type]
	if d.function().Counts {
		return newCall(d.name, nil, nil)
	}
	var x expr.Expr
	var err error
	if d.times {
		x, err = s.millisOf(a.FieldName)
	} else if d.summed() && a.Expression != "" {
		x, err = s.expression(a.Expression)
	} else {
		x, err = s.numberColumn(a.FieldName, d.cast)
	}
	if err != nil {
		return plan.AggCall{}, err
	}
	if c, err := s.meanOfMeans(in, a); err != nil {
		return plan.AggCall{}, err
	} else if c != nil {
		return *c, nil
	}
	x = plain(x)
	if s.t.ingesting { // records that have no number there are bad ones
		if d.cast != expr.Invalid && d.cast != expr.Varchar && holdsSeveral(x.Type()) {
			if x, _, err = singleValue(x); err != nil {
				return plan.AggCall{}, err
			}
		}
		if d.cast != expr.Invalid && x.Type().Base != expr.Other {
			x, err = cast(x, expr.Of(d.cast))
		}
	} else {
		c, column := x.(*expr.Column)
		x, err = d.argument(x, a.FieldName == "" || !column || !storedIn(s.source, c.Name))
	}
	if err == nil && d.cast == expr.Varchar && plain(x).Type().Multi {
		x, err = a.oneText(x)
	}
	if err != nil {
		return plan.AggCall{}, err
	}
	args, types := []int{in.add(x, a.FieldName)}, []expr.Type{x.Type()}
	if d.byTime {
		name := a.TimeColumn
		if name == "" {
			name = plan.TimeColumn
		}
		t, err := s.timeOfKept(a.FieldName)
		if t == nil && err == nil {
			t, err = s.column(name)
		}
		if err != nil {
			return plan.AggCall{}, err
		}
		if t, err = cast(t, longType); err != nil {
			return plan.AggCall{}, err
		}
		args, types = append(args, in.add(t, name)), append(types, t.Type())
	}
	name, params := d.name, []any(nil)
	if d.isVariance() && lower(a.Estimator) == "population" {
		name = d.population
	}
	if a.MaxStringBytes > 0 && d.cast == expr.Varchar {
		params = []any{int64(a.MaxStringBytes)}
	}
	call, err := newCall(name, types, params)
	call.Args = args
	return call, err
}

// oneText is the text of a row of a multi-value string: its value, or its values as a list in
// brackets; the first of them where lists are not wanted.
func (a *SimpleAggregator) oneText(x expr.Expr) (expr.Expr, error) {
	list, one, several, err := valuesInRow(x)
	if err != nil || a.AggregateMultipleValues != nil && !bool(*a.AggregateMultipleValues) {
		return one, err
	}
	joined, err := call("ARRAY_TO_STRING", list, textLiteral(", "))
	if err != nil {
		return nil, err
	}
	if joined, err = call("CONCAT", textLiteral("["), joined, textLiteral("]")); err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: several, Then: joined}}, one, fault.Span{})
}

// argument converts what is aggregated. Texts of a column count as the numbers they are; one that
// is none, NULL too, changes no sum and no bound, but is there: the sum of such texts is 0. Of
// texts that are computed, or of no segment, one that is no number is NULL. A mean is that of the
// texts that are not NULL. An array has no number.
func (d simpleAggregator) argument(x expr.Expr, computed bool) (expr.Expr, error) {
	to := expr.Of(d.cast)
	isNumber := d.cast != expr.Invalid && d.cast != expr.Varchar
	switch from := x.Type(); {
	case isNumber && computed && from.ComplexName() == "json":
		n, err := number(x)
		if err != nil {
			return nil, err
		}
		return cast(n, to)
	case isNumber && (from.Base == expr.Array || from.Base == expr.Other && (computed || d.isAny())):
		return &expr.Literal{T: to}, nil
	case d.cast == expr.Invalid || from.Base == expr.Other:
		return x, nil
	case d.cast == expr.Varchar && from.Base == expr.Float:
		return textOf(x) // the short one
	case isNumber && from.Multi && !d.isVariance():
		one, err := oneOrWord(x)
		if err != nil {
			return nil, err
		}
		return d.argument(one, computed)
	case isNumber && from.IsCharacter() && !from.Multi && !isNullConstant(x) && d.isAny() && !computed:
		n, err := cast(x, to)
		if err != nil {
			return nil, err
		}
		zero, err := cast(longLiteral(0), to)
		if err != nil {
			return nil, err
		}
		return call("COALESCE", n, zero)
	case !isNumber || !from.IsCharacter() || from.Multi || isNullConstant(x) || d.isAny() || d.isVariance():
		return cast(x, to)
	}
	none, err := d.none()
	if err != nil {
		return nil, err
	}
	word, err := call("LOWER", x)
	if err != nil {
		return nil, err
	}
	isWord, err := expr.NewIn(word, []expr.Expr{textLiteral("true"), textLiteral("false")}, fault.Span{})
	if err != nil {
		return nil, err
	}
	n, err := cast(x, to)
	if err != nil {
		return nil, err
	}
	mean := d.isMean()
	if !computed || mean {
		if n, err = call("COALESCE", n, none); err != nil {
			return nil, err
		}
	}
	whens := []expr.When{{Cond: isWord, Then: none}}
	if !d.byTime && computed || mean {
		missing, err := call("IS NULL", x)
		if err != nil {
			return nil, err
		}
		whens = slices.Insert(whens, 0, expr.When{Cond: missing, Then: &expr.Literal{T: to}})
	}
	if x, err = expr.NewCase(whens, n, fault.Span{}); err != nil {
		return nil, err
	}
	return cast(x, to)
}

// valuesInRow returns the values of a row of a multi-value string, the first of them, and whether
// there are several.
func valuesInRow(x expr.Expr) (list, one, several expr.Expr, err error) {
	if list, err = call("MV_TO_ARRAY", x); err != nil {
		return nil, nil, nil, err
	}
	if one, err = call("ARRAY_OFFSET", list, longLiteral(0)); err != nil {
		return nil, nil, nil, err
	}
	n, err := call("MV_LENGTH", x)
	if err != nil {
		return nil, nil, nil, err
	}
	several, err = compare(">", n, longLiteral(1))
	return list, one, several, err
}

// oneOrWord is the value of a row of a multi-value string that has one, and a text that is no
// number where it has several.
func oneOrWord(x expr.Expr) (expr.Expr, error) {
	_, one, several, err := valuesInRow(x)
	if err != nil {
		return nil, err
	}
	if one, err = cast(one, textType); err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: several, Then: textLiteral("true")}}, one, fault.Span{})
}

// none is the number that changes nothing: what a text that is no number counts as.
func (d simpleAggregator) none() (expr.Expr, error) {
	sign := -d.function().Extreme
	if d.cast == expr.BigInt {
		return longLiteral([]int64{math.MinInt64, 0, math.MaxInt64}[sign+1]), nil
	}
	least := 0.0
	if sign != 0 {
		least = math.Inf(sign)
	}
	return cast(doubleLiteral(least), expr.Of(d.cast))
}

// cardinality estimates the number of different values: of all columns together, or of their
// combinations.
func (a *CardinalityAggregator) check() error {
	if a.Fields == nil && a.FieldNames == nil {
		return invalid("Aggregator [%s] of type [cardinality] needs fields", a.Name)
	}
	return nil
}

func (s *scope) cardinality(in *inputs, a *CardinalityAggregator) (plan.AggCall, error) {
	fields := a.Fields
	if len(fields) == 0 {
		fields = a.FieldNames
	}
	if len(fields) == 0 { // no values
		x := &expr.Literal{T: textType}
		call, err := newCall("APPROX_COUNT_DISTINCT", []expr.Type{x.Type()}, nil)
		call.Args = []int{in.add(x, a.Name)}
		return keeping(call, hyperUniqueType), err
	}
	columns := make([]expr.Expr, len(fields))
	for i, f := range fields {
		x, err := s.counted(f.Dimension)
		if err != nil {
			return plan.AggCall{}, err
		}
		columns[i] = x
	}
	x, name, params := columns[0], "APPROX_COUNT_DISTINCT", []any(nil)
	var err error
	switch {
	case bool(a.ByRow):
		name = "HYPER_UNIQUE" // of keys
		x, err = call("$ROW_KEY", columns...)
	case len(columns) > 1:
		name, params = "HYPER_UNIQUE", []any{int64(1)}
		x, err = valuesOf(columns)
	}
	if err != nil {
		return plan.AggCall{}, err
	}
	call, err := newCall(name, []expr.Type{x.Type()}, params)
	call.Args = []int{in.add(x, a.Name)}
	return keeping(call, hyperUniqueType), err
}

// counted returns what cardinality tells apart: numbers as such, where a dimension would have their
// texts.
func (s *scope) counted(d Dimension) (expr.Expr, error) {
	if c, ok := d.(*ColumnDimension); ok && c.ExtractionFn.Extraction == nil {
		if x, err := s.column(c.Dimension); err != nil || plain(x).Type().IsNumeric() {
			return plain(x), err
		}
	}
	x, err := s.dimension(d)
	if err != nil || x.Type().Multi {
		return x, err
	}
	return cast(x, textType)
}

// valuesOf returns the values that a row has in several columns as one multi-value string, with
// marks before numbers.
func valuesOf(columns []expr.Expr) (expr.Expr, error) {
	null := &expr.Literal{T: textType}
	list := make([]expr.Expr, len(columns))
	for i, x := range columns {
		var err error
		if !x.Type().Multi {
			mark := markOf(x.Type())
			if x, err = textOf(x); err == nil && mark != "" {
				x, err = call("CONCAT", textLiteral(mark), x)
			}
			if err == nil {
				list[i], err = call("ARRAY", x)
			}
		} else if x, err = call("MV_TO_ARRAY", x); err == nil {
			var none expr.Expr
			if none, err = call("ARRAY", null); err == nil {
				list[i], err = call("COALESCE", x, none)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := call("ARRAY_CONCAT", list...)
	if err != nil {
		return nil, err
	}
	return call("ARRAY_TO_MV", all)
}

// markOf is the mark of numbers among the values of several columns, "" for texts.
func markOf(t expr.Type) string {
	switch {
	case t.Base == expr.Float:
		return sketch.MarkFloat
	case t.Base == expr.Double:
		return sketch.MarkDouble
	case t.IsInteger():
		return sketch.MarkLong
	}
	return ""
}

// post translates a post-aggregator over the outputs before it.
func (s *scope) post(p PostAggregator) (expr.Expr, error) {
	switch p := p.(type) {
	case nil:
		return nil, invalid("A post-aggregator can't be null")
	case *FieldPost:
		if !slices.ContainsFunc(s.columns, func(c plan.Column) bool { return c.Name == p.FieldName }) {
			return nil, invalid("Post-aggregator [%s] refers to [%s], which is not an aggregator of the query", p.output(), p.FieldName)
		}
		if raw := rawColumn(p.FieldName); p.Type == "fieldAccess" && slices.ContainsFunc(s.columns, func(c plan.Column) bool { return c.Name == raw }) {
			return s.column(raw)
		}
		return s.column(p.FieldName)
	case *ConstantPost:
		if p.Value == "" {
			return nil, invalid("Post-aggregator [%s] has no value", p.Name)
		}
		if n, err := strconv.ParseInt(string(p.Value), 10, 64); err == nil {
			return longLiteral(n), nil
		}
		return doubleLiteral(p.Value.Double()), nil
	case *ExpressionPost:
		x, err := s.expression(p.Expression)
		if err != nil {
			return nil, err
		}
		return plain(x), nil // the output type is what a planner expects; values are as computed
	case *ArithmeticPost:
		return s.arithmeticPost(p)
	case *ExtremePost:
		return s.extremePost(p)
	case *SketchPost:
		return sketchPosts[p.Type](s, p)
	case *HistogramPost:
		return s.histogramPost(p)
	case *StddevPost:
		return s.stddevPost(p)
	case *ZScorePost:
		return s.zScorePost(p)
	case *PValuePost:
		return s.pValuePost(p)
	}
	return nil, fault.Unsupported("Post-aggregator [%s] is of a type that is not supported", p.output())
}

// postNumber is post for the operand of arithmetic: the number that an aggregate shows, where it
// keeps a sketch.
func (s *scope) postNumber(p PostAggregator) (expr.Expr, error) {
	if f, ok := p.(*FieldPost); ok && f.Type == "fieldAccess" {
		p = &FieldPost{Type: "finalizingFieldAccess", Name: f.Name, FieldName: f.FieldName}
	}
	return s.post(p)
}

func (s *scope) arithmeticPost(p *ArithmeticPost) (expr.Expr, error) {
	if len(p.Fields) < 2 {
		return nil, invalid("Post-aggregator [%s] of type [arithmetic] needs two fields", p.Name)
	}
	var out expr.Expr
	for i, f := range p.Fields {
		x, err := s.postNumber(f.PostAggregator)
		if err != nil {
			return nil, err
		}
		if x, err = cast(x, doubleType); err != nil {
			return nil, err
		}
		if i == 0 {
			out = x
			continue
		}
		switch p.Fn {
		case "+", "-", "*":
			out, err = call(p.Fn, out, x)
		case "quotient":
			out, err = call("/", out, x)
		case "pow":
			out, err = call("POWER", out, x)
		case "/":
			out, err = divideOrZero(out, x)
		default:
			return nil, invalid("Post-aggregator [%s] has the unknown fn [%s]. Known are [+, -, *, /, quotient, pow]", p.Name, p.Fn)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func divideOrZero(a, b expr.Expr) (expr.Expr, error) {
	zero, err := expr.NewCompare("=", b, doubleLiteral(0), fault.Span{})
	if err != nil {
		return nil, err
	}
	known, err := call("IS NOT NULL", a)
	if err != nil {
		return nil, err
	}
	if zero, err = expr.NewAnd([]expr.Expr{known, zero}, fault.Span{}); err != nil {
		return nil, err
	}
	q, err := call("/", a, b)
	if err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: zero, Then: doubleLiteral(0)}}, q, fault.Span{})
}

func (s *scope) extremePost(p *ExtremePost) (expr.Expr, error) {
	name, t := "GREATEST", longType
	if p.Type == "doubleLeast" || p.Type == "longLeast" {
		name = "LEAST"
	}
	if p.Type[0] == 'd' {
		t = doubleType
	}
	var list []expr.Expr
	for _, f := range p.Fields {
		x, err := s.postNumber(f.PostAggregator)
		if err != nil {
			return nil, err
		}
		if x, err = cast(x, t); err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	if len(list) == 0 {
		return nil, invalid("Post-aggregator [%s] needs fields", p.Name)
	}
	return call(name, list...)
}
