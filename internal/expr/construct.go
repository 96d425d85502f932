package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
)

// NewAnd binds a conjunction and flattens nested ones. A single term is returned unchanged.
func NewAnd(terms []Expr, at fault.Span) (Expr, error) { return newJunction("AND", terms, at) }

// NewOr binds a disjunction and flattens nested ones. A single term is returned unchanged.
func NewOr(terms []Expr, at fault.Span) (Expr, error) { return newJunction("OR", terms, at) }

func newJunction(name string, terms []Expr, at fault.Span) (Expr, error) {
	flat := make([]Expr, 0, len(terms))
	for _, t := range terms {
		switch {
		case t.Type().Base == Boolean:
		case t.Type().Base == Null:
			t = &Literal{T: Of(Boolean)}
		default:
			fn := &Function{Name: name, Forms: []string{"<BOOLEAN> " + name + " <BOOLEAN>"}}
			return nil, TypeError(fn, terms, at)
		}
		switch x := t.(type) {
		case *And:
			if name == "AND" {
				flat = append(flat, x.Terms...)
				continue
			}
		case *Or:
			if name == "OR" {
				flat = append(flat, x.Terms...)
				continue
			}
		}
		flat = append(flat, t)
	}
	switch {
	case len(flat) == 1:
		return flat[0], nil
	case len(flat) == 0:
		return &Literal{Value: kernel.Bool(name == "AND"), T: Of(Boolean).NotNull()}, nil
	case name == "AND":
		return &And{Terms: flat}, nil
	}
	return &Or{Terms: flat}, nil
}

// NewNot binds NOT x.
func NewNot(x Expr, at fault.Span) (Expr, error) {
	switch x.Type().Base {
	case Boolean:
		if n, ok := x.(*Not); ok {
			return n.X, nil
		}
		return &Not{X: x}, nil
	case Null:
		return &Literal{T: Of(Boolean)}, nil
	}
	return nil, TypeError(&Function{Name: "NOT", Forms: []string{"NOT<BOOLEAN>"}}, []Expr{x}, at)
}

// NewCase binds a searched CASE. Results are cast to their least restrictive type; a missing ELSE
// is NULL. If results are multi-value strings, CASE is mapped over their values, including the
// conditions on the same strings.
func NewCase(whens []When, other Expr, at fault.Span) (Expr, error) {
	results := make([]Expr, 0, len(whens)+1)
	for _, w := range whens {
		if b := w.Cond.Type().Base; b != Boolean && b != Null {
			return nil, fault.InvalidSQL(at, "Expected a boolean type")
		}
		results = append(results, w.Then)
	}
	if other != nil {
		results = append(results, other)
	}
	if i := firstMulti(results); i >= 0 {
		return newCaseOverValues(results[i], whens, other, at)
	}
	t, ok := CommonType(results)
	if !ok {
		return nil, fault.InvalidSQL(at, "Illegal mixing of types in CASE or COALESCE statement")
	}
	t.Nullable = t.Nullable || other == nil
	out := &Case{Whens: make([]When, len(whens)), T: t}
	for i, w := range whens {
		out.Whens[i] = When{Cond: Coerce(w.Cond, Of(Boolean)), Then: Coerce(w.Then, t)}
	}
	if other != nil {
		out.Else = Coerce(other, t)
	}
	return out, nil
}

// NewCaseOfValues is NewCase, except that conditions on a multi-value string are evaluated for each
// value if the results are strings, so that every value has a result.
func NewCaseOfValues(whens []When, other Expr, at fault.Span) (Expr, error) {
	plain, err := NewCase(whens, other, at)
	if err != nil || plain.Type().Multi || !plain.Type().IsCharacter() {
		return plain, err
	}
	for _, w := range whens {
		if source := conditionedValues(w.Cond); source != nil {
			return newCaseOverValues(source, whens, other, at)
		}
	}
	return plain, nil
}

// conditionedValues returns the multi-value string that a condition is about, nil if there is none.
func conditionedValues(cond Expr) Expr {
	switch x := cond.(type) {
	case *Any:
		return x.Source
	case *Not:
		return conditionedValues(x.X)
	case *And:
		return firstConditioned(x.Terms)
	case *Or:
		return firstConditioned(x.Terms)
	case *Call:
		if (x.Fn == isNullFunction || x.Fn == isNotNullFunction) && x.Args[0].Type().Multi {
			return x.Args[0]
		}
	}
	return nil
}

func firstConditioned(terms []Expr) Expr {
	for _, t := range terms {
		if source := conditionedValues(t); source != nil {
			return source
		}
	}
	return nil
}

// newCaseOverValues maps a CASE over the values of source. A condition that is true for some value
// of source becomes the condition for the value at hand.
func newCaseOverValues(source Expr, whens []When, other Expr, at fault.Span) (Expr, error) {
	if each, ok := mappedValues(source); ok {
		source = each.Source
	}
	elem := source.Type().Elem()
	within := func(e Expr) Expr { return perValue(e, source, elem) }
	inner := make([]When, len(whens))
	for i, w := range whens {
		inner[i] = When{Cond: within(w.Cond), Then: within(w.Then)}
	}
	if other != nil {
		other = within(other)
	}
	body, err := NewCase(inner, other, at)
	if err != nil {
		return nil, err
	}
	return mapValues(source, body)
}

// perValue puts e into the body of a map over source: it replaces the source by its current value,
// and mappings of the source and predicates over all of its values by their body. Functions of
// lists see all of the source there, too.
func perValue(e, source Expr, elem Type) Expr {
	if Equal(e, source) {
		return &Element{T: elem}
	}
	switch x := e.(type) {
	case *Any:
		if Equal(x.Source, source) {
			return x.Body
		}
		return liftElements(x, 0)
	case *Each:
		if _, json := mappedJSON(x); Equal(x.Source, source) && (json || x.T.Multi && !x.Body.Type().Multi) {
			return x.Body
		}
		return liftElements(x, 0)
	case *Loop, *Element:
		return liftElements(x, 0)
	case *Cast:
		if x.T.Base == Array {
			return liftElements(x, 0)
		}
	case *Call:
		if x.Fn.SeesLists && x.Fn != isNullFunction && x.Fn != isNotNullFunction {
			return liftElements(x, 0)
		}
	}
	return mapOperands(e, func(c Expr) Expr { return perValue(c, source, elem) })
}

// NewIn binds x IN (list). Constants of a type that x can be compared with become an In; a list
// with other expressions becomes comparisons joined by OR.
func NewIn(x Expr, list []Expr, at fault.Span) (Expr, error) {
	if x.Type().Multi {
		return MapOverValues(append([]Expr{x}, list...), 0, func(args []Expr) (Expr, error) { return NewIn(args[0], args[1:], at) })
	}
	if len(list) > ManyConstants && !slices.ContainsFunc(list, func(e Expr) bool { _, literal := e.(*Literal); return !literal }) {
		in, err := NewInConstants(x, len(list), func(i int, l *Literal) error { *l = *list[i].(*Literal); return nil }, at)
		if in != nil || err != nil {
			return in, err
		}
	}
	t, ok := inType(x.Type(), list)
	if !ok {
		return newInByComparison(x, list, at)
	}
	in := &In{X: coerceCompared(x, t), Values: make([]any, 0, len(list))}
	for _, e := range list {
		made := coerceCompared(e, t)
		if _, ok := made.(*Literal); !ok {
			var err error
			if made, err = Fold(made, &Context{}); err != nil {
				return nil, err
			}
		}
		l, ok := made.(*Literal)
		if !ok {
			return newInByComparison(x, list, at)
		}
		if l.Value == nil {
			in.HasNull = true
			continue
		}
		in.Values = append(in.Values, runtimeValue(l.Value, t.Runtime()))
	}
	if len(in.Values) == 0 && !in.HasNull {
		return &Literal{Value: int64(0), T: Of(Boolean).NotNull()}, nil
	}
	return in, nil
}

// NewInConstants is NewIn for n constants, for large n: get returns one constant, and is called
// twice for each if the constants have several types. It returns nil if the list requires NewIn.
func NewInConstants(x Expr, n int, get func(i int, l *Literal) error, at fault.Span) (Expr, error) {
	if x.Type().Multi {
		return nil, nil
	}
	in := &In{Values: make([]any, 0, n)}
	var l Literal
	types, alike := inTyper{x: x.Type()}, true // alike: all have the type of the last one
	for i := range n {
		if err := get(i, &l); err != nil {
			return nil, err
		}
		last := types.last
		if !types.add(&l) {
			return nil, nil
		}
		alike = alike && (last == types.last || last.Base == Invalid)
		in.addValue(l.Value)
	}
	t, ok := types.result()
	if !ok {
		return nil, nil
	}
	in.X = coerceCompared(x, t)
	if alike && (len(in.Values) == 0 || Coerce(&Literal{Value: in.Values[0], T: types.last}, t).Type() == types.last) {
		return in, nil
	}
	if !isTextOrNumber(t) {
		return nil, nil
	}
	values, err := CastConstants(n, get, t, at, &Context{})
	if err != nil {
		return nil, err
	}
	in.Values, in.HasNull = in.Values[:0], false
	for i := range n {
		in.addValue(values.ValueAt(i))
	}
	return in, nil
}

func (in *In) addValue(v any) {
	if v == nil {
		in.HasNull = true
	} else {
		in.Values = append(in.Values, v)
	}
}

func isTextOrNumber(t Type) bool { return t.IsCharacter() || t.IsNumeric() }

// inType returns the type in which x is compared with every element of a list of literals.
func inType(x Type, list []Expr) (Type, bool) {
	types := inTyper{x: x}
	for _, e := range list {
		if _, literal := e.(*Literal); !literal && (!IsConstant(e) || dependsOnZone(e)) || !types.add(e) {
			return Type{}, false
		}
	}
	return types.result()
}

// inTyper finds the inType of constants that come one after the other.
type inTyper struct {
	x, t Type
	last Type // of the constant before
}

// add takes e among the constants, and reports whether there may be a type.
func (n *inTyper) add(e Expr) bool {
	of := e.Type()
	switch {
	case of.Base == Array || of.Base == Other:
		return false
	case of.Base == Null || of == n.last:
		return true
	}
	n.last = of
	u, ok := comparedAs(n.x, of)
	switch {
	case !ok || u.IsTime() && of.IsCharacter():
		return false
	case n.t.Base == Invalid:
		n.t = u
	case n.t.Runtime() == u.Runtime():
	case n.x.IsCharacter() && n.t.Runtime().IsNumeric() && u.Runtime().IsNumeric():
		return false // a text is not the same as a whole number and as another one
	case n.t.Runtime().IsNumeric() && u.Runtime().IsNumeric():
		n.t = Of(Double)
	case n.x.IsCharacter() && isTextOrNumber(n.t) && isTextOrNumber(u):
		n.t = Of(Varchar) // as text, because one of the list is
	default:
		return false
	}
	return true
}

func (n *inTyper) result() (Type, bool) {
	t := n.t
	if t.Base == Invalid {
		t, _ = comparedAs(n.x, n.x)
	}
	return t, t.Base != Array && t.Base != Other && t.Base != Invalid
}

// dependsOnZone reports whether a constant can't be folded before the query's zone is known.
func dependsOnZone(e Expr) bool {
	depends := false
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Cast:
			depends = depends || x.T.IsTime() || x.X.Type().IsTime()
		case *Call:
			depends = true
		}
		return !depends
	})
	return depends
}

func newInByComparison(x Expr, list []Expr, at fault.Span) (Expr, error) {
	if x.Type().IsCharacter() && slices.ContainsFunc(list, func(e Expr) bool { return e.Type().IsCharacter() }) {
		list = asTexts(list) // because one of the list is
	}
	terms := make([]Expr, len(list))
	for i, e := range list {
		c, err := NewCompare("=", x, e, at)
		if err != nil {
			return nil, err
		}
		terms[i] = c
	}
	return NewOr(terms, at)
}

// asTexts returns a list whose scalars are cast to text.
func asTexts(list []Expr) []Expr {
	texts := slices.Clone(list)
	for i, e := range texts {
		if t := e.Type(); castable(t, Of(Varchar)) && !t.Multi && t.Base != Null {
			texts[i] = Coerce(e, Of(Varchar))
		}
	}
	return texts
}

// betweenName is the name of BETWEEN in messages; that of its negation ends in it too.
const betweenName = "BETWEEN ASYMMETRIC"

// betweenFunction describes BETWEEN to messages. It is bound as two comparisons.
var betweenFunction = &Function{Name: betweenName, Forms: []string{"<COMPARABLE_TYPE> BETWEEN <COMPARABLE_TYPE> AND <COMPARABLE_TYPE>"}}

var notBetweenFunction = &Function{Name: "NOT " + betweenName,
	Forms: []string{"<COMPARABLE_TYPE> NOT BETWEEN <COMPARABLE_TYPE> AND <COMPARABLE_TYPE>"}}

// NewBetween binds x BETWEEN low AND high, with symmetric in either order of the bounds, or with
// not its negation.
func NewBetween(x, low, high Expr, symmetric, not bool, at fault.Span) (Expr, error) {
	for _, bound := range []Expr{low, high} {
		t, ok := comparedAs(x.Type().Plain(), bound.Type().Plain())
		if ok && t.Base != Other {
			continue
		}
		fn := betweenFunction
		if not {
			fn = notBetweenFunction
		}
		return nil, TypeError(fn, []Expr{x, low, high}, at)
	}
	comparisons := 2
	if symmetric {
		comparisons = 4
	}
	if err := CheckRepeated(x, comparisons, at); err != nil {
		return nil, err
	}
	out, err := newBetween(x, low, high, at)
	if err == nil && symmetric {
		var swapped Expr
		if swapped, err = newBetween(x, high, low, at); err == nil {
			out, err = NewOr([]Expr{out, swapped}, at)
		}
	}
	if err != nil || !not {
		return out, err
	}
	return NewNot(out, at)
}

func newBetween(x, low, high Expr, at fault.Span) (Expr, error) {
	if x.Type().Multi {
		return MapOverValues([]Expr{x, low, high}, 0, func(a []Expr) (Expr, error) { return newBetween(a[0], a[1], a[2], at) })
	}
	from, err := NewCompare(">=", x, low, at)
	if err != nil {
		return nil, err
	}
	to, err := NewCompare("<=", x, high, at)
	if err != nil {
		return nil, err
	}
	return NewAnd([]Expr{from, to}, at)
}
