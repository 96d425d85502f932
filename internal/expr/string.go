package expr

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

var concatOperator = &Function{
	Name: "||", Min: 2, Max: -1, NativeName: "concat", Forms: []string{"<STRING> || <STRING>"},
	Bind: func(b *binding) (Expr, error) {
		t := b.typ(0)
		if t.Base == Array && isNullLiteral(b.args[1]) && len(b.args) == 2 {
			return &Literal{T: t.OrNull(true)}, nil
		}
		if t.Base == Null && len(b.args) == 2 && b.typ(1).Base == Array {
			return &Literal{T: Of(Varchar)}, nil
		}
		for i := range b.args {
			if base := b.typ(i).Base; base != Char && base != Null {
				t = Of(Varchar)
			}
		}
		if t.Base != Char {
			t = Of(Varchar)
		}
		return b.concat(t.OrNull(true))
	},
	Kernel: metered(concat),
}

var concatFunction = &Function{
	Name: "CONCAT", Min: 0, Max: -1, NativeName: "concat",
	Summary: "Returns its arguments as text, one after the other; NULL if one of them is.",
	Forms:   []string{"$F(expr, [expr, ...])"},
	Bind: func(b *binding) (Expr, error) {
		for i := range b.args {
			if t := b.typ(i); t.IsNumeric() || t.Base == Boolean {
				if b.cast(i, Of(Varchar)); b.err != nil {
					return nil, b.err
				}
				if c, ok := b.args[i].(*Cast); ok {
					c.Implied = true // it was made just now
				}
			}
		}
		return b.concat(Of(Varchar))
	},
	Kernel: metered(concat),
}

var textcatFunction = &Function{
	Name: "TEXTCAT", Min: 2, Max: 2, NativeName: "concat", RefusesNull: true,
	Summary: "Returns the first argument followed by the second.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.text(1)
		return b.concat(Of(Varchar))
	},
	Kernel: metered(concat),
}

// concat binds a concatenation.
func (b *binding) concat(t Type) (Expr, error) {
	if len(b.args) == 0 {
		return &Literal{T: t}, nil
	}
	for i := range b.args {
		b.anyText(i)
	}
	return b.strict(t)
}

// concatenated returns the arguments of a concatenation with those of one inside another in its
// place, so that "a || b || c" copies once.
func concatenated(args []Expr) []Expr {
	var out []Expr
	for _, a := range args {
		if c, ok := a.(*Call); ok && c.Fn.NativeName == "concat" {
			out = append(out, concatenated(c.Args)...)
		} else {
			out = append(out, a)
		}
	}
	return out
}

func concat(args []*vector.Vector, n int, valid vector.Bitmap, m *meter) (*vector.Vector, error) {
	parts := make([]column[string], len(args))
	for i, a := range args {
		parts[i] = columnOf[string](a)
	}
	size := 0
	for i := range n {
		if valid.Get(i) {
			for _, p := range parts {
				size += len(p.at(i))
			}
		}
	}
	if err := m.add(size); err != nil {
		return nil, err
	}
	var buf strings.Builder
	buf.Grow(size)
	ends := make([]int, n)
	for i := range ends {
		if valid.Get(i) {
			for _, p := range parts {
				buf.WriteString(p.at(i))
			}
		}
		ends[i] = buf.Len()
	}
	return vector.FromStrings(cut(buf.String(), ends)), nil
}

var concatWSFunction = &Function{
	Name: "CONCAT_WS", Min: 1, Max: -1, SeesNulls: true,
	Summary: "Returns the arguments after the first as text, with the first between them. NULLs are left out.",
	Forms:   []string{"$F(<CHARACTER>, [expr, ...])"},
	Bind: func(b *binding) (Expr, error) {
		for i := range b.args {
			b.anyText(i)
		}
		return b.call(Of(Varchar))
	},
	Kernel: metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *meter) (*vector.Vector, error) {
		parts := make([]column[string], len(args))
		for i, a := range args {
			parts[i] = columnOf[string](a)
		}
		r, present := newRows[string](n), []string(nil)
		for i := range r.out {
			if args[0].IsNull(i) {
				r.null(i)
				continue
			}
			present = present[:0]
			for k := 1; k < len(args); k++ {
				if !args[k].IsNull(i) {
					present = append(present, parts[k].at(i))
				}
			}
			var err error
			if r.out[i], err = m.join(present, parts[0].at(i)); err != nil {
				return nil, err
			}
		}
		return r.vector(), nil
	}),
}

var lengthFunction = &Function{
	Name: "LENGTH", Aliases: []string{"CHAR_LENGTH", "CHARACTER_LENGTH", "STRLEN"}, NativeName: "strlen", Min: 1, Max: 1,
	Summary: "Returns the length of a string in UTF-16 code units.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.anyText(0)
		return b.strict(Of(Integer))
	},
	Kernel: fixed(lengthKernel),
}

// textToText makes a function of one string that gives a string; a CHAR gives a CHAR.
func textToText(name, summary string, f func(string) string) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1, Summary: summary,
		Forms: []string{"$F(<CHARACTER>)"},
		Bind: func(b *binding) (Expr, error) {
			t := b.typ(0)
			if t.Base == Null {
				return b.args[0], nil
			}
			if t.Base != Char {
				t = Of(Varchar)
			}
			b.anyText(0)
			return b.strict(t)
		},
		Kernel: fixed(unary(f)),
	}
}

var lowerFunction = textToText("LOWER", "Converts a string to lower case.", toLower)
var upperFunction = textToText("UPPER", "Converts a string to upper case.", toUpper)
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
	func(s string, n int) string { return unitSlice(s, 0, n) })

var rightFunction = sideFunction("RIGHT", "Returns the rightmost characters of a string.",
	func(s string, n int) string {
		count := unitCount(s)
		return unitSlice(s, count-min(n, count), count)
	})

func sideFunction(name, summary string, f func(string, int) string) *Function {
	return &Function{
		Name: name, Min: 2, Max: 2, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, <INTEGER>)"},
		Bind: func(b *binding) (Expr, error) {
			b.text(0)
			b.whole(1)
			return b.strict(Of(Varchar))
		},
		Kernel: fixed(failing2(func(s string, n int64) (string, bool, error) {
			if n < 0 {
				return "", false, fault.InvalidInput("Function[%s] needs a positive integer as the second argument", lower(name))
			}
			return f(s, int(min(n, maxText))), true, nil
		})),
	}
}

var substringFunction = &Function{
	Name: "SUBSTRING", Aliases: []string{"SUBSTR"}, Min: 2, Max: 3, RefusesNull: true,
	Summary: "Returns the part of a string from a position, counted from 1, and of a length; NULL if the string ends before it.",
	Forms:   []string{"$F(<CHARACTER>, <INTEGER>, [<INTEGER>])"},
	Bind: func(b *binding) (Expr, error) {
		t := Of(Varchar)
		if b.typ(0).Base == Char {
			t = Of(Char)
		}
		b.text(0)
		for i := 1; i < len(b.args); i++ {
			b.whole(i)
		}
		return b.call(t)
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if len(c.Args) == 2 {
			return partial2(func(s string, from int64) (string, bool) { return substring(s, from, -1) }), nil
		}
		return partial3(substring), nil
	},
}

// substring takes a negative length for the rest of the string. Positions before the first hold
// nothing, as in standard SQL.
func substring(s string, from, length int64) (string, bool) {
	from = max(min(from, maxText), -maxText) - 1 // now from 0
	start := int(max(from, 0))
	if offset, _ := unitOffset(s, start); offset >= len(s) {
		return "", false
	}
	if length < 0 {
		return unitSlice(s, start, maxText), true
	}
	return unitSlice(s, start, int(from+min(length, maxText))), true
}

// trimFunction makes a function that strips characters of a set, blanks if none is given, from the
// ends of a string; if it coerces, of any scalar as text.
func trimFunction(name, native string, coerces bool, summary string, trim func(s, set string) string) *Function {
	return &Function{
		Name: name, NativeName: native, Min: 1, Max: 2, SeesNulls: true, RefusesNull: !coerces, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, [<CHARACTER>])"},
		Bind: func(b *binding) (Expr, error) {
			if b.typ(0).Base == Null {
				return b.args[0], nil
			}
			for i := range b.args {
				if coerces {
					b.anyText(i)
				} else {
					b.text(i)
				}
			}
			if b.err == nil && len(b.args) == 2 && b.typ(1).Nullable { // a set that is NULL has no characters, as in the reference
				none := &Literal{Value: "", T: Of(Varchar).NotNull()}
				b.args[1], b.err = NewCall(coalesceFunction, []Expr{b.args[1], none}, b.at)
			}
			return b.call(Of(Varchar).NotNull().OrNull(b.anyNullable()))
		},
		Kernel: func(c *Call, _ *Context) (Kernel, error) {
			if len(c.Args) == 1 {
				return onFirst(unary(func(s string) string { return trim(s, " ") })), nil
			}
			k := binary(trim)
			return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
				v, err := k(args, n, nil)
				if valid := validRows(args, n); err == nil && valid != nil {
					v = withValid(v, valid)
				}
				return v, err
			}, nil
		},
	}
}

var btrimFunction = trimFunction("BTRIM", "trim", false,
	"Strips characters of a set, by default blanks, from both ends of a string.", strings.Trim)

var ltrimFunction = trimFunction("LTRIM", "", false,
	"Strips characters of a set, by default blanks, from the start of a string.", strings.TrimLeft)

var rtrimFunction = trimFunction("RTRIM", "", false,
	"Strips characters of a set, by default blanks, from the end of a string.", strings.TrimRight)

var trimBothFunction = trimFunction("TRIM", "", true,
	"Strips characters of a set, by default blanks, from the ends of a string.", strings.Trim)

// NewTrim binds TRIM(side set FROM s), side being BOTH, LEADING or TRAILING; set is nil when none
// is given. Other scalars than strings are taken as text.
func NewTrim(side string, set, s Expr, at fault.Span) (Expr, error) {
	args := []Expr{s}
	if set != nil {
		if isNullLiteral(set) { // in this form NULL makes NULL
			return &Literal{T: Of(Varchar)}, nil
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
		if t := a.Type(); t.Base == Boolean || t.IsNumeric() || t.IsTime() || t.Base == Null && fn != trimBothFunction {
			args[i] = coerce(a, Of(Varchar))
		}
	}
	return NewCall(fn, args, at)
}

var lpadFunction = padFunction("LPAD", "Fills a string up to a length on the left, or cuts it to that length.",
	func(s, fill string) string { return fill + s })

var rpadFunction = padFunction("RPAD", "Fills a string up to a length on the right, or cuts it to that length.",
	func(s, fill string) string { return s + fill })

func padFunction(name, summary string, join func(s, fill string) string) *Function {
	pad := func(s string, n int64, chars string) (string, bool, error) {
		count := unitCount(s)
		switch {
		case n > maxText:
			return "", false, fault.InvalidInput("Function [%s] can't make a string of [%d] characters", name, n)
		case n == 0:
			return "", false, nil
		case n < 0:
			return "", true, nil
		case int(n) <= count:
			return unitSlice(s, 0, int(n)), true, nil
		case chars == "":
			return s, true, nil
		}
		missing := int(n) - count
		fill := strings.Repeat(chars, missing/unitCount(chars)+1)
		return join(s, unitSlice(fill, 0, missing)), true, nil
	}
	return &Function{
		Name: name, Min: 2, Max: 3, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, <INTEGER>, [<CHARACTER>])"},
		Bind: func(b *binding) (Expr, error) {
			b.text(0)
			b.whole(1)
			if b.has(2) {
				b.text(2)
			} else {
				b.args = append(b.args, textLiteral(" "))
			}
			return b.call(Of(Varchar))
		},
		Kernel: growing3(pad),
	}
}

var repeatFunction = &Function{
	Name: "REPEAT", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns a string repeated a number of times; NULL if that is less than one.",
	Forms:   []string{"$F(<CHARACTER>, <INTEGER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.whole(1)
		return b.call(Of(Varchar))
	},
	Kernel: growing2(func(s string, n int64) (string, bool, error) {
		switch {
		case n < 1:
			return "", false, nil
		case s != "" && n > int64(maxText/len(s)):
			return "", false, fault.InvalidInput("Function [REPEAT] can't make a string of [%d] times [%d] characters", n, len(s))
		}
		return strings.Repeat(s, int(min(n, maxText))), true, nil
	}),
}

var reverseFunction = &Function{
	Name: "REVERSE", Min: 1, Max: 1, RefusesNull: true,
	Summary: "Returns the characters of a string in reverse order.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		return b.strict(Of(Varchar))
	},
	Kernel: fixed(unary(func(s string) string {
		out := make([]byte, len(s))
		for i := 0; i < len(s); {
			_, size := utf8.DecodeRuneInString(s[i:])
			copy(out[len(s)-i-size:], s[i:i+size])
			i += size
		}
		return string(out)
	})),
}

var replaceFunction = &Function{
	Name: "REPLACE", Min: 3, Max: 3,
	Summary: "Replaces all occurrences of a text in a string by another.",
	Forms:   []string{"$F(<STRING>, <STRING>, <STRING>)"},
	Bind: func(b *binding) (Expr, error) {
		if b.typ(0).Base == Null {
			return b.args[0], nil
		}
		for i := range b.args {
			b.anyText(i)
		}
		return b.strict(Of(Varchar))
	},
	Kernel: growing3(func(s, from, to string) (string, bool, error) {
		if len(to) > len(from) && len(to) > 0 && (len(s)+1) > maxText/len(to) {
			return "", false, fault.InvalidInput("Function [REPLACE] can't make a string of more than [%d] characters", maxText)
		}
		return strings.ReplaceAll(s, from, to), true, nil
	}),
}

var strposFunction = &Function{
	Name: "STRPOS", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns the position, counted from 1, of a text in a string, and 0 if it is not in it.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.text(1)
		return b.strict(Of(Integer))
	},
	Kernel: fixed(binary(func(s, x string) int64 { return position(s, x, 1) })),
}

var positionFunction = &Function{
	Name: "POSITION", Min: 2, Max: 3,
	Summary: "Returns the position, counted from 1, of a text in a string at or after a position, and 0 if it is not in it.",
	Forms:   []string{"$F(<STRING> IN <STRING> [FROM <INTEGER>])"},
	Bind: func(b *binding) (Expr, error) {
		b.anyText(0)
		b.anyText(1)
		if b.has(2) {
			if b.typ(2).IsCharacter() {
				b.cast(2, Of(BigInt))
			}
			b.whole(2)
		}
		return b.strict(Of(Integer))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		if len(c.Args) == 2 {
			return binary(func(x, s string) int64 { return position(s, x, 1) }), nil
		}
		return partial3(func(x, s string, from int64) (int64, bool) { return position(s, x, from), true }), nil
	},
}

// position is the place of x in s, counted from 1, at or after from; 0: nowhere.
func position(s, x string, from int64) int64 {
	start, half := 0, false
	if from > 1 {
		start, half = unitOffset(s, int(min(from-1, maxText)))
		if half {
			_, size := utf8.DecodeRuneInString(s[start:])
			start += size
		}
	}
	i := strings.Index(s[start:], x)
	if i < 0 {
		return 0
	}
	return int64(unitCount(s[:start+i])) + 1
}

var containsFunction = searchFunction("CONTAINS_STRING", "Returns whether a text is in a string.",
	func(x string) func(string) bool { return func(s string) bool { return strings.Contains(s, x) } })

var icontainsFunction = searchFunction("ICONTAINS_STRING", "Returns whether a text is in a string, in any case.",
	func(x string) func(string) bool {
		x = toLower(x)
		return func(s string) bool { return strings.Contains(toLower(s), x) }
	})

func searchFunction(name, summary string, search func(x string) func(string) bool) *Function {
	return &Function{
		Name: name, Min: 2, Max: 2, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<CHARACTER>, <CHARACTER>)"},
		Bind: func(b *binding) (Expr, error) {
			b.text(0)
			b.constantText(1, "text to search")
			return b.strict(Of(Boolean))
		},
		Kernel: func(c *Call, _ *Context) (Kernel, error) {
			x, _ := literalValue(c.Args[1])
			s, _ := x.(string)
			has := search(s)
			return unary(func(s string) int64 { return b2i(has(s)) }), nil
		},
	}
}

var splitPartFunction = &Function{
	Name: "SPLIT_PART", Min: 3, Max: 3,
	Summary: "Splits a string at a delimiter and returns the part of a number, counted from 1, or from the end if it is negative.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>, <INTEGER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		b.text(1)
		b.whole(2)
		return b.strict(Of(Varchar))
	},
	Kernel: fixed(partial3(func(s, delimiter string, n int64) (string, bool) {
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

var asciiFunction = &Function{
	Name: "ASCII", Min: 1, Max: 1,
	Summary: "Returns the code point of the first character of a string, 0 if it is empty.",
	Forms:   []string{"$F(<CHARACTER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.text(0)
		return b.strict(Of(Integer))
	},
	Kernel: fixed(unary(func(s string) int64 {
		if s == "" {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(s)
		return int64(r)
	})),
}

var chrFunction = &Function{
	Name: "CHR", Min: 1, Max: 1,
	Summary: "Returns the character of a code point; NULL if there is none.",
	Forms:   []string{"$F(<INTEGER>)"},
	Bind: func(b *binding) (Expr, error) {
		b.whole(0)
		return b.call(Of(Varchar))
	},
	Kernel: fixed(partial1(func(n int64) (string, bool) {
		if n < 0 || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", false
		}
		return string(rune(n)), true
	})),
}
