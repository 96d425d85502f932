package expr

// LeastRestrictive returns the type that values of all the given types can be cast to without loss in the sense of CASE, COALESCE, IN,
// VALUES and UNION: the wider number, VARCHAR when strings are mixed with anything scalar, TIMESTAMP for DATE and TIMESTAMP, and
// the time for one and a whole number, its milliseconds. Untyped NULLs are ignored. It reports false when there is none, as for BOOLEAN and a number.
func LeastRestrictive(types ...Type) (Type, bool) {
	out, nullable, multi, seen := Type{Base: Null}, len(types) == 0, false, false
	for _, t := range types {
		nullable = nullable || t.Nullable || t.Base == Null
		multi = multi || t.Multi
		if t.Base == Null {
			continue
		}
		if !seen {
			out, seen = t, true
			continue
		}
		var ok bool
		if out, ok = commonType(out, t); !ok {
			return Type{}, false
		}
	}
	if multi && out.Base != Array && out.Base != Other {
		out.Multi = true
	}
	out.Nullable = nullable
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
	case b.IsTime() && a.IsInteger():
		return Of(b.Base), true
	}
	return Type{}, false
}

// widerNumber returns the number type of a result made of a and b: the wider of two whole or two fractional types, else the fractional
// one. FLOAT and DECIMAL meet in DOUBLE, because neither holds the other.
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
