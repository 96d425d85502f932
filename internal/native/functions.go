package native

import (
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// call binds a call or operator of the native language.
func (s *scope) call(n *callNode) (expr.Expr, error) {
	args := make([]expr.Expr, len(n.args))
	for i, a := range n.args {
		if _, ok := a.(*lambdaNode); ok {
			return nil, fault.Unsupported("Function [%s] of native expressions takes a lambda, which is not supported", n.name)
		}
		x, err := s.bind(a)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	e, err := function(n.name, args)
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryInvalidInput {
		return nil, invalid("%s", f.Message) // without the classes of SQL
	}
	return e, err
}

// own are the functions that are not just one of package expr under another name.
var own = map[string]struct {
	least, most int
	bind        func(args []expr.Expr) (expr.Expr, error)
}{
	"&&":     {2, -1, func(a []expr.Expr) (expr.Expr, error) { return junction(a, expr.NewAnd) }},
	"||":     {2, -1, func(a []expr.Expr) (expr.Expr, error) { return junction(a, expr.NewOr) }},
	"unary!": {1, 1, negation},
	"unary-": {1, 1, func(a []expr.Expr) (expr.Expr, error) { return arithmetic("-", longLiteral(0), a[0]) }},
	"==":     {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare("=", a[0], a[1]) }},
	"!=":     {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare("<>", a[0], a[1]) }},
	"<":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare("<", a[0], a[1]) }},
	"<=":     {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare("<=", a[0], a[1]) }},
	">":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare(">", a[0], a[1]) }},
	">=":     {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare(">=", a[0], a[1]) }},
	"+":      {2, 2, plus},
	"-":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return arithmetic("-", a[0], a[1]) }},
	"*":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return arithmetic("*", a[0], a[1]) }},
	"/":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return arithmetic("/", a[0], a[1]) }},
	"%":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return arithmetic("MOD", a[0], a[1]) }},
	"^":      {2, 2, power},
	"pow":    {2, 2, func(a []expr.Expr) (expr.Expr, error) { return called("POWER", a) }},

	"case_searched":      {2, -1, caseSearched},
	"case_simple":        {3, -1, caseSimple},
	"if":                 {3, 3, caseSearched},
	"nvl":                {2, 2, func(a []expr.Expr) (expr.Expr, error) { return coalesce(a) }},
	"coalesce":           {1, -1, func(a []expr.Expr) (expr.Expr, error) { return coalesce(a) }},
	"isnull":             {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("IS NULL", a) }},
	"notnull":            {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("IS NOT NULL", a) }},
	"istrue":             {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS TRUE", a) }},
	"isfalse":            {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS FALSE", a) }},
	"nottrue":            {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS NOT TRUE", a) }},
	"notfalse":           {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS NOT FALSE", a) }},
	"isdistinctfrom":     {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare("IS DISTINCT FROM", a[0], a[1]) }},
	"notdistinctfrom":    {2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare("IS NOT DISTINCT FROM", a[0], a[1]) }},
	"like":               {2, 3, like},
	"cast":               {2, 2, castCall},
	"max":                {1, -1, func(a []expr.Expr) (expr.Expr, error) { return called("GREATEST", a) }},
	"min":                {1, -1, func(a []expr.Expr) (expr.Expr, error) { return called("LEAST", a) }},
	"rint":               {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("ROUND", a) }},
	"signum":             {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("SIGN", a) }},
	"todegrees":          {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("DEGREES", a) }},
	"toradians":          {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("RADIANS", a) }},
	"pi":                 {0, 0, func(a []expr.Expr) (expr.Expr, error) { return called("PI", a) }},
	"log":                {1, 1, func(a []expr.Expr) (expr.Expr, error) { return called("LN", a) }},
	"concat":             {0, -1, func(a []expr.Expr) (expr.Expr, error) { return called("CONCAT", a) }},
	"substring":          {2, 3, substring},
	"strpos":             {2, 3, strpos},
	"trim":               {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("BOTH", a) }},
	"btrim":              {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("BOTH", a) }},
	"ltrim":              {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("LEADING", a) }},
	"rtrim":              {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("TRAILING", a) }},
	"timestamp":          {1, 2, func(a []expr.Expr) (expr.Expr, error) { return called("TIME_PARSE", a) }},
	"timestamp_floor":    {2, 4, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_FLOOR", a, 0, 2) }},
	"timestamp_ceil":     {2, 4, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_CEIL", a, 0, 2) }},
	"timestamp_shift":    {3, 4, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_SHIFT", a, 0) }},
	"timestamp_extract":  {2, 3, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_EXTRACT", a, 0) }},
	"timestamp_format":   {1, 3, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_FORMAT", a, 0) }},
	"timestamp_parse":    {1, 3, timestampParse},
	"unix_timestamp":     {1, 2, unixTimestamp},
	"json_value":         {2, 3, jsonValue},
	"mv_harmonize_nulls": {1, 1, func(a []expr.Expr) (expr.Expr, error) { return a[0], nil }},
	"mv_to_array":        {1, 1, toArray},
	"array_offset":       {2, 2, func(a []expr.Expr) (expr.Expr, error) { return called("ARRAY_OFFSET", a) }},
}

// isFunction reports whether the native language has a function or operator of a name.
func isFunction(name string) bool {
	_, is := own[name]
	if !is {
		_, is = byNativeName()[name]
	}
	return is
}

// function binds a function of the native language by name.
func function(name string, args []expr.Expr) (expr.Expr, error) {
	if f, ok := own[name]; ok {
		if len(args) < f.least || f.most >= 0 && len(args) > f.most {
			return nil, invalid("Function [%s] of native expressions does not take [%d] arguments", strings.TrimPrefix(name, "unary"), len(args))
		}
		return f.bind(args)
	}
	fn, ok := byNativeName()[name]
	if !ok {
		hint := ""
		if near := fault.Nearest(name, functionNames()); near != "" {
			hint = "; did you mean [" + near + "]?"
		}
		return nil, invalid("Function [%s] of native expressions is unknown%s", name, hint)
	}
	for i, a := range args {
		if a.Type().Base == expr.Boolean {
			args[i] = plain(a)
		}
	}
	return expr.NewCall(fn, args, fault.Span{})
}

// byNativeName is the catalog of package expr under the names of the native language.
var byNativeName = sync.OnceValue(func() map[string]*expr.Function {
	m := map[string]*expr.Function{}
	for _, f := range expr.Functions() {
		for _, name := range []string{f.NativeName, lower(f.Name)} {
			if _, taken := m[name]; name != "" && !taken {
				m[name] = f
			}
		}
	}
	return m
})

func functionNames() []string {
	var out []string
	for n := range byNativeName() {
		out = append(out, n)
	}
	for n := range own {
		if n[0] >= 'a' && n[0] <= 'z' && !strings.HasPrefix(n, "unary") {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func called(name string, args []expr.Expr) (expr.Expr, error) {
	fn, ok := expr.Lookup(name)
	if !ok {
		return nil, fault.Unsupported("Function [%s] is not supported", lower(name))
	}
	return expr.NewCall(fn, args, fault.Span{})
}

func junction(args []expr.Expr, join func([]expr.Expr, fault.Span) (expr.Expr, error)) (expr.Expr, error) {
	terms := make([]expr.Expr, len(args))
	for i, a := range args {
		c, err := condition(a)
		if err != nil {
			return nil, err
		}
		terms[i] = c
	}
	return join(terms, fault.Span{})
}

func negation(args []expr.Expr) (expr.Expr, error) {
	c, err := condition(args[0])
	if err != nil {
		return nil, err
	}
	return expr.NewNot(c, fault.Span{})
}

func truth(name string, args []expr.Expr) (expr.Expr, error) {
	c, err := condition(args[0])
	if err != nil {
		return nil, err
	}
	return call(name, c)
}

// number makes a number of e: text is read as a double.
func number(e expr.Expr) (expr.Expr, error) {
	if e = plain(e); e.Type().IsCharacter() {
		return cast(e, doubleType)
	}
	return e, nil
}

func arithmetic(op string, a, b expr.Expr) (expr.Expr, error) {
	a, err := number(a)
	if err != nil {
		return nil, err
	}
	if b, err = number(b); err != nil {
		return nil, err
	}
	return call(op, a, b)
}

// plus adds numbers and joins texts.
func plus(args []expr.Expr) (expr.Expr, error) {
	if args[0].Type().IsCharacter() && args[1].Type().IsCharacter() {
		return call("||", args[0], args[1])
	}
	return arithmetic("+", args[0], args[1])
}

// power is whole for whole numbers.
func power(args []expr.Expr) (expr.Expr, error) {
	whole := plain(args[0]).Type().IsInteger() && plain(args[1]).Type().IsInteger()
	e, err := arithmetic("POWER", args[0], args[1])
	if err == nil && whole {
		return cast(e, longType)
	}
	return e, err
}

// caseSearched binds case_searched(cond, then, cond, then, .., else).
func caseSearched(args []expr.Expr) (expr.Expr, error) {
	var whens []expr.When
	i := 0
	for ; i+1 < len(args); i += 2 {
		c, err := condition(args[i])
		if err != nil {
			return nil, err
		}
		whens = append(whens, expr.When{Cond: c, Then: args[i+1]})
	}
	return newCase(whens, args[i:])
}

func newCase(whens []expr.When, rest []expr.Expr) (expr.Expr, error) {
	var other expr.Expr
	if len(rest) > 0 {
		other = rest[0]
	}
	// The arms must be of one kind: where text meets something else, all become text.
	arms := make([]expr.Type, 0, len(whens)+1)
	for _, w := range whens {
		arms = append(arms, w.Then.Type())
	}
	if other != nil {
		arms = append(arms, other.Type())
	}
	if _, ok := expr.LeastRestrictive(arms...); !ok {
		for i := range whens {
			x, err := cast(whens[i].Then, textType)
			if err != nil {
				return nil, err
			}
			whens[i].Then = x
		}
		if other != nil {
			x, err := cast(other, textType)
			if err != nil {
				return nil, err
			}
			other = x
		}
	}
	return expr.NewCase(whens, other, fault.Span{})
}

// caseSimple binds case_simple(x, value, then, .., else).
func caseSimple(args []expr.Expr) (expr.Expr, error) {
	var whens []expr.When
	i := 1
	for ; i+1 < len(args); i += 2 {
		c, err := compare("=", args[0], args[i])
		if err != nil {
			return nil, err
		}
		whens = append(whens, expr.When{Cond: c, Then: args[i+1]})
	}
	return newCase(whens, args[i:])
}

func coalesce(args []expr.Expr) (expr.Expr, error) {
	types := make([]expr.Type, len(args))
	for i, a := range args {
		types[i] = a.Type()
	}
	if _, ok := expr.LeastRestrictive(types...); !ok {
		for i, a := range args {
			x, err := cast(a, textType)
			if err != nil {
				return nil, err
			}
			args[i] = x
		}
	}
	return called("COALESCE", args)
}

func like(args []expr.Expr) (expr.Expr, error) {
	x, err := cast(args[0], textType)
	if err != nil {
		return nil, err
	}
	var escape expr.Expr
	if len(args) == 3 {
		escape = args[2]
	}
	return expr.NewLike(x, args[1], escape, false, fault.Span{})
}

func castCall(args []expr.Expr) (expr.Expr, error) {
	name, ok := constantText(args[1])
	if !ok {
		return nil, invalid("Function [cast] of native expressions wants the type as a constant")
	}
	return castTo(args[0], name)
}

func constantText(e expr.Expr) (string, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

// substring counts from 0.
func substring(args []expr.Expr) (expr.Expr, error) {
	x, err := cast(args[0], textType)
	if err != nil {
		return nil, err
	}
	from, err := arithmetic("+", args[1], longLiteral(1))
	if err != nil {
		return nil, err
	}
	return called("SUBSTRING", append([]expr.Expr{x, from}, args[2:]...))
}

// strpos counts from 0 and is -1 where nothing is found.
func strpos(args []expr.Expr) (expr.Expr, error) {
	if len(args) == 3 {
		return nil, fault.Unsupported("Function [strpos] of native expressions with a start is not supported")
	}
	e, err := called("STRPOS", args)
	if err != nil {
		return nil, err
	}
	return arithmetic("-", e, longLiteral(1))
}

func trim(side string, args []expr.Expr) (expr.Expr, error) {
	set := textLiteral(" ")
	if len(args) == 2 {
		set = args[1]
	}
	return expr.NewTrim(side, set, args[0], fault.Span{})
}

// timeCall calls a time function whose arguments at the given places are milliseconds.
func timeCall(name string, args []expr.Expr, at ...int) (expr.Expr, error) {
	for _, i := range at {
		if i < len(args) {
			args[i] = asTime(args[i])
		}
	}
	for len(args) > 0 && isNullConstant(args[len(args)-1]) && len(args) > 2 {
		args = args[:len(args)-1]
	}
	return called(name, args)
}

func isNullConstant(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.Value == nil
}

func timestampParse(args []expr.Expr) (expr.Expr, error) {
	for len(args) > 1 && isNullConstant(args[len(args)-1]) {
		args = args[:len(args)-1]
	}
	return called("TIME_PARSE", args)
}

func unixTimestamp(args []expr.Expr) (expr.Expr, error) {
	t, err := timestampParse(args)
	if err != nil {
		return nil, err
	}
	return arithmetic("/", t, longLiteral(1000))
}

func jsonValue(args []expr.Expr) (expr.Expr, error) {
	t := textType
	if len(args) == 3 {
		name, ok := constantText(args[2])
		if !ok {
			return nil, invalid("Function [json_value] of native expressions wants the type as a constant")
		}
		var err error
		if t, err = parseType(name); err != nil {
			return nil, err
		}
	}
	return expr.NewJSONValue(args[0], args[1], t, fault.Span{})
}

func toArray(args []expr.Expr) (expr.Expr, error) {
	if args[0].Type().Base == expr.Array {
		return args[0], nil
	}
	return called("MV_TO_ARRAY", args)
}
