package avro

import (
	"slices"

	"github.com/twmb/avro"

	"github.com/hengedb/henge/internal/ingest/record"
)

// reading is a schema that records are read as, made ready for those of one file.
//
// Avro resolves a union that was written by the branch that a value has: only a value whose branch
// the reader's type does not take is an error. The library refuses the file if any branch is such.
// So the reader's type becomes a union that takes these branches, too, and unasked says which they
// are: a record with a value of one does not parse.
type reading struct {
	root    *avro.SchemaNode
	unasked map[*avro.SchemaNode][]string // by union
	// whole are the unions that are none in the schema that was given.
	whole map[*avro.SchemaNode]bool

	reader, writer map[string]*avro.SchemaNode // the named types
	seen           map[[2]*avro.SchemaNode]bool
}

// newReading returns how records that were written with one schema are read as another, and the
// schema for that.
func newReading(writer, reader *avro.Schema) (*reading, *avro.Schema, error) {
	r := &reading{root: reader.Root(), unasked: map[*avro.SchemaNode][]string{}, whole: map[*avro.SchemaNode]bool{},
		seen: map[[2]*avro.SchemaNode]bool{}}
	written := writer.Root()
	r.reader, r.writer = namedTypes(r.root), namedTypes(written)
	r.widen(r.root, written)
	if len(r.unasked) == 0 {
		return r, reader, nil
	}
	s, err := r.root.Schema()
	return r, s, err
}

// widen makes the reader's type at n take all that the writer's type w may hold.
func (r *reading) widen(n, w *avro.SchemaNode) {
	rn, rw := resolved(r.reader, n), resolved(r.writer, w)
	pair := [2]*avro.SchemaNode{rn, rw}
	if r.seen[pair] {
		return
	}
	r.seen[pair] = true
	if rw.Type != "union" {
		r.widenOne(rn, rw)
		return
	}
	var missing []avro.SchemaNode
	for i := range rw.Branches {
		if b := resolved(r.writer, &rw.Branches[i]); !r.widenOne(rn, b) && primitive(b.Type) {
			missing = append(missing, avro.SchemaNode{Type: b.Type})
		}
	}
	if len(missing) == 0 {
		return
	}
	if rn.Type != "union" {
		one := *n
		*n = avro.SchemaNode{Type: "union", Branches: []avro.SchemaNode{one}}
		rn = n
		r.whole[n] = true
	}
	for _, m := range missing {
		rn.Branches = append(rn.Branches, m)
		r.unasked[rn] = append(r.unasked[rn], m.Type)
	}
}

// widenOne reports whether the reader's type n takes values of the writer's type w, which is no
// union, and widens what is within both.
func (r *reading) widenOne(n, w *avro.SchemaNode) bool {
	if n.Type == "union" {
		taken := false
		for i := range n.Branches {
			taken = r.widenOne(resolved(r.reader, &n.Branches[i]), w) || taken
		}
		return taken
	}
	if n.Type != w.Type {
		return slices.Contains(promotions[w.Type], n.Type)
	}
	switch n.Type {
	case "record", "error":
		for i := range n.Fields {
			if f := writtenField(&n.Fields[i], w); f != nil {
				r.widen(&n.Fields[i].Type, &f.Type)
			}
		}
	case "array":
		r.widen(n.Items, w.Items)
	case "map":
		r.widen(n.Values, w.Values)
	}
	return true
}

// promotions are the types that values of a type may be read as (Avro 1.12, Schema Resolution).
var promotions = map[string][]string{
	"int": {"long", "float", "double"}, "long": {"float", "double"}, "float": {"double"}, "string": {"bytes"}, "bytes": {"string"},
}

func primitive(kind string) bool {
	return slices.Contains([]string{"null", "boolean", "int", "long", "float", "double", "string", "bytes"}, kind)
}

// writtenField returns the field of a written record that a field is read from: the one of its
// name, or of an alias.
func writtenField(f *avro.SchemaField, w *avro.SchemaNode) *avro.SchemaField {
	for _, name := range append([]string{f.Name}, f.Aliases...) {
		for i := range w.Fields {
			if w.Fields[i].Name == name {
				return &w.Fields[i]
			}
		}
	}
	return nil
}

// namedTypes returns the named types of a schema, which may be referred to anywhere in it, by their
// names and full names.
func namedTypes(root *avro.SchemaNode) map[string]*avro.SchemaNode {
	named := map[string]*avro.SchemaNode{}
	var learn func(n *avro.SchemaNode, depth int)
	learn = func(n *avro.SchemaNode, depth int) {
		if n == nil || depth > record.MaxDepth {
			return
		}
		if n.Name != "" && (n.Type == "record" || n.Type == "error" || n.Type == "enum" || n.Type == "fixed") {
			named[n.Name] = n
			if n.Namespace != "" {
				named[n.Namespace+"."+n.Name] = n
			}
		}
		for i := range n.Fields {
			learn(&n.Fields[i].Type, depth+1)
		}
		for i := range n.Branches {
			learn(&n.Branches[i], depth+1)
		}
		learn(n.Items, depth+1)
		learn(n.Values, depth+1)
	}
	learn(root, 0)
	return named
}

// resolved returns the type that n is or refers to.
func resolved(named map[string]*avro.SchemaNode, n *avro.SchemaNode) *avro.SchemaNode {
	if n == nil {
		return &avro.SchemaNode{}
	}
	if of, ok := named[n.Type]; ok {
		return of
	}
	return n
}
