package expr

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Function is an entry of the catalog: a SQL function or operator. Entries are shared and
// read-only.
type Function struct {
	// Name is the SQL name, upper case, or the operator's sign.
	Name string
	// Aliases are further names of the same function.
	Aliases []string
	// Summary is one sentence for the documentation; empty: the function is internal and not listed.
	Summary string
	// Forms are the supported signatures, as messages and INFORMATION_SCHEMA.ROUTINES show them, with
	// $F for the name.
	Forms []string
	// Min and Max bound the number of arguments; Max is -1 when there is no bound.
	Min, Max int
	// Bind checks the arguments, casts them to what the kernel takes and returns the call, or another
	// expression that does the same.
	Bind func(*binding) (Expr, error)
	// Kernel builds the evaluator of a bound call. It runs once per program, so it may compile
	// patterns and look up zones.
	Kernel func(c *Call, ctx *Context) (Kernel, error)
	// NativeName is the name in the native expression language; empty: the SQL name in lower case.
	NativeName string
	// SeesNulls says that the kernel wants rows with NULL arguments; otherwise those are NULL without
	// asking it.
	SeesNulls bool
	// SeesLists says that multi-value arguments are handed over whole; otherwise binding maps the
	// function over their values.
	SeesLists bool
	// NullsOfMaps says that what a map makes of a row without values is a list that holds a NULL:
	// MV_LENGTH(UPPER(x)) is 1 where MV_LENGTH(x) is NULL.
	NullsOfMaps bool
	// ListsAreJSON says that a multi-value string which a function of lists made is a JSON array to
	// it, as its first argument.
	ListsAreJSON bool
	// RefusesNull says that the literal NULL in the place of a required argument is an error, as in
	// the reference; a NULL that comes from elsewhere is not. In the place of an optional argument a
	// NULL may be cast to any type.
	RefusesNull bool
	// Volatile says that equal arguments may give different results.
	Volatile bool
	// Contextual says that results depend on when a query began, or on lookups: within a query equal
	// arguments give equal results.
	Contextual bool
	// Total says that the kernel never fails, whatever the values of its arguments are.
	Total bool

	canonical *Function // of an alias: the entry it stands for
}

// Kernel computes a function for n rows. Arguments have the bound types, n rows, and any encoding.
// valid has the rows without NULL arguments (nil: all); a kernel that may fail must look at no
// other rows. The result may leave the rows outside valid unspecified: the caller makes them NULL.
// A kernel belongs to one program and may keep state between calls.
type Kernel func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error)

func (f *Function) same(g *Function) bool { return f.entry() == g.entry() }

func (f *Function) entry() *Function {
	if f.canonical != nil {
		return f.canonical
	}
	return f
}

// Negation returns f under the name that messages give its negation: NOT LIKE. Calls bound with it
// are calls of f.
func (f *Function) Negation() *Function {
	g := *f
	g.Name, g.Aliases, g.canonical = "NOT "+f.Name, nil, f.entry()
	return &g
}

// Signatures returns the supported forms with the function's name in them.
func (f *Function) Signatures() []string {
	out := make([]string, len(f.Forms))
	for i, form := range f.Forms {
		out[i] = strings.ReplaceAll(form, "$F", f.Name)
	}
	return out
}

// NewCall binds a call of fn at a place of the text: it checks number and types of the arguments,
// inserts implicit casts and finds the result type. Multi-value arguments are mapped per value,
// except for functions that take them whole. The result need not be a Call.
func NewCall(fn *Function, args []Expr, at fault.Span) (Expr, error) {
	if len(args) < fn.Min || fn.Max >= 0 && len(args) > fn.Max {
		return nil, arityError(fn, at)
	}
	if fn.ListsAreJSON && madeAsList(args[0]) {
		b := &binding{fn: fn, args: slices.Clone(args), at: at}
		b.json(0)
		args = b.args
	}
	if !fn.SeesLists {
		if i := firstMulti(args); i >= 0 {
			if _, comparing := comparisonOf(fn); (comparing || arithmetical(fn)) && !fn.SeesNulls && slices.ContainsFunc(args, isUntypedNull) {
				return nullOver(fn, args, i, at)
			}
			return overValues(args, i, func(args []Expr) (Expr, error) { return NewCall(fn, args, at) })
		}
	}
	b := &binding{fn: fn, args: append([]Expr(nil), args...), at: at}
	if fn.RefusesNull {
		required := min(fn.Min, len(args))
		if err := refuseNull(args[:required], at); err != nil {
			return nil, err
		}
		untypeNulls(b.args[required:])
	}
	e, err := fn.Bind(b)
	if err == nil && b.several > 0 {
		return overNumbers(fn, args, b.several-1, at)
	}
	return e, fault.Placed(err, at)
}

// overNumbers binds a function of lists over the values of argument at, which is one number to the
// function. The other arguments stay whole.
func overNumbers(fn *Function, args []Expr, at int, span fault.Span) (Expr, error) {
	source, value := args[at], Expr(&Element{T: args[at].Type().Elem()})
	if each, ok := mappedValues(source); ok {
		source, value = each.Source, each.Body
	}
	inner := make([]Expr, len(args))
	for i, a := range args {
		inner[i] = liftElements(a, 0)
	}
	inner[at] = value
	body, err := NewCall(fn, inner, span)
	if err != nil {
		return nil, err
	}
	return mapValues(source, body)
}

// refuseNull refuses the literal NULL among arguments that must have a type.
func refuseNull(args []Expr, at fault.Span) error {
	for _, a := range args {
		if l, ok := a.(*Literal); ok && l.T.Base == Null {
			return fault.InvalidSQL(at, "Illegal use of 'NULL'")
		}
	}
	return nil
}

// untypeNulls takes the types from literals that are NULL.
func untypeNulls(args []Expr) {
	for i, a := range args {
		if l, ok := a.(*Literal); ok && l.Value == nil {
			args[i] = &Literal{T: Of(Null)}
		}
	}
}

// nullOver binds an operator between a multi-value string, argument i, and a NULL, which gives one
// NULL for all its values.
func nullOver(fn *Function, args []Expr, i int, at fault.Span) (Expr, error) {
	args = slices.Clone(args)
	args[i] = &Literal{T: args[i].Type().Elem().OrNull(true)}
	e, err := NewCall(fn, args, at)
	if err != nil {
		return nil, err
	}
	return &Literal{T: e.Type().OrNull(true)}, nil
}

func isUntypedNull(e Expr) bool {
	l, ok := e.(*Literal)
	return ok && l.T.Base == Null
}

// MustLookup returns a function that is known to be in the catalog; it panics otherwise, which is a
// mistake of the caller's code.
func MustLookup(name string) *Function {
	f, ok := Lookup(name)
	if !ok {
		panic("expr: no function " + name)
	}
	return f
}

// arityError names the least number of arguments, as the reference does also where there may be
// more; the advice shows all forms.
func arityError(fn *Function, at fault.Span) error {
	err := fault.InvalidSQL(at, "Invalid number of arguments to function '%s'. Was expecting %d arguments", fn.Name, fn.Min)
	if len(fn.Forms) > 0 {
		return err.With("suggestion", strings.Join(fn.Signatures(), " or "))
	}
	return err
}

// NoMatch is the error for a call of a function that is not in the catalog. It names the nearest
// one that is.
func NoMatch(name string, args []Expr, at fault.Span) error {
	families := make([]string, len(args))
	for i, a := range args {
		families[i] = "<" + family(a.Type()) + ">"
	}
	return fault.InvalidSQL(at, "No match found for function signature %s(%s)", name, strings.Join(families, ", "))
}

func family(t Type) string {
	switch {
	case t.IsNumeric():
		return "NUMERIC"
	case t.IsCharacter():
		return "CHARACTER"
	case t.Base == Array:
		return "ARRAY"
	case t.IsInterval():
		return "DATETIME_INTERVAL"
	case t.Base == Null, t.Base == Other:
		return "ANY"
	}
	return t.Base.String()
}

func firstMulti(args []Expr) int {
	for i, a := range args {
		if _, mapped := mappedJSON(a); mapped || a.Type().Multi {
			return i
		}
	}
	return -1
}

// OverValues binds over the values of multi-value arguments, as functions of values do in the
// native language: bind gets single values in their place, and its result is multi-value, also that
// of a predicate, which is 1 or 0. Without such arguments the result is that of bind.
func OverValues(args []Expr, bind func([]Expr) (Expr, error)) (Expr, error) {
	at := firstMulti(args)
	if at < 0 {
		return bind(args)
	}
	e, err := overValues(args, at, func(inner []Expr) (Expr, error) {
		body, err := OverValues(inner, bind)
		if err == nil && body.Type().Base == Boolean {
			body = &Cast{X: body, T: Of(BigInt).NotNull().OrNull(body.Type().Nullable)}
		}
		return body, err
	})
	return e, err
}

// AnyValue is true where a condition on the values of a multi-value expression is true for one of
// them.
func AnyValue(x Expr, condition func(Expr) (Expr, error)) (Expr, error) {
	if each, ok := x.(*Each); ok && !each.Body.Type().Multi {
		body, err := condition(each.Body)
		return &Any{Source: each.Source, Body: body}, err
	}
	body, err := condition(&Element{T: x.Type().Elem()})
	return &Any{Source: x, Body: body}, err
}

// overValues binds a function over the values of the multi-value argument at: bind gets the
// arguments with an Element in the place of that argument and of its equals, so that a function of
// one multi-value string twice sees the same value twice, and of two different ones every pair.
// What was mapped over a multi-value string counts as that string: UPPER(x) || x pairs each value
// with itself. A predicate becomes true if it is for some value.
func overValues(args []Expr, at int, bind func([]Expr) (Expr, error)) (Expr, error) {
	source := args[at]
	if each, ok := mappedValues(source); ok {
		source = each.Source
	}
	if i := slices.IndexFunc(args, func(a Expr) bool { return Equal(a, source) }); i >= 0 {
		source = args[i] // messages show where it stands by itself
	}
	elem := source.Type().Elem()
	inner := make([]Expr, len(args))
	for i, a := range args {
		each, mapped := mappedValues(a)
		switch {
		case Equal(a, source):
			inner[i] = &Element{T: elem}
		case mapped && Equal(each.Source, source):
			inner[i] = each.Body
		default:
			inner[i] = liftElements(a, 0)
		}
	}
	body, err := bind(inner)
	if err != nil {
		return nil, err
	}
	return mapValues(source, body)
}

// mappedValues returns e as the mapping of a multi-value string to another one, or to JSON.
func mappedValues(e Expr) (*Each, bool) {
	each, ok := e.(*Each)
	return each, ok && (each.T.Multi || each.T.Base == Other) && each.Body.Type().Base != Null
}

// mapValues wraps a body over the values of source into Each, or Any when it is a predicate. Of
// arrays it makes an array of arrays.
func mapValues(source, body Expr) (Expr, error) {
	t := body.Type()
	switch t.Base {
	case Boolean:
		return &Any{Source: source, Body: body}, nil
	case Array: // a list of lists, as the values of two sources are every pair
		if each, ok := body.(*Each); !ok || each.T.Multi {
			if depth(t) >= maxArrayDepth {
				return nil, fault.InvalidSQL(fault.Span{}, "Arrays are nested more than [%d] deep", maxArrayDepth)
			}
			t = ArrayOf(t).NotNull()
		}
		return &Each{Source: source, Body: body, T: t}, nil
	case Other, Row:
		if t.OrNull(true) == JSON.OrNull(true) {
			return mapJSON(source, body), nil
		}
		return nil, fault.InvalidSQL(fault.Span{}, "A function that returns [%s] can't be applied to the values of a multi-value string; "+
			"convert it with MV_TO_ARRAY first", t)
	case Null:
		t.Base = Varchar
	}
	t.Multi, t.Nullable = true, true
	return &Each{Source: source, Body: body, T: t}, nil
}

// WithoutValues returns e or, if e is a map whose body turns out to read no value, that body: in
// SQL COALESCE('a', x) is 'a' once, not for each value of x.
func WithoutValues(e Expr) Expr {
	each, ok := e.(*Each)
	if !ok || !each.T.Multi {
		return e
	}
	folded, err := Fold(each.Body, &Context{})
	if err != nil {
		return e
	}
	reads := false
	Walk(folded, func(e Expr) bool {
		_, element := e.(*Element)
		reads = reads || element
		return !reads
	})
	if reads || folded.Type().Base == Null {
		return e
	}
	return folded
}

// liftElements adds one to the depth of the elements of e that belong to an Each or Any around e.
func liftElements(e Expr, level int) Expr {
	switch x := e.(type) {
	case *Element:
		if x.Depth >= level {
			return &Element{Depth: x.Depth + 1, T: x.T}
		}
		return x
	case *Each:
		return &Each{Source: liftElements(x.Source, level), Body: liftElements(x.Body, level+1), T: x.T}
	case *Any:
		return &Any{Source: liftElements(x.Source, level), Body: liftElements(x.Body, level+1)}
	case *Loop:
		return mapLoop(x, func(c Expr) Expr { return liftElements(c, level) }, func(c Expr) Expr { return liftElements(c, level+x.levels()) })
	case *Column, *Literal:
		return x
	}
	return mapOperands(e, func(c Expr) Expr { return liftElements(c, level) })
}
