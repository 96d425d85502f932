package sql

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// aggregateCall is an aggregate in the expressions of a block, over the block's scope.
type aggregateCall struct {
	spec     agg.Spec
	args     []expr.Expr
	filter   expr.Expr // nil: all rows
	order    []windowOrder
	distinct bool
	typ      expr.Type
	// grouping is set for GROUPING(args), which is no aggregate of the catalog.
	grouping bool
	at       fault.Span
}

func isAggregate(name string) bool { return agg.Lookup(name) != nil }

// aggregateCall binds an aggregate and returns its placeholder. Equal calls share one.
func (x exprs) aggregateCall(e *syntax.Call) (expr.Expr, error) {
	if err := x.mayAggregate(e.At); err != nil {
		return nil, err
	}
	x.inWindow = false // of a window it is an argument, which can hold no other aggregate
	call, err := x.bindAggregate(e)
	if err != nil {
		return nil, err
	}
	return x.addAggregate(call)
}

// clauseFilter is the clause of the condition behind an aggregate.
const clauseFilter = "FILTER"

// mayAggregate refuses an aggregate where none may stand.
func (x exprs) mayAggregate(at fault.Span) error {
	switch {
	case x.inAggregate && x.clause == clauseFilter:
		return fault.InvalidSQL(x.around, "FILTER must not contain aggregate expression")
	case x.inAggregate:
		return fault.InvalidSQL(x.around, "Aggregate expressions cannot be nested")
	case !x.aggregates && x.clause == "ORDER BY":
		return fault.InvalidSQL(at, "Aggregate expression is illegal in ORDER BY clause of non-aggregating SELECT")
	case !x.aggregates:
		return fault.InvalidSQL(at, "Aggregate expression is illegal in %s clause", x.clause)
	}
	return nil
}

func (blk *block) addAggregate(call aggregateCall) (expr.Expr, error) {
	for i := range blk.aggregates {
		if sameAggregate(&blk.aggregates[i], &call) {
			return &expr.Column{Index: aggregateBase + i, Name: call.spec.Name, T: call.typ}, nil
		}
	}
	if len(blk.aggregates) >= maxPlaceholders {
		return nil, fault.InvalidSQL(call.at, "A query can't have more than [%d] aggregates", maxPlaceholders)
	}
	if blk.aggregates == nil {
		blk.aggregates = make([]aggregateCall, 0, 4)
	}
	blk.aggregates = append(blk.aggregates, call)
	return &expr.Column{Index: aggregateBase + len(blk.aggregates) - 1, Name: call.spec.Name, T: call.typ}, nil
}

func sameAggregate(a, b *aggregateCall) bool {
	if a.spec.Name != b.spec.Name || a.distinct != b.distinct || a.grouping != b.grouping || len(a.args) != len(b.args) ||
		len(a.spec.Params) != len(b.spec.Params) || len(a.order) != len(b.order) || (a.filter == nil) != (b.filter == nil) || a.typ != b.typ {
		return false
	}
	for i := range a.spec.Params {
		if a.spec.Params[i] != b.spec.Params[i] {
			return false
		}
	}
	for i := range a.args {
		if !expr.Equal(a.args[i], b.args[i]) {
			return false
		}
	}
	for i := range a.order {
		if !expr.Equal(a.order[i].x, b.order[i].x) || sortKey(0, a.order[i].item) != sortKey(0, b.order[i].item) {
			return false
		}
	}
	return a.filter == nil || expr.Equal(a.filter, b.filter)
}

// bindAggregate binds arguments, constants and FILTER of a call. Over a window, the arguments may
// themselves be aggregates of groups.
func (x exprs) bindAggregate(e *syntax.Call) (aggregateCall, error) {
	fn := agg.Lookup(e.Name)
	call := aggregateCall{spec: agg.Spec{Name: fn.Name}, at: e.At, distinct: e.Distinct}
	inner := x
	inner.inAggregate = !x.inWindow || x.inAggregate
	inner.around = e.At
	if e.Filter != nil {
		f := inner
		f.clause, f.windows, f.around = clauseFilter, false, e.Filter.Span()
		cond, err := f.condition(e.Filter)
		if err != nil {
			return call, err
		}
		if _, null := e.Filter.(*syntax.Null); null {
			return call, fault.InvalidSQL(e.Filter.Span(), "FILTER clause must be a condition")
		}
		call.filter = cond
	}
	args := e.Args
	if fn.Counts {
		if len(args) == 1 {
			if star, ok := args[0].(*syntax.Star); ok && len(star.Parts) == 0 && !e.Distinct {
				args = nil
			}
		} else if len(args) == 0 {
			return call, aggregateArity(e, 1)
		}
	}
	descending := false
	if fn.WithinGroup {
		var err error
		if args, descending, err = withinGroup(e); err != nil {
			return call, err
		}
	}
	wanted := fn.MaxArgs
	if fn.TimeImplied {
		wanted--
	}
	if fn.Counts {
		wanted = len(args)
	}
	if fn.Sketch {
		wanted = sketchColumns(fn, args)
	}
	least := min(fn.MinArgs, wanted) + fn.MinParams
	if len(args) < least || len(args) > wanted+fn.MaxParams {
		return call, aggregateArity(e, least)
	}
	columns, params := args, []syntax.Expr(nil)
	if len(args) > wanted {
		columns, params = args[:wanted], args[wanted:]
	}
	bound, err := inner.list(columns)
	if err != nil {
		return call, err
	}
	if fn.Sketch {
		if err := x.checkSketchCall(e, params); err != nil {
			return call, err
		}
	}
	for i, p := range params {
		v, err := inner.constantParam(e, len(columns)+i, p, typeOfParam(fn, i))
		if err != nil {
			return call, err
		}
		call.spec.Params = append(call.spec.Params, v)
	}
	if descending {
		call.spec.Params = append(call.spec.Params, agg.Descending)
	}
	if fn.ByTime && wanted < fn.MaxArgs {
		t, err := x.resolve(syntax.Ident{Pos: e.Pos, Name: plan.TimeColumn})
		if err != nil { // of a join, the time of the relation that stands first
			t = x.scope.first(plan.TimeColumn)
		}
		if t == nil {
			if t, err = x.resolve(syntax.Ident{Pos: e.Pos, Name: hiddenTime}); err != nil {
				return call, err
			}
		}
		if t == nil {
			return call, fault.InvalidSQL(e.At, "LATEST and EARLIEST aggregators implicitly depend on the __time column, but the table queried "+
				"doesn't contain a __time column. Please use LATEST_BY or EARLIEST_BY and specify the column explicitly.")
		}
		bound = append(bound, t)
	}
	if fn.Counts && len(bound) > 1 && !e.Distinct { // rows in which none is NULL
		var terms []expr.Expr
		if call.filter != nil {
			terms = append(terms, call.filter)
		}
		for _, b := range bound {
			known, err := x.callOf("IS NOT NULL", []expr.Expr{b}, e.At)
			if err != nil {
				return call, err
			}
			terms = append(terms, known)
		}
		if call.filter, err = expr.NewAnd(terms, e.At); err != nil {
			return call, err
		}
		bound = nil
	}
	call.args = bound
	if fn, err = x.ofSeveral(fn, &call, e.At); err != nil {
		return call, err
	}
	if err := x.typeAggregate(fn, &call, e); err != nil {
		return call, err
	}
	return call, inner.orderAggregate(fn, &call, e)
}

// orderAggregate binds the ORDER BY of a call. Functions whose result does not depend on the order
// of the rows take and ignore one.
func (x exprs) orderAggregate(fn *agg.Function, call *aggregateCall, e *syntax.Call) error {
	items := e.OrderBy
	if len(items) == 0 {
		items = e.WithinGroup
	}
	for i := range items {
		o, err := x.bind(items[i].X)
		if err != nil {
			return err
		}
		if err := sortable(o.Type(), items[i].X); err != nil {
			return err
		}
		call.order = append(call.order, windowOrder{o, &items[i]})
	}
	switch {
	case len(call.order) == 0:
	case !fn.InOrder:
		call.order = nil
	case x.inWindow:
		return fault.InvalidSQL(e.At, "An aggregate over a window can't have an ORDER BY of its own")
	case e.Distinct:
		ascending := sortKey(0, call.order[0].item) == plan.SortKey{NullsFirst: true}
		same := expr.Equal(call.order[0].x, call.args[0])
		switch {
		case len(call.order) > 1 || !same && syntax.Print(items[0].X) != syntax.Print(e.Args[0]):
			return fault.InvalidSQL(e.At, "An aggregate of DISTINCT values can be ordered by these values only")
		case ascending:
			call.order = nil // as different values come anyway
		case !call.distinct || !same: // the elements of lists, or texts of what is no text
			return fault.InvalidSQL(e.At, "An aggregate of DISTINCT values of type [%s] can only be ordered ascending, with NULL first", call.order[0].x.Type())
		}
	}
	return nil
}

// withinGroup returns the arguments of f(constant) WITHIN GROUP (ORDER BY x) as those of f(x,
// constant), which is the other form.
func withinGroup(e *syntax.Call) (args []syntax.Expr, descending bool, err error) {
	switch {
	case len(e.WithinGroup) > 1:
		return nil, false, fault.InvalidSQL(e.WithinGroup[1].X.Span(), "WITHIN GROUP of function [%s] takes one value to order by", e.Name)
	case len(e.WithinGroup) == 0 && len(e.Args) == 1:
		return nil, false, fault.InvalidSQL(e.At, "Function [%s] needs the values: [%s(%s) WITHIN GROUP (ORDER BY column)]", e.Name, e.Name, syntax.Print(e.Args[0]))
	case len(e.WithinGroup) == 0 && len(e.Args) == 2:
		return e.Args, false, nil
	case len(e.WithinGroup) == 0:
		return nil, false, aggregateArity(e, 2)
	case len(e.Args) != 1:
		return nil, false, aggregateArity(e, 1)
	}
	item := e.WithinGroup[0]
	return []syntax.Expr{item.X, e.Args[0]}, sortKey(0, &item).Desc, nil
}

// argumentName is what messages call the first argument: a column by its name, anything else as it
// is written.
func argumentName(e *syntax.Call, call *aggregateCall) string {
	if c, ok := call.args[0].(*expr.Column); ok {
		return c.Name
	}
	return syntax.Print(e.Args[0])
}

func aggregateArity(e *syntax.Call, least int) error {
	return fault.InvalidSQL(e.At, "Invalid number of arguments to function '%s'. Was expecting %d arguments", e.Name, least)
}

// typeOfParam is the type that parameter i of an aggregate must have; Null: any.
func typeOfParam(fn *agg.Function, i int) expr.Base {
	switch fn.ParamKind(i) {
	case agg.TextParam:
		return expr.Varchar
	case agg.BooleanParam:
		return expr.Boolean
	case agg.LongParam:
		return expr.BigInt
	}
	return expr.Null
}

// constantParam returns the value of an argument that must be a literal, as text or, if it is one,
// as a number if that is wanted.
func (x exprs) constantParam(e *syntax.Call, i int, p syntax.Expr, want expr.Base) (any, error) {
	bound, err := x.bind(p)
	if err != nil {
		return nil, err
	}
	if want == expr.Varchar && !bound.Type().IsCharacter() {
		if bound, err = expr.NewCast(bound, expr.Of(expr.Varchar), p.Span()); err != nil {
			return nil, err
		}
	}
	if bound, err = expr.Fold(bound, &x.b.env); err != nil {
		return nil, err
	}
	l, ok := bound.(*expr.Literal)
	if !ok || l.Value == nil {
		return nil, fault.InvalidSQL(p.Span(), "Argument [%d] of function [%s] must be a literal", i+1, e.Name)
	}
	if want != expr.Boolean && l.T.Base == expr.Boolean {
		return nil, fault.InvalidSQL(p.Span(), "Argument [%d] of function [%s] can't be TRUE or FALSE", i+1, e.Name)
	}
	if want == expr.Boolean && l.T.Base != want {
		return nil, fault.InvalidSQL(p.Span(), "Argument [%d] of function [%s] must be TRUE or FALSE", i+1, e.Name)
	}
	switch v := l.Value.(type) {
	case float32:
		return float64(v), nil
	case string:
		if n, number := expr.ParseLong(v); number && want == expr.BigInt {
			return n, nil
		}
		return v, nil
	default:
		return v, nil
	}
}

// typeAggregate casts the arguments to what the function takes, and finds the result type.
func (x exprs) typeAggregate(fn *agg.Function, call *aggregateCall, e *syntax.Call) error {
	t := expr.Type{}
	if len(call.args) > 0 {
		t = call.args[0].Type()
		if t.Base == expr.Row {
			return notYet(e.At, "A row as the argument of an aggregate")
		}
	}
	var err error
	if fn.Sketch {
		err = typeSketch(fn, call, e)
	}
	if fn.Casts != agg.AsIs {
		if err = x.castArguments(fn, call, e); fn.Casts == agg.ToBoolean {
			t = call.args[0].Type()
		}
	}
	switch {
	case fn.CountsDifferent && !fn.Sketch:
		if t.Base == expr.Array {
			return aggregateType(call, e, "SCALAR")
		}
		call.args[0] = uncast(call.args[0])
	case fn.Counts:
		err = x.typeCount(call, e)
	case fn.Casts == agg.ToText:
		if call.distinct && err == nil && call.args[0].Type().Runtime().Kind == vector.KindList {
			call.spec.Name, call.distinct = fn.SortedForm, false
		}
	case fn.Compares:
		switch t.Base {
		case expr.Other:
			return aggregateType(call, e, "COMPARABLE_TYPE")
		case expr.Array:
			return fault.InvalidSQL(fault.Span{}, "Aggregation [%s] does not support type [%s], column [%s]", fn.Name, t.Runtime(), argumentName(e, call))
		}
	case fn.WholeTexts != nil:
		if fn.ByTime && !call.args[1].Type().IsTime() {
			return aggregateType(call, e, "ANY>, <TIMESTAMP")
		}
		if t.Multi && len(call.spec.Params) == 0 {
			call.spec.Params = slices.Clone(fn.WholeTexts)
		}
		t, err = x.sizedArgument(call, e)
	}
	if err != nil {
		return err
	}
	if fn.Duplicates {
		call.distinct = false
	}
	for _, a := range call.args {
		call.spec.Args = append(call.spec.Args, a.Type().Runtime())
	}
	result, err := call.spec.ResultType()
	if err != nil {
		if f := fault.Find(err); f != nil {
			return fault.InvalidSQL(e.At, "%s", f.Message)
		}
		return err
	}
	call.typ = aggregateResult(fn, t, result)
	return nil
}

// castArguments makes of the arguments what the function takes.
func (x exprs) castArguments(fn *agg.Function, call *aggregateCall, e *syntax.Call) (err error) {
	for i, a := range call.args {
		t := a.Type()
		plain := t.IsNumeric() || t.IsCharacter() && !t.Multi || t.Base == expr.Boolean || t.Base == expr.Null
		switch {
		case fn.Casts == agg.ToNumber:
			call.args[i], err = asNumber(fn, call, a, e)
		case fn.Casts == agg.ToLong && (t.IsInteger() || t.IsCharacter() || t.Base == expr.Null || fn.TakesFractions && t.IsNumeric()):
			call.args[i], err = x.asLong(a, e)
		case fn.Casts == agg.ToLong:
			return aggregateType(call, e, "INTEGER")
		case fn.Casts == agg.ToDouble && plain:
			call.args[i], err = expr.NewCast(a, expr.Of(expr.Double), e.At)
		case fn.Casts == agg.ToDouble:
			return aggregateType(call, e, "NUMERIC"+strings.Repeat(">, <NUMERIC", len(call.args)-1))
		case fn.Casts == agg.ToBoolean && plain:
			call.args[i], err = expr.NewCast(a, expr.Of(expr.Boolean), e.At)
		case fn.Casts == agg.ToBoolean:
			return aggregateType(call, e, "BOOLEAN")
		case fn.Casts == agg.ToText:
			call.args[i], err = asText(a, e.At)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// asLong makes a whole number of an argument. A text of a column that is none counts as 0, as in
// Druid; those of a multi-value string the aggregate reads itself. See quirk Q009.
func (x exprs) asLong(a expr.Expr, e *syntax.Call) (expr.Expr, error) {
	if a.Type().Multi {
		return a, nil
	}
	if c, ok := a.(*expr.Cast); ok && c.T.IsInteger() && c.X.Type().IsCharacter() {
		if _, column := c.X.(*expr.Column); column {
			a = c.X
		}
	}
	whole, err := expr.NewCast(a, expr.Of(expr.BigInt), e.At)
	if _, column := a.(*expr.Column); err != nil || !column || !a.Type().IsCharacter() {
		return whole, err
	}
	some, err := x.callOf("IS NOT NULL", []expr.Expr{a}, e.At)
	if err != nil {
		return nil, err
	}
	zero := &expr.Case{Whens: []expr.When{{Cond: some, Then: longLiteral(0)}}, T: expr.Of(expr.BigInt)}
	return x.callOf("COALESCE", []expr.Expr{whole, zero}, e.At)
}

// asText makes text of an argument: of an array by element, of a time as its milliseconds.
func asText(a expr.Expr, at fault.Span) (expr.Expr, error) {
	switch t := a.Type(); {
	case t.IsCharacter():
		return a, nil
	case t.Base == expr.Array:
		return expr.NewCast(a, expr.ArrayOf(expr.Of(expr.Varchar)), at)
	case t.IsTime():
		var err error
		if a, err = expr.NewCast(a, expr.Of(expr.BigInt), at); err != nil {
			return nil, err
		}
	}
	return expr.NewCast(a, expr.Of(expr.Varchar), at)
}

// asNumber makes a number of an argument that is none.
func asNumber(fn *agg.Function, call *aggregateCall, a expr.Expr, e *syntax.Call) (expr.Expr, error) {
	t := a.Type()
	switch {
	case t.IsNumeric():
		return expr.Unrounded(a), nil
	case t.Multi: // rows of one value count
		return onlyValue(a, expr.Of(expr.Double), e.At)
	case t.IsCharacter() || t.Base == expr.Null:
		return expr.NewCast(a, expr.Of(expr.Double), e.At)
	case t.Base == expr.Other && !fn.Adds(), fn.MergesKept && t.Runtime() == agg.MeanType:
		return a, nil // of a rolled-up column
	}
	return nil, aggregateType(call, e, "NUMERIC")
}

// sizedArgument makes text of the argument of a call that says how long the text may be: of a time
// its milliseconds. Numbers and arrays stay what they are. It returns the argument's type.
func (x exprs) sizedArgument(call *aggregateCall, e *syntax.Call) (t expr.Type, err error) {
	t = call.args[0].Type()
	if len(call.spec.Params) > 0 {
		if _, text := call.spec.Params[0].(string); text {
			return t, aggregateType(call, e, "ANY>, <NUMERIC")
		}
	}
	if t.Base == expr.Array {
		call.spec.Params = nil
	}
	if t.Base != expr.Null && (len(call.spec.Params) == 0 || !t.IsTime()) {
		return t, nil
	}
	if t.IsTime() {
		if call.args[0], err = expr.NewCast(call.args[0], expr.Of(expr.BigInt), e.At); err != nil {
			return t, err
		}
	}
	call.args[0], err = expr.NewCast(call.args[0], expr.Of(expr.Varchar), e.At)
	return call.args[0].Type(), err
}

// aggregateResult returns the SQL type of a result, of which arg is the type of the first argument:
// that type where values are passed on, else the type of the physical result.
func aggregateResult(fn *agg.Function, arg expr.Type, result vector.Type) expr.Type {
	t := expr.FromRuntime(result, false)
	if fn.EmptyIsZero {
		return t.NotNull()
	}
	if arg.Base == expr.Other && arg.Runtime() != result { // of a rolled-up column
		return t
	}
	arg.Nullable = true
	switch fn.Gives {
	case agg.GivesOwn:
		return t
	case agg.GivesIntegers:
		if arg.Base == expr.Null || arg.IsInteger() {
			return arg
		}
		return t
	case agg.GivesArrays:
		if arg.Multi {
			arg = expr.ArrayOf(arg.Elem())
		}
		return expr.ArrayOf(arg)
	}
	if arg.Base != expr.Invalid && arg.Runtime() == result {
		return arg
	}
	return t
}

// typeCount settles what COUNT counts: rows, values, or with DISTINCT different values, by a sketch
// if the context says so.
func (x exprs) typeCount(call *aggregateCall, e *syntax.Call) error {
	if len(call.args) == 0 {
		return nil
	}
	t := call.args[0].Type()
	switch {
	case call.distinct && len(call.args) > 1:
		return x.tupleArgument(call, e)
	case call.distinct && x.b.settings.approximateDistinct && t.Base != expr.Array && t.Base != expr.Null ||
		call.distinct && t.Base == expr.Other && t.ComplexName() == "hyperUnique":
		call.spec.Name = "APPROX_COUNT_DISTINCT"
		call.distinct = false
	case call.distinct && t.Multi: // counts the different values of all rows
	case t.Multi:
		// A row counts once, if it has a value at all.
		some, err := x.callOf("IS NOT NULL", call.args[:1], e.At)
		if err != nil {
			return err
		}
		call.args[0] = &expr.Case{Whens: []expr.When{{Cond: some, Then: longLiteral(1)}}, T: expr.Of(expr.BigInt)}
	case !t.Nullable && !call.distinct:
		call.args = nil // counts every row
	}
	return nil
}

// tupleArgument makes one argument of several, NULL when one of them is: COUNT(DISTINCT a, b)
// counts the different arrays [a, b].
func (x exprs) tupleArgument(call *aggregateCall, e *syntax.Call) error {
	items := make([]expr.Expr, len(call.args))
	var whens []expr.When
	arrayType := expr.ArrayOf(expr.Of(expr.Varchar))
	for i, a := range call.args {
		text, err := expr.NewCast(a, expr.Of(expr.Varchar), e.Args[i].Span())
		if err != nil {
			return err
		}
		items[i] = text
		missing, err := x.callOf("IS NULL", []expr.Expr{a}, e.At)
		if err != nil {
			return err
		}
		whens = append(whens, expr.When{Cond: missing, Then: &expr.Literal{T: arrayType}})
	}
	array, err := x.callOf("ARRAY", items, e.At)
	if err != nil {
		return err
	}
	tuple, err := expr.NewCase(whens, array, e.At)
	if err != nil {
		return err
	}
	call.args = []expr.Expr{tuple}
	return nil
}

func aggregateType(call *aggregateCall, e *syntax.Call, want string) error {
	var text strings.Builder
	for i, a := range call.args {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("<" + expr.TypeText(a) + ">")
	}
	return fault.InvalidSQL(e.At, "Cannot apply '%s' to arguments of type '%s(%s)'. Supported form(s): '%s(<%s>)'", e.Name, e.Name, text.String(), e.Name, want)
}

// grouping binds GROUPING(a, b): a bit for each key, 1 where the row's grouping set leaves it out.
func (x exprs) grouping(e *syntax.Call) (expr.Expr, error) {
	switch {
	case !x.aggregates && x.clause != "ORDER BY":
		return nil, fault.InvalidSQL(e.At, "GROUPING operator may only occur in SELECT, HAVING or ORDER BY clause")
	case !x.grouped:
		return nil, fault.InvalidSQL(e.At, "GROUPING operator may only occur in an aggregate query")
	case len(e.Args) == 0 || len(e.Args) > 62:
		return nil, fault.InvalidSQL(e.At, "Invalid number of arguments to function 'GROUPING'. Was expecting 1 to 62 arguments")
	}
	inner := x
	inner.inAggregate, inner.inGrouping, inner.around = true, true, e.At
	args, err := inner.list(e.Args)
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		if x.keyIndex(a) < 0 {
			return nil, fault.InvalidSQL(e.Args[i].Span(), "Argument to GROUPING operator must be a grouped expression")
		}
	}
	return x.addAggregate(aggregateCall{spec: agg.Spec{Name: "GROUPING"}, args: args, grouping: true, typ: expr.Of(expr.BigInt).NotNull(), at: e.At})
}

// keyIndex returns the position of e among the block's keys, or -1.
func (blk *block) keyIndex(e expr.Expr) int {
	for i, k := range blk.keys {
		if expr.Equal(k, e) {
			return i
		}
	}
	return -1
}
