package vector

import (
	"strings"
	"unique"

	"github.com/hengedb/henge/internal/fault"
)

// Kind is a physical kind of value.
type Kind uint8

// The physical kinds. Booleans and timestamps are Long; dates too (milliseconds).
const (
	KindInvalid Kind = iota
	KindLong
	KindDouble
	KindFloat
	KindString
	KindList
	KindComplex
)

// Type is a physical type. Types are comparable with ==; the zero Type is not a type.
type Type struct {
	Kind Kind
	more unique.Handle[typeMore] // lists and complex types only
}

type typeMore struct {
	elem Type
	name string
}

// The scalar types.
var (
	Long   = Type{Kind: KindLong}
	Double = Type{Kind: KindDouble}
	Float  = Type{Kind: KindFloat}
	String = Type{Kind: KindString}
)

// JSON is the type of nested values, stored as their JSON text.
var JSON = ComplexOf("json")

// ListOf returns the type of lists of elem.
func ListOf(elem Type) Type { return Type{Kind: KindList, more: unique.Make(typeMore{elem: elem})} }

// ComplexOf returns the opaque type called name ("json", "HLLSketch", "hyperUnique"); an empty name
// is an unknown complex type.
func ComplexOf(name string) Type {
	return Type{Kind: KindComplex, more: unique.Make(typeMore{name: name})}
}

// Elem returns the element type of a list, and the zero Type of anything else.
func (t Type) Elem() Type {
	if t.Kind != KindList {
		return Type{}
	}
	return t.more.Value().elem
}

// ComplexName returns the name of a complex type, and "" of anything else.
func (t Type) ComplexName() string {
	if t.Kind != KindComplex {
		return ""
	}
	return t.more.Value().name
}

// IsNumeric reports whether values of t are numbers.
func (t Type) IsNumeric() bool {
	return t.Kind == KindLong || t.Kind == KindDouble || t.Kind == KindFloat
}

// String returns the type name of the public interface: LONG, ARRAY<STRING>, COMPLEX<json>.
func (t Type) String() string {
	switch t.Kind {
	case KindLong:
		return "LONG"
	case KindDouble:
		return "DOUBLE"
	case KindFloat:
		return "FLOAT"
	case KindString:
		return "STRING"
	case KindList:
		return "ARRAY<" + t.more.Value().elem.String() + ">"
	case KindComplex:
		if t.more.Value().name == "" {
			return "COMPLEX"
		}
		return "COMPLEX<" + t.more.Value().name + ">"
	}
	return "INVALID"
}

// ParseType parses a type name, ignoring case ("string", "ARRAY<LONG>", "COMPLEX<json>").
func ParseType(s string) (Type, error) {
	text := strings.TrimSpace(s)
	upper := strings.ToUpper(text)
	switch upper {
	case "LONG":
		return Long, nil
	case "DOUBLE":
		return Double, nil
	case "FLOAT":
		return Float, nil
	case "STRING":
		return String, nil
	case "COMPLEX":
		return ComplexOf(""), nil
	}
	if strings.HasPrefix(upper, "ARRAY<") && strings.HasSuffix(upper, ">") && strings.Count(upper, "<") < maxTypeDepth {
		elem, err := ParseType(text[len("ARRAY<") : len(text)-1])
		if err != nil {
			return Type{}, err
		}
		return ListOf(elem), nil
	}
	if strings.HasPrefix(upper, "COMPLEX<") && strings.HasSuffix(upper, ">") {
		return ComplexOf(text[len("COMPLEX<") : len(text)-1]), nil
	}
	return Type{}, fault.InvalidInput("Type [%s] is unknown; known are STRING, LONG, DOUBLE, FLOAT, ARRAY<type> and COMPLEX<name>", s)
}

// Field is a named, typed column.
type Field struct {
	Name string
	Type Type
}

// Schema is an ordered list of columns. Names need not be unique between operators; positions
// identify columns.
type Schema struct {
	Fields []Field
}

// Index returns the position of the first column called name, or -1.
func (s *Schema) Index(name string) int {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return i
		}
	}
	return -1
}
