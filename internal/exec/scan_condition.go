package exec

import (
	"math"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// condition is something that is true of all rows a scan gives, whatever the segment: a part of the
// scan's filter, or what a join above asks of a key, or what a sort above can still use. The
// concrete conditions are longRange, longExcept, doubleRange, textTerms, keyWords, topKeys and
// predicate.
type condition interface{ condition() }

// longRange bounds a Long column; nulls are not in it. Expr says the same, for segments that hold
// another type.
type longRange struct {
	column         int
	least, highest int64
	expr           []expr.Expr
}

// longExcept asks that a Long column has any value but one; nulls have none.
type longExcept struct {
	column int
	value  int64
	expr   expr.Expr
}

// doubleRange bounds a Double column, bounds included. It is no more than what statistics are held
// against: expr decides.
type doubleRange struct {
	column         int
	least, highest float64
	expr           expr.Expr
}

// textTerms are predicates that look at nothing but one text column, which is not multi-valued.
type textTerms struct {
	column int
	terms  []expr.Expr
}

// keySetFilter asks that a column is one of the keys. It is exact if nothing above tests the keys
// again.
type keySetFilter struct {
	column int
	keys   *keys.Set
	exact  bool
	expr   expr.Expr // the same; nil: it comes from a join
}

// predicate is any other.
type predicate struct{ expr expr.Expr }

func (*longRange) condition()    {}
func (*longExcept) condition()   {}
func (*doubleRange) condition()  {}
func (*textTerms) condition()    {}
func (*keySetFilter) condition() {}
func (*predicate) condition()    {}

// conditionsOf takes the filter of a scan apart.
func conditionsOf(scan *plan.Scan) []condition {
	var out []condition
	ranges := map[int]*longRange{}
	texts := map[int]*textTerms{}
	for _, e := range plan.Split(scan.Filter) {
		if r := longRangeOf(e); r != nil {
			if before := ranges[r.column]; before != nil {
				before.least, before.highest = max(before.least, r.least), min(before.highest, r.highest)
				before.expr = append(before.expr, e)
				continue
			}
			ranges[r.column] = r
			out = append(out, r)
			continue
		}
		if c := onlyTextColumn(e); c != nil {
			t := texts[c.Index]
			if t == nil {
				t = &textTerms{column: c.Index}
				texts[c.Index] = t
				out = append(out, t)
			}
			t.terms = append(t.terms, e)
			continue
		}
		switch {
		case longKeysOf(e) != nil:
			out = append(out, longKeysOf(e))
		case longExceptOf(e) != nil:
			out = append(out, longExceptOf(e))
		case doubleRangeOf(e) != nil:
			out = append(out, doubleRangeOf(e))
		default:
			out = append(out, &predicate{e})
		}
	}
	return out
}

// comparisonOf recognises the comparison of a column with a constant that is not null, the column
// written first.
func comparisonOf(e expr.Expr) (c *expr.Column, op string, value any) {
	call, ok := e.(*expr.Call)
	if !ok || len(call.Args) != 2 {
		return nil, "", nil
	}
	flipped, ok := map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[call.Fn.Name]
	if !ok {
		return nil, "", nil
	}
	c, isColumn := call.Args[0].(*expr.Column)
	l, isLiteral := call.Args[1].(*expr.Literal)
	op = call.Fn.Name
	if !isColumn {
		c, isColumn = call.Args[1].(*expr.Column)
		l, isLiteral = call.Args[0].(*expr.Literal)
		op = flipped
	}
	if !isColumn || !isLiteral || l.Value == nil || c.T.Multi {
		return nil, "", nil
	}
	return c, op, l.Value
}

func longRangeOf(e expr.Expr) *longRange {
	c, op, value := comparisonOf(e)
	x, ok := value.(int64)
	if !ok || op == "<>" || c.T.Runtime() != vector.Long {
		return nil
	}
	r := &longRange{column: c.Index, least: math.MinInt64, highest: math.MaxInt64, expr: []expr.Expr{e}}
	switch op {
	case "=":
		r.least, r.highest = x, x
	case ">=":
		r.least = x
	case "<=":
		r.highest = x
	case ">":
		if r.least = x + 1; x == math.MaxInt64 {
			r.least, r.highest = 1, 0
		}
	case "<":
		if r.highest = x - 1; x == math.MinInt64 {
			r.least, r.highest = 1, 0
		}
	}
	return r
}

func longExceptOf(e expr.Expr) *longExcept {
	c, op, value := comparisonOf(e)
	x, ok := value.(int64)
	if !ok || op != "<>" || c.T.Runtime() != vector.Long {
		return nil
	}
	return &longExcept{column: c.Index, value: x, expr: e}
}

func doubleRangeOf(e expr.Expr) *doubleRange {
	c, op, value := comparisonOf(e)
	x, ok := value.(float64)
	if !ok || op == "<>" || x != x || c.T.Runtime() != vector.Double {
		return nil
	}
	r := &doubleRange{column: c.Index, least: math.Inf(-1), highest: math.Inf(1), expr: e}
	switch op {
	case "=":
		r.least, r.highest = x, x
	case ">", ">=":
		r.least = x
	case "<", "<=":
		r.highest = x
	}
	return r
}

// longKeysOf recognises a Long column that is compared with a list of constants.
func longKeysOf(e expr.Expr) *keySetFilter {
	in, ok := e.(*expr.In)
	if !ok || len(in.Values) == 0 {
		return nil
	}
	c, ok := in.X.(*expr.Column)
	if !ok || c.T.Multi || c.T.Runtime() != vector.Long {
		return nil
	}
	values := make([]int64, len(in.Values))
	for i, v := range in.Values {
		if values[i], ok = v.(int64); !ok {
			return nil
		}
	}
	return &keySetFilter{column: c.Index, keys: keys.LongSet(values), exact: true, expr: e}
}

// onlyTextColumn returns the column of a predicate that looks at nothing but one text column, which
// is not multi-value.
func onlyTextColumn(e expr.Expr) *expr.Column {
	var found *expr.Column
	pure := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Column:
			if found != nil && found.Index != x.Index || !x.T.IsCharacter() || x.T.Multi {
				pure = false
			}
			found = x
		case *expr.Call:
			pure = pure && !x.Fn.Volatile
		case *expr.Each, *expr.Any, *expr.Loop, *expr.Element:
			pure = false
		}
		return pure
	})
	if !pure {
		return nil
	}
	return found
}

// textEquality recognises an equality of a text column with constants, also for some value of a
// multi-value one.
func textEquality(e expr.Expr) (column *expr.Column, values []string) {
	if any, ok := e.(*expr.Any); ok {
		source, isColumn := any.Source.(*expr.Column)
		if !isColumn {
			return nil, nil
		}
		if values, ok := equalTo(any.Body, func(x expr.Expr) bool { _, ok := x.(*expr.Element); return ok }); ok {
			return source, values
		}
		return nil, nil
	}
	var found *expr.Column
	values, ok := equalTo(e, func(x expr.Expr) bool {
		c, ok := x.(*expr.Column)
		if ok && c.T.IsCharacter() && !c.T.Multi {
			found = c
			return true
		}
		return false
	})
	if !ok {
		return nil, nil
	}
	return found, values
}

func equalTo(e expr.Expr, subject func(expr.Expr) bool) (values []string, ok bool) {
	switch e := e.(type) {
	case *expr.In:
		if !subject(e.X) {
			return nil, false
		}
		for _, v := range e.Values {
			text, ok := v.(string)
			if !ok {
				return nil, false
			}
			values = append(values, text)
		}
		return values, true
	case *expr.Call:
		if e.Fn.Name != "=" || len(e.Args) != 2 {
			return nil, false
		}
		for i := range e.Args {
			if l, isLiteral := e.Args[i].(*expr.Literal); isLiteral && subject(e.Args[1-i]) {
				text, ok := l.Value.(string)
				return []string{text}, ok
			}
		}
	}
	return nil, false
}
