package sql

import (
	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// ofSeveral settles what a function makes of arguments that have several values per row, and
// returns the function that runs. ARRAY_AGG and STRING_AGG collect the values one by one, MIN and
// MAX of texts look at each, and what counts different values does where they are only cast; of
// other numbers and times the rows with one value count.
func (x exprs) ofSeveral(fn *agg.Function, call *aggregateCall, at fault.Span) (*agg.Function, error) {
	for i, a := range call.args {
		t := a.Type()
		var err error
		switch {
		case !t.Multi || fn.TakesSeveral:
		case fn.OfLists != "":
			call.args[i], err = x.rowValues(a, at)
			fn = agg.Lookup(fn.OfLists)
			call.spec.Name = fn.Name
		case t.IsCharacter() && fn.OfValues != "":
			call.args[i], err = x.callOf(fn.OfValues, []expr.Expr{a}, at)
		case !t.IsCharacter() && fn.Casts == agg.ToLong && t.IsInteger() && castColumn(a) != nil:
			call.args[i] = castColumn(a)
		case t.IsNumeric() && countsDifferent(fn, call) && castColumn(a) != nil:
			call.args[i], err = expr.NewCast(a, expr.Of(expr.Varchar), at) // equal numbers have equal texts
		case !t.IsCharacter():
			call.args[i], err = onlyValue(a, t.Elem(), at)
		}
		if err != nil {
			return nil, err
		}
	}
	return fn, nil
}

// onlyValue is the value of rows that have one, cast to a type, and NULL for others.
func onlyValue(several expr.Expr, to expr.Type, at fault.Span) (expr.Expr, error) {
	list, err := expr.NewCast(several, expr.ArrayOf(several.Type().Elem()), at)
	if err != nil {
		return nil, err
	}
	return expr.NewCast(list, to, at)
}

// countsDifferent reports whether a call tells how many different values there are, or makes a
// sketch that does.
func countsDifferent(fn *agg.Function, call *aggregateCall) bool {
	return fn.CountsDifferent || fn.Counts && call.distinct
}

// castColumn returns the multi-value column whose values a casts, and does nothing else with; nil:
// it is no such cast. Functions of bits read the texts of one themselves.
func castColumn(a expr.Expr) expr.Expr {
	each, ok := a.(*expr.Each)
	if !ok {
		return nil
	}
	column, isColumn := each.Source.(*expr.Column)
	c, isCast := each.Body.(*expr.Cast)
	if !isColumn || !isCast {
		return nil
	}
	if _, value := c.X.(*expr.Element); !value {
		return nil
	}
	return column
}

// rowValues returns several values as an array, which has a NULL where there are none.
func (x exprs) rowValues(several expr.Expr, at fault.Span) (expr.Expr, error) {
	elem := several.Type().Elem()
	var values expr.Expr
	var err error
	if elem.IsCharacter() {
		values, err = x.callOf("MV_TO_ARRAY", []expr.Expr{several}, at)
	} else {
		values, err = expr.NewCast(several, expr.ArrayOf(elem), at)
	}
	if err != nil {
		return nil, err
	}
	none, err := x.callOf("ARRAY", []expr.Expr{&expr.Literal{T: elem}}, at)
	if err != nil {
		return nil, err
	}
	return x.callOf("COALESCE", []expr.Expr{values, none}, at)
}
