package sql

import (
	"errors"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// multiInQuery binds "multi-value string IN (query)": whether one of the values is among the rows.
func (x exprs) multiInQuery(operand expr.Expr, s *subquery) (expr.Expr, error) {
	column := columnOf(s.rel.node, 0)
	b := boolBuilder{at: s.at}
	rows, operand, text, err := x.textsToCompare(s.rel.node, operand, &b)
	if err != nil {
		return nil, err
	}
	p := &plan.Project{Input: rows, Exprs: []expr.Expr{text}, Names: []string{column.Name}}
	values := &plan.Aggregate{
		Input: &plan.Aggregate{Input: &plan.Filter{Input: p, Cond: b.call("IS NOT NULL", columnOf(p, 0))}, Keys: []int{0}},
		Aggs: []plan.AggCall{{Agg: agg.Spec{Name: "ARRAY_AGG", Args: []vector.Type{vector.String}, Params: []any{int64(maxInValuesBytes)}},
			Args: []int{0}, Filter: -1, Name: "$values", Type: expr.ArrayOf(expr.Of(expr.Varchar))}},
	}
	s.rel, s.kind = &relational{node: values}, valuesQuery
	list, err := x.addSubquery(s, expr.ArrayOf(expr.Of(expr.Varchar)))
	if err != nil {
		return nil, err
	}
	overlap, err := x.callOf("MV_OVERLAP", []expr.Expr{operand, list}, s.at)
	if err != nil {
		return nil, err
	}
	null := &expr.Literal{T: expr.Of(expr.Boolean)}
	whens := []expr.When{
		{Cond: b.call("IS NULL", list), Then: boolLiteral(false)},
		{Cond: overlap, Then: boolLiteral(true)},
		{Cond: b.call("IS NULL", operand), Then: null},
	}
	return b.choose(whens, boolLiteral(false)), b.err
}

// textsToCompare returns the values of operand and those of the first column of rows as texts,
// which are equal if the values are: those of the type in which the two are compared. NaN, which
// equals nothing, is not among the rows.
func (x exprs) textsToCompare(rows plan.Node, operand expr.Expr, b *boolBuilder) (plan.Node, expr.Expr, expr.Expr, error) {
	text := expr.Of(expr.Varchar)
	compared, err := expr.NewCompare("=", &expr.Column{T: text}, columnOf(rows, 0), b.at)
	if err != nil {
		return nil, nil, nil, incompatibleIn(b.at, operand)
	}
	column := expr.Expr(columnOf(rows, 0))
	if call, ok := compared.(*expr.Call); ok && !call.Args[1].Type().IsCharacter() {
		column = call.Args[1]
		t := column.Type().Plain()
		if t.IsFractional() {
			rows = &plan.Filter{Input: rows, Cond: b.compare("=", column, column)}
			column = b.call("+", column, longLiteral(0)) // which makes one of both zeros
		}
		if operand, err = expr.NewCast(operand, t, b.at); err != nil {
			return nil, nil, nil, err
		}
		if operand, err = expr.NewCast(operand, text, b.at); err != nil {
			return nil, nil, nil, err
		}
	}
	column, err = expr.NewCast(column, text, b.at)
	return rows, operand, column, errors.Join(err, b.err)
}
