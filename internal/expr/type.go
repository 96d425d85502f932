package expr

import (
	"unique"

	"github.com/hengedb/henge/internal/vector"
)

// Base is a SQL type without its parameters.
type Base uint8

// The SQL types of docs/sql.md. Precision, scale and length are read and ignored, as Druid does.
// See quirk Q003.
const (
	Invalid Base = iota
	Null         // the type of an untyped NULL
	Boolean
	TinyInt
	SmallInt
	Integer
	BigInt
	Float
	Real
	Double
	Decimal
	Char
	Varchar
	Date
	Timestamp
	IntervalDay   // milliseconds
	IntervalMonth // months
	Array
	Row
	Other // COMPLEX<name>
)

var baseNames = [...]string{"INVALID", "NULL", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "REAL", "DOUBLE", "DECIMAL",
	"CHAR", "VARCHAR", "DATE", "TIMESTAMP", "INTERVAL_DAY_TIME", "INTERVAL_YEAR_MONTH", "ARRAY", "ROW", "OTHER"}

// String returns the name in result headers.
func (b Base) String() string { return baseNames[b] }

// Type is the SQL type of an expression or column. Types are comparable with ==.
type Type struct {
	Base Base
	// Nullable is true if values may be NULL.
	Nullable bool
	// Multi marks a multi-value string, or the results of a function for each of its values: a scalar
	// for the planner, a list at run time. Binding inserts explicit per-value nodes (Each, Any) and
	// the binder unnests, so that no function or operator processes one by accident.
	Multi bool

	more unique.Handle[typeMore] // arrays and complex types
}

type typeMore struct {
	elem Type
	name string
}

// Of returns the nullable type with base b, which must be neither an array nor complex.
func Of(b Base) Type { return Type{Base: b, Nullable: true} }

// NotNull returns t without NULLs.
func (t Type) NotNull() Type { t.Nullable = false; return t }

// OrNull returns t, nullable if n is true.
func (t Type) OrNull(n bool) Type { t.Nullable = t.Nullable || n; return t }

// ArrayOf returns the nullable type of arrays of elem; elements are always nullable.
func ArrayOf(elem Type) Type {
	elem.Nullable = true
	return Type{Base: Array, Nullable: true, more: unique.Make(typeMore{elem: elem})}
}

// ComplexOf returns the nullable type COMPLEX<name>.
func ComplexOf(name string) Type {
	return Type{Base: Other, Nullable: true, more: unique.Make(typeMore{name: name})}
}

// MultiString is the type of a multi-value string column.
var MultiString = Type{Base: Varchar, Nullable: true, Multi: true}

// JSON is the type of nested data.
var JSON = ComplexOf("json")

// Elem returns the element type of an array, the type of one value of a multi-value string, and the
// zero Type for other types.
func (t Type) Elem() Type {
	if t.Multi {
		return Of(t.Base)
	}
	if t.Base != Array || t.more == (unique.Handle[typeMore]{}) {
		return Type{}
	}
	return t.more.Value().elem
}

// ComplexName returns the name in COMPLEX<name>, and "" for other types.
func (t Type) ComplexName() string {
	if t.Base != Other || t.more == (unique.Handle[typeMore]{}) {
		return ""
	}
	return t.more.Value().name
}

// Runtime returns the physical type of values of t at run time; ROW has none.
func (t Type) Runtime() vector.Type {
	if t.Multi {
		return vector.ListOf(Of(t.Base).Runtime())
	}
	switch t.Base {
	case Boolean, TinyInt, SmallInt, Integer, BigInt, Date, Timestamp, IntervalDay, IntervalMonth:
		return vector.Long
	case Float:
		return vector.Float
	case Real, Double, Decimal:
		return vector.Double
	case Char, Varchar, Null:
		return vector.String
	case Array:
		return vector.ListOf(t.Elem().Runtime())
	case Other:
		return vector.ComplexOf(t.ComplexName())
	}
	return vector.Type{}
}

// FromRuntime returns the SQL type of a stored column of physical type t; multi marks a multi-value
// string.
func FromRuntime(t vector.Type, multi bool) Type {
	switch t.Kind {
	case vector.KindLong:
		return Of(BigInt)
	case vector.KindDouble:
		return Of(Double)
	case vector.KindFloat:
		return Of(Float)
	case vector.KindString:
		return Of(Varchar)
	case vector.KindList:
		if multi {
			return MultiString
		}
		return ArrayOf(FromRuntime(t.Elem(), false))
	case vector.KindComplex:
		return ComplexOf(t.ComplexName())
	}
	return Type{}
}

// IsCharacter reports whether t is CHAR or VARCHAR.
func (t Type) IsCharacter() bool { return t.Base == Char || t.Base == Varchar }

// IsInteger reports whether t is a whole-number type.
func (t Type) IsInteger() bool { return t.Base >= TinyInt && t.Base <= BigInt }

// IsFractional reports whether t is FLOAT, REAL, DOUBLE or DECIMAL.
func (t Type) IsFractional() bool { return t.Base >= Float && t.Base <= Decimal }

// IsNumeric reports whether t is a number type.
func (t Type) IsNumeric() bool { return t.Base >= TinyInt && t.Base <= Decimal }

// IsTime reports whether t is DATE or TIMESTAMP.
func (t Type) IsTime() bool { return t.Base == Date || t.Base == Timestamp }

// IsInterval reports whether t is an interval.
func (t Type) IsInterval() bool { return t.Base == IntervalDay || t.Base == IntervalMonth }

// Plain returns t without its attributes: nullable and, of a multi-value string, the type of one
// value.
func (t Type) Plain() Type {
	t.Multi, t.Nullable = false, true
	return t
}

// String returns the type in the form of error messages: VARCHAR, BIGINT ARRAY, COMPLEX<json>.
func (t Type) String() string {
	switch t.Base {
	case Array:
		return t.Elem().String() + " ARRAY"
	case Other:
		if n := t.ComplexName(); n != "" {
			return "COMPLEX<" + n + ">"
		}
	}
	return t.Base.String()
}
