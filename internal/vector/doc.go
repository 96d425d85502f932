// Package vector defines the unit of data that operators exchange: a Batch of Vectors of equal
// length.
//
// A Vector holds the values of one column for a run of rows in one of three encodings: flat (a
// plain slice), constant (one value for all rows) or dictionary (codes into a Dict). Nulls are a
// validity bitmap that is nil when every row has a value. Operators preserve encodings as long as
// possible: a predicate runs once per dictionary entry, grouping runs on codes.
//
//	            flat            constant        dictionary       list
//	Long        Longs           Longs[0]        -                -
//	Double      Doubles         Doubles[0]      -                -
//	Float       Floats          Floats[0]       -                -
//	String      Strings         Strings[0]      Codes + Dict     -
//	List        -               -               -                Offsets + Child
//	Complex     Strings         Strings[0]      -                (bytes of the serialised value)
//
// All computing code uses this package: the segment reader fills vectors, expressions map vectors
// to vectors, operators return batches. Elsewhere on purpose: SQL types, which distinguish more
// than the six physical kinds (package expr), and the bytes of a stored column (package segment).
package vector
