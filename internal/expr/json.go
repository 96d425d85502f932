package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// json wants any value and makes it JSON; a string becomes a JSON string, it is not parsed.
func (b *Binding) json(i int) {
	if b.Err != nil || b.Type(i) == JSON || b.Type(i).OrNull(true) == JSON {
		return
	}
	if IsNullLiteral(b.Args[i]) {
		b.Args[i] = &Literal{T: JSON}
		return
	}
	if madeAsList(b.Args[i]) {
		b.Cast(i, ArrayOf(Of(Varchar)))
	}
	b.Args[i], b.Err = NewCall(toJSONFunction, []Expr{b.Args[i]}, b.At)
}

// toJSONFunction makes JSON of any value. The functions that take JSON use it on what is none.
var toJSONFunction = &Function{
	Name: "TO_JSON", NativeName: "to_json", Min: 1, Max: 1, SeesLists: true, SeesNulls: true,
	Summary: "Converts a value to COMPLEX<json>. A string becomes a JSON string and is not parsed.",
	Forms:   ListForms("expr"),
	Bind: func(b *Binding) (Expr, error) {
		if t := b.Type(0); t.Base == Other && t.ComplexName() != "json" || t.Base == Row || t.IsInterval() {
			b.Mismatch()
		}
		return b.Call(JSON.NotNull().OrNull(b.Type(0).Nullable))
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		write := jsonWriter(c.Args[0].Type())
		return Metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *Meter) (*vector.Vector, error) {
			return jsonRows(args[0], n, write, m)
		})(c, ctx)
	},
}

// jsonRows renders each row that is not NULL.
func jsonRows(v *vector.Vector, n int, write func([]byte, *vector.Vector, int) []byte, m *Meter) (*vector.Vector, error) {
	buf, ends := []byte(nil), make([]int, n)
	for i := range ends {
		if !v.IsNull(i) {
			if err := m.AddTexts(v, i, i+1); err != nil {
				return nil, err
			}
			buf = write(buf, v, i)
		}
		ends[i] = len(buf)
	}
	out := kernel.AsComplex(vector.FromStrings(kernel.Cut(string(buf), ends)), vector.JSON)
	if v.Valid == nil {
		return out, nil
	}
	return kernel.WithValid(out, kernel.ValidRows([]*vector.Vector{v}, n)), nil
}

// jsonWriter returns a function that appends row i of a vector of a type as JSON. The row is not
// NULL.
func jsonWriter(t Type) func(dst []byte, v *vector.Vector, i int) []byte {
	switch {
	case t.Multi:
		return writeMultiValue
	case t.Base == Array:
		elem := jsonWriter(t.Elem())
		return func(dst []byte, v *vector.Vector, i int) []byte {
			dst = append(dst, '[')
			for lo, hi := v.ListAt(i); lo < hi; lo++ {
				if dst[len(dst)-1] != '[' {
					dst = append(dst, ',')
				}
				if v.Child.IsNull(lo) {
					dst = append(dst, "null"...)
				} else {
					dst = elem(dst, v.Child, lo)
				}
			}
			return append(dst, ']')
		}
	case t.Base == Boolean: // a number in all that holds values, as in arrays
		return func(dst []byte, v *vector.Vector, i int) []byte {
			return strconv.AppendInt(dst, min(max(v.LongAt(i), 0), 1), 10)
		}
	case t.Base == Other:
		return func(dst []byte, v *vector.Vector, i int) []byte { return append(dst, v.StringAt(i)...) }
	}
	switch t.Runtime().Kind {
	case vector.KindLong:
		return func(dst []byte, v *vector.Vector, i int) []byte { return strconv.AppendInt(dst, v.LongAt(i), 10) }
	case vector.KindDouble, vector.KindFloat:
		return func(dst []byte, v *vector.Vector, i int) []byte { return appendJSONDouble(dst, v.DoubleAt(i)) }
	}
	return func(dst []byte, v *vector.Vector, i int) []byte { return appendJSONString(dst, v.StringAt(i)) }
}

// writeMultiValue shows one value as itself and more as an array.
func writeMultiValue(dst []byte, v *vector.Vector, i int) []byte {
	write := jsonWriter(Of(Varchar))
	if v.Child.Type != vector.String {
		write = jsonWriter(FromRuntime(v.Child.Type, false))
	}
	lo, hi := v.ListAt(i)
	if hi-lo == 1 {
		if v.Child.IsNull(lo) {
			return append(dst, "null"...)
		}
		return write(dst, v.Child, lo)
	}
	dst = append(dst, '[')
	for first := lo; lo < hi; lo++ {
		if lo > first {
			dst = append(dst, ',')
		}
		if v.Child.IsNull(lo) {
			dst = append(dst, "null"...)
		} else {
			dst = write(dst, v.Child, lo)
		}
	}
	return append(dst, ']')
}

var toJSONStringFunction = &Function{
	Name: "TO_JSON_STRING", NativeName: "to_json_string", Min: 1, Max: 1, ListsAreJSON: true,
	Summary: "Returns the JSON text of a value.",
	Forms:   ListForms("expr"),
	Bind: func(b *Binding) (Expr, error) {
		b.json(0)
		if b.Err != nil {
			return nil, b.Err
		}
		return b.Strict(Of(Varchar))
	},
	Kernel: Fixed(func(args []*vector.Vector, _ int, _ vector.Bitmap) (*vector.Vector, error) {
		return kernel.AsComplex(args[0], vector.String), nil
	}),
}

var parseJSONFunction = parseJSON("PARSE_JSON", "Parses the JSON value at the start of a string. Raises an error if there is no "+
	"valid JSON.", func(s string) error {
	return fault.InvalidInput("Function[parse_json] bad string input [%s]", shortened(s))
})

var tryParseJSONFunction = parseJSON("TRY_PARSE_JSON", "Parses the JSON value at the start of a string. Returns NULL if there is "+
	"no valid JSON.", nil)

// shortened cuts a text that goes into a message.
func shortened(s string) string {
	if len(s) <= 100 {
		return s
	}
	return strings.ToValidUTF8(s[:100], "") + "..."
}

func parseJSON(name, summary string, refuse func(string) error) *Function {
	return &Function{
		Name: name, Min: 1, Max: 1, RefusesNull: true, Summary: summary,
		Forms: []string{"$F(<STRING>)"},
		Bind: func(b *Binding) (Expr, error) {
			b.Text(0)
			return b.Call(JSON)
		},
		Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			in, r := kernel.ColumnOf[string](args[0]), kernel.NewRows[string](n)
			var buf []byte
			for i := range r.Out {
				if !valid.Get(i) {
					continue
				}
				text, ok := jsontext.First(in.At(i))
				if !ok && refuse != nil {
					return nil, refuse(in.At(i))
				}
				if !ok || text == "null" {
					r.Null(i)
					continue
				}
				buf = appendNormalJSON(buf[:0], text)
				if string(buf) == text {
					r.Out[i] = text
				} else {
					r.Out[i] = string(buf)
				}
			}
			return kernel.AsComplex(r.Vector(), vector.JSON), nil
		}),
	}
}

// path wants a path as argument i; a NULL is the root.
func (b *Binding) path(i int) {
	b.Text(i)
	if b.Err != nil {
		return
	}
	if IsNullLiteral(b.Args[i]) {
		b.Args[i] = TextLiteral("$")
		return
	}
	folded, err := Fold(b.Args[i], nil)
	if err != nil {
		b.Err = err
		return
	}
	if s, ok := LiteralValue(folded); ok {
		b.Args[i] = folded
		_, b.Err = jsontext.ParsePath(s.(string))
	}
}

// pathFinder finds values by paths, keeping the path it saw last: it is the same for all rows
// nearly always.
type pathFinder struct {
	text   string
	parsed jsontext.Path
	known  bool
}

func (f *pathFinder) find(s, path string) (string, bool, error) {
	if !f.known || path != f.text {
		parsed, err := jsontext.ParsePath(path)
		if err != nil {
			return "", false, err
		}
		f.text, f.parsed, f.known = path, parsed, true
	}
	raw, ok := f.parsed.Find(s)
	return raw, ok, nil
}

// atPath makes a function (json, path) that does something with each value found. f reports false
// for NULL.
func atPath(t vector.Type, f func(b *vector.Builder, raw string) bool) Kernel {
	finder := &pathFinder{}
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		in, paths := kernel.ColumnOf[string](args[0]), kernel.ColumnOf[string](args[1])
		b := vector.NewBuilder(t, n)
		for i := range n {
			if !valid.Get(i) {
				b.AppendNull()
				continue
			}
			raw, ok, err := finder.find(in.At(i), paths.At(i))
			if err != nil {
				return nil, err
			}
			if !ok || raw == "null" || !f(b, raw) {
				b.AppendNull()
			}
		}
		return b.Build(), nil
	}
}

var jsonValueFunction = &Function{
	Name: "JSON_VALUE", NativeName: "json_value", Min: 2, Max: 2,
	Summary: "Returns the scalar at a path of a JSON value, as VARCHAR or as the type after RETURNING. Returns NULL if the path " +
		"has no scalar.",
	Forms: ListForms("expr, path [RETURNING type]"),
	Bind:  func(b *Binding) (Expr, error) { return b.jsonValue(Of(Varchar)) },
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		t := c.T.Runtime()
		if c.T.Base == Array {
			elem := jsonScalar(c.T.Elem(), ctx)
			return atPath(t, func(b *vector.Builder, raw string) bool { return appendJSONList(b, raw, elem) }), nil
		}
		scalar := jsonScalar(c.T, ctx)
		return atPath(t, func(b *vector.Builder, raw string) bool {
			value := scalar(raw)
			if value != nil {
				b.Append(value)
			}
			return value != nil
		}), nil
	},
}

// NewJSONValue binds JSON_VALUE(x, path RETURNING t).
func NewJSONValue(x, path Expr, t Type, at fault.Span) (Expr, error) {
	b := &Binding{Fn: jsonValueFunction, Args: []Expr{x, path}, At: at}
	if e, done, err := b.atPathOfList(t); done || err != nil {
		return e, err
	}
	if i := firstMulti(b.Args); i >= 0 {
		return MapOverValues(b.Args, i, func(a []Expr) (Expr, error) { return NewJSONValue(a[0], a[1], t, at) })
	}
	return b.jsonValue(t)
}

// numberAtPath returns JSON_VALUE RETURNING t for a JSON_VALUE whose text becomes a number, so that
// a boolean is none here either; nil for anything else.
func numberAtPath(x Expr, t Type) Expr {
	call, ok := x.(*Call)
	if !ok || call.Fn.Name != "JSON_VALUE" || !call.T.IsCharacter() || !t.IsNumeric() {
		return nil
	}
	return &Call{Fn: call.Fn, Args: call.Args, T: t.OrNull(true), At: call.At}
}

// AtPath recognises JSON_VALUE of a nested column at a path of names, and returns the path as
// jsontext.Path.Members writes it.
func AtPath(e Expr) (column *Column, path string, ok bool) {
	call, ok := e.(*Call)
	if !ok || call.Fn != jsonValueFunction {
		return nil, "", false
	}
	column, ok = call.Args[0].(*Column)
	text, isLiteral := LiteralValue(call.Args[1])
	if !ok || !isLiteral || column.T.OrNull(true) != JSON.OrNull(true) {
		return nil, "", false
	}
	parsed, err := jsontext.ParsePath(text.(string))
	if err != nil {
		return nil, "", false
	}
	path, ok = parsed.Members()
	return column, path, ok
}

// NewAtPath returns JSON_VALUE(x, path RETURNING t).
func NewAtPath(x Expr, path string, t Type) (Expr, error) {
	return NewJSONValue(x, TextLiteral(path), t, fault.Span{})
}

func (b *Binding) jsonValue(t Type) (Expr, error) {
	b.json(0)
	b.path(1)
	if t.Base == Array && t.Elem().Base == Float {
		t = ArrayOf(Of(Double))
	}
	if t.Base == Other || t.Base == Row || t.IsInterval() {
		b.Fail("Function [JSON_VALUE] can't return type [%s]; use JSON_QUERY for nested values", t)
	}
	return b.Call(t.OrNull(true))
}

// jsonScalar returns a function from a raw scalar to the boxed physical value of a type, nil for
// NULL: what is there is read as BIGINT, DOUBLE or VARCHAR and then cast. Objects and arrays are
// NULL. A boolean, as such or as text, is no number, and a time is text in JSON, even if a number
// is there: "3" and 3 both are the year.
func jsonScalar(t Type, ctx *Context) func(raw string) any {
	cast := func(from Type) func(any) any {
		k := converter(from, t, ctx)
		return func(x any) any {
			if k == nil {
				return x
			}
			v, err := convertAll(k, vector.Constant(from.Runtime(), x, 1))
			if err != nil {
				return nil
			}
			return v.ValueAt(0)
		}
	}
	fromLong, fromDouble, fromText := cast(Of(BigInt)), cast(Of(Double)), cast(Of(Varchar))
	return func(raw string) any {
		switch raw[0] {
		case '"':
			text := jsontext.Text(raw)
			if t.IsNumeric() && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) {
				return nil
			}
			return fromText(text)
		case '{', '[', 'n':
			return nil
		case 't', 'f':
			switch {
			case t.IsCharacter():
				return raw
			case t.Base == Boolean:
				return kernel.Bool(raw == "true")
			}
			return nil
		}
		if t.IsTime() {
			return fromText(raw)
		}
		n, x, whole := jsontext.Number(raw)
		if whole {
			return fromLong(n)
		}
		return fromDouble(x)
	}
}

// appendJSONList appends the scalars of a raw array, or one scalar, as a list.
func appendJSONList(b *vector.Builder, raw string, scalar func(string) any) bool {
	if raw[0] == '{' {
		return false
	}
	if raw[0] != '[' {
		b.Child().Append(scalar(raw))
		b.AppendList()
		return true
	}
	var values []any
	nested, end := false, -1
	numbers := b.Child().Type().IsNumeric()
	jsontext.Members(raw, 0, 0, func(_ string, from, to int) bool {
		element := raw[from:to]
		nested = nested || element[0] == '{' || element[0] == '['
		if numbers { // unlike one by itself, a boolean among elements is a number: arrays of them are stored as numbers
			switch element {
			case "true":
				element = "1"
			case "false":
				element = "0"
			}
		}
		values = append(values, scalar(element))
		return true
	}, &end)
	if nested {
		return false
	}
	for _, v := range values {
		b.Child().Append(v)
	}
	b.AppendList()
	return true
}

var jsonQueryFunction = &Function{
	Name: "JSON_QUERY", NativeName: "json_query", Min: 2, Max: 2, SeesLists: true,
	Summary: "Returns the value at a path of a JSON value.",
	Forms:   ListForms("expr, path"),
	Bind: func(b *Binding) (Expr, error) {
		if b.Type(1).Multi {
			b.Fail("The path of JSON_QUERY can't be a multi-value string")
		}
		if !isMultiColumn(b.Args[0]) && jsonByValue(b.Args[:1], 0, 1) == 0 {
			return MapOverValues(b.Args, 0, func(args []Expr) (Expr, error) { return NewCall(b.Fn, args, b.At) })
		}
		b.json(0)
		b.path(1)
		return b.Call(JSON)
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		return atPath(c.T.Runtime(), func(b *vector.Builder, raw string) bool {
			b.AppendString(raw)
			return true
		}), nil
	},
}

var jsonQueryArrayFunction = &Function{
	Name: "JSON_QUERY_ARRAY", NativeName: "json_query_array", Min: 2, Max: 2, ListsAreJSON: true,
	Summary: "Returns the elements of the array at a path of a JSON value. A scalar counts as an array of one element. Returns " +
		"NULL for an object.",
	Forms: ListForms("expr, path"),
	Bind: func(b *Binding) (Expr, error) {
		b.json(0)
		b.path(1)
		return b.Call(ArrayOf(JSON))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		return atPath(c.T.Runtime(), func(b *vector.Builder, raw string) bool {
			switch raw[0] {
			case '[':
			case '{':
				return false
			default:
				b.Child().AppendString(raw)
				b.AppendList()
				return true
			}
			end := -1
			jsontext.Members(raw, 0, 0, func(_ string, from, to int) bool {
				if raw[from:to] == "null" {
					b.Child().AppendNull()
				} else {
					b.Child().AppendString(raw[from:to])
				}
				return true
			}, &end)
			b.AppendList()
			return true
		}), nil
	},
}

// jsonText is a JSON value as text: of a string what it says, of others how they are written.
func jsonText(raw string) string {
	if strings.HasPrefix(raw, `"`) { // a NULL has no text at all
		return jsontext.Text(raw)
	}
	return raw
}

var jsonKeysFunction = &Function{
	Name: "JSON_KEYS", NativeName: "json_keys", Min: 2, Max: 2, ListsAreJSON: true,
	Summary: "Returns the names in the object, or the positions in the array, at a path of a JSON value.",
	Forms:   ListForms("expr, path"),
	Bind: func(b *Binding) (Expr, error) {
		if err := refuseNull(b.Args[1:], b.At); err != nil { // of the path: the value may be NULL
			return nil, err
		}
		b.json(0)
		b.path(1)
		return b.Call(ArrayOf(Of(Varchar)))
	},
	Kernel: func(c *Call, _ *Context) (Kernel, error) {
		return atPath(c.T.Runtime(), func(b *vector.Builder, raw string) bool {
			if raw[0] != '{' && raw[0] != '[' {
				return false
			}
			position, end := 0, -1
			jsontext.Members(raw, 0, 0, func(key string, _, _ int) bool {
				if key == "" {
					b.Child().AppendString(strconv.Itoa(position))
				} else {
					b.Child().AppendString(jsontext.Text(key))
				}
				position++
				return true
			}, &end)
			b.AppendList()
			return true
		}), nil
	},
}

var jsonPathsFunction = &Function{
	Name: "JSON_PATHS", NativeName: "json_paths", Min: 1, Max: 1, SeesNulls: true, ListsAreJSON: true,
	Summary: "Returns the paths of all scalars and arrays of scalars in a JSON value.",
	Forms:   ListForms("expr"),
	Bind: func(b *Binding) (Expr, error) {
		if b.Type(0).Base == Array { // its elements have no paths of their own
			b.Args[0] = &Literal{T: JSON}
		}
		b.json(0)
		return b.Call(ArrayOf(Of(Varchar)).NotNull())
	},
	Kernel: listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
		s := "null"
		if !args[0].IsNull(i) {
			s = args[0].StringAt(i)
		}
		for _, path := range jsonPaths(s) {
			to.AppendString(path)
		}
		return true, nil
	}),
}

var jsonObjectFunction = &Function{
	Name: "JSON_OBJECT", NativeName: "json_object", Min: 0, Max: -1, SeesLists: true, SeesNulls: true,
	Summary: "Builds a JSON object of names and values.",
	Forms:   []string{"$F(KEY expr VALUE expr, ...)", "$F(expr:expr, ...)", "$F(expr, expr, ...)"},
	Bind: func(b *Binding) (Expr, error) {
		if len(b.Args)%2 != 0 {
			b.Fail("Function [JSON_OBJECT] needs a value for each name")
		}
		if i := jsonByValue(b.Args, 1, 2); i >= 0 {
			return MapOverValues(b.Args, i, func(args []Expr) (Expr, error) { return NewCall(b.Fn, args, b.At) })
		}
		for i := range b.Args {
			if i%2 == 0 {
				if b.Type(i).Multi {
					b.Fail("A name in JSON_OBJECT can't be a multi-value string")
				}
				b.Text(i)
			} else {
				b.json(i)
			}
		}
		return b.Call(JSON.NotNull())
	},
	Kernel: Metered(func(args []*vector.Vector, n int, _ vector.Bitmap, m *Meter) (*vector.Vector, error) {
		buf, ends := []byte(nil), make([]int, n)
		var names objectNames
		for i := range ends {
			if err := names.read(args, i); err != nil {
				return nil, err
			}
			if err := m.Add(names.size(args, i)); err != nil {
				return nil, err
			}
			buf = append(buf, '{')
			for k := 0; k < len(args); k += 2 {
				from := names.last[k/2]
				if from < 0 {
					continue
				}
				if k > 0 {
					buf = append(buf, ',')
				}
				buf = append(appendJSONString(buf, names.texts[k/2]), ':')
				if v := args[2*from+1]; v.IsNull(i) {
					buf = append(buf, "null"...)
				} else {
					buf = append(buf, v.StringAt(i)...)
				}
			}
			buf = append(buf, '}')
			ends[i] = len(buf)
		}
		return kernel.AsComplex(vector.FromStrings(kernel.Cut(string(buf), ends)), vector.JSON), nil
	}),
}

// objectNames are the names of an object's members, which are the same for all rows nearly always.
type objectNames struct {
	texts []string
	last  []int // by the first place of a name the last one, whose value counts; -1: the name was there before
}

// read reads the names of row i: every other argument.
func (o *objectNames) read(args []*vector.Vector, i int) error {
	same := i > 0
	for k := 0; k < len(args); k += 2 {
		if args[k].IsNull(i) {
			return fault.InvalidInput("Function[json_object] key must not be null")
		}
		if text := args[k].StringAt(i); i == 0 {
			o.texts = append(o.texts, text)
		} else if text != o.texts[k/2] {
			o.texts[k/2], same = text, false
		}
	}
	if same {
		return nil
	}
	o.last = slices.Repeat([]int{-1}, len(o.texts))
	first := make(map[string]int, len(o.texts))
	for k, text := range o.texts {
		if _, known := first[text]; !known {
			first[text] = k
		}
		o.last[first[text]] = k
	}
	return nil
}

// size returns how long the names and values of row i are together.
func (o *objectNames) size(args []*vector.Vector, i int) int {
	size := 0
	for k, from := range o.last {
		if from < 0 {
			continue
		}
		size += len(o.texts[k])
		if v := args[2*from+1]; !v.IsNull(i) {
			size += len(v.StringAt(i))
		}
	}
	return size
}

var jsonMergeFunction = &Function{
	Name: "JSON_MERGE", NativeName: "json_merge", Min: 1, Max: -1,
	Summary: "Merges JSON values. Objects are merged member by member, and the last value of a member wins. Arrays are concatenated.",
	Forms:   ListForms("expr, [expr, ...]"),
	Bind: func(b *Binding) (Expr, error) {
		for i := range b.Args {
			if t := b.Type(i); t.OrNull(true) != JSON && !t.IsCharacter() && t.Base != Null {
				b.Mismatch()
			} else if t.Base == Null {
				b.Cast(i, Of(Varchar))
			}
		}
		return b.Call(JSON)
	},
	Kernel: Fixed(func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		r := kernel.NewRows[string](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			merged := ""
			for _, a := range args {
				text, ok := jsontext.First(a.StringAt(i))
				if !ok {
					return nil, fault.InvalidInput("Function[json_merge] bad string input [%s]", shortened(a.StringAt(i)))
				}
				if merged == "" {
					merged = text
				} else {
					merged = mergeJSON(merged, text)
				}
			}
			r.Out[i] = string(appendNormalJSON(nil, merged))
		}
		return kernel.AsComplex(r.Vector(), vector.JSON), nil
	}),
}

// mergeJSON merges two valid JSON texts: members of objects deeply, arrays one after the other;
// anything else is replaced.
func mergeJSON(a, b string) string {
	if a[0] == '[' && b[0] == '[' {
		first, second := strings.TrimSpace(a[1:len(a)-1]), strings.TrimSpace(b[1:len(b)-1])
		if first == "" || second == "" {
			return "[" + first + second + "]"
		}
		return "[" + first + "," + second + "]"
	}
	if a[0] != '{' || b[0] != '{' {
		return b
	}
	var out []byte
	taken, end := map[string]bool{}, -1
	member := func(key, value string) {
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	jsontext.Members(a, 0, 0, func(key string, from, to int) bool {
		name, value := jsontext.Text(key), a[from:to]
		if at := jsontext.Named(name).Member(b, 0); at >= 0 {
			stop, _ := jsontext.End(b, at, 0)
			value = mergeJSON(value, b[at:stop])
		}
		taken[name] = true
		member(key, value)
		return true
	}, &end)
	jsontext.Members(b, 0, 0, func(key string, from, to int) bool {
		if !taken[jsontext.Text(key)] {
			member(key, b[from:to])
		}
		return true
	}, &end)
	return "{" + string(out) + "}"
}

var jsonFunctions = []*Function{
	jsonValueFunction, jsonQueryFunction, jsonQueryArrayFunction, jsonKeysFunction, jsonPathsFunction, jsonObjectFunction,
	jsonMergeFunction, parseJSONFunction, tryParseJSONFunction, toJSONStringFunction, toJSONFunction,
}
