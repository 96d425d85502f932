package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// shownForm is the plan that EXPLAIN PLAN FOR shows: of the form that Apache Druid plans, which has
// only what the text asks for. See quirk Q015.
type shownForm struct{}

// shown are the settings of a plan that is shown, which adds nothing to the text: no order of
// groups, no buckets without rows, no error for rows in several groups.
func (s settings) shown() settings {
	s.skipEmptyBuckets, s.keyOrder, s.oneValue = true, false, false
	return s
}

// approximate makes fractions of numbers with an exponent, as of those with a point, also where
// they are whole.
func (shownForm) approximate() expr.Type { return expr.Of(expr.Decimal).NotNull() }

func (shownForm) testsValues() bool     { return false }
func (shownForm) callsGrouping() bool   { return true }
func (shownForm) distinctByOrder() bool { return true }
func (shownForm) readsSketches() bool   { return false }

// isConstant is false where rows are more than literals: such rows are queries of their own.
func (shownForm) isConstant(v *syntax.Values) bool {
	return !slices.ContainsFunc(v.Rows, isComputedRow)
}

// isComputedRow reports whether a row of VALUES is more than literals.
func isComputedRow(r *syntax.Row) bool {
	return slices.ContainsFunc(r.Items, func(e syntax.Expr) bool {
		switch e.(type) {
		case *syntax.Call, *syntax.Binary, *syntax.Cast:
			return true
		}
		return false
	})
}

// terms has conditions on values of subqueries in the order of the text, and those behind a NOT IN
// after it.
func (shownForm) terms(blk *block, terms []expr.Expr) (plain, with, behind []expr.Expr) {
	if slices.ContainsFunc(terms, blk.readsValues) {
		return nil, terms, nil
	}
	for _, term := range terms {
		switch {
		case hasPlaceholder(term, subqueryBase, correlatedBase):
			with = append(with, term)
		case slices.ContainsFunc(with, isNegated):
			behind = append(behind, term)
		default:
			plain = append(plain, term)
		}
	}
	return plain, with, behind
}

// readsValues reports whether a term compares what subqueries give and is none itself.
func (blk *block) readsValues(term expr.Expr) bool {
	if !hasPlaceholder(term, subqueryBase, correlatedBase) {
		return false
	}
	s, _ := blk.termSubquery(term)
	return s == nil
}

func isNegated(term expr.Expr) bool {
	_, ok := term.(*expr.Not)
	return ok
}

func (shownForm) asked(blk *block, e expr.Expr) expr.Expr { return blk.askedInside(e) }

func (shownForm) aggregated(blk *block, filter expr.Expr) expr.Expr {
	return blk.truth(filter, ifFound)
}

// compared joins queries that use no columns of the query around them.
func (shownForm) compared(blk *block, n plan.Node, s *subquery, operands []expr.Expr, b *boolBuilder) (plan.Node, expr.Expr, bool, error) {
	if len(s.corr.outer) > 0 {
		return n, nil, false, nil
	}
	joined, value, err := blk.attachShown(n, s, operands, b)
	return joined, value, true, err
}

// Comparisons with queries in a plan that is shown: joined as Druid does, which differs from what
// runs. It joins how many rows the query gives, and how many values, with every row; of IN then its
// values, each once and with a mark. A CASE tells of these what the comparison is. See quirk Q015.

// truthAsked says of a subquery what of it is asked for.
type truthAsked uint8

const (
	asValue truthAsked = iota // also whether it is unknown
	ifTrue                    // only whether it is true
	ifFound                   // quirk Q015: only whether it is true, where Druid does not count its rows either
)

// comparisonMark is the name of the column that says which row of a join has found a value.
const comparisonMark = "i"

// attachShown joins the query that operands are compared with, and returns what the comparison is.
func (blk *block) attachShown(n plan.Node, s *subquery, operands []expr.Expr, b *boolBuilder) (plan.Node, expr.Expr, error) {
	if s.kind == quantifiedQuery {
		return blk.attachShownExtreme(n, s, operands[0], b)
	}
	var whens []expr.When
	answer := func(cond expr.Expr, value *expr.Literal) {
		if cond != nil {
			whens = append(whens, expr.When{Cond: cond, Then: value})
		}
	}
	unknown := &expr.Literal{T: expr.Of(expr.Boolean)}
	if s.asked != asValue {
		unknown = boolLiteral(false)
	}
	var fewer expr.Expr
	if s.asked != ifFound && s.mayBeUnknown(operands) {
		counts := []plan.AggCall{countRows("c")}
		if s.asked == asValue {
			counts = append(counts, s.countValues("ck"))
		}
		j, first, err := blk.joinShown(n, s, &plan.Aggregate{Input: s.rel.node, Aggs: counts})
		if err != nil {
			return nil, nil, err
		}
		n = j
		answer(b.compare("=", columnOf(j, first), longLiteral(0)), boolLiteral(false))
		if s.asked == asValue {
			fewer = b.compare("<", columnOf(j, first+1), columnOf(j, first))
		}
	}
	var missing []expr.Expr
	for _, o := range operands {
		if o.Type().Nullable {
			missing = append(missing, b.call("IS NULL", o))
		}
	}
	if len(missing) > 0 {
		answer(b.or(missing), unknown)
	}
	width := len(s.rel.cols)
	marked := plan.Extend(s.rel.node, []expr.Expr{longLiteral(1)}, []string{comparisonMark})
	equal := *s
	equal.operands = operands
	j, first, err := blk.joinSubquery(n, &equal, plan.Left, &plan.Aggregate{Input: marked, Keys: firstN(width + 1)})
	if err != nil {
		return nil, nil, err
	}
	answer(b.call("IS NOT NULL", columnOf(j, first+width)), boolLiteral(true))
	answer(fewer, unknown)
	return j, b.choose(whens, boolLiteral(false)), b.err
}

// attachShownExtreme joins the least or greatest value of a query, which an operand is compared
// with. ALL is that there is none of which the opposite is true.
func (blk *block) attachShownExtreme(n plan.Node, s *subquery, operand expr.Expr, b *boolBuilder) (plan.Node, expr.Expr, error) {
	op, fn := s.op, "MAX"
	if s.all {
		op = opposites[op]
	}
	if op == ">" || op == ">=" {
		fn = "MIN"
	}
	t := plan.ColumnAt(s.rel.node, 0).Type.OrNull(true)
	extreme := plan.AggCall{Agg: agg.Spec{Name: fn, Args: []vector.Type{t.Runtime()}}, Args: []int{0}, Filter: -1, Name: "m", Type: t}
	j, first, err := blk.joinShown(n, s, &plan.Aggregate{Input: s.rel.node, Aggs: []plan.AggCall{extreme, countRows("c"), s.countValues("d")}})
	if err != nil {
		return nil, nil, err
	}
	holds := b.compare(op, operand, columnOf(j, first))
	rows, values := columnOf(j, first+1), columnOf(j, first+2)
	some := b.choose([]expr.When{
		{Cond: b.compare("=", rows, longLiteral(0)), Then: boolLiteral(false)},
		{Cond: b.call("IS TRUE", holds), Then: boolLiteral(true)},
		{Cond: b.compare(">", rows, values), Then: &expr.Literal{T: expr.Of(expr.Boolean)}},
	}, holds)
	if s.all {
		return j, b.not(some), b.err
	}
	return j, some, b.err
}

// opposites are the comparisons that are true where others are false.
var opposites = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// countValues counts the rows of an IN or quantified subquery that have no NULL.
func (s *subquery) countValues(name string) plan.AggCall {
	c := countRows(name)
	for i := range s.rel.cols {
		c.Args = append(c.Args, i)
		c.Agg.Args = append(c.Agg.Args, plan.ColumnAt(s.rel.node, i).Type.Runtime())
	}
	return c
}

// mayBeUnknown reports whether operands, or what an IN subquery gives, may be NULL.
func (s *subquery) mayBeUnknown(operands []expr.Expr) bool {
	nullable := func(e expr.Expr) bool { return e.Type().Nullable }
	return slices.ContainsFunc(operands, nullable) || slices.ContainsFunc(s.rel.node.Columns(), func(c plan.Column) bool { return c.Type.Nullable })
}

// joinShown joins the one row of an aggregation with every row of n.
func (blk *block) joinShown(n plan.Node, s *subquery, row plan.Node) (plan.Node, int, error) {
	plain := *s
	plain.kind = existsQuery // so that its operands are not compared
	return blk.joinSubquery(n, &plain, plan.Inner, row)
}

// askedInside returns an expression of a plan that is shown in which IN subqueries that are
// conditions of a CASE, or are asked whether they are true, tell no more than that.
func (blk *block) askedInside(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		switch x := e.(type) {
		case *expr.Case:
			out := &expr.Case{Else: x.Else, T: x.T}
			for _, when := range x.Whens {
				out.Whens = append(out.Whens, expr.When{Cond: blk.truth(when.Cond, ifTrue), Then: when.Then})
			}
			return out
		case *expr.Call:
			if x.Fn.Name == "IS TRUE" {
				return blk.truth(x.Args[0], ifFound)
			}
		}
		return e
	})
}
