package expr

import "slices"

// depth returns how many arrays are nested in each other in values of t.
func depth(t Type) int {
	n := 0
	for ; t.Base == Array; t = t.Elem() {
		n++
	}
	return n
}

func isBoolean(e Expr) bool { return e.Type().Base == Boolean }

// allFloats reports whether all of the values that are not the literal NULL are FLOATs.
func allFloats(args []Expr) bool {
	return !slices.ContainsFunc(args, func(a Expr) bool { t := a.Type(); return t.Base != Float && t.Base != Null })
}

// array wants an array; what is no list becomes one of one element, and a NULL one of elements of
// type elem.
func (b *Binding) array(i int, elem Type) {
	t := b.Type(i)
	switch {
	case t.Base == Array:
	case t.Multi:
		b.Cast(i, ArrayOf(Of(Varchar)))
	case t.Base == Null:
		if elem.Base == Invalid || elem.Base == Null {
			elem = Of(Varchar)
		}
		b.Args[i] = &Literal{T: ArrayOf(elem)}
	case t.Base == Other, t.Base == Row, t.IsInterval():
		b.Mismatch()
	default:
		if t.Base == Float {
			t = Of(Double)
		}
		b.Cast(i, ArrayOf(t))
	}
}

// texts makes the elements of the array at argument i texts. Times are milliseconds, as they are
// wherever an array is written.
func (b *Binding) texts(i int) {
	if t := b.Type(i); b.Err == nil && t.Base == Array && t.Elem().IsTime() {
		b.Args[i] = &Cast{X: b.Args[i], T: ArrayOf(Of(BigInt)).NotNull().OrNull(t.Nullable)}
	}
	b.Cast(i, ArrayOf(Of(Varchar)))
}

// lists wants arrays, or strings, which may be several values; no other scalar counts as an array
// of one.
func (b *Binding) lists(args ...int) {
	for _, i := range args {
		if t := b.Type(i); t.Base != Array && t.Base != Null && !t.IsCharacter() {
			b.Mismatch()
		}
	}
}

// element wants what can be an element of the list at argument list: a string or a number, or an
// array where the list is of strings.
func (b *Binding) element(i, list int) {
	switch t, l := b.Type(i), b.Type(list); {
	case t.IsTime(), t.Base == Boolean, t.IsInterval():
		b.Mismatch()
	case t.Base == Array && !l.IsCharacter() && !l.Elem().IsCharacter():
		b.Mismatch()
	}
}

// index wants a position in an array: a number, which is cut to a whole one; NULL counts as 0, as
// in Druid. See quirk Q001.
func (b *Binding) index(i int) {
	if t := b.Type(i); !t.IsNumeric() && t.Base != Null {
		b.Mismatch()
		return
	}
	b.Cast(i, Of(BigInt))
	if t := b.Type(i); b.Err == nil && t.Nullable {
		zero := &Literal{Value: int64(0), T: Of(BigInt).NotNull()}
		b.Args[i], b.Err = NewCall(CoalesceFunction, []Expr{b.Args[i], zero}, b.At)
	}
}

// elem returns the element type of argument i.
func (b *Binding) elem(i int) Type { return b.Type(i).Elem() }

// matched casts array a and the other argument, an array or with scalar an element, to a common
// element type in which both compare. With texts, texts that are looked for among numbers stay
// texts, so that findElement tells those that are no number from NULL; else they are found at
// NULLs.
func (b *Binding) matched(a, other int, scalar, texts bool) {
	boolean := b.Type(a).Elem().Base == Boolean
	b.unBoolean(a)
	if !scalar {
		b.unBoolean(other)
	}
	if b.Err != nil {
		return
	}
	x, y := b.elem(a), b.Type(other)
	if !scalar {
		y = b.elem(other)
	}
	t := x
	switch {
	case y.Base == Null:
	case x.Base == Null:
		t = y
	case boolean && !texts && y.IsNumeric(): // cut to a whole number
	case x.IsNumeric() && y.IsNumeric():
		t = elementNumber(widerNumber(x.Base, y.Base))
	case texts && y.IsCharacter() && (x.IsNumeric() || x.Base == Boolean):
		if t = Of(Varchar); !scalar {
			t = ArrayOf(t)
		}
		b.Cast(other, t)
		return
	case !castable(y, x):
		b.Mismatch()
		return
	}
	b.Cast(a, ArrayOf(t))
	if scalar {
		b.Cast(other, t)
	} else {
		b.Cast(other, ArrayOf(t))
	}
}

// unBoolean makes the elements of an array of BOOLEAN numbers, which they are wherever an array is
// stored: 2 is not among them, though it is true.
func (b *Binding) unBoolean(i int) {
	if t := b.Type(i); b.Err == nil && t.Base == Array && t.Elem().Base == Boolean {
		b.Args[i] = &Cast{X: b.Args[i], T: ArrayOf(Of(BigInt)).NotNull().OrNull(t.Nullable)}
	}
}

// ListForms returns the default form of the signature of a function.
func ListForms(args string) []string { return []string{"$F(" + args + ")"} }

// alike reports whether a value of type x can be an element of type elem as it is: ARRAY_OFFSET_OF
// and its like cast neither, as in Druid. See quirk Q002.
func alike(elem, x Type) bool {
	class := func(t Type) int {
		switch {
		case t.Base == Null:
			return 0
		case t.IsCharacter():
			return 1
		case t.IsFractional():
			return 2
		}
		return 3
	}
	a, b := class(elem), class(x)
	return a == 0 || b == 0 || a == b
}

// typed gives the empty array ARRAY[], whose elements have no type, elements of type elem.
func (b *Binding) typed(i int, elem Type) {
	if b.Err != nil || b.elem(i).Base != Null || elem.Base == Null {
		return
	}
	if elem.Base == Float {
		elem = Of(Double)
	}
	b.Args[i] = &Cast{X: b.Args[i], T: ArrayOf(elem.Plain())}
}

// list ends the binding of a function whose result is a list like argument i, or with multi a
// multi-value string of its elements.
func (b *Binding) list(i int, multi bool) (Expr, error) {
	if multi {
		b.Cast(i, ArrayOf(Of(Varchar)))
		return b.Call(MultiString)
	}
	if b.Err != nil {
		return nil, b.Err
	}
	return b.Call(b.Type(i).OrNull(true))
}

// joined returns the type of the elements of an array of those of type a and of type b, one in
// which none is lost.
func joined(a, b Type) Type {
	switch {
	case a.Base == Float && b.Base == Float:
		return a
	case a.IsNumeric() && b.IsNumeric():
		return elementNumber(widerNumber(a.Base, b.Base))
	case a.IsCharacter() != b.IsCharacter() && b.Base != Null:
		return Of(Varchar)
	}
	return a
}

// elementNumber is the type of numbers in an array that are not all FLOATs.
func elementNumber(base Base) Type {
	if base == Float {
		base = Double
	}
	return Of(base)
}

// bindElement binds a function of a list that gives one of its elements or NULL.
func bindElement(b *Binding) (Expr, error) {
	b.array(0, Type{})
	if b.Err != nil {
		return nil, b.Err
	}
	return b.Call(b.elem(0).OrNull(true))
}
