package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// form is asked by the binder wherever a text has several plans with the same rows. running is the
// one of statements that are run; shownForm (shown.go) that of EXPLAIN PLAN FOR.
type form interface {
	// approximate is the type of a number with an exponent.
	approximate() expr.Type
	// isConstant reports whether VALUES may be constant rows, if its expressions turn out to be
	// constants.
	isConstant(v *syntax.Values) bool
	// testsValues reports whether MV_CONTAINS and MV_OVERLAP become comparisons of single values.
	testsValues() bool
	// terms divides those of a condition: into what is asked before the subqueries are joined, what
	// has subqueries, and what is asked after all of them.
	terms(blk *block, terms []expr.Expr) (plain, with, behind []expr.Expr)
	// asked is an expression in which subqueries are asked no more than it needs to know.
	asked(blk *block, e expr.Expr) expr.Expr
	// aggregated is the FILTER of an aggregate in the same way.
	aggregated(blk *block, filter expr.Expr) expr.Expr
	// compared joins a query that operands are compared with, and returns what the comparison is; ok
	// is false where it does nothing of its own.
	compared(blk *block, n plan.Node, s *subquery, operands []expr.Expr, b *boolBuilder) (
		joined plan.Node, value expr.Expr, ok bool, err error)
	// callsGrouping reports whether GROUPING is an aggregate; else it is computed of the grouping set.
	callsGrouping() bool
	// distinctByOrder reports whether rows are distinct by what they are ordered by, too.
	distinctByOrder() bool
	// readsSketches reports whether sketches are shown as what is read of the answers of data servers.
	readsSketches() bool
}

type running struct{}

func (running) approximate() expr.Type                          { return expr.Of(expr.Double).NotNull() }
func (running) isConstant(*syntax.Values) bool                  { return true }
func (running) testsValues() bool                               { return true }
func (running) asked(_ *block, e expr.Expr) expr.Expr           { return e }
func (running) aggregated(_ *block, filter expr.Expr) expr.Expr { return filter }
func (running) callsGrouping() bool                             { return false }
func (running) distinctByOrder() bool                           { return false }
func (running) readsSketches() bool                             { return true }

func (running) terms(_ *block, terms []expr.Expr) (plain, with, behind []expr.Expr) {
	for _, term := range terms {
		if hasPlaceholder(term, subqueryBase, correlatedBase) {
			with = append(with, term)
		} else {
			plain = append(plain, term)
		}
	}
	return plain, with, nil
}

func (running) compared(_ *block, n plan.Node, _ *subquery, _ []expr.Expr, _ *boolBuilder) (plan.Node, expr.Expr, bool, error) {
	return n, nil, false, nil
}
