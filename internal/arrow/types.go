package arrow

import "fmt"

// Kind is a kind of type.
type Kind uint8

// The kinds. Their numbers are those of the union Type in Schema.fbs.
const (
	Null          Kind = 1
	Int           Kind = 2
	Float         Kind = 3
	Binary        Kind = 4
	Utf8          Kind = 5
	Bool          Kind = 6
	Decimal       Kind = 7
	Date          Kind = 8
	Time          Kind = 9
	Timestamp     Kind = 10
	List          Kind = 12
	Struct        Kind = 13
	FixedBinary   Kind = 15
	FixedList     Kind = 16
	Map           Kind = 17
	Duration      Kind = 18
	LargeBinary   Kind = 19
	LargeUtf8     Kind = 20
	LargeList     Kind = 21
	BinaryView    Kind = 23
	Utf8View      Kind = 24
	ListView      Kind = 25
	LargeListView Kind = 26
)

var kindNames = map[Kind]string{
	Null: "null", Int: "int", Float: "float", Binary: "binary", Utf8: "utf8", Bool: "bool", Decimal: "decimal", Date: "date", Time: "time",
	Timestamp: "timestamp", 11: "interval", List: "list", Struct: "struct", Union: "union", FixedBinary: "fixed_size_binary",
	FixedList: "fixed_size_list", Map: "map", Duration: "duration", LargeBinary: "large_binary", LargeUtf8: "large_utf8",
	LargeList: "large_list", 22: "run_end_encoded", BinaryView: "binary_view", Utf8View: "utf8_view", ListView: "list_view",
	LargeListView: "large_list_view",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("type %d", uint8(k))
}

// Unit is a unit of time.
type Unit uint8

// The units of times, by their numbers in Schema.fbs.
const (
	Second Unit = iota
	Milli
	Micro
	Nano
)

// Type is a type. Which members count follows from Kind.
type Type struct {
	Kind Kind
	// Bits is the width of numbers, decimals, dates and times.
	Bits   int
	Signed bool
	Unit   Unit
	// Zone is that of a timestamp; "": it is a wall clock.
	Zone             string
	Precision, Scale int
	// Size is the width of fixed_size_binary and the length of fixed_size_list.
	Size int
	// Children are the element of a list, the members of a struct, the entries of a map.
	Children []Field
}

// The types that results have.
var (
	Int64     = &Type{Kind: Int, Bits: 64, Signed: true}
	Int32     = &Type{Kind: Int, Bits: 32, Signed: true}
	Int16     = &Type{Kind: Int, Bits: 16, Signed: true}
	Uint32    = &Type{Kind: Int, Bits: 32}
	Uint8     = &Type{Kind: Int, Bits: 8}
	Float32   = &Type{Kind: Float, Bits: 32}
	Float64   = &Type{Kind: Float, Bits: 64}
	Boolean   = &Type{Kind: Bool}
	Text      = &Type{Kind: Utf8}
	Bytes     = &Type{Kind: Binary}
	Days      = &Type{Kind: Date, Bits: 32}
	Instant   = &Type{Kind: Timestamp, Unit: Milli, Zone: "UTC"}
	Undefined = &Type{Kind: Null}
)

// ListOf returns the type of lists of elem, which may be null.
func ListOf(elem *Type) *Type {
	return &Type{Kind: List, Children: []Field{{Name: "item", Type: elem, Nullable: true}}}
}

// Field is a column, or a part of one.
type Field struct {
	Name     string
	Type     *Type
	Nullable bool
	// Dictionary says that values are indexes into a dictionary of Type; nil: they are not.
	Dictionary *Encoding
	// Metadata are pairs of a key and a value.
	Metadata [][2]string
}

// Encoding is the dictionary encoding of a field.
type Encoding struct {
	ID int64
	// Index is the type of indexes.
	Index *Type
}

// Schema is the columns of a stream.
type Schema struct {
	Fields   []Field
	Metadata [][2]string
}
