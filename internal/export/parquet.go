package export

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// groupRows is how many rows a row group has at most: readers take a group at a time, and it is
	// held in memory until it is written.
	groupRows = 100_000
	// rowsAtOnce is how many rows are handed to the library at a time.
	rowsAtOnce = 256
	msPerDay   = 24 * 60 * 60 * 1000
)

// parquetFile writes a file of Parquet. All columns may be null. TIMESTAMP becomes an instant in
// milliseconds, DATE a date, an ARRAY a list, JSON text of that logical type and a sketch bytes.
type parquetFile struct {
	w       *parquet.GenericWriter[any]
	columns []result.Column
	rows    []parquet.Row
	group   int // rows of the present row group
}

func newParquet(w io.Writer, columns []result.Column) (File, error) {
	root := &orderedGroup{}
	for i, c := range columns {
		root.names = append(root.names, c.Name)
		root.nodes = append(root.nodes, parquetNode(columns[i].Type))
	}
	schema := parquet.NewSchema("rows", root.group())
	return &parquetFile{w: parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy)), columns: columns}, nil
}

func parquetNode(t expr.Type) parquet.Node {
	switch {
	case t.Base == expr.Boolean:
		return parquet.Optional(parquet.Leaf(parquet.BooleanType))
	case t.Base == expr.Date:
		return parquet.Optional(parquet.Date())
	case t.IsTime():
		return parquet.Optional(parquet.Timestamp(parquet.Millisecond))
	case t.Base == expr.Array:
		return parquet.Optional(parquet.List(parquetNode(t.Elem())))
	case t.Base == expr.Other && t.ComplexName() == "json":
		return parquet.Optional(parquet.JSON())
	case t.Base == expr.Other:
		return parquet.Optional(parquet.Leaf(parquet.ByteArrayType))
	}
	switch t.Runtime().Kind {
	case vector.KindLong:
		return parquet.Optional(parquet.Int(64))
	case vector.KindDouble:
		return parquet.Optional(parquet.Leaf(parquet.DoubleType))
	case vector.KindFloat:
		return parquet.Optional(parquet.Leaf(parquet.FloatType))
	}
	return parquet.Optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary))
}

// orderedGroup is a group whose fields keep their order.
type orderedGroup struct {
	parquet.Group
	names  []string
	nodes  []parquet.Node
	fields []parquet.Field
}

// group returns g, whose names and nodes are complete, as a node.
func (g *orderedGroup) group() parquet.Node {
	g.Group = parquet.Group{}
	for i, name := range g.names {
		g.Group[name] = g.nodes[i]
	}
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	for _, name := range g.names {
		g.fields = append(g.fields, byName[name])
	}
	return g
}

// Fields returns the fields in their order.
func (g *orderedGroup) Fields() []parquet.Field { return g.fields }

// Batch implements File.
func (p *parquetFile) Batch(b *vector.Batch) error {
	b = b.Compact()
	for lo := 0; lo < b.N; {
		hi := min(lo+rowsAtOnce, b.N, lo+groupRows-p.group)
		rows := p.block(hi - lo)
		for c, v := range b.Cols {
			t := p.columns[c].Type
			for i := range rows {
				rows[i] = appendValue(rows[i], v, lo+i, t, c, 0, 0)
			}
		}
		if _, err := p.w.WriteRows(rows); err != nil {
			return err
		}
		if p.group += hi - lo; p.group == groupRows {
			if err := p.w.Flush(); err != nil {
				return err
			}
			p.group = 0
		}
		lo = hi
	}
	return nil
}

// block returns n empty rows in memory that is used again.
func (p *parquetFile) block(n int) []parquet.Row {
	for len(p.rows) < n {
		p.rows = append(p.rows, make(parquet.Row, 0, len(p.columns)))
	}
	for i := range n {
		p.rows[i] = p.rows[i][:0]
	}
	return p.rows[:n]
}

// appendValue appends the value of v at a row, which is one of column c, with the levels that
// Parquet tells nesting by: each optional node and each list around a value that is there adds one
// to its definition level.
func appendValue(dst parquet.Row, v *vector.Vector, row int, t expr.Type, c, repetition, definition int) parquet.Row {
	if v.IsNull(row) {
		return append(dst, parquet.NullValue().Level(repetition, definition, c))
	}
	definition++
	if v.Type.Kind == vector.KindList {
		elem := t.Elem()
		lo, hi := v.ListAt(row)
		if lo == hi {
			return append(dst, parquet.NullValue().Level(repetition, definition, c))
		}
		for i := lo; i < hi; i++ {
			dst = appendValue(dst, v.Child, i, elem, c, repetition, definition+1)
			repetition = definition/2 + 1
		}
		return dst
	}
	return append(dst, leafValue(v, row, t).Level(repetition, definition, c))
}

func leafValue(v *vector.Vector, row int, t expr.Type) parquet.Value {
	switch v.Type.Kind {
	case vector.KindLong:
		x := v.LongAt(row)
		switch t.Base {
		case expr.Boolean:
			return parquet.BooleanValue(x > 0)
		case expr.Date:
			days := x / msPerDay
			if x%msPerDay < 0 {
				days--
			}
			return parquet.Int32Value(int32(days))
		}
		return parquet.Int64Value(x)
	case vector.KindDouble:
		return parquet.DoubleValue(v.DoubleAt(row))
	case vector.KindFloat:
		return parquet.FloatValue(float32(v.DoubleAt(row)))
	}
	return parquet.ByteArrayValue([]byte(v.StringAt(row)))
}

// Close implements File.
func (p *parquetFile) Close() error { return p.w.Close() }
