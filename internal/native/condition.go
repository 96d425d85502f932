package native

import (
	"math"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/stringfn"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// filter translates a filter to a condition.
func (s *scope) filter(f Filter) (expr.Expr, error) {
	switch f := f.(type) {
	case *AndFilter:
		return s.fields(f.Fields, expr.NewAnd, "and")
	case *OrFilter:
		return s.fields(f.Fields, expr.NewOr, "or")
	case *NotFilter:
		c, err := s.field("not", f.Field)
		if err != nil {
			return nil, err
		}
		return expr.NewNot(c, fault.Span{})
	case *IsTrueFilter:
		return s.tested("istrue", "IS TRUE", f.Field)
	case *IsFalseFilter:
		return s.tested("isfalse", "IS FALSE", f.Field)
	case *TrueFilter:
		return boolLiteral(true), nil
	case *FalseFilter:
		return boolLiteral(false), nil
	case *SelectorFilter:
		return s.selector(f.Dimension, f.Value, f.ExtractionFn)
	case *EqualsFilter:
		return s.typed("=", f.Column, f.MatchValueType, f.MatchValue.V)
	case *NullFilter:
		x, err := s.column(f.Column)
		if err != nil {
			return nil, err
		}
		return call("IS NULL", x)
	case *InFilter:
		return s.in(f)
	case *TypedInFilter:
		return s.typedIn(f)
	case *ContainsFilter:
		return s.contains(f)
	case *BoundFilter:
		return s.bound(f)
	case *RangeFilter:
		return s.ranged(f)
	case *ExpressionFilter:
		x, err := s.expression(f.Expression)
		if err != nil {
			return nil, err
		}
		return condition(x)
	case *IntervalFilter:
		return s.intervals(f)
	case *ColumnsFilter:
		if len(f.Dimensions) < 2 {
			return nil, invalid("Filter of type [columnComparison] must have at least 2 dimensions")
		}
		return s.sameColumns(f)
	}
	return s.textFilter(f)
}

// intervals translates the filter of times. What an extraction function makes is compared as a
// number.
func (s *scope) intervals(f *IntervalFilter) (expr.Expr, error) {
	if len(f.Intervals) == 0 {
		return nil, invalid("Filter of type [interval] on dimension [%s] needs at least one interval", f.Dimension)
	}
	if f.ExtractionFn.Extraction == nil {
		c, err := s.within(f.Dimension, f.Intervals)
		if err == nil && c == nil {
			c = boolLiteral(true)
		}
		return c, err
	}
	var ors []expr.Expr
	for _, iv := range f.Intervals {
		lower, upper := Text{S: strconv.FormatInt(iv.Start, 10)}, Text{S: strconv.FormatInt(iv.End, 10)}
		both, err := s.bound(&BoundFilter{
			Dimension: f.Dimension, Lower: &lower, Upper: &upper, UpperStrict: true, Ordering: "numeric", ExtractionFn: f.ExtractionFn,
		})
		if err != nil {
			return nil, err
		}
		ors = append(ors, both)
	}
	return expr.NewOr(ors, fault.Span{})
}

// textFilter translates the filters that look into the text of a column.
func (s *scope) textFilter(f Filter) (expr.Expr, error) {
	switch f := f.(type) {
	case *LikeFilter:
		x, err := s.text(f.Dimension, f.ExtractionFn)
		if err != nil {
			return nil, err
		}
		var escape expr.Expr
		if f.Escape != nil {
			escape = textLiteral(*f.Escape)
		}
		return stringfn.NewLike(x, textLiteral(f.Pattern), escape, false, fault.Span{})
	case *BloomFilter:
		return s.bloom(f)
	case *RegexFilter:
		x, err := s.text(f.Dimension, f.ExtractionFn)
		if err != nil {
			return nil, err
		}
		return call("REGEXP_LIKE", x, textLiteral(f.Pattern))
	case *SpatialFilter:
		x, err := s.text(f.Dimension, ExtractionOf{})
		if err != nil {
			return nil, err
		}
		return call("SPATIAL_WITHIN", x, textLiteral(string(f.Bound)))
	case *SearchFilter:
		x, err := s.text(f.Dimension, f.ExtractionFn)
		if err != nil {
			return nil, err
		}
		column, err := s.column(f.Dimension)
		if err != nil {
			return nil, err
		}
		if _, every := f.Query.SearchQuery.(*AllSearch); every && column.Type().IsNumeric() { // NULL is no number
			return call("IS NOT NULL", column)
		}
		return searched(x, f.Query.SearchQuery)
	}
	return nil, fault.Unsupported("Filter is of a type that is not supported")
}

// field is the condition of which a filter of type of is made.
func (s *scope) field(of string, f FilterOf) (expr.Expr, error) {
	if f.Filter == nil {
		return nil, invalid("A filter of type [%s] needs a field", of)
	}
	return s.filter(f.Filter)
}

func (s *scope) tested(of, name string, f FilterOf) (expr.Expr, error) {
	c, err := s.field(of, f)
	if err != nil {
		return nil, err
	}
	return call(name, c)
}

func (s *scope) fields(fields []FilterOf, join func([]expr.Expr, fault.Span) (expr.Expr, error), name string) (expr.Expr, error) {
	var terms []expr.Expr
	for _, f := range fields {
		if f.Filter == nil {
			continue
		}
		c, err := s.filter(f.Filter)
		if err != nil {
			return nil, err
		}
		terms = append(terms, c)
	}
	switch len(terms) {
	case 0: // all of them were null
		return nil, noFields(name)
	case 1:
		return terms[0], nil
	}
	return join(terms, fault.Span{})
}

func noFields(name string) error {
	return invalid("A filter of type [%s] needs at least one field", name)
}

func (f *AndFilter) check() error { return checkJoined(f.Fields, "and") }
func (f *OrFilter) check() error  { return checkJoined(f.Fields, "or") }

func checkJoined(fields []FilterOf, name string) error {
	if !slices.ContainsFunc(fields, func(f FilterOf) bool { return f.Filter != nil }) {
		return noFields(name)
	}
	return nil
}

func (f *BoundFilter) check() error {
	if (f.Lower == nil || f.Lower.Null) && (f.Upper == nil || f.Upper.Null) {
		return invalid("Filter of type [bound] on dimension [%s] needs lower or upper", f.Dimension)
	}
	return nil
}

func (f *RegexFilter) check() error {
	_, err := call("REGEXP_LIKE", textLiteral(""), textLiteral(f.Pattern))
	return err
}

// anyOf joins terms by OR; none is false.
func anyOf(terms []expr.Expr) (expr.Expr, error) {
	switch len(terms) {
	case 0:
		return boolLiteral(false), nil
	case 1:
		return terms[0], nil
	}
	return expr.NewOr(terms, fault.Span{})
}

// text returns the text of a column, changed by an extraction function.
func (s *scope) text(dimension string, f ExtractionOf) (expr.Expr, error) {
	x, err := s.column(dimension)
	if err != nil {
		return nil, err
	}
	if f.Extraction != nil {
		return extract(x, f.Extraction)
	}
	return textOf(x)
}

// selector compares the text of a column. A number compared with the text of a number is compared
// as one, which indexes understand.
func (s *scope) selector(dimension string, v Text, f ExtractionOf) (expr.Expr, error) {
	x, err := s.column(dimension)
	if err != nil {
		return nil, err
	}
	if f.Extraction != nil {
		if x, err = extract(x, f.Extraction); err != nil {
			return nil, err
		}
	}
	if v.Null {
		return call("IS NULL", x)
	}
	return compareText("=", x, v.S)
}

// compareText compares x with a constant given as text: numbers as numbers.
func compareText(op string, x expr.Expr, text string) (expr.Expr, error) {
	if t := x.Type(); t.IsNumeric() || t.IsTime() || t.Base == expr.Boolean {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return compare(op, x, longLiteral(n))
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return compare(op, x, nearest(f, t))
		}
		return boolLiteral(false), nil
	}
	x, err := cast(x, textType)
	if err != nil {
		return nil, err
	}
	return expr.NewCompare(op, x, textLiteral(text), fault.Span{})
}

// nearest returns f as the constant that values of a column are compared with: for a FLOAT the
// nearest one, so that 0.1 finds what is shown as 0.1.
func nearest(f float64, t expr.Type) expr.Expr {
	if t.Base == expr.Float {
		return &expr.Literal{Value: float32(f), T: expr.Of(expr.Float).NotNull()}
	}
	return doubleLiteral(f)
}

// in tests the text of a column against a list: whole numbers as such, other numbers one by one.
func (s *scope) in(f *InFilter) (expr.Expr, error) {
	x, err := s.column(f.Dimension)
	if err != nil {
		return nil, err
	}
	if f.ExtractionFn.Extraction != nil {
		if x, err = extract(x, f.ExtractionFn.Extraction); err != nil {
			return nil, err
		}
	}
	var list, ors []expr.Expr
	for _, v := range f.Values {
		var one expr.Expr
		switch t := x.Type(); {
		case v.Null:
			one, err = call("IS NULL", x)
		case t.IsInteger():
			if n, err := strconv.ParseInt(v.S, 10, 64); err == nil {
				list = append(list, longLiteral(n))
				continue
			}
			one, err = compareText("=", x, v.S)
		case t.IsCharacter():
			list = append(list, textLiteral(v.S))
			continue
		default:
			one, err = compareText("=", x, v.S)
		}
		if err != nil {
			return nil, err
		}
		ors = append(ors, one)
	}
	return oneOf(x, ors, list)
}

// typed compares a column with a JSON value of a native type.
func (s *scope) typed(op, column, typ string, v any) (expr.Expr, error) {
	x, err := s.column(column)
	if err != nil {
		return nil, err
	}
	t := textType
	if typ != "" {
		if t, err = parseType(typ); err != nil {
			return nil, err
		}
	}
	value, err := jsonValueOf(v, t.Runtime())
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, invalid("Filter on column [%s] has no value of type [%s]", column, typ)
	}
	return typedTerm(op, x, t, value)
}

// typedTerm compares x with a value of a type.
func typedTerm(op string, x expr.Expr, t expr.Type, value any) (expr.Expr, error) {
	literal := expr.Expr(&expr.Literal{Value: value, T: t.NotNull()})
	switch from := x.Type(); {
	case from.IsInteger() && t.Runtime().Kind == vector.KindDouble && op == "=": // the whole number that it is, or none
		f := value.(float64)
		if math.Trunc(f) != f || math.Abs(f) >= 1<<63 {
			return boolLiteral(false), nil
		}
		literal = longLiteral(int64(f))
	case from.Base == expr.Float && t.Runtime().Kind == vector.KindDouble && op == "=":
		literal = nearest(value.(float64), from)
	case t.IsNumeric() && from.IsCharacter() && op == "=": // texts equal the text of the number
		number, err := textOf(literal)
		if err != nil {
			return nil, err
		}
		return expr.NewCompare(op, x, number, fault.Span{})
	case t.IsNumeric() && from.IsCharacter():
		number, err := textOf(literal)
		if err != nil {
			return nil, err
		}
		return numericTerm(op, x, number)
	case t.IsCharacter() && !from.IsCharacter() && op != "=":
		return boundTerm(op, x, value.(string), "lexicographic")
	case t.IsCharacter() && !from.IsCharacter():
		return compareText(op, x, value.(string))
	}
	return compare(op, x, literal)
}

func (s *scope) ranged(f *RangeFilter) (expr.Expr, error) {
	lower, isText := f.Lower.V.(string)
	if upper, both := f.Upper.V.(string); isText && both { // of a multi-value string one value is to be within both
		x, err := s.column(f.Column)
		if err != nil {
			return nil, err
		}
		if x.Type().Multi {
			return s.bound(&BoundFilter{Dimension: f.Column, Lower: &Text{S: lower}, Upper: &Text{S: upper}, LowerStrict: f.LowerOpen, UpperStrict: f.UpperOpen})
		}
	}
	var terms []expr.Expr
	for _, side := range []struct {
		v          any
		op, strict string
		open       bool
	}{{f.Lower.V, ">=", ">", bool(f.LowerOpen)}, {f.Upper.V, "<=", "<", bool(f.UpperOpen)}} {
		if side.v == nil {
			continue
		}
		op := side.op
		if side.open {
			op = side.strict
		}
		c, err := s.typed(op, f.Column, f.MatchValueType, side.v)
		if err != nil {
			return nil, err
		}
		terms = append(terms, c)
	}
	if len(terms) == 0 {
		return nil, invalid("Filter of type [range] on column [%s] needs lower or upper", f.Column)
	}
	return all(terms)
}

func (s *scope) bound(f *BoundFilter) (expr.Expr, error) {
	ordering := f.Ordering
	if ordering == "" {
		ordering = "lexicographic"
		if f.AlphaNumeric {
			ordering = "alphanumeric"
		}
	}
	x, err := s.column(f.Dimension)
	if err != nil {
		return nil, err
	}
	if f.ExtractionFn.Extraction != nil {
		if x, err = extract(x, f.ExtractionFn.Extraction); err != nil {
			return nil, err
		}
	}
	source := x
	between := f.Lower != nil && !f.Lower.Null && f.Upper != nil && !f.Upper.Null
	if between && source.Type().Multi { // one value is to be within both
		x = &expr.Element{T: source.Type().Elem()}
	}
	var terms []expr.Expr
	for _, side := range []struct {
		v          *Text
		op, strict string
		open       bool
	}{{f.Lower, ">=", ">", bool(f.LowerStrict)}, {f.Upper, "<=", "<", bool(f.UpperStrict)}} {
		if side.v == nil || side.v.Null {
			continue
		}
		op := side.op
		if side.open {
			op = side.strict
		}
		c, err := boundTerm(op, x, side.v.S, ordering)
		if err != nil {
			return nil, err
		}
		terms = append(terms, c)
	}
	if len(terms) == 0 {
		return nil, invalid("Filter of type [bound] on dimension [%s] needs lower or upper", f.Dimension)
	}
	cond, err := all(terms)
	if err == nil && between && source.Type().Multi {
		cond = &expr.Any{Source: source, Body: cond}
	}
	if err != nil || f.Lower != nil && !f.Lower.Null || !x.Type().IsCharacter() {
		return cond, err
	}
	none, err := call("IS NULL", x) // of texts, NULL is below all others
	if err != nil {
		return nil, err
	}
	return expr.NewOr([]expr.Expr{none, cond}, fault.Span{})
}

// numericTerm compares texts in numeric order.
func numericTerm(op string, x, limit expr.Expr) (expr.Expr, error) {
	key, err := call("$NUMERIC_ORDER", x)
	if err != nil {
		return nil, err
	}
	if limit, err = call("$NUMERIC_ORDER", limit); err != nil {
		return nil, err
	}
	return expr.NewCompare(op, key, limit, fault.Span{})
}

func boundTerm(op string, x expr.Expr, text string, ordering OrderingOf) (expr.Expr, error) {
	switch ordering {
	case "lexicographic":
		x, err := textOf(x)
		if err != nil {
			return nil, err
		}
		return expr.NewCompare(op, x, textLiteral(text), fault.Span{})
	case "numeric":
		if x.Type().IsCharacter() {
			return numericTerm(op, x, textLiteral(text))
		}
		if x.Type().Base != expr.Timestamp {
			var err error
			if x, err = ownNumber(x); err != nil {
				return nil, err
			}
		}
		if _, ok := expr.ParseDouble(text); !ok { // words come before numbers
			if op[0] == '<' {
				return boolLiteral(false), nil
			}
			return call("IS NOT NULL", x)
		}
		return compareText(op, x, text)
	case "strlen":
		x, err := textOf(x)
		if err != nil {
			return nil, err
		}
		n, err := call("LENGTH", x)
		if err != nil {
			return nil, err
		}
		limit, err := call("LENGTH", textLiteral(text))
		if err != nil {
			return nil, err
		}
		return longerOr(op, x, n, limit, text)
	case "alphanumeric", "version":
		x, err := textOf(x)
		if err != nil {
			return nil, err
		}
		key, err := call(keyFunctions[ordering], x)
		if err != nil {
			return nil, err
		}
		limit, err := call(keyFunctions[ordering], textLiteral(text))
		if err != nil {
			return nil, err
		}
		return expr.NewCompare(op, key, limit, fault.Span{})
	}
	return nil, invalid("Filter of type [bound] can't have the ordering [%s]", ordering)
}

// longerOr compares texts by their lengths, and those of one length as texts.
func longerOr(op string, x, length, limit expr.Expr, text string) (expr.Expr, error) {
	longer, err := compare(op[:1], length, limit)
	if err != nil {
		return nil, err
	}
	same, err := compare("=", length, limit)
	if err != nil {
		return nil, err
	}
	further, err := expr.NewCompare(op, x, textLiteral(text), fault.Span{})
	if err != nil {
		return nil, err
	}
	if same, err = expr.NewAnd([]expr.Expr{same, further}, fault.Span{}); err != nil {
		return nil, err
	}
	return expr.NewOr([]expr.Expr{longer, same}, fault.Span{})
}

func (s *scope) sameColumns(f *ColumnsFilter) (expr.Expr, error) {
	var texts []expr.Expr
	for _, d := range f.Dimensions {
		x, err := s.dimension(d.Dimension)
		if err != nil {
			return nil, err
		}
		if x, err = textOf(x); err != nil {
			return nil, err
		}
		texts = append(texts, x)
	}
	var terms []expr.Expr
	for i := 1; i < len(texts); i++ {
		c, err := expr.NewCompare("IS NOT DISTINCT FROM", texts[0], texts[i], fault.Span{})
		if err != nil {
			return nil, err
		}
		terms = append(terms, c)
	}
	if len(terms) == 0 {
		return boolLiteral(true), nil
	}
	return all(terms)
}

// searched is the condition that a search query finds something in the text x.
func searched(x expr.Expr, q SearchQuery) (expr.Expr, error) {
	one := func(value string, sensitive *Flag, fallback Flag) (expr.Expr, error) {
		if sensitive != nil {
			fallback = *sensitive
		}
		if fallback {
			return call("CONTAINS_STRING", x, textLiteral(value))
		}
		return call("ICONTAINS_STRING", x, textLiteral(value))
	}
	switch q := q.(type) {
	case *ContainsSearch:
		if q.Value == nil {
			return boolLiteral(false), nil
		}
		if q.Type == "insensitive_contains" {
			return one(*q.Value, nil, false)
		}
		return one(*q.Value, q.CaseSensitive, false)
	case *FragmentSearch:
		var terms []expr.Expr
		for _, v := range q.Values {
			c, err := one(*v, q.CaseSensitive, false)
			if err != nil {
				return nil, err
			}
			terms = append(terms, c)
		}
		switch {
		case q.Values == nil:
			return boolLiteral(false), nil
		case len(terms) == 0:
			return call("IS NOT NULL", x)
		}
		return all(terms)
	case *RegexSearch:
		return call("REGEXP_LIKE", x, textLiteral(q.Pattern))
	case *AllSearch:
		return boolLiteral(true), nil
	}
	return nil, invalid("A search needs a query")
}
