package expr

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Function is an entry of the catalog: a SQL function or operator. Entries are shared and
// read-only.
type Function struct {
	// Name is the SQL name in upper case, or the symbol of the operator.
	Name string
	// Aliases are further names of the same function.
	Aliases []string
	// Summary is one sentence for the documentation; empty: the function is internal and not listed.
	Summary string
	// Forms are the supported signatures in messages and INFORMATION_SCHEMA.ROUTINES, with $F for the
	// name.
	Forms []string
	// Min and Max limit the number of arguments; Max is -1 if there is no maximum.
	Min, Max int
	// Bind checks the arguments, casts them to the types of the kernel, and returns the call or an
	// equivalent expression.
	Bind func(*Binding) (Expr, error)
	// Kernel builds the evaluator of a bound call. It is called once per program, so it may compile
	// patterns and look up zones.
	Kernel func(c *Call, ctx *Context) (Kernel, error)
	// NativeName is the name in the native expression language; empty: the SQL name in lower case.
	NativeName string
	// SeesNulls: the kernel processes rows with NULL arguments; otherwise the result for such rows is
	// NULL.
	SeesNulls bool
	// SeesLists: the kernel gets multi-value arguments as lists; otherwise binding maps the function
	// over their values.
	SeesLists bool
	// NullsOfMaps: for a row without values, an argument that is a map is a list that contains a NULL:
	// MV_LENGTH(UPPER(x)) is 1 where MV_LENGTH(x) is NULL.
	NullsOfMaps bool
	// ListsAreJSON: a multi-value string that is the result of a function of lists is a JSON array if
	// it is the first argument.
	ListsAreJSON bool
	// RefusesNull: the literal NULL as a required argument is an error, as in Druid; other NULL values
	// are not. A NULL as an optional argument may be cast to any type. See quirk Q001.
	RefusesNull bool
	// OfSketches: the function operates on sketches.
	OfSketches bool
	// Volatile: equal arguments can have different results.
	Volatile bool
	// Contextual: results depend on the start time of the query or on lookups. Within a query, equal
	// arguments have equal results.
	Contextual bool
	// Total: the kernel never fails for any argument values.
	Total bool

	// FloorsTime: the function rounds a time down to the start of a period, the second argument.
	FloorsTime bool
	// ListsValues: the function converts a multi-value string to the array of its values.
	ListsValues bool
	// HasValues is set if the function tests whether a multi-value string contains values of an array.
	HasValues HasValues

	canonical *Function // of an alias: the entry it stands for
}

// HasValues is how many values of an array a multi-value string must contain.
type HasValues uint8

// The values of HasValues.
const (
	NoneOfThem HasValues = iota // the function is not such a test
	AnyOfThem
	AllOfThem
)

// Kernel computes a function for the rows of a batch. It belongs to one program and may keep state
// between calls.
type Kernel = kernel.Func

// Fixed returns a Kernel constructor for a kernel that depends neither on the call nor on the
// context. All programs share the kernel, so it must be stateless.
func Fixed(k Kernel) func(*Call, *Context) (Kernel, error) {
	return func(*Call, *Context) (Kernel, error) { return k, nil }
}

// byType makes a Kernel constructor that chooses by the physical type of the first argument.
func byType(long, double Kernel) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, _ *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return long, nil
		}
		return double, nil
	}
}

// Same reports whether f and g are the same function, possibly under different names.
func (f *Function) Same(g *Function) bool { return f.Entry() == g.Entry() }

// Entry returns the function that f is an alias of, or f.
func (f *Function) Entry() *Function {
	if f.canonical != nil {
		return f.canonical
	}
	return f
}

// Negation returns f under the name of its negation in messages, for example NOT LIKE. Calls bound
// with it are calls of f.
func (f *Function) Negation() *Function {
	g := *f
	g.Name, g.Aliases, g.canonical = "NOT "+f.Name, nil, f.Entry()
	return &g
}

// Alias returns f under another name, which messages show. Calls bound with it are calls of f.
func (f *Function) Alias(name string) *Function {
	g := *f
	g.Name, g.Aliases, g.canonical = name, nil, f
	return &g
}

// Signatures returns the supported forms with the name of the function.
func (f *Function) Signatures() []string {
	out := make([]string, len(f.Forms))
	for i, form := range f.Forms {
		out[i] = strings.ReplaceAll(form, "$F", f.Name)
	}
	return out
}

// NewCall binds a call of fn at a position of the text: it checks the number and the types of the
// arguments, inserts implicit casts and determines the result type. The call is mapped over
// multi-value arguments, except for functions of lists. The result need not be a Call.
func NewCall(fn *Function, args []Expr, at fault.Span) (Expr, error) {
	if len(args) < fn.Min || fn.Max >= 0 && len(args) > fn.Max {
		return nil, arityError(fn, at)
	}
	if fn.ListsAreJSON && madeAsList(args[0]) {
		b := &Binding{Fn: fn, Args: slices.Clone(args), At: at}
		b.json(0)
		args = b.Args
	}
	if !fn.SeesLists {
		if i := firstMulti(args); i >= 0 {
			if _, comparing := comparisonOf(fn); (comparing || arithmetical(fn)) && !fn.SeesNulls && slices.ContainsFunc(args, isUntypedNull) {
				return nullOver(fn, args, i, at)
			}
			return MapOverValues(args, i, func(args []Expr) (Expr, error) { return NewCall(fn, args, at) })
		}
	}
	b := &Binding{Fn: fn, Args: append([]Expr(nil), args...), At: at}
	if fn.RefusesNull {
		required := min(fn.Min, len(args))
		if err := refuseNull(args[:required], at); err != nil {
			return nil, err
		}
		untypeNulls(b.Args[required:])
	}
	e, err := fn.Bind(b)
	if err == nil && b.several > 0 {
		return overNumbers(fn, args, b.several-1, at)
	}
	return e, fault.WithPosition(err, at)
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

// arityError names the least number of arguments, as Druid does also where there may be more; the
// advice shows all forms. See quirk Q011.
func arityError(fn *Function, at fault.Span) error {
	err := fault.InvalidSQL(at, "Invalid number of arguments to function '%s'. Was expecting %d arguments", fn.Name, fn.Min)
	if len(fn.Forms) > 0 {
		return err.With("suggestion", strings.Join(fn.Signatures(), " or "))
	}
	return err
}

// NoMatch is the error for a call of a function that is not in the catalog. It names the most
// similar function of the catalog.
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

// OverValues binds a function over the values of multi-value arguments, as the native language
// does: bind gets single values in place of these arguments, and the result is multi-value. The
// values of a predicate are 1 or 0. Without multi-value arguments, it returns the result of bind.
func OverValues(args []Expr, bind func([]Expr) (Expr, error)) (Expr, error) {
	at := firstMulti(args)
	if at < 0 {
		return bind(args)
	}
	e, err := MapOverValues(args, at, func(inner []Expr) (Expr, error) {
		body, err := OverValues(inner, bind)
		if err == nil && body.Type().Base == Boolean {
			body = &Cast{X: body, T: Of(BigInt).NotNull().OrNull(body.Type().Nullable)}
		}
		return body, err
	})
	return e, err
}

// AnyValue returns an expression that is true if a condition is true for at least one value of a
// multi-value expression.
func AnyValue(x Expr, condition func(Expr) (Expr, error)) (Expr, error) {
	if each, ok := x.(*Each); ok && !each.Body.Type().Multi {
		body, err := condition(each.Body)
		return &Any{Source: each.Source, Body: body}, err
	}
	body, err := condition(&Element{T: x.Type().Elem()})
	return &Any{Source: x, Body: body}, err
}

// MapOverValues binds a function over the values of the multi-value argument at: bind gets the
// arguments with an Element in place of that argument and of equal ones. If a function has the same
// multi-value string twice, it therefore sees the same value twice; for two different strings, it
// sees every pair. An expression that was mapped over a multi-value string counts as that string:
// UPPER(x) || x pairs each value with itself. A predicate is true if it is true for at least one
// value.
func MapOverValues(args []Expr, at int, bind func([]Expr) (Expr, error)) (Expr, error) {
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

// WithoutValues returns e or, if e is a map whose body does not read a value, its body: in SQL,
// COALESCE('a', x) is a single 'a', not one per value of x.
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
		return mapLoop(x, func(c Expr) Expr { return liftElements(c, level) }, func(c Expr) Expr { return liftElements(c, level+x.Levels()) })
	case *Column, *Literal:
		return x
	}
	return mapOperands(e, func(c Expr) Expr { return liftElements(c, level) })
}
