package ingest

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// assembler puts the rows of a row group together from its columns (Melnik et al., Dremel, 2010): a column's value says by its definition level
// how many of the optional and repeated nodes on its path are there, by its repetition level which of the repeated ones begins anew.
type assembler struct {
	root   *assembled
	leaves []*leafCursor
}

// assembled is a node of the schema.
type assembled struct {
	name               string
	optional, repeated bool
	definition         int // level at which the node is there
	repetition         int // level at which another one of it begins
	shape              shape
	children           []*assembled
	leaf               *leafCursor   // of leaves
	first              *leafCursor   // the first below the node, whose levels tell for all
	below              []*leafCursor // all of them
}

// shape is what a group stands for.
type shape uint8

const (
	plainGroup shape = iota
	listGroup        // LIST: one repeated child
	mapGroup         // MAP: one repeated group of key and value
)

// leafCursor walks over the values of a column of a row group.
type leafCursor struct {
	chunk  parquet.ColumnChunk
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value
	at, n  int
	value  leafValue
}

// newAssembler reads the columns of root from a row group.
func newAssembler(root *parquet.Column, group parquet.RowGroup, binaryAsString bool) *assembler {
	a := &assembler{}
	chunks := group.ColumnChunks()
	a.root = a.node(root, chunks, binaryAsString)
	return a
}

func (a *assembler) node(c *parquet.Column, chunks []parquet.ColumnChunk, binaryAsString bool) *assembled {
	n := &assembled{name: c.Name(), optional: c.Optional(), repeated: c.Repeated(), definition: c.MaxDefinitionLevel(), repetition: c.MaxRepetitionLevel()}
	if c.Leaf() {
		n.leaf = &leafCursor{chunk: chunks[c.Index()], value: leafValueOf(c.Type(), binaryAsString)}
		a.leaves = append(a.leaves, n.leaf)
		n.first, n.below = n.leaf, []*leafCursor{n.leaf}
		return n
	}
	from := len(a.leaves)
	for _, child := range c.Columns() {
		n.children = append(n.children, a.node(child, chunks, binaryAsString))
	}
	if n.below = a.leaves[from:len(a.leaves):len(a.leaves)]; len(n.below) > 0 {
		n.first = n.below[0]
	}
	n.shape = shapeOf(c)
	return n
}

// shapeOf tells lists and maps by their annotation, and by their structure, of which old writers have several.
func shapeOf(c *parquet.Column) shape {
	children := c.Columns()
	if len(children) != 1 || !children[0].Repeated() {
		return plainGroup
	}
	isMap := !children[0].Leaf() && len(children[0].Columns()) == 2
	t := c.Type()
	if t == nil {
		return plainGroup
	}
	if l := t.LogicalType(); l != nil {
		switch l.Value.(type) {
		case *format.ListType:
			return listGroup
		case *format.MapType:
			if isMap {
				return mapGroup
			}
		}
	}
	if k := t.ConvertedType(); k != nil {
		switch {
		case *k == deprecated.List:
			return listGroup
		case (*k == deprecated.Map || *k == deprecated.MapKeyValue) && isMap:
			return mapGroup
		}
	}
	return plainGroup
}

var errLevels = errors.New("the levels of a column don't fit its schema")

// group reads one instance of a group that is there.
func (a *assembler) group(n *assembled) (*Object, error) {
	o := &Object{Names: make([]string, 0, len(n.children)), Values: make([]any, 0, len(n.children))}
	for _, child := range n.children {
		v, err := a.read(child)
		if err != nil {
			return nil, err
		}
		o.Add(child.name, v)
	}
	return o, nil
}

// read reads a node within one instance of its parent.
func (a *assembler) read(n *assembled) (any, error) {
	if n.first == nil {
		return nil, nil // a group without columns
	}
	if n.repeated {
		return a.repeated(n)
	}
	if n.optional {
		if missing, err := a.missing(n); missing || err != nil {
			return nil, err
		}
	}
	return a.present(n)
}

// missing reports whether the node is not there and then takes the placeholders of its columns.
func (a *assembler) missing(n *assembled) (bool, error) {
	v, err := n.first.peek()
	if err != nil || v.DefinitionLevel() >= n.definition {
		return false, err
	}
	for _, leaf := range n.below {
		if _, err := leaf.take(); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (a *assembler) repeated(n *assembled) (any, error) {
	list := []any{}
	if missing, err := a.missing(n); missing || err != nil {
		return list, err
	}
	for {
		v, err := a.present(n)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		next, err := n.first.peek()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if next.RepetitionLevel() < n.repetition {
			return list, nil
		}
	}
}

// present reads a node that is there.
func (a *assembler) present(n *assembled) (any, error) {
	switch {
	case n.leaf != nil:
		v, err := n.leaf.take()
		if err != nil || v.IsNull() {
			return nil, err
		}
		return n.leaf.value(v), nil
	case n.shape == listGroup:
		v, err := a.read(n.children[0])
		if list, ok := v.([]any); ok && isWrapper(n.children[0]) {
			for i, e := range list {
				list[i] = e.(*Object).Values[0]
			}
		}
		return v, err
	case n.shape == mapGroup:
		v, err := a.read(n.children[0])
		if err != nil {
			return nil, err
		}
		out := &Object{}
		list, _ := v.([]any)
		for _, e := range list {
			entry := e.(*Object)
			out.Add(string(AppendText(nil, entry.Values[0])), entry.Values[1])
		}
		return out, nil
	}
	return a.group(n)
}

// isWrapper reports whether the repeated child of a list is only the group around its element, not the element (parquet-format, LogicalTypes.md,
// backward compatibility of lists).
func isWrapper(n *assembled) bool {
	return n.leaf == nil && n.shape == plainGroup && len(n.children) == 1 && n.name != "array"
}

func (a *assembler) close() error {
	var errs []error
	for _, l := range a.leaves {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}

// peek returns the next value without taking it.
func (l *leafCursor) peek() (parquet.Value, error) {
	for l.at == l.n {
		if err := l.fill(); err != nil {
			return parquet.Value{}, err
		}
	}
	return l.buf[l.at], nil
}

func (l *leafCursor) take() (parquet.Value, error) {
	v, err := l.peek()
	if errors.Is(err, io.EOF) {
		return v, io.ErrUnexpectedEOF
	}
	l.at++
	return v, err
}

// fill reads more values. Those before stay valid until then: what is kept of them is copied.
func (l *leafCursor) fill() error {
	if l.pages == nil {
		l.pages = l.chunk.Pages()
		l.buf = make([]parquet.Value, 256)
	}
	for {
		if l.values != nil {
			n, err := l.values.ReadValues(l.buf)
			if l.at, l.n = 0, n; n > 0 {
				return nil
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err == nil {
				return errLevels
			}
			l.values = nil
			parquet.Release(l.page)
			l.page = nil
		}
		page, err := l.pages.ReadPage()
		if err != nil {
			return err
		}
		l.page, l.values = page, page.Values()
	}
}

func (l *leafCursor) close() error {
	if l.page != nil {
		parquet.Release(l.page)
		l.page = nil
	}
	if l.pages == nil {
		return nil
	}
	return l.pages.Close()
}
