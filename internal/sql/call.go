package sql

import (
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/expr/stringfn"
	"github.com/hengedb/henge/internal/expr/timefn"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// call binds a function call: a window call, an aggregate, one of the special forms, or a function
// of the catalog.
func (x exprs) call(e *syntax.Call) (expr.Expr, error) {
	switch {
	case e.Over != nil:
		return x.windowCall(e)
	case isAggregate(e.Name), e.Name == "GROUPING":
		return x.aggregateOf(e, x.levelsOut(e))
	case windowFunctions[e.Name] != nil:
		return nil, fault.InvalidSQL(e.At, "OVER clause is necessary for window functions")
	}
	switch {
	case e.Distinct:
		return nil, fault.InvalidSQL(e.At, "DISTINCT/ALL not allowed with %s function", e.Name)
	case e.Filter != nil:
		return nil, fault.InvalidSQL(e.At, "FILTER must not be applied to function [%s], which is not an aggregate", e.Name)
	case len(e.OrderBy) > 0 || len(e.WithinGroup) > 0:
		return nil, fault.InvalidSQL(e.At, "ORDER BY is not allowed with function [%s], which is not an aggregate", e.Name)
	case e.Nulls != syntax.NullTreatmentDefault:
		return nil, fault.InvalidSQL(e.At, "Cannot specify IGNORE NULLS or RESPECT NULLS following '%s'", e.Name)
	}
	switch e.Name {
	case "EXTRACT":
		return x.extract(e)
	case "FLOOR", "CEIL", "CEILING":
		if len(e.Args) == 2 {
			if unit, ok := e.Args[1].(*syntax.Symbol); ok {
				return x.floorTo(e, unit)
			}
		}
	case "TRIM":
		return x.trim(e)
	case "CURRENT_USER_ATTRIBUTE":
		return x.userAttribute(e)
	case "CURRENT_ROLES":
		return x.currentRoles(e)
	case "JSON_VALUE":
		returning := expr.Of(expr.Varchar)
		if e.JSON != nil && e.JSON.Returning != nil {
			var err error
			if returning, err = typeOf(e.JSON.Returning); err != nil {
				return nil, err
			}
		}
		return x.jsonValue(e, returning)
	}
	args, err := x.arguments(e)
	if err != nil {
		return nil, err
	}
	return x.callOf(e.Name, args, e.At)
}

// arguments binds the arguments of an ordinary call. A time unit becomes its name. A parameter that
// is NULL has the type it was sent with where the function refuses the word NULL, which has none.
func (x exprs) arguments(e *syntax.Call) ([]expr.Expr, error) {
	args := make([]expr.Expr, len(e.Args))
	fn, _ := catalog.Lookup(e.Name)
	for i, a := range e.Args {
		if s, ok := a.(*syntax.Symbol); ok {
			args[i] = stringLiteral(s.Word)
			continue
		}
		if p, ok := a.(*syntax.Param); ok && fn != nil && fn.RefusesNull {
			args[i] = x.b.params[p.Index]
			continue
		}
		if star, ok := a.(*syntax.Star); ok {
			return nil, starArgument(star, e.Name)
		}
		if fn != nil && fn.OfSketches {
			a = sketchOf(a)
		}
		bound, err := x.bind(a)
		if err != nil {
			return nil, err
		}
		args[i] = bound
	}
	return args, nil
}

func unexpectedStar(at *syntax.Star) *fault.Error {
	return fault.InvalidSQL(at.At, "Unknown identifier '%s'", starText(at))
}

// starArgument is the error for f(*) where f is no aggregate that counts rows: it may be a
// misspelled one.
func starArgument(at *syntax.Star, name string) error {
	err := unexpectedStar(at)
	if near := fault.Nearest(name, []string{"COUNT"}); near != "" {
		return err.With("suggestion", near)
	}
	return err
}

// callOf binds a call of the catalog's function name.
func (x exprs) callOf(name string, args []expr.Expr, at fault.Span) (expr.Expr, error) {
	fn, ok := catalog.Lookup(name)
	if !ok {
		err := expr.NoMatch(name, args, at)
		if f := fault.Find(err); f != nil {
			if ours, ok := foreignNames[strings.ToUpper(name)]; ok {
				return nil, propose(f, ours)
			}
			return nil, suggest(f, name, append(catalog.Nearest(name), fault.Nearest(name, agg.Names())))
		}
		return nil, err
	}
	return expr.NewCall(fn, args, at)
}

func (x exprs) extract(e *syntax.Call) (expr.Expr, error) {
	if len(e.Args) != 2 {
		return nil, fault.InvalidSQL(e.At, "Invalid number of arguments to function 'EXTRACT'. Was expecting 2 arguments")
	}
	unit, err := unitOf(e.Args[0])
	if err != nil {
		return nil, err
	}
	inner, err := x.bind(e.Args[1])
	if err != nil {
		return nil, err
	}
	return timefn.NewExtract(unit, inner, e.At)
}

func (x exprs) floorTo(e *syntax.Call, symbol *syntax.Symbol) (expr.Expr, error) {
	unit, err := unitOf(symbol)
	if err != nil {
		return nil, err
	}
	inner, err := x.bind(e.Args[0])
	if err != nil {
		return nil, err
	}
	return timefn.NewFloorTo(unit, inner, e.Name != "FLOOR", e.At)
}

func unitOf(e syntax.Expr) (chrono.Unit, error) {
	if s, ok := e.(*syntax.Symbol); ok {
		if u, ok := chrono.ParseUnit(s.Word); ok {
			return u, nil
		}
		return 0, fault.InvalidSQL(s.At, "'%s' is not a valid time frame", s.Word)
	}
	return 0, fault.InvalidSQL(e.Span(), "Expected a time unit such as DAY")
}

// trim binds TRIM([BOTH|LEADING|TRAILING] [chars] FROM s) and TRIM(s).
func (x exprs) trim(e *syntax.Call) (expr.Expr, error) {
	side, list := "BOTH", e.Args
	if s, ok := firstArg(list).(*syntax.Symbol); ok {
		if side, list = s.Word, list[1:]; side != "BOTH" && side != "LEADING" && side != "TRAILING" {
			return nil, fault.InvalidSQL(s.At, "Expected BOTH, LEADING or TRAILING, got [%s]", s.Word)
		}
	} else if len(list) != 1 {
		return nil, fault.InvalidSQL(e.At, "Invalid number of arguments to function 'TRIM'. Was expecting 1 arguments; BTRIM takes the characters "+
			"as its second")
	}
	args, err := x.list(list)
	if err != nil {
		return nil, err
	}
	switch len(args) {
	case 1:
		return stringfn.NewTrim(side, nil, args[0], e.At)
	case 2:
		return stringfn.NewTrim(side, args[0], args[1], e.At)
	}
	return nil, fault.InvalidSQL(e.At, "Invalid number of arguments to function 'TRIM'. Was expecting 1 to 2 arguments")
}

func firstArg(list []syntax.Expr) syntax.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func (x exprs) jsonValue(e *syntax.Call, returning expr.Type) (expr.Expr, error) {
	if len(e.Args) != 2 {
		return nil, fault.InvalidSQL(e.At, "Invalid number of arguments to function 'JSON_VALUE'. Was expecting 2 arguments")
	}
	if c := e.JSON; c != nil {
		for _, b := range []*syntax.JSONBehavior{c.OnEmpty, c.OnError} {
			if b != nil && b.Kind != syntax.JSONNullValue {
				return nil, fault.InvalidSQL(b.At, "JSON_VALUE can't have a behavior other than NULL ON EMPTY or NULL ON ERROR; use COALESCE to "+
					"replace NULL")
			}
		}
	}
	args, err := x.list(e.Args)
	if err != nil {
		return nil, err
	}
	return expr.NewJSONValue(args[0], args[1], returning, e.At)
}
