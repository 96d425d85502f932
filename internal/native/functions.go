package native

import (
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
)

// call binds a call or operator of the native language.
func (s *scope) call(n *callNode) (expr.Expr, error) {
	if len(n.args) > 0 {
		if l, ok := n.args[0].(*lambdaNode); ok {
			return s.loop(n, l)
		}
	}
	if _, ok := n.args0().(*nameNode); !ok && n.name == "mv_to_array" && len(n.args) == 1 {
		return nil, invalid("Function [mv_to_array] of native expressions takes the name of a column only; use [array] instead")
	}
	args := make([]expr.Expr, len(n.args))
	for i, a := range n.args {
		x, err := s.bind(a)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	e, err := function(n.name, args)
	if err == nil {
		e, err = settled(e, args)
	}
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryInvalidInput {
		return nil, invalid("%s", f.Message) // without the classes of SQL
	}
	return e, err
}

// settled computes what takes constants only; one that is NULL has no type.
func settled(e expr.Expr, args []expr.Expr) (expr.Expr, error) {
	for _, a := range args {
		if _, ok := a.(*expr.Literal); !ok {
			return e, nil
		}
	}
	e, err := expr.Fold(e, &expr.Context{})
	if err == nil && isNullConstant(e) {
		e = unknown()
	}
	return e, err
}

// form is how a function of the native language binds.
type form struct {
	least, most int // how many arguments it takes; -1: any number
	bind        func(args []expr.Expr) (expr.Expr, error)
	// lists says that it takes multi-value strings as a whole; others are mapped over their values.
	lists bool
}

// own are the functions that are not just one of package expr under another name.
var own map[string]form

func init() { // some forms call others
	own = map[string]form{
		"&&":     {2, -1, func(a []expr.Expr) (expr.Expr, error) { return junction(a, expr.NewAnd) }, false},
		"||":     {2, -1, func(a []expr.Expr) (expr.Expr, error) { return junction(a, expr.NewOr) }, false},
		"unary!": {1, 1, negation, false},
		"unary-": {1, 1, negative, false},
		"+":      {2, 2, operator("+"), false},
		"-":      {2, 2, operator("-"), false},
		"*":      {2, 2, operator("*"), false},
		"/":      {2, 2, operator("/"), false},
		"%":      {2, 2, operator("%"), false},
		"^":      {2, 2, operator("$WHOLE_POWER"), false},

		"case_searched":   {2, -1, caseSearched, false},
		"case_simple":     {3, -1, caseSimple, false},
		"if":              {3, 3, caseSearched, false},
		"nvl":             {2, 2, coalesce, false},
		"coalesce":        {1, -1, coalesce, false},
		"isnull":          {1, 1, func(a []expr.Expr) (expr.Expr, error) { return call("IS NULL", a...) }, true},
		"notnull":         {1, 1, func(a []expr.Expr) (expr.Expr, error) { return call("IS NOT NULL", a...) }, true},
		"istrue":          {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS TRUE", a) }, false},
		"isfalse":         {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS FALSE", a) }, false},
		"nottrue":         {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS NOT TRUE", a) }, false},
		"notfalse":        {1, 1, func(a []expr.Expr) (expr.Expr, error) { return truth("IS NOT FALSE", a) }, false},
		"isdistinctfrom":  {2, 2, func(a []expr.Expr) (expr.Expr, error) { return distinct("IS DISTINCT FROM", a) }, false},
		"notdistinctfrom": {2, 2, func(a []expr.Expr) (expr.Expr, error) { return distinct("IS NOT DISTINCT FROM", a) }, false},
		"cast":            {2, 2, castCall, true},
		"greatest":        {0, -1, func(a []expr.Expr) (expr.Expr, error) { return extreme("GREATEST", a) }, false},
		"least":           {0, -1, func(a []expr.Expr) (expr.Expr, error) { return extreme("LEAST", a) }, false},

		"pi":          {0, 0, func(a []expr.Expr) (expr.Expr, error) { return call("PI", a...) }, false},
		"abs":         {1, 1, func(a []expr.Expr) (expr.Expr, error) { return ofNumber("ABS", a) }, false},
		"max":         {2, 2, func(a []expr.Expr) (expr.Expr, error) { return ofNumbers("GREATEST", a, true) }, false},
		"min":         {2, 2, func(a []expr.Expr) (expr.Expr, error) { return ofNumbers("LEAST", a, true) }, false},
		"div":         {2, 2, div, false},
		"safe_divide": {2, 2, safeDivide, false},
		"round":       {1, 2, round, false},

		"concat":           {0, -1, func(a []expr.Expr) (expr.Expr, error) { return ofTexts("CONCAT", a) }, false},
		"strlen":           {1, 1, func(a []expr.Expr) (expr.Expr, error) { return ofTexts("LENGTH", a) }, false},
		"lower":            {1, 1, func(a []expr.Expr) (expr.Expr, error) { return ofTexts("LOWER", a) }, false},
		"upper":            {1, 1, func(a []expr.Expr) (expr.Expr, error) { return ofTexts("UPPER", a) }, false},
		"reverse":          {1, 1, reverse, false},
		"replace":          {3, 3, func(a []expr.Expr) (expr.Expr, error) { return ofTexts("REPLACE", a) }, false},
		"repeat":           {2, 2, textAndCount("REPEAT", false), false},
		"left":             {2, 2, textAndCount("LEFT", true), false},
		"right":            {2, 2, textAndCount("RIGHT", true), false},
		"lpad":             {3, 3, pad("LPAD"), false},
		"rpad":             {3, 3, pad("RPAD"), false},
		"like":             {2, 3, like, false},
		"regexp_like":      {2, 2, ofPattern("REGEXP_LIKE"), false},
		"regexp_extract":   {2, 3, ofPattern("REGEXP_EXTRACT"), false},
		"regexp_replace":   {3, 3, ofPattern("REGEXP_REPLACE"), false},
		"contains_string":  {2, 2, contained("CONTAINS_STRING"), false},
		"icontains_string": {2, 2, contained("ICONTAINS_STRING"), false},
		"parse_long":       {1, 2, parseLong, false},
		"substring":        {2, 3, substring, false},
		"strpos":           {2, 3, strpos, false},
		"trim":             {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("BOTH", a) }, false},
		"btrim":            {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("BOTH", a) }, false},
		"ltrim":            {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("LEADING", a) }, false},
		"rtrim":            {1, 2, func(a []expr.Expr) (expr.Expr, error) { return trim("TRAILING", a) }, false},
		"format":           {1, -1, format, false},

		"timestamp":         {1, 2, timestamp, false},
		"unix_timestamp":    {1, 2, unixTimestamp, false},
		"timestamp_floor":   {2, 4, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_FLOOR", a, 0, 2) }, false},
		"timestamp_ceil":    {2, 4, func(a []expr.Expr) (expr.Expr, error) { return timeCall("TIME_CEIL", a, 0, 2) }, false},
		"timestamp_shift":   {3, 4, timestampShift, false},
		"timestamp_extract": {2, 3, timestampExtract, false},
		"timestamp_format":  {1, 3, timestampFormat, false},
		"timestamp_parse":   {1, 3, timestampParse, false},

		"json_value": {2, 3, jsonValue, true},

		"array":              {1, -1, arrayOf, true},
		"array_length":       {1, 1, func(a []expr.Expr) (expr.Expr, error) { return ofList("ARRAY_LENGTH", a, 0) }, true},
		"array_offset":       {2, 2, elementOf("ARRAY_OFFSET"), true},
		"array_ordinal":      {2, 2, elementOf("ARRAY_ORDINAL"), true},
		"array_contains":     {2, 2, containment("ARRAY_CONTAINS", []any{nil}), true},
		"array_overlap":      {2, 2, containment("ARRAY_OVERLAP", nil), true},
		"scalar_in_array":    {2, 2, inList, true},
		"array_offset_of":    {2, 2, placeOf("ARRAY_OFFSET_OF"), true},
		"array_ordinal_of":   {2, 2, placeOf("ARRAY_ORDINAL_OF"), true},
		"array_append":       {2, 2, func(a []expr.Expr) (expr.Expr, error) { return added("ARRAY_APPEND", a[0], a[1], false) }, true},
		"array_prepend":      {2, 2, func(a []expr.Expr) (expr.Expr, error) { return added("ARRAY_PREPEND", a[1], a[0], true) }, true},
		"array_concat":       {2, 2, concatenation, true},
		"array_set_add":      {2, 2, addToSet, true},
		"array_set_add_all":  {2, 2, addToSet, true},
		"array_slice":        {2, 3, slice, true},
		"array_to_string":    {2, 2, joined, true},
		"string_to_array":    {2, 2, split, false},
		"array_to_mv":        {1, 1, toMultiValue, true},
		"mv_to_array":        {1, 1, toArray, true},
		"mv_harmonize_nulls": {1, 1, harmonizeNulls, true},
	}
	for _, name := range []string{"istrue", "isfalse", "nottrue", "notfalse"} {
		f := own[name]
		f.lists = true
		own[name] = f
	}
	for name, op := range map[string]string{"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="} {
		own[name] = form{2, 2, func(a []expr.Expr) (expr.Expr, error) { return compare(op, a[0], a[1]) }, false}
	}
	addNumeric()
}

// addNumeric adds the functions of numbers that are computed by those of SQL.
func addNumeric() {
	own["getexponent"] = form{1, 1, func(a []expr.Expr) (expr.Expr, error) { return computed("$GET_EXPONENT", doubleType, longType, a) }, false}
	own["bitwiseconvertdoubletolongbits"] = form{1, 1, func(a []expr.Expr) (expr.Expr, error) {
		return computed("BITWISE_CONVERT_DOUBLE_TO_LONG_BITS", doubleType, longType, a)
	}, false}
	own["bitwiseconvertlongbitstodouble"] = form{1, 1, func(a []expr.Expr) (expr.Expr, error) {
		return computed("BITWISE_CONVERT_LONG_BITS_TO_DOUBLE", longType, doubleType, a)
	}, false}
	for name, of := range map[string]string{
		"acos": "ACOS", "asin": "ASIN", "atan": "ATAN", "cbrt": "CBRT", "cos": "COS", "cosh": "$COSH", "cot": "COT", "exp": "EXP", "expm1": "$EXPM1",
		"log": "LN", "log10": "LOG10", "log1p": "$LOG1P", "nextup": "$NEXTUP", "rint": "$RINT", "signum": "$SIGNUM", "sin": "SIN", "sinh": "$SINH",
		"sqrt": "SQRT", "tan": "TAN", "tanh": "$TANH", "todegrees": "DEGREES", "toradians": "RADIANS", "ulp": "$ULP",
		"floor": "FLOOR", "ceil": "CEIL",
		"atan2": "ATAN2", "copysign": "$COPYSIGN", "hypot": "$HYPOT", "nextafter": "$NEXTAFTER", "pow": "POWER", "remainder": "$REMAINDER", "scalb": "$SCALB",
	} {
		fn := catalog.MustLookup(of)
		own[name] = form{fn.Min, fn.Max, func(a []expr.Expr) (expr.Expr, error) { return computed(of, doubleType, doubleType, a) }, false}
	}
	for name, of := range map[string]string{
		"bitwiseand": "BITWISE_AND", "bitwiseor": "BITWISE_OR", "bitwisexor": "BITWISE_XOR", "bitwiseshiftleft": "BITWISE_SHIFT_LEFT",
		"bitwiseshiftright": "BITWISE_SHIFT_RIGHT", "bitwisecomplement": "BITWISE_COMPLEMENT",
	} {
		fn := catalog.MustLookup(of)
		own[name] = form{fn.Min, fn.Max, func(a []expr.Expr) (expr.Expr, error) { return computed(of, longType, longType, a) }, false}
	}
	for name, of := range map[string]string{
		"human_readable_binary_byte_format": "HUMAN_READABLE_BINARY_BYTE_FORMAT", "human_readable_decimal_byte_format": "HUMAN_READABLE_DECIMAL_BYTE_FORMAT",
		"human_readable_decimal_format": "HUMAN_READABLE_DECIMAL_FORMAT",
	} {
		own[name] = form{1, 2, func(a []expr.Expr) (expr.Expr, error) { return humanReadable(of, a) }, false}
	}
}

// isFunction reports whether the native language has a function or operator of a name.
func isFunction(name string) bool {
	_, is := own[name]
	if !is {
		_, is = byNativeName()[name]
	}
	return is || isLoop(name)
}

func notDefined(name string) error {
	hint := ""
	if near := fault.Nearest(name, functionNames()); near != "" {
		hint = "; did you mean [" + near + "]?"
	}
	return invalid("Function [%s] of native expressions is not defined%s", name, hint)
}

// checkExpression refuses what is no expression whatever columns there are: for its syntax, or a
// function that is not defined.
func checkExpression(text string) error {
	n, err := parseExpression(text)
	if err != nil {
		return err
	}
	return checkFunctions(n)
}

func checkFunctions(n syntaxNode) error {
	switch n := n.(type) {
	case *lambdaNode:
		return checkFunctions(n.body)
	case *callNode:
		if !isFunction(n.name) {
			return notDefined(n.name)
		}
		for _, a := range n.args {
			if err := checkFunctions(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// function binds a function of the native language by name.
func function(name string, args []expr.Expr) (expr.Expr, error) {
	if f, ok := own[name]; ok {
		if len(args) < f.least || f.most >= 0 && len(args) > f.most {
			return nil, wrongCount(strings.TrimPrefix(name, "unary"), f.least, f.most)
		}
		if f.lists {
			return f.bind(args)
		}
		return expr.OverValues(args, func(args []expr.Expr) (expr.Expr, error) { return f.bind(slices.Clone(args)) })
	}
	fn, ok := byNativeName()[name]
	if !ok {
		return nil, notDefined(name)
	}
	if len(args) < fn.Min || fn.Max >= 0 && len(args) > fn.Max {
		return nil, wrongCount(name, fn.Min, fn.Max)
	}
	for i, a := range args {
		args[i] = operand(a)
	}
	if fn.RefusesNull && slices.ContainsFunc(args[:fn.Min], isNullConstant) {
		return unknown(), nil
	}
	if fn.SeesLists {
		return expr.NewCall(fn, args, fault.Span{})
	}
	return expr.OverValues(args, func(args []expr.Expr) (expr.Expr, error) { return expr.NewCall(fn, args, fault.Span{}) })
}

// wrongCount says how many arguments a function takes.
func wrongCount(name string, least, most int) error {
	count, s := "", "s"
	switch {
	case most < 0:
		count = "at least " + itoa(least)
	case least == most:
		count = itoa(least)
	case most == least+1:
		count = itoa(least) + " or " + itoa(most)
	default:
		count = itoa(least) + " to " + itoa(most)
	}
	if most == 1 || most < 0 && least == 1 {
		s = ""
	}
	return invalid("Function [%s] of native expressions requires %s argument%s", name, count, s)
}

// byNativeName is the catalog of package expr under the names of the native language.
var byNativeName = sync.OnceValue(func() map[string]*expr.Function {
	m := map[string]*expr.Function{}
	for _, f := range catalog.Functions() {
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
	out = append(out, loopNames()...)
	slices.Sort(out)
	return out
}

func isNullConstant(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.Value == nil
}

func isConstants(args []expr.Expr) bool {
	return !slices.ContainsFunc(args, func(a expr.Expr) bool { _, ok := a.(*expr.Literal); return !ok })
}
