package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// tableSample binds x TABLESAMPLE method(percent) [REPEATABLE(seed)]: each row is kept or not by
// itself, by SYSTEM as by BERNOULLI. With a seed the values of a row decide, so that equal rows
// share their fate.
func (blk *block) tableSample(x *syntax.TableSample) (source, error) {
	s, err := blk.table(x.X)
	if err != nil {
		return source{}, err
	}
	percent, err := blk.sampleNumber(x.Percent, "percentage")
	if err != nil {
		return source{}, err
	}
	if !(percent >= 0 && percent <= 100) {
		return source{}, fault.InvalidSQL(x.Percent.Span(), "TABLESAMPLE percentage must be between 0 and 100, inclusive")
	}
	name, args := "RANDOM", []expr.Expr(nil)
	if x.Repeatable != nil {
		seed, err := blk.sampleNumber(x.Repeatable, "seed")
		if err != nil {
			return source{}, err
		}
		name, args = "$SAMPLE", []expr.Expr{longLiteral(int64(seed))}
		for i := range s.node.Columns() {
			args = append(args, columnOf(s.node, i))
		}
	}
	at := x.At
	number, err := expr.NewCall(catalog.MustLookup(name), args, at)
	if err != nil {
		return source{}, err
	}
	bound := &expr.Literal{Value: percent / 100, T: expr.Of(expr.Double).NotNull()}
	cond, err := expr.NewCompare("<", number, bound, at)
	if err != nil {
		return source{}, err
	}
	s.node = &plan.Filter{Input: s.node, Cond: cond}
	return s, nil
}

// sampleNumber is a constant of TABLESAMPLE.
func (blk *block) sampleNumber(e syntax.Expr, what string) (float64, error) {
	x, err := (&block{b: blk.b, scope: &scope{}}).exprs("TABLESAMPLE").bind(e)
	if err == nil {
		x, err = expr.Fold(x, &blk.b.env)
	}
	if err != nil {
		return 0, err
	}
	if l, ok := x.(*expr.Literal); ok {
		switch v := l.Value.(type) {
		case int64:
			return float64(v), nil
		case float64:
			return v, nil
		}
	}
	return 0, fault.InvalidSQL(e.Span(), "The %s of TABLESAMPLE must be a constant number", what)
}
