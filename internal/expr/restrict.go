package expr

// LeastRestrictive returns the type that values of all the given types can be cast to without loss
// in the sense of CASE, COALESCE, IN, VALUES and UNION: the wider number, VARCHAR if strings are
// mixed with other scalars, TIMESTAMP for DATE and TIMESTAMP, and the time type for a time and an
// integer (its milliseconds) or a preceding decimal. Untyped NULLs are ignored. It returns false if
// there is no such type, for example for BOOLEAN and a number.
func LeastRestrictive(types ...Type) (Type, bool) {
	var l leastRestrictive
	for _, t := range types {
		l.add(t)
	}
	return l.result()
}

// leastRestrictive finds the type of LeastRestrictive for types that come one after the other.
type leastRestrictive struct {
	out                     Type
	nullable, multi         bool
	seen, incompatible, any bool // some type but NULL, some that has none in common with those before, a type at all
}

func (l *leastRestrictive) add(t Type) {
	l.any = true
	l.nullable = l.nullable || t.Nullable || t.Base == Null
	l.multi = l.multi || t.Multi
	switch {
	case t.Base == Null || l.incompatible:
	case !l.seen:
		l.out, l.seen = t, true
	default:
		out, ok := commonType(l.out, t)
		l.out, l.incompatible = out, !ok
	}
}

func (l *leastRestrictive) result() (Type, bool) {
	if l.incompatible {
		return Type{}, false
	}
	out := l.out
	if !l.seen {
		out = Type{Base: Null}
	}
	if l.multi && out.Base != Array && out.Base != Other {
		out.Multi = true
	}
	out.Nullable = l.nullable || !l.any
	return out, true
}

func commonType(a, b Type) (Type, bool) {
	switch {
	case a.Base == Array && b.Base == Array:
		elem, ok := LeastRestrictive(a.Elem(), b.Elem())
		return ArrayOf(elem), ok
	case a.Base == Array || b.Base == Array || a.Base == Row || b.Base == Row:
		return a, a == b
	case a.Base == Other || b.Base == Other:
		return a, a.Base == b.Base && a.ComplexName() == b.ComplexName()
	case a.Base == b.Base:
		return a, true
	case a.IsCharacter() || b.IsCharacter():
		return Of(Varchar), !a.IsInterval() && !b.IsInterval()
	case a.IsNumeric() && b.IsNumeric():
		return Of(widerNumber(a.Base, b.Base)), true
	case a.IsTime() && b.IsTime():
		return Of(Timestamp), true
	case a.IsTime() && b.IsInteger():
		return Of(a.Base), true
	case b.IsTime() && (a.IsInteger() || a.Base == Decimal): // quirk Q002: a decimal only if it stands first, as in Druid
		return Of(b.Base), true
	}
	return Type{}, false
}

// widerNumber returns the number type of a result made of a and b: the wider of two whole or two
// fractional types, else the fractional one. FLOAT and DECIMAL meet in DOUBLE, because neither
// holds the other.
func widerNumber(a, b Base) Base {
	if a > b {
		a, b = b, a
	}
	switch {
	case b < Float || a < Float:
		return b
	case a == b:
		return a
	default:
		return Double
	}
}
