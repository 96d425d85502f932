package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// scope resolves the names of a query's parts: virtual columns, then the columns of what is read. A
// name that nothing has is NULL.
type scope struct {
	t       *translator
	columns []plan.Column
	named   map[string]int // the first column of each name; nil: not asked yet
	virtual map[string]VirtualColumn
	// busy are the virtual columns being bound: inside one, its own name means the column it hides.
	busy map[string]bool
	// params are the parameters of the lambdas around what is being bound.
	params []param
	// source is what the columns are of; nil: another node of the plan.
	source DataSource
	// wholeFolds says that an accumulator that begins as a whole number stays one, as in groups; that
	// of a timeseries does not.
	wholeFolds bool
	// singles, if not nil, says that columns are seen as single values.
	singles *singles
}

var (
	textType   = expr.Of(expr.Varchar)
	longType   = expr.Of(expr.BigInt)
	doubleType = expr.Of(expr.Double)
	timeType   = expr.Of(expr.Timestamp)
	boolType   = expr.Of(expr.Boolean)
)

func textLiteral(s string) expr.Expr { return &expr.Literal{Value: s, T: textType.NotNull()} }
func longLiteral(n int64) expr.Expr  { return &expr.Literal{Value: n, T: longType.NotNull()} }
func doubleLiteral(f float64) expr.Expr {
	return &expr.Literal{Value: f, T: doubleType.NotNull()}
}
func boolLiteral(b bool) expr.Expr {
	n := int64(0)
	if b {
		n = 1
	}
	return &expr.Literal{Value: n, T: boolType.NotNull()}
}

// newScope returns a scope over columns with a query's virtual columns.
func (t *translator) newScope(columns []plan.Column, virtual []VirtualColumnOf) (*scope, error) {
	s := &scope{t: t, columns: columns, virtual: map[string]VirtualColumn{}, busy: map[string]bool{}}
	for _, v := range virtual {
		if v.VirtualColumn == nil {
			continue
		}
		if _, twice := s.virtual[v.output()]; twice {
			return nil, invalid("Virtual column [%s] is defined twice", v.output())
		}
		s.virtual[v.output()] = v.VirtualColumn
	}
	return s, nil
}

// column returns what a name stands for. Columns keep their types, __time too; plain makes of them
// what native queries see.
func (s *scope) column(name string) (expr.Expr, error) {
	if v, ok := s.virtual[name]; ok && (!s.busy[name] || !s.t.ingesting) {
		if s.busy[name] {
			return nil, invalid("Self-referential column[%s]", name)
		}
		if s.t.references++; s.t.references > maxReferences {
			return nil, invalid("Virtual columns are used more than [%d] times", maxReferences)
		}
		s.busy[name] = true
		defer delete(s.busy, name)
		return s.virtualColumn(v)
	}
	if s.named == nil {
		s.named = firstNamed(s.columns)
	}
	if i, ok := s.named[name]; ok {
		x := &expr.Column{Index: i, Name: name, T: s.columns[i].Type}
		if s.singles != nil && s.isMixed(s.columns[i]) {
			return s.singleColumn(x)
		}
		return x, nil
	}
	return &expr.Literal{T: textType}, nil
}

// add makes a further column of the scope, which one before it with its name hides.
func (s *scope) add(c plan.Column) {
	if s.named == nil {
		s.named = firstNamed(s.columns)
	}
	if _, ok := s.named[c.Name]; !ok {
		s.named[c.Name] = len(s.columns)
	}
	s.columns = append(s.columns, c)
}

func (s *scope) virtualColumn(v VirtualColumn) (expr.Expr, error) {
	switch v := v.(type) {
	case *ExpressionColumn:
		e, err := s.expression(v.Expression)
		if err != nil {
			return nil, err
		}
		if v.OutputType == "" && isUnknown(e) {
			return &expr.Literal{T: expr.Of(expr.Float)}, nil // as what says no type
		}
		if lower(string(v.OutputType)) == "long" || lower(string(v.OutputType)) == "double" {
			if x := operand(e); x.Type().IsNumeric() {
				return x, nil // the type is for what the expression does not say
			}
		}
		return castTo(e, string(v.OutputType))
	case *NestedColumn:
		return s.nested(v)
	case *FilteredColumn:
		allow := v.IsAllowList == nil || *v.IsAllowList
		return s.dimension(&ListFilteredDimension{Delegate: v.Delegate, Values: v.Values, IsWhitelist: &allow})
	}
	return nil, fault.Unsupported("Virtual column [%s] is of a kind that is not supported", v.output())
}

// asComputed is the value of a virtual column before it gets the type that it is to have.
func (s *scope) asComputed(v *ExpressionColumn) (expr.Expr, error) {
	s.busy[v.Name] = true
	defer delete(s.busy, v.Name)
	e, err := s.expression(v.Expression)
	if err != nil {
		return nil, err
	}
	switch {
	case isUnknown(e):
		return s.virtualColumn(v)
	case e.Type().Base == expr.Float && lower(string(v.OutputType)) != "float":
		return operand(e), nil
	}
	return plain(e), nil
}

// plainNested is the text, number or truth value that a nested column has, the last as a text, as
// nested data; NULL for objects and lists.
func (s *scope) plainNested(v *NestedColumn) (expr.Expr, error) {
	x, err := s.column(v.ColumnName)
	if err != nil || x.Type().ComplexName() != "json" {
		return nil, err
	}
	path := textLiteral(v.JSONPath())
	value, err := expr.NewJSONValue(x, path, textType, fault.Span{})
	if err != nil {
		return nil, err
	}
	missing, err := call("IS NULL", value)
	if err != nil {
		return nil, err
	}
	truth, err := expr.NewIn(value, []expr.Expr{textLiteral("true"), textLiteral("false")}, fault.Span{})
	if err != nil {
		return nil, err
	}
	word, err := call("TO_JSON", value)
	if err != nil {
		return nil, err
	}
	own, err := call("JSON_QUERY", x, path)
	if err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: missing, Then: &expr.Literal{T: own.Type().OrNull(true)}}, {Cond: truth, Then: word}}, own, fault.Span{})
}

func (s *scope) nested(v *NestedColumn) (expr.Expr, error) {
	x, err := s.column(v.ColumnName)
	if err != nil {
		return nil, err
	}
	path := textLiteral(v.JSONPath())
	if v.ProcessFromRaw {
		return call("JSON_QUERY", x, path)
	}
	return expr.NewJSONValue(x, path, v.ExpectedType.orText(), fault.Span{})
}

// expression binds a text of the native expression language.
func (s *scope) expression(text string) (expr.Expr, error) {
	n, err := parseExpression(text)
	if err != nil {
		return nil, err
	}
	x, err := s.bind(n)
	if !s.mayRetry() {
		return x, err
	}
	widened := err == nil && x.Type().Base == expr.Double // as a number of JSON is, whole or not
	if err != nil || isMapped(x) || widened {
		if single := s.expressionOfSingles(n); single != nil && (!widened || single.Type().Base == expr.BigInt) {
			return single, nil
		}
	}
	return x, err
}

func (s *scope) bind(n syntaxNode) (expr.Expr, error) {
	switch n := n.(type) {
	case *nameNode:
		if x := s.parameter(n.name); x != nil {
			return x, nil
		}
		x, err := s.column(n.name)
		if err == nil && isNullConstant(x) { // of no type, but no constant either
			return &expr.Cast{X: x, T: expr.Of(expr.Null)}, nil
		}
		return x, err
	case *constantNode:
		return constant(n)
	case *callNode:
		return s.call(n)
	}
	return nil, invalid("A lambda is allowed only as the first argument of a function that accepts one")
}

func constant(n *constantNode) (expr.Expr, error) {
	switch v := n.value.(type) {
	case nil:
		return &expr.Literal{T: expr.Of(expr.Null)}, nil
	case int64:
		return longLiteral(v), nil
	case float64:
		return doubleLiteral(v), nil
	case string:
		return textLiteral(v), nil
	case []any:
		return arrayLiteral(v, n.elem)
	}
	return nil, fault.Defensive("A constant has an unknown type")
}

// arrayLiteral makes an array of constants: of what elem says, else of the widest type among them.
func arrayLiteral(list []any, elem string) (expr.Expr, error) {
	if elem == "" {
		elem = "long"
		for _, v := range list {
			switch v.(type) {
			case string:
				elem = "string"
			case float64:
				if elem == "long" {
					elem = "double"
				}
			}
		}
	}
	t, err := parseType(elem)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, v := range list {
		if v == nil {
			continue
		}
		var item expr.Expr
		switch v := v.(type) {
		case int64:
			item = longLiteral(v)
		case float64:
			item = doubleLiteral(v)
		case string:
			item = textLiteral(v)
		}
		if item, err = cast(item, t); err != nil {
			return nil, err
		}
		if item, err = expr.Fold(item, &expr.Context{}); err != nil {
			return nil, err
		}
		if l, ok := item.(*expr.Literal); ok {
			out[i] = l.Value
		}
	}
	return &expr.Literal{Value: out, T: expr.ArrayOf(t)}, nil
}

// call binds a call of a function of package expr.
func call(name string, args ...expr.Expr) (expr.Expr, error) {
	return expr.NewCall(catalog.MustLookup(name), args, fault.Span{})
}

// plain makes LONG of the types that native queries do not know.
func plain(e expr.Expr) expr.Expr {
	switch t := e.Type(); {
	case t.Multi:
		return e
	case t.IsTime(), t.Base == expr.Boolean, t.IsInterval():
		if l, ok := e.(*expr.Literal); ok {
			return &expr.Literal{Value: l.Value, T: longType}
		}
		return &expr.Cast{X: e, T: longType.NotNull().OrNull(t.Nullable)}
	case t.Base == expr.Null:
		return &expr.Literal{T: textType}
	}
	return e
}

// cast converts as native queries do: times and booleans are numbers.
func cast(e expr.Expr, to expr.Type) (expr.Expr, error) {
	e = plain(e)
	if e.Type().Base == expr.Array && to.IsCharacter() {
		return call("ARRAY_TO_MV", e)
	}
	if from := e.Type(); from.Base == expr.Other && to.Base != expr.Other {
		if from.ComplexName() == "json" { // a plain value is itself, other nested data has no text or number
			return expr.NewJSONValue(e, textLiteral("$"), to, fault.Span{})
		}
		return &expr.Literal{T: to}, nil
	}
	return expr.NewCast(e, to, fault.Span{})
}

// textOf is the text of a column that dimensions and filters see: of a FLOAT the short one, where
// expressions see that of a DOUBLE.
func textOf(e expr.Expr) (expr.Expr, error) {
	if e.Type().Base == expr.Float {
		return call("$FLOAT_TEXT", e)
	}
	return cast(e, textType)
}

// castTo converts to a type by its native name; "" leaves e as it is.
func castTo(e expr.Expr, name string) (expr.Expr, error) {
	if name == "" {
		return plain(e), nil
	}
	t, err := parseType(name)
	if err != nil {
		return nil, err
	}
	if e.Type().Multi && t.Base == expr.Varchar {
		return e, nil
	}
	if from := e.Type(); t.Base == expr.Other && (from.Base == expr.Other || from.IsCharacter()) {
		return e, nil
	}
	return cast(e, t)
}

// parseType reads LONG, DOUBLE, FLOAT, STRING, ARRAY<LONG>, COMPLEX<json>, .. in any case.
func parseType(name string) (expr.Type, error) {
	if t, err := vector.ParseType(name); err == nil {
		return expr.FromRuntime(t, false), nil
	}
	switch lower(name) {
	case "long":
		return longType, nil
	case "double":
		return doubleType, nil
	case "float":
		return expr.Of(expr.Float), nil
	case "string":
		return textType, nil
	case "array<long>", "long_array":
		return expr.ArrayOf(longType), nil
	case "array<double>", "double_array":
		return expr.ArrayOf(doubleType), nil
	case "array<float>":
		return expr.ArrayOf(expr.Of(expr.Float)), nil
	case "array<string>", "string_array":
		return expr.ArrayOf(textType), nil
	case "json", "complex<json>":
		return expr.JSON, nil
	}
	return expr.Type{}, invalid("Type [%s] is unknown. Known are [LONG, DOUBLE, FLOAT, STRING, ARRAY<LONG>, ARRAY<DOUBLE>, ARRAY<STRING>, COMPLEX<..>]", name)
}

// condition makes a truth value of e: numbers are true above 0, text is true if it says so.
func condition(e expr.Expr) (expr.Expr, error) {
	switch t := e.Type(); {
	case t.Base == expr.Boolean:
		return e, nil
	case t.Base == expr.Null:
		return &expr.Literal{T: boolType}, nil
	case t.IsCharacter() && !t.Multi:
		low, err := call("LOWER", e)
		if err != nil {
			return nil, err
		}
		return expr.NewCompare("=", low, textLiteral("true"), fault.Span{})
	case t.Multi:
		return expr.AnyValue(e, condition)
	case t.Base == expr.Array:
		only, err := call("$ONLY_ELEMENT", e)
		if err != nil {
			return nil, err
		}
		c, err := condition(only)
		if err != nil {
			return nil, err
		}
		if c, err = call("IS TRUE", c); err != nil {
			return nil, err
		}
		return withNulls(c, e)
	case t.Base == expr.Other:
		x, err := text(e)
		if err != nil {
			return nil, err
		}
		return condition(x)
	case t.IsFractional():
		return expr.NewCompare(">", e, doubleLiteral(0), fault.Span{})
	}
	if c, ok := e.(*expr.Cast); ok && c.X.Type().Base == expr.Boolean {
		return c.X, nil
	}
	return expr.NewCompare(">", plain(e), longLiteral(0), fault.Span{})
}

// compare compares as the native language does: two texts as texts, lists as lists, else as
// numbers. A time beside a number is compared as a time, so that rules see conditions on __time.
func compare(op string, a, b expr.Expr) (expr.Expr, error) {
	ta, tb := a.Type(), b.Type()
	switch {
	case ta.Base == expr.Timestamp && (tb.Base == expr.Timestamp || isTimeConstant(b)):
		return expr.NewCompare(op, a, asTime(b), fault.Span{})
	case tb.Base == expr.Timestamp && isTimeConstant(a):
		return expr.NewCompare(op, asTime(a), b, fault.Span{})
	case ta.Base == expr.Float && tb.Base == expr.Float:
		return expr.NewCompare(op, a, b, fault.Span{})
	}
	a, b = operand(a), operand(b)
	if isUnknown(a) || isUnknown(b) {
		return &expr.Literal{T: boolType}, nil
	}
	ta, tb = a.Type(), b.Type()
	var err error
	switch {
	case ta.IsCharacter() && tb.IsCharacter(), ta.IsInteger() && tb.IsInteger(), ta.IsFractional() && tb.IsFractional():
	case ta.Base == expr.Other || tb.Base == expr.Other:
		if a, err = text(a); err != nil {
			return nil, err
		}
		b, err = text(b)
	case ta.Base == expr.Array || tb.Base == expr.Array:
		var args []expr.Expr
		if _, args, err = alike([]expr.Expr{a, b}); err == nil {
			a, b = args[0], args[1]
		}
	case ta.IsCharacter() || tb.IsCharacter():
		if a, err = double(a); err != nil {
			return nil, err
		}
		b, err = double(b)
	}
	if err != nil {
		return nil, err
	}
	return expr.NewCompare(op, a, b, fault.Span{})
}

func isTimeConstant(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.T.IsInteger() && l.Value != nil
}

// asTime makes a TIMESTAMP of milliseconds.
func asTime(e expr.Expr) expr.Expr {
	switch t := e.Type(); {
	case t.Base == expr.Timestamp:
		return e
	case isTimeConstant(e):
		return &expr.Literal{Value: e.(*expr.Literal).Value, T: timeType.NotNull()}
	case t.IsInteger():
		return &expr.Cast{X: e, T: timeType.NotNull().OrNull(t.Nullable)}
	}
	return e
}
