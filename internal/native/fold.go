package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// An aggregator of type expression folds rows into an accumulator by an expression. What such folds
// are mostly for, sums, extremes, bits and lists, are aggregates that engines know: folds of the
// form f(accumulator, term) are translated to those, where the term has no accumulator in it. For
// others the rows are collected (collect.go).

// foldRule is what folding by a function comes to.
type foldRule struct {
	// aggregate is that of package agg, distinct if it takes each value once.
	aggregate string
	distinct  bool
	// numeric says that the term is a number, whole that it is made one without a fraction.
	numeric, whole bool
	// spread says that a term that is NULL makes the accumulator NULL from there on.
	spread bool
	// either says that the accumulator may be the second argument.
	either bool
	// initial is how the initial value joins the result; "": there is none that changes it, which
	// neutral says.
	initial string
}

var foldRules = map[string]foldRule{
	"+":          {aggregate: "SUM", numeric: true, spread: true, either: true},
	"max":        {aggregate: "MAX", numeric: true, spread: true, either: true, initial: "GREATEST"},
	"min":        {aggregate: "MIN", numeric: true, spread: true, either: true, initial: "LEAST"},
	"greatest":   {aggregate: "MAX", numeric: true, either: true, initial: "GREATEST"},
	"least":      {aggregate: "MIN", numeric: true, either: true, initial: "LEAST"},
	"bitwiseand": {aggregate: "BIT_AND", numeric: true, whole: true, spread: true, either: true, initial: "BITWISE_AND"},
	"bitwiseor":  {aggregate: "BIT_OR", numeric: true, whole: true, spread: true, either: true, initial: "BITWISE_OR"},
	"bitwisexor": {aggregate: "BIT_XOR", numeric: true, whole: true, spread: true, either: true},

	"array_append":  {aggregate: "ARRAY_AGG"},
	"array_set_add": {aggregate: "ARRAY_AGG", distinct: true},
	"array_concat":  {aggregate: "ARRAY_CONCAT_AGG"},
}

// folding returns by what rule an aggregator folds, and what. The rule is empty where no aggregate
// is the same.
func (s *scope) folding(a *ExpressionAggregator) (foldRule, expr.Expr, error) {
	if a.Combine == "" && len(a.Fields) != 1 {
		return foldRule{}, nil, invalid("Aggregator [%s] of type [expression] must have a single input field if no combine expression is supplied", a.Name)
	}
	n, err := parseExpression(a.Fold)
	if err != nil {
		return foldRule{}, nil, err
	}
	c, ok := n.(*callNode)
	if !ok || len(c.args) != 2 {
		return foldRule{}, nil, nil
	}
	rule, ok := foldRules[c.name]
	if !ok {
		return foldRule{}, nil, nil
	}
	term := c.args[1]
	if rule.either && !a.isAccumulator(c.args[0]) {
		term = c.args[0]
		c.args[0] = c.args[1]
	}
	if !a.isAccumulator(c.args[0]) || slices.ContainsFunc(namesOf(term, nil), func(name string) bool { return !slices.Contains(a.Fields, name) }) {
		return foldRule{}, nil, nil
	}
	if !rule.numeric {
		if _, plainField := term.(*nameNode); !plainField {
			return foldRule{}, nil, nil
		}
	} else if combines, err := a.combines(c.name, term); err != nil || !combines {
		if err == nil && a.Combine != "" { // what it comes to depends on the segments
			err = fault.Unsupported("Aggregator [%s] of type [expression] folds by [%.200s] but combines by [%.200s], which is not supported", a.Name, a.Fold, a.Combine)
		}
		return foldRule{}, nil, err
	}
	x, err := s.bind(term)
	if err != nil {
		return foldRule{}, nil, err
	}
	x = plain(x)
	if rule.numeric && !x.Type().IsNumeric() {
		if !rule.whole && !isNullConstant(x) {
			return foldRule{}, nil, nil // of texts, + joins them
		}
		if x, err = cast(x, longType); err != nil {
			return foldRule{}, nil, err
		}
	}
	if rule.whole {
		if x, err = cast(x, longType); err != nil {
			return foldRule{}, nil, err
		}
	}
	if !rule.numeric {
		return rule, x, nil
	}
	initial, err := s.initial(a)
	if err != nil {
		return foldRule{}, nil, err
	}
	if rule.initial == "" && !isZero(initial) {
		return foldRule{}, nil, nil
	}
	if s.wholeFolds && initial.T.IsInteger() && x.Type().IsFractional() {
		return foldRule{}, nil, nil // the accumulator is whole after each row
	}
	if initial.T.Base == expr.Double && x.Type().IsInteger() || x.Type().Base == expr.Float {
		if x, err = cast(x, doubleType); err != nil {
			return foldRule{}, nil, err
		}
	}
	if a.AggregateNulls != nil && !*a.AggregateNulls { // rows with a field that is NULL do not count
		rule.spread = false
		x, err = s.whereAll(a.Fields, x)
	}
	return rule, x, err
}

func (a *ExpressionAggregator) isAccumulator(n syntaxNode) bool {
	name, ok := n.(*nameNode)
	return ok && name.name == a.accumulator()
}

// accumulator is the name of the accumulator.
func (a *ExpressionAggregator) accumulator() string {
	if a.AccumulatorID == "" {
		return "__acc"
	}
	return a.AccumulatorID
}

// combines reports whether the results of segments come together by the function that folds rows.
// Where nothing is said they are folded like rows, as if they were the field, which is the same for
// a field and for what only replaces NULL.
func (a *ExpressionAggregator) combines(function string, term syntaxNode) (bool, error) {
	if a.Combine == "" {
		if c, ok := term.(*callNode); ok && c.name == "nvl" && len(c.args) == 2 {
			term = c.args[0]
		}
		_, ok := term.(*nameNode)
		return ok, nil
	}
	n, err := parseExpression(a.Combine)
	if err != nil {
		return false, err
	}
	c, ok := n.(*callNode)
	if _, field := term.(*nameNode); ok && field && !isFunction(c.name) {
		return true, nil // quirk Q012: planners of Druid write the field's name into that of the function
	}
	if !ok || c.name != function || len(c.args) != 2 {
		return false, nil
	}
	other := c.args[1]
	if !a.isAccumulator(c.args[0]) {
		other = c.args[0]
		if !a.isAccumulator(c.args[1]) {
			return false, nil
		}
	}
	name, ok := other.(*nameNode)
	return ok && name.name == a.Name, nil
}

// initial is the constant number that an aggregator begins with.
func (s *scope) initial(a *ExpressionAggregator) (*expr.Literal, error) {
	n, err := parseExpression(a.InitialValue)
	if err != nil {
		return nil, err
	}
	if c, ok := n.(*constantNode); ok {
		x, err := constant(c)
		if l, ok := x.(*expr.Literal); err == nil && ok && l.T.IsNumeric() {
			return l, nil
		}
	}
	return nil, fault.Unsupported("Aggregator [%s] of type [expression] starts with [%.200s], which is not a number", a.Name, a.InitialValue)
}

func isZero(l *expr.Literal) bool {
	switch v := l.Value.(type) {
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return false
}

// whereAll is x where no field is NULL.
func (s *scope) whereAll(fields []string, x expr.Expr) (expr.Expr, error) {
	var terms []expr.Expr
	for _, name := range fields {
		f, err := s.column(name)
		if err != nil {
			return nil, err
		}
		given, err := call("IS NOT NULL", plain(f))
		if err != nil {
			return nil, err
		}
		terms = append(terms, given)
	}
	cond, err := all(terms)
	if err != nil || cond == nil {
		return x, err
	}
	return expr.NewCase([]expr.When{{Cond: cond, Then: x}}, &expr.Literal{T: x.Type()}, fault.Span{})
}

// folded translates an aggregator that folds.
func (s *scope) folded(in *inputs, a *ExpressionAggregator) (plan.AggCall, error) {
	rule, x, err := s.folding(a)
	if err != nil {
		return plan.AggCall{}, err
	}
	if rule.aggregate == "" {
		return s.collected(in, a, 0)
	}
	call, err := newCall(rule.aggregate, []expr.Type{x.Type()}, nil)
	call.Args, call.Distinct = []int{in.add(x, a.Name)}, rule.distinct
	return call, err
}

// foldedNulls counts the rows that make the accumulator of an aggregator NULL; nil if none does.
// cond, if not nil, chooses the rows.
func (s *scope) foldedNulls(in *inputs, a Aggregator, cond expr.Expr) (*plan.AggCall, error) {
	switch a := a.(type) {
	case *FilteredAggregator:
		c, err := s.chosen(a, cond)
		if err != nil {
			return nil, err
		}
		return s.foldedNulls(in, a.Aggregator.Aggregator, c)
	case *ExpressionAggregator:
		rule, x, err := s.folding(a)
		if err != nil || !rule.spread {
			return nil, err
		}
		missing, err := call("IS NULL", x)
		if err != nil {
			return nil, err
		}
		if cond != nil {
			if missing, err = expr.NewAnd([]expr.Expr{cond, missing}, fault.Span{}); err != nil {
				return nil, err
			}
		}
		count, err := newCall("COUNT", nil, nil)
		count.Name, count.Filter = "$nulls", in.add(missing, "$null")
		return &count, err
	}
	return nil, nil
}

// foldedResult is what an aggregator shows of its accumulator x; nulls counts the rows that have
// made it NULL, nil: none can. lists are what was collected for a fold that is no aggregate. Nil is
// x itself.
func foldedResult(a Aggregator, x, nulls expr.Expr, lists []expr.Expr) (expr.Expr, error) {
	f, ok := a.(*FilteredAggregator)
	if ok {
		return foldedResult(f.Aggregator.Aggregator, x, nulls, lists)
	}
	e, ok := a.(*ExpressionAggregator)
	if !ok {
		return nil, nil
	}
	s := &scope{t: &translator{}}
	var out expr.Expr
	var err error
	if len(lists) > 0 {
		out, err = s.foldLists(e, lists)
	} else {
		out, err = s.aggregated(e, x, nulls)
	}
	if err != nil || e.Finalize == "" {
		return out, err
	}
	return s.finalized(e, out)
}

// aggregated is the accumulator that x, an aggregate, stands for.
func (s *scope) aggregated(e *ExpressionAggregator, x, nulls expr.Expr) (expr.Expr, error) {
	n, err := parseExpression(e.Fold)
	if err != nil {
		return nil, err
	}
	rule := foldRules[n.(*callNode).name] // as folding has found
	out := x
	if rule.numeric {
		initial, err := s.initial(e)
		if err != nil {
			return nil, err
		}
		if rule.initial != "" {
			if out, err = call(rule.initial, out, initial); err != nil {
				return nil, err
			}
		}
		missing, err := call("IS NULL", x) // no row, or none that counts
		if err != nil {
			return nil, err
		}
		empty := expr.Expr(&expr.Literal{T: out.Type()})
		if e.NullUnlessAggregated != nil && !*e.NullUnlessAggregated {
			if empty, err = cast(initial, out.Type()); err != nil {
				return nil, err
			}
		}
		if out, err = expr.NewCase([]expr.When{{Cond: missing, Then: empty}}, out, fault.Span{}); err != nil {
			return nil, err
		}
	}
	if nulls != nil {
		some, err := compare(">", nulls, longLiteral(0))
		if err != nil {
			return nil, err
		}
		if out, err = expr.NewCase([]expr.When{{Cond: some, Then: &expr.Literal{T: out.Type()}}}, out, fault.Span{}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// finalized is what the expression that finalizes makes of an accumulator.
func (s *scope) finalized(e *ExpressionAggregator, out expr.Expr) (expr.Expr, error) {
	over, err := s.t.newScope([]plan.Column{{Name: "o", Type: out.Type()}}, nil)
	if err != nil {
		return nil, err
	}
	final, err := over.expression(e.Finalize)
	if err != nil {
		return nil, err
	}
	return expr.Rewrite(final, func(y expr.Expr) expr.Expr {
		if _, ok := y.(*expr.Column); ok {
			return out
		}
		return y
	}), nil
}
