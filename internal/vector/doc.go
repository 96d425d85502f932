// Package vector gives the unit that all data moves in: a Batch of equally long Vectors.
//
// A Vector holds the values of one column for a run of rows in one of three encodings: flat (a
// plain slice), constant (one value that stands for every row) or dictionary (codes into a Dict).
// Nulls are a validity bitmap that is nil when every row has a value. Encodings are kept as long as
// possible: a predicate runs once per dictionary entry, a grouping runs on codes.
//
//	            flat            constant        dictionary       list
//	Long        Longs           Longs[0]        -                -
//	Double      Doubles         Doubles[0]      -                -
//	Float       Floats          Floats[0]       -                -
//	String      Strings         Strings[0]      Codes + Dict     -
//	List        -               -               -                Offsets + Child
//	Complex     Strings         Strings[0]      -                (bytes of the serialised value)
//
// Everything that computes takes its values from here: the segment reader fills vectors,
// expressions map vectors to vectors, operators pass batches on. Elsewhere on purpose: SQL types,
// which know more than the six physical kinds (package expr), and the bytes of a stored column
// (package segment).
package vector
