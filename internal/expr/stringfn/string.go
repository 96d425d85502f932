package stringfn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/javatext"
	"github.com/hengedb/henge/internal/vector"
)

// Functions are the functions of strings, numbers in strings and internet addresses.
var Functions = slices.Concat(
	[]*expr.Function{
		concatOperator, likeFunction, ilikeFunction,
		concatFunction, concatWSFunction, textcatFunction, lengthFunction, lowerFunction, upperFunction, initcapFunction,
		leftFunction, rightFunction, substringFunction, btrimFunction, ltrimFunction, rtrimFunction, trimBothFunction,
		lpadFunction, rpadFunction, repeatFunction, reverseFunction, replaceFunction, strposFunction, positionFunction,
		containsFunction, icontainsFunction, splitPartFunction, asciiFunction, chrFunction, stringFormatFunction,
		regexpLikeFunction, regexpExtractFunction, regexpReplaceFunction, decodeBase64Function,

		// Orders of strings, and numbers as texts.
		alphanumericFunction, versionFunction, numericOrderFunction, floatTextFunction, textDoubleFunction, textLongFunction,

		// Internet addresses.
		ipv4MatchFunction, ipv4ParseFunction, ipv4StringifyFunction, ipv6MatchFunction,
	},
	humanReadableFunctions, hashFunctions,
)

var concatOperator = &expr.Function{
	Name: "||", Min: 2, Max: -1, NativeName: "concat", Forms: []string{"<STRING> || <STRING>"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		t := b.Type(0)
		if t.Base == expr.Array && expr.IsNullLiteral(b.Args[1]) && len(b.Args) == 2 {
			return &expr.Literal{T: t.OrNull(true)}, nil
		}
		if t.Base == expr.Null && len(b.Args) == 2 && b.Type(1).Base == expr.Array {
			return &expr.Literal{T: expr.Of(expr.Varchar)}, nil
		}
		for i := range b.Args {
			if base := b.Type(i).Base; base != expr.Char && base != expr.Null {
				t = expr.Of(expr.Varchar)
			}
		}
		if t.Base != expr.Char {
			t = expr.Of(expr.Varchar)
		}
		return bindConcat(b, t.OrNull(true))
	},
	Kernel: expr.Metered(concat),
}

var concatFunction = &expr.Function{
	Name: "CONCAT", Min: 0, Max: -1, NativeName: "concat",
	Summary: "Concatenates its arguments as strings. Returns NULL if one of them is NULL.",
	Forms:   []string{"$F(expr, [expr, ...])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		for i := range b.Args {
			if t := b.Type(i); t.IsNumeric() || t.Base == expr.Boolean {
				if b.Cast(i, expr.Of(expr.Varchar)); b.Err != nil {
					return nil, b.Err
				}
				if c, ok := b.Args[i].(*expr.Cast); ok {
					c.Implied = true // it was made just now
				}
			}
		}
		return bindConcat(b, expr.Of(expr.Varchar))
	},
	Kernel: expr.Metered(concat),
}

var textcatFunction = &expr.Function{
	Name: "TEXTCAT", Min: 2, Max: 2, NativeName: "concat", RefusesNull: true,
	Summary: "Concatenates two strings.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		b.Text(1)
		return bindConcat(b, expr.Of(expr.Varchar))
	},
	Kernel: expr.Metered(concat),
}

// bindConcat binds a concatenation.
func bindConcat(b *expr.Binding, t expr.Type) (expr.Expr, error) {
	if len(b.Args) == 0 {
		return &expr.Literal{T: t}, nil
	}
	for i := range b.Args {
		b.AnyText(i)
	}
	return b.Strict(t)
}

func concat(args []*vector.Vector, n int, valid vector.Bitmap, m *expr.Meter) (*vector.Vector, error) {
	parts := make([]kernel.Column[string], len(args))
	for i, a := range args {
		parts[i] = kernel.ColumnOf[string](a)
	}
	size := 0
	for i := range n {
		if valid.Get(i) {
			for _, p := range parts {
				size += len(p.At(i))
			}
		}
	}
	if err := m.Add(size); err != nil {
		return nil, err
	}
	var buf strings.Builder
	buf.Grow(size)
	ends := make([]int, n)
	for i := range ends {
		if valid.Get(i) {
			for _, p := range parts {
				buf.WriteString(p.At(i))
			}
		}
		ends[i] = buf.Len()
	}
	return vector.FromStrings(kernel.Cut(buf.String(), ends)), nil
}

var concatWSFunction = &expr.Function{
	Name: "CONCAT_WS", Min: 1, Max: -1, SeesNulls: true,
	Summary: "Concatenates the arguments after the first, with the first as separator. NULLs are skipped.",
	Forms:   []string{"$F(<CHARACTER>, [expr, ...])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		for i := range b.Args {
			b.AnyText(i)
		}
		return b.Call(expr.Of(expr.Varchar))
	},
	Kernel: expr.Metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *expr.Meter) (*vector.Vector, error) {
		parts := make([]kernel.Column[string], len(args))
		for i, a := range args {
			parts[i] = kernel.ColumnOf[string](a)
		}
		r, present := kernel.NewRows[string](n), []string(nil)
		for i := range r.Out {
			if args[0].IsNull(i) {
				r.Null(i)
				continue
			}
			present = present[:0]
			for k := 1; k < len(args); k++ {
				if !args[k].IsNull(i) {
					present = append(present, parts[k].At(i))
				}
			}
			var err error
			if r.Out[i], err = m.Join(present, parts[0].At(i)); err != nil {
				return nil, err
			}
		}
		return r.Vector(), nil
	}),
}

var lengthFunction = &expr.Function{
	Name: "LENGTH", Aliases: []string{"CHAR_LENGTH", "CHARACTER_LENGTH", "STRLEN"}, NativeName: "strlen", Min: 1, Max: 1,
	Summary: "Returns the length of a string in UTF-16 code units.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.AnyText(0)
		return b.Strict(expr.Of(expr.Integer))
	},
	Kernel: expr.Fixed(lengthKernel),
}

// textToText makes a function of one string that gives a string; a CHAR gives a CHAR.
func textToText(name, summary string, f func(string) string) *expr.Function {
	return &expr.Function{
		Name: name, Min: 1, Max: 1, Summary: summary,
		Forms: []string{"$F(<CHARACTER>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			t := b.Type(0)
			if t.Base == expr.Null {
				return b.Args[0], nil
			}
			if t.Base != expr.Char {
				t = expr.Of(expr.Varchar)
			}
			b.AnyText(0)
			return b.Strict(t)
		},
		Kernel: expr.Fixed(kernel.Unary(f)),
	}
}

var lowerFunction = textToText("LOWER", "Converts a string to lower case.", javatext.ToLower)
var upperFunction = textToText("UPPER", "Converts a string to upper case.", javatext.ToUpper)
var initcapFunction = textToText("INITCAP", "Converts the first letter of each word to upper case and the rest to lower case.", initcap)

func initcap(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		first := letter && !inWord
		inWord = letter
		if first {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

var leftFunction = sideFunction("LEFT", "Returns the leftmost characters of a string.",
	func(s string, n int) string { return javatext.UnitSlice(s, 0, n) })

var rightFunction = sideFunction("RIGHT", "Returns the rightmost characters of a string.",
	func(s string, n int) string {
		count := javatext.UnitCount(s)
		return javatext.UnitSlice(s, count-min(n, count), count)
	})

func sideFunction(name, summary string, f func(string, int) string) *expr.Function {
	return &expr.Function{
		Name: name, Min: 2, Max: 2, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, <INTEGER>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			b.Text(0)
			b.Whole(1)
			return b.Strict(expr.Of(expr.Varchar))
		},
		Kernel: expr.Fixed(kernel.Failing2(func(s string, n int64) (string, bool, error) {
			if n < 0 {
				return "", false, fault.InvalidInput("Function[%s] needs a positive integer as the second argument", strings.ToLower(name))
			}
			return f(s, int(min(n, expr.MaxText))), true, nil
		})),
	}
}

var substringFunction = &expr.Function{
	Name: "SUBSTRING", Aliases: []string{"SUBSTR"}, Min: 2, Max: 3, RefusesNull: true,
	Summary: "Returns the substring that starts at a position, with at most the given length. Returns NULL if the string ends " +
		"before that position.",
	Forms: []string{"$F(<CHARACTER>, <INTEGER>, [<INTEGER>])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		t := expr.Of(expr.Varchar)
		if b.Type(0).Base == expr.Char {
			t = expr.Of(expr.Char)
		}
		b.Text(0)
		for i := 1; i < len(b.Args); i++ {
			b.Whole(i)
		}
		return b.Call(t)
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		if len(c.Args) == 2 {
			return kernel.Partial2(func(s string, from int64) (string, bool) { return substring(s, from, -1) }), nil
		}
		return kernel.Partial3(substring), nil
	},
}

// substring takes a negative length for the rest of the string. Positions before the first hold
// nothing, as in standard SQL.
func substring(s string, from, length int64) (string, bool) {
	from = max(min(from, expr.MaxText), -expr.MaxText) - 1 // now from 0
	start := int(max(from, 0))
	if offset, _ := javatext.UnitOffset(s, start); offset >= len(s) {
		return "", false
	}
	if length < 0 {
		return javatext.UnitSlice(s, start, expr.MaxText), true
	}
	return javatext.UnitSlice(s, start, int(from+min(length, expr.MaxText))), true
}

// trimFunction makes a function that strips characters of a set, blanks if none is given, from the
// ends of a string; if it coerces, of any scalar as text.
func trimFunction(name, native string, coerces bool, summary string, trim func(s, set string) string) *expr.Function {
	return &expr.Function{
		Name: name, NativeName: native, Min: 1, Max: 2, SeesNulls: true, RefusesNull: !coerces, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, [<CHARACTER>])"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			if b.Type(0).Base == expr.Null {
				return b.Args[0], nil
			}
			for i := range b.Args {
				if coerces {
					b.AnyText(i)
				} else {
					b.Text(i)
				}
			}
			if b.Err == nil && len(b.Args) == 2 && b.Type(1).Nullable { // quirk Q001: a set that is NULL has no characters, as in Druid
				none := &expr.Literal{Value: "", T: expr.Of(expr.Varchar).NotNull()}
				b.Args[1], b.Err = expr.NewCall(expr.CoalesceFunction, []expr.Expr{b.Args[1], none}, b.At)
			}
			return b.Call(expr.Of(expr.Varchar).NotNull().OrNull(b.AnyNullable()))
		},
		Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
			if len(c.Args) == 1 {
				return kernel.OnFirst(kernel.Unary(func(s string) string { return trim(s, " ") })), nil
			}
			k := kernel.Binary(trim)
			return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
				v, err := k(args, n, nil)
				if valid := kernel.ValidRows(args, n); err == nil && valid != nil {
					v = kernel.WithValid(v, valid)
				}
				return v, err
			}, nil
		},
	}
}

var btrimFunction = trimFunction("BTRIM", "trim", false,
	"Removes characters, by default blanks, from both ends of a string.", strings.Trim)

var ltrimFunction = trimFunction("LTRIM", "", false,
	"Removes characters, by default blanks, from the start of a string.", strings.TrimLeft)

var rtrimFunction = trimFunction("RTRIM", "", false,
	"Removes characters, by default blanks, from the end of a string.", strings.TrimRight)

var trimBothFunction = trimFunction("TRIM", "", true,
	"Removes characters, by default blanks, from one or both ends of a string.", strings.Trim)

// NewTrim binds TRIM(side set FROM s). side is BOTH, LEADING or TRAILING; set is nil if none is
// given. Scalars of other types are converted to strings.
func NewTrim(side string, set, s expr.Expr, at fault.Span) (expr.Expr, error) {
	args := []expr.Expr{s}
	if set != nil {
		if expr.IsNullLiteral(set) { // in this form NULL makes NULL
			return &expr.Literal{T: expr.Of(expr.Varchar)}, nil
		}
		args = append(args, set)
	}
	fn := trimBothFunction
	switch side {
	case "LEADING":
		fn = ltrimFunction
	case "TRAILING":
		fn = rtrimFunction
	}
	for i, a := range args {
		if t := a.Type(); t.Base == expr.Boolean || t.IsNumeric() || t.IsTime() || t.Base == expr.Null && fn != trimBothFunction {
			args[i] = expr.Coerce(a, expr.Of(expr.Varchar))
		}
	}
	return expr.NewCall(fn, args, at)
}

var lpadFunction = padFunction("LPAD", "Pads a string on the left to a length, or truncates it to that length.",
	func(s, fill string) string { return fill + s })

var rpadFunction = padFunction("RPAD", "Pads a string on the right to a length, or truncates it to that length.",
	func(s, fill string) string { return s + fill })

func padFunction(name, summary string, join func(s, fill string) string) *expr.Function {
	pad := func(s string, n int64, chars string) (string, bool, error) {
		count := javatext.UnitCount(s)
		switch {
		case n > expr.MaxText:
			return "", false, fault.InvalidInput("Function [%s] can't make a string of [%d] characters", name, n)
		case n == 0:
			return "", false, nil
		case n < 0:
			return "", true, nil
		case int(n) <= count:
			return javatext.UnitSlice(s, 0, int(n)), true, nil
		case chars == "":
			return s, true, nil
		}
		missing := int(n) - count
		fill := strings.Repeat(chars, missing/javatext.UnitCount(chars)+1)
		return join(s, javatext.UnitSlice(fill, 0, missing)), true, nil
	}
	return &expr.Function{
		Name: name, Min: 2, Max: 3, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, <INTEGER>, [<CHARACTER>])"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			b.Text(0)
			b.Whole(1)
			if b.Has(2) {
				b.Text(2)
			} else {
				b.Args = append(b.Args, expr.TextLiteral(" "))
			}
			return b.Call(expr.Of(expr.Varchar))
		},
		Kernel: expr.Growing3(pad),
	}
}

var repeatFunction = &expr.Function{
	Name: "REPEAT", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Repeats a string a number of times. Returns NULL if the number is less than one.",
	Forms:   []string{"$F(<CHARACTER>, <INTEGER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		b.Whole(1)
		return b.Call(expr.Of(expr.Varchar))
	},
	Kernel: expr.Growing2(func(s string, n int64) (string, bool, error) {
		switch {
		case n < 1:
			return "", false, nil
		case s != "" && n > int64(expr.MaxText/len(s)):
			return "", false, fault.InvalidInput("Function [REPEAT] can't make a string of [%d] times [%d] characters", n, len(s))
		}
		return strings.Repeat(s, int(min(n, expr.MaxText))), true, nil
	}),
}

var reverseFunction = &expr.Function{
	Name: "REVERSE", Min: 1, Max: 1, RefusesNull: true,
	Summary: "Returns the characters of a string in reverse order.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Unary(func(s string) string {
		out := make([]byte, len(s))
		for i := 0; i < len(s); {
			_, size := utf8.DecodeRuneInString(s[i:])
			copy(out[len(s)-i-size:], s[i:i+size])
			i += size
		}
		return string(out)
	})),
}

var replaceFunction = &expr.Function{
	Name: "REPLACE", Min: 3, Max: 3,
	Summary: "Replaces all occurrences of a substring.",
	Forms:   []string{"$F(<STRING>, <STRING>, <STRING>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		if b.Type(0).Base == expr.Null {
			return b.Args[0], nil
		}
		for i := range b.Args {
			b.AnyText(i)
		}
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Growing3(func(s, from, to string) (string, bool, error) {
		if len(to) > len(from) && len(to) > 0 && (len(s)+1) > expr.MaxText/len(to) {
			return "", false, fault.InvalidInput("Function [REPLACE] can't make a string of more than [%d] characters", expr.MaxText)
		}
		return strings.ReplaceAll(s, from, to), true, nil
	}),
}

var strposFunction = &expr.Function{
	Name: "STRPOS", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns the position of the first occurrence of a substring, or 0.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		b.Text(1)
		return b.Strict(expr.Of(expr.Integer))
	},
	Kernel: expr.Fixed(kernel.Binary(func(s, x string) int64 { return position(s, x, 1) })),
}

var positionFunction = &expr.Function{
	Name: "POSITION", Min: 2, Max: 3,
	Summary: "Returns the position of the first occurrence of a substring at or after a position, or 0.",
	Forms:   []string{"$F(<STRING> IN <STRING> [FROM <INTEGER>])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.AnyText(0)
		b.AnyText(1)
		if b.Has(2) {
			if b.Type(2).IsCharacter() {
				b.Cast(2, expr.Of(expr.BigInt))
			}
			b.Whole(2)
		}
		return b.Strict(expr.Of(expr.Integer))
	},
	Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
		if len(c.Args) == 2 {
			return kernel.Binary(func(x, s string) int64 { return position(s, x, 1) }), nil
		}
		return kernel.Partial3(func(x, s string, from int64) (int64, bool) { return position(s, x, from), true }), nil
	},
}

// position is the place of x in s, counted from 1, at or after from; 0: nowhere.
func position(s, x string, from int64) int64 {
	start, half := 0, false
	if from > 1 {
		start, half = javatext.UnitOffset(s, int(min(from-1, expr.MaxText)))
		if half {
			_, size := utf8.DecodeRuneInString(s[start:])
			start += size
		}
	}
	i := strings.Index(s[start:], x)
	if i < 0 {
		return 0
	}
	return int64(javatext.UnitCount(s[:start+i])) + 1
}

var containsFunction = searchFunction("CONTAINS_STRING", "Returns whether a string contains a substring.",
	func(x string) func(string) bool { return func(s string) bool { return strings.Contains(s, x) } })

var icontainsFunction = searchFunction("ICONTAINS_STRING", "Returns whether a string contains a substring, ignoring case.",
	func(x string) func(string) bool {
		x = javatext.ToLower(x)
		return func(s string) bool { return strings.Contains(javatext.ToLower(s), x) }
	})

func searchFunction(name, summary string, search func(x string) func(string) bool) *expr.Function {
	return &expr.Function{
		Name: name, Min: 2, Max: 2, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, <CHARACTER>)"},
		Bind: func(b *expr.Binding) (expr.Expr, error) {
			b.Text(0)
			b.ConstantText(1, "text to search")
			return b.Strict(expr.Of(expr.Boolean))
		},
		Kernel: func(c *expr.Call, _ *expr.Context) (expr.Kernel, error) {
			x, _ := expr.LiteralValue(c.Args[1])
			s, _ := x.(string)
			has := search(s)
			return kernel.Unary(func(s string) int64 { return kernel.Bool(has(s)) }), nil
		},
	}
}

var splitPartFunction = &expr.Function{
	Name: "SPLIT_PART", Min: 3, Max: 3,
	Summary: "Splits a string at a delimiter and returns one part. Parts are counted from 1, or from the end if the number " +
		"is negative.",
	Forms: []string{"$F(<CHARACTER>, <CHARACTER>, <INTEGER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		b.Text(1)
		b.Whole(2)
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Partial3(func(s, delimiter string, n int64) (string, bool) {
		parts := []string{s}
		if delimiter != "" {
			parts = strings.Split(s, delimiter)
		}
		if n < 0 {
			n += int64(len(parts)) + 1
		}
		if n < 1 || n > int64(len(parts)) {
			return "", true
		}
		return parts[n-1], true
	})),
}

var asciiFunction = &expr.Function{
	Name: "ASCII", Min: 1, Max: 1,
	Summary: "Returns the code point of the first character of a string, or 0 if the string is empty.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		return b.Strict(expr.Of(expr.Integer))
	},
	Kernel: expr.Fixed(kernel.Unary(func(s string) int64 {
		if s == "" {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(s)
		return int64(r)
	})),
}

var chrFunction = &expr.Function{
	Name: "CHR", Min: 1, Max: 1,
	Summary: "Returns the character of a code point. Returns NULL if the number is not a code point.",
	Forms:   []string{"$F(<INTEGER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Whole(0)
		return b.Call(expr.Of(expr.Varchar))
	},
	Kernel: expr.Fixed(kernel.Partial1(func(n int64) (string, bool) {
		if n < 0 || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", false
		}
		return string(rune(n)), true
	})),
}
