// Package wire writes plans as bytes, so that a part of a query can run in another process, and
// reads them back.
//
// Encode and Decode are the whole of it. One walk (coder) serves both directions, so that they
// can't drift apart: it visits the fields of a node and either writes or reads each. Functions and
// aggregates travel by their name in the catalog, constant rows as a frame (vector.AppendFrame),
// everything else as numbers of variable length and texts.
//
// The bytes of docs/format/fragment.md that are a plan are described there. What a fragment is
// beside its plan is in package dispatch. Write nodes do not travel: tasks carry the statement.
package wire
