package parquet

import (
	"slices"
	"strings"
)

// Type is the physical type of values.
type Type int32

// The physical types.
const (
	Boolean    Type = 0
	Int32      Type = 1
	Int64      Type = 2
	Int96      Type = 3
	Float      Type = 4
	Double     Type = 5
	ByteArray  Type = 6
	FixedBytes Type = 7
)

func (t Type) String() string {
	names := [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	if t < 0 || int(t) >= len(names) {
		return "unknown"
	}
	return names[t]
}

// Logical is the meaning of values, from a converted type or a logical type annotation.
type Logical uint8

// The annotations. Unknown annotations are NoLogical.
const (
	NoLogical Logical = iota
	String
	Map
	List
	Enum
	Decimal
	Date
	Time
	Timestamp
	Integer
	JSON
	BSON
	UUID
	Float16
	Variant
	Interval
)

// Unit is the unit of times.
type Unit uint8

// The time units.
const (
	Millis Unit = iota
	Micros
	Nanos
)

// Column is a node of the schema.
type Column struct {
	Name               string
	Optional, Repeated bool
	Logical            Logical
	Unit               Unit  // of Time and Timestamp
	Scale              int32 // of Decimal
	Precision          int32 // of Decimal
	Bits               int32 // of Integer
	Signed             bool  // of Integer
	Children           []*Column

	// MaxDefinition and MaxRepetition are the definition level at which the node is present and the
	// repetition level at which its next element begins.
	MaxDefinition, MaxRepetition int

	// For leaves only:
	Leaf   bool
	Type   Type
	Length int // of FixedBytes, in bytes
	Index  int // among the leaves
	parent *Column
}

// Path returns the name of the column with the names of its ancestors.
func (c *Column) Path() string {
	var names []string
	for ; c.parent != nil; c = c.parent {
		names = append(names, c.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, ".")
}

// Child returns the child with this name, or nil. If several have the name, it returns the first
// one.
func (c *Column) Child(name string) *Column {
	for _, child := range c.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

const (
	// maxDepth bounds the nesting of columns: that of JSON values, which they become.
	maxDepth = 300
	// maxLevel bounds levels, which are kept as bytes.
	maxLevel = 255
)

// schemaBuilder makes the tree of a list of elements, which has the children of a node behind it,
// depth first.
type schemaBuilder struct {
	elements []schemaElement
	at       int
	leaves   []*Column
}

func (b *schemaBuilder) root() (*Column, error) {
	if len(b.elements) == 0 {
		return nil, damaged("its footer has no schema")
	}
	e := &b.elements[0]
	b.at = 1
	root := &Column{Name: e.name}
	for range e.children {
		child, err := b.node(root, 1)
		if err != nil {
			return nil, err
		}
		root.Children = append(root.Children, child)
	}
	if b.at != len(b.elements) {
		return nil, damaged("its schema has elements that belong to no column")
	}
	return root, nil
}

func (b *schemaBuilder) node(parent *Column, depth int) (*Column, error) {
	if depth > maxDepth {
		return nil, damaged("its schema nests columns deeper than [%d]", maxDepth)
	}
	if b.at >= len(b.elements) {
		return nil, damaged("its schema ends within a group of columns")
	}
	e := &b.elements[b.at]
	b.at++
	c := &Column{Name: e.name, Optional: e.repetition == 1, Repeated: e.repetition == 2,
		MaxDefinition: parent.MaxDefinition, MaxRepetition: parent.MaxRepetition, parent: parent}
	if e.repetition < 0 || e.repetition > 2 {
		return nil, damaged("column [%s] has the unknown repetition [%d]", c.Path(), e.repetition)
	}
	if e.repetition != 0 {
		c.MaxDefinition++
	}
	if c.Repeated {
		c.MaxRepetition++
	}
	if c.MaxDefinition > maxLevel {
		return nil, unsupported("more than [%d] optional and repeated columns within one another", maxLevel)
	}
	c.annotate(e)
	if e.typ >= 0 && e.children == 0 {
		return c, b.leaf(c, e)
	}
	if e.children < 0 {
		return nil, damaged("column [%s] has [%d] children", c.Path(), e.children)
	}
	for range e.children {
		child, err := b.node(c, depth+1)
		if err != nil {
			return nil, err
		}
		c.Children = append(c.Children, child)
	}
	return c, nil
}

func (b *schemaBuilder) leaf(c *Column, e *schemaElement) error {
	c.Leaf, c.Type, c.Index = true, Type(e.typ), len(b.leaves)
	b.leaves = append(b.leaves, c)
	switch {
	case c.Type > FixedBytes:
		return unsupported("type [%d] of column [%s]", e.typ, c.Path())
	case c.Type == FixedBytes && e.length <= 0:
		return damaged("column [%s] is of byte arrays of length [%d]", c.Path(), e.length)
	case c.Type == FixedBytes:
		c.Length = int(e.length)
	case c.Type == Int96:
		c.Length = 12
	}
	return nil
}

// logicals are the annotations by their field in the union LogicalType.
var logicals = [...]Logical{1: String, 2: Map, 3: List, 4: Enum, 5: Decimal, 6: Date, 7: Time,
	8: Timestamp, 10: Integer, 12: JSON, 13: BSON, 14: UUID, 15: Float16, 16: Variant}

// converted are the older annotations, by ConvertedType.
var converted = [...]Logical{String, Map, Map, List, Enum, Decimal, Date, Time, Time, Timestamp, Timestamp,
	Integer, Integer, Integer, Integer, Integer, Integer, Integer, Integer, JSON, BSON, Interval}

// annotate sets the logical type, of the newer annotation if it is known, else of the older one.
func (c *Column) annotate(e *schemaElement) {
	l := &e.logical
	if l.id > 0 && l.id < len(logicals) {
		c.Logical = logicals[l.id]
	}
	switch c.Logical {
	case Decimal:
		c.Scale, c.Precision = l.scale, l.precision
	case Time, Timestamp:
		if l.unit < 1 || l.unit > 3 {
			c.Logical = NoLogical
			break
		}
		c.Unit = Unit(l.unit - 1)
	case Integer:
		c.Bits, c.Signed = l.bits, l.signed
	}
	if c.Logical != NoLogical {
		return
	}
	if e.converted < 0 || int(e.converted) >= len(converted) {
		return
	}
	c.Logical = converted[e.converted]
	switch n := e.converted; {
	case c.Logical == Decimal:
		c.Scale, c.Precision = e.scale, e.precision
	case n == 8 || n == 10:
		c.Unit = Micros
	case n >= 11 && n <= 14:
		c.Bits = 8 << (n - 11)
	case n >= 15 && n <= 18:
		c.Bits, c.Signed = 8<<(n-15), true
	}
}
