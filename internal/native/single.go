package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Records may have a list or an object in a field that is a number or a text in all others. The
// column of such a field has a type that holds them all, which functions and aggregates of single
// values refuse. They then see single values: of a list its only element, and NULL for other lists
// and for objects. An expression that would compute with such a value is NULL in that row, as one
// odd record must not change what becomes of the others.

// singles is what a scope over single values notes.
type singles struct {
	// unfit are, for the columns used so far, conditions that the row has a list or an object there.
	unfit []expr.Expr
	// lists keeps lists, for aggregates that take all values of a row; texts sees values as what they
	// are where some are texts, not as numbers.
	lists, texts bool
}

// ofRecords are what a plan over records knows of their fields beside the columns.
type ofRecords struct {
	// numbers names the columns that hold a field as the number of a type.
	numbers map[string]map[expr.Base]string
	// types are those of the single values of fields that also have lists or objects, or of the
	// numbers of those that also have texts.
	types map[string]expr.Type
	// made are the columns that transforms make: what is known of fields of their names does not hold.
	made map[string]bool
}

// single returns the scope over single values.
func (s *scope) single(how singles) *scope {
	out := *s
	out.singles = &how
	return &out
}

// mayRetry reports whether what can't be bound may be bound over single values.
func (s *scope) mayRetry() bool {
	return s.t.ingesting && s.singles == nil && slices.ContainsFunc(s.columns, s.isMixed)
}

// isMixed reports whether a column has values of a kind that its single values, or numbers, are not
// of.
func (s *scope) isMixed(c plan.Column) bool {
	return holdsSeveral(c.Type) || s.mixedNumber(c).Base != expr.Invalid
}

// mixedNumber is the type of the numbers of a column of texts that has numbers, too; the zero type:
// it is none.
func (s *scope) mixedNumber(c plan.Column) expr.Type {
	if r := s.t.records; r != nil && !r.made[c.Name] && c.Type.IsCharacter() && !c.Type.Multi && r.types[c.Name].IsNumeric() {
		return r.types[c.Name]
	}
	return expr.Type{}
}

// holdsSeveral reports whether values of a type may be lists or objects.
func holdsSeveral(t expr.Type) bool { return t.Multi || t.Base == expr.Array || t == expr.JSON }

// isMapped reports whether an expression of single values was computed for each value of a
// multi-value string.
func isMapped(x expr.Expr) bool {
	t := x.Type()
	return t.Multi && t.Runtime().Kind == vector.KindList && t.Runtime().Elem() != vector.String
}

// expressionOfSingles binds an expression over single values: it is NULL in rows with other values.
// Nil: it can't be.
func (s *scope) expressionOfSingles(n syntaxNode) expr.Expr {
	if x := s.expressionOf(n, singles{}); x != nil {
		return x
	}
	return s.expressionOf(n, singles{texts: true})
}

func (s *scope) expressionOf(n syntaxNode, how singles) expr.Expr {
	again := s.single(how)
	x, err := again.bind(n)
	if err != nil || len(again.singles.unfit) == 0 || isUnknown(x) {
		return nil
	}
	unfit := again.singles.unfit[0]
	if len(again.singles.unfit) > 1 {
		if unfit, err = expr.NewOr(again.singles.unfit, fault.Span{}); err != nil {
			return nil
		}
	}
	out, err := expr.NewCase([]expr.When{{Cond: unfit, Then: &expr.Literal{T: x.Type().OrNull(true)}}}, x, fault.Span{})
	if err != nil {
		return nil
	}
	return out
}

// filterOfRecords translates a filter. Where it can't be asked of lists or objects it is asked of
// single values.
func (s *scope) filterOfRecords(f Filter) (expr.Expr, error) {
	c, err := s.filter(f)
	if err == nil || !s.mayRetry() {
		return c, err
	}
	for _, how := range []singles{{texts: true}, {}} {
		if again, failed := s.single(how).filter(f); failed == nil {
			return again, nil
		}
	}
	return nil, err
}

// aggregatorOfSingles translates an aggregator over single values; failed is why it can't be over
// the columns as they are.
func (s *scope) aggregatorOfSingles(in *inputs, a Aggregator, cond expr.Expr, failed error) (plan.AggCall, error) {
	for _, how := range []singles{{lists: true}, {texts: true}, {}} {
		exprs, names := slices.Clone(in.exprs), slices.Clone(in.names)
		call, err := s.single(how).plainAggregator(in, a, cond)
		if err == nil {
			return call, nil
		}
		in.exprs, in.names = exprs, names
	}
	return plan.AggCall{}, failed
}

// numberColumn is the column that holds a field as a number of a type; else that of the field.
func (s *scope) numberColumn(field string, base expr.Base) (expr.Expr, error) {
	if r := s.t.records; r != nil && !r.made[field] {
		if name, ok := r.numbers[field][base]; ok {
			return s.column(name)
		}
	}
	return s.column(field)
}

// singleColumn is a column as single values.
func (s *scope) singleColumn(x *expr.Column) (expr.Expr, error) {
	number := s.mixedNumber(plan.Column{Name: x.Name, Type: x.T})
	if s.singles.lists || s.singles.texts && number.Base != expr.Invalid {
		if x.T != expr.JSON {
			return x, nil
		}
		values, err := list(x)
		if err != nil {
			return nil, err
		}
		return call("ARRAY_TO_MV", values)
	}
	if number.Base != expr.Invalid {
		return s.numberOfTexts(x, number)
	}
	one, unfit, err := singleValue(x)
	if err != nil {
		return nil, err
	}
	s.singles.unfit = append(s.singles.unfit, unfit)
	r := s.t.records
	if r == nil || r.made[x.Name] {
		return one, nil
	}
	if t, ok := r.types[x.Name]; ok && !s.singles.texts {
		return expr.NewCast(one, t, fault.Span{})
	}
	return one, nil
}

// numberOfTexts is a column of texts as the numbers that they are.
func (s *scope) numberOfTexts(x expr.Expr, t expr.Type) (expr.Expr, error) {
	n, err := expr.NewCast(x, t, fault.Span{})
	if err != nil {
		return nil, err
	}
	there, err := call("IS NOT NULL", x)
	if err != nil {
		return nil, err
	}
	none, err := call("IS NULL", n)
	if err != nil {
		return nil, err
	}
	unfit, err := expr.NewAnd([]expr.Expr{there, none}, fault.Span{})
	s.singles.unfit = append(s.singles.unfit, unfit)
	return n, err
}

// singleValue returns the one value of a row in a column of lists or JSON, and whether it has
// another than one.
func singleValue(x expr.Expr) (one, unfit expr.Expr, err error) {
	if x.Type().Multi {
		_, first, several, err := valuesInRow(x)
		if err != nil {
			return nil, nil, err
		}
		one, err := expr.NewCase([]expr.When{{Cond: several, Then: &expr.Literal{T: textType}}}, first, fault.Span{})
		return one, several, err
	}
	if x.Type().Base == expr.Array {
		one, err = call("$ONLY_ELEMENT", x)
	} else {
		one, err = expr.NewJSONValue(x, textLiteral("$"), textType, fault.Span{})
	}
	if err != nil {
		return nil, nil, err
	}
	there, err := call("IS NOT NULL", x)
	if err != nil {
		return nil, nil, err
	}
	none, err := call("IS NULL", one)
	if err != nil {
		return nil, nil, err
	}
	unfit, err = expr.NewAnd([]expr.Expr{there, none}, fault.Span{})
	return one, unfit, err
}
