package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// expressionPushdown computes what a projection of a join computes from one side on that side,
// where it has fewer rows: a label made of a dimension's columns once per row of the dimension, and
// not for each fact. Only what can't fail moves, for it is then computed of rows without a partner
// too; and from a side that an outer join pads with NULLs only what is NULL for them.
func (o *optimizer) expressionPushdown(n Node) Node {
	if p, ok := n.(*Project); ok {
		if j, ok := p.Input.(*Join); ok {
			n = o.pushExpressions(p, j)
		}
	}
	return MapInputs(n, o.expressionPushdown)
}

func (o *optimizer) pushExpressions(p *Project, j *Join) Node {
	rows, sides := o.rows(j), pushdownSides(j)
	if sides == nil {
		return p
	}
	const worthwhile = 2 // times as many rows
	for _, e := range p.Exprs {
		if isTrivial(e) || !readsSome(e) || !harmless(e) {
			continue
		}
		for i := range sides {
			if s := &sides[i]; s.takes(e) {
				if few := o.fewest(s.input, ShiftColumns(e, -s.first)); few >= 0 && few*worthwhile <= rows {
					s.take(e)
				}
			}
		}
	}
	if len(sides[0].exprs)+len(sides[1].exprs) == 0 {
		return p
	}
	o.fired()
	c := *j
	c.Left, c.Right = sides[0].project(), sides[1].project()
	left := &sides[0]
	moved := func(x *expr.Column) expr.Expr {
		if x.Index < left.width || len(left.exprs) == 0 {
			return x
		}
		return &expr.Column{Index: x.Index + len(left.exprs), Name: x.Name, T: x.T}
	}
	if j.On != nil {
		c.On = replaceColumns(j.On, moved)
	}
	out := &Project{Input: &c, Exprs: make([]expr.Expr, len(p.Exprs)), Names: p.Names}
	for i, e := range p.Exprs {
		out.Exprs[i] = replaceColumns(e, moved)
		for k := range sides {
			s := &sides[k]
			if at := s.find(e); at >= 0 {
				first := s.width
				if k == 1 {
					first += left.width + len(left.exprs)
				}
				out.Exprs[i] = &expr.Column{Index: first + at, Name: p.Names[i], T: e.Type()}
			}
		}
	}
	return out
}

// fewest returns of how many rows e, over the columns of n, is computed where it has fewest, -1:
// that is not known.
func (o *optimizer) fewest(n Node, e expr.Expr) float64 {
	if j, ok := n.(*Join); ok {
		for _, s := range pushdownSides(j) {
			if s.takes(e) {
				return o.fewest(s.input, ShiftColumns(e, -s.first))
			}
		}
	}
	return o.rows(n)
}

// pushdownSide is a side of a join and what is computed there. Its columns are numbered from first
// on.
type pushdownSide struct {
	input        Node
	first, width int
	padded       bool // with NULLs where there is no partner
	exprs        []expr.Expr
}

// pushdownSides returns the sides of a join that gives the columns of both, or nil.
func pushdownSides(j *Join) []pushdownSide {
	if j.Kind != Inner && j.Kind != Left && j.Kind != Right && j.Kind != Full {
		return nil
	}
	width := Width(j.Left)
	return []pushdownSide{
		{input: j.Left, width: width, padded: j.Kind == Right || j.Kind == Full},
		{input: j.Right, first: width, width: Width(j.Right), padded: j.Kind == Left || j.Kind == Full},
	}
}

// takes reports whether e can be computed on the side alone.
func (s *pushdownSide) takes(e expr.Expr) bool {
	return ReadsOnly(e, func(column int) bool { return column >= s.first && column < s.first+s.width }) && (!s.padded || NullOfNulls(e))
}

func (s *pushdownSide) find(e expr.Expr) int {
	return slices.IndexFunc(s.exprs, func(x expr.Expr) bool { return expr.Equal(x, e) })
}

func (s *pushdownSide) take(e expr.Expr) {
	if s.find(e) < 0 {
		s.exprs = append(s.exprs, e)
	}
}

// project returns the side with its expressions behind its columns.
func (s *pushdownSide) project() Node {
	if len(s.exprs) == 0 {
		return s.input
	}
	p, columns := &Project{Input: s.input}, s.input.Columns()
	for i, c := range columns {
		p.Exprs, p.Names = append(p.Exprs, columnRefOf(columns, i)), append(p.Names, c.Name)
	}
	for _, e := range s.exprs {
		p.Exprs, p.Names = append(p.Exprs, ShiftColumns(e, -s.first)), append(p.Names, "$early")
	}
	return p
}

// harmlessFunctions have a value for all arguments that they are bound for.
var harmlessFunctions = []string{
	"||", "CONCAT", "UPPER", "LOWER", "TRIM", "BTRIM", "LTRIM", "RTRIM", "REPLACE", "REVERSE", "LENGTH", "STRPOS", "LIKE",
	"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", fnNotDistinct, fnIsNull, fnIsNotNull,
	"IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "COALESCE", "NVL", "NULLIF", "+", "-", "*", "TIME_FLOOR", "TIME_EXTRACT",
}

// checkedConstants have further arguments that are periods or patterns: as constants they are
// checked when the statement is bound.
var checkedConstants = []string{"TIME_FLOOR", "TIME_EXTRACT", "LIKE"}

// harmless reports whether computing e never fails.
func harmless(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch y := x.(type) {
		case *expr.Column, *expr.Literal, *expr.Case, *expr.And, *expr.Or, *expr.Not, *expr.In:
			ok = ok && !y.Type().Multi
		case *expr.Cast:
			from := y.X.Type()
			ok = ok && (from.IsNumeric() && (y.T.IsNumeric() || y.T.IsCharacter()) || from.IsCharacter() && y.T.IsCharacter())
		case *expr.Call:
			ok = ok && !y.Fn.Volatile && slices.Contains(harmlessFunctions, y.Fn.Name)
			for _, a := range y.Args[min(1, len(y.Args)):] {
				if _, literal := a.(*expr.Literal); slices.Contains(checkedConstants, y.Fn.Name) {
					ok = ok && literal
				}
			}
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// NullOfNulls reports whether e is certainly NULL if all columns are NULL.
func NullOfNulls(e expr.Expr) bool {
	switch x := e.(type) {
	case *expr.Column:
		return true
	case *expr.Cast:
		return NullOfNulls(x.X)
	case *expr.Call:
		return isStrict(x) && slices.ContainsFunc(x.Args, NullOfNulls)
	}
	return false
}
