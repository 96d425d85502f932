// Package wire encodes plans as bytes, so that a part of a query can run in another process, and
// decodes them.
//
// Encode and Decode are the only entry points. One walk (coder) serves both directions, so that
// they cannot diverge: it visits the fields of a node and either writes or reads each. Functions
// and aggregates are encoded by their name in the catalog, constant rows as a frame
// (vector.AppendFrame), other values as varints and strings.
//
// docs/format/fragment.md specifies the bytes. The rest of a fragment is in package dispatch. Write
// nodes are not encoded: tasks carry the statement.
package wire
