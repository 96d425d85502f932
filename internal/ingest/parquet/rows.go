package parquet

import (
	"errors"
	"io"

	"github.com/hengedb/henge/internal/ingest/record"
)

// Rows assembles the rows of a row group from its columns (Melnik et al., Dremel, 2010). The
// definition level of a value is the number of optional and repeated nodes on its path that are
// present. Its repetition level says at which repeated node a new element begins.
type Rows struct {
	root   *assembled
	leaves []*leafCursor
	left   int64 // rows
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

// leafCursor walks over the levels and values of a column of a row group.
type leafCursor struct {
	pages      *Pages
	page       *Page // nil: none yet
	at         int   // next of the levels
	value      int   // next of the values
	definition int   // level of a value that is there
	convert    leafValue
	same       bool // what was converted of a dictionary may be given again
	of         *Values
	converted  []any // of the dictionary of, nil: not yet
}

// NewRows returns a reader for the values of a column, or for whole rows if c is the root, of a row
// group.
func NewRows(c *Column, group *RowGroup, binaryAsString bool) (*Rows, error) {
	a := &Rows{left: group.Rows}
	var err error
	a.root, err = a.node(c, group, binaryAsString)
	return a, err
}

func (a *Rows) node(c *Column, group *RowGroup, binaryAsString bool) (*assembled, error) {
	n := &assembled{name: c.Name, optional: c.Optional, repeated: c.Repeated, definition: c.MaxDefinition, repetition: c.MaxRepetition}
	if c.Leaf {
		pages, err := group.Pages(c)
		if err != nil {
			return nil, err
		}
		text := IsText(c, binaryAsString)
		n.leaf = &leafCursor{pages: pages, definition: c.MaxDefinition, convert: leafValueOf(c, binaryAsString),
			same: text || c.Logical == Decimal}
		a.leaves = append(a.leaves, n.leaf)
		n.first, n.below = n.leaf, []*leafCursor{n.leaf}
		return n, nil
	}
	from := len(a.leaves)
	for _, child := range c.Children {
		below, err := a.node(child, group, binaryAsString)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, below)
	}
	if n.below = a.leaves[from:len(a.leaves):len(a.leaves)]; len(n.below) > 0 {
		n.first = n.below[0]
	}
	n.shape = shapeOf(c)
	return n, nil
}

// shapeOf tells lists and maps by their annotation, and by their structure, of which old writers
// have several.
func shapeOf(c *Column) shape {
	if len(c.Children) != 1 || !c.Children[0].Repeated {
		return plainGroup
	}
	switch entry := c.Children[0]; {
	case c.Logical == List:
		return listGroup
	case c.Logical == Map && !entry.Leaf && len(entry.Children) == 2:
		return mapGroup
	}
	return plainGroup
}

var errLevels = &Damage{Reason: "the levels of its columns contradict one another"}

// Next returns the next row.
func (a *Rows) Next() (v any, err error) {
	if a.root.first == nil && a.root.name != "" {
		return nil, nil // a group without columns
	}
	if v, err = a.read(a.root); err != nil {
		return nil, record.Unexpected(err)
	}
	if a.left--; a.left > 0 {
		return v, nil
	}
	for _, leaf := range a.leaves {
		if _, _, err := leaf.peek(); !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, errLevels)
		}
	}
	return v, nil
}

// group reads one instance of a group that is there.
func (a *Rows) group(n *assembled) (*record.Object, error) {
	o := &record.Object{Names: make([]string, 0, len(n.children)), Values: make([]any, 0, len(n.children))}
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
func (a *Rows) read(n *assembled) (any, error) {
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
func (a *Rows) missing(n *assembled) (bool, error) {
	definition, _, err := n.first.peek()
	if err != nil || definition >= n.definition {
		return false, err
	}
	for _, leaf := range n.below {
		if definition, _, err = leaf.peek(); err != nil {
			return false, err
		}
		if definition >= n.definition {
			return false, errLevels
		}
		leaf.at++
	}
	return true, nil
}

func (a *Rows) repeated(n *assembled) (any, error) {
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
		more, err := n.first.more(n.repetition)
		if err != nil {
			return nil, err
		}
		for _, leaf := range n.below[1:] {
			if also, err := leaf.more(n.repetition); err != nil || also != more {
				return nil, errors.Join(err, errLevels)
			}
		}
		if !more {
			return list, nil
		}
	}
}

// present reads a node that is there.
func (a *Rows) present(n *assembled) (any, error) {
	switch {
	case n.leaf != nil:
		return n.leaf.take()
	case n.shape == listGroup:
		v, err := a.read(n.children[0])
		if list, ok := v.([]any); ok && isWrapper(n.children[0]) {
			for i, e := range list {
				list[i] = e.(*record.Object).Values[0]
			}
		}
		return v, err
	case n.shape == mapGroup:
		v, err := a.read(n.children[0])
		if err != nil {
			return nil, err
		}
		out := &record.Object{}
		list, _ := v.([]any)
		for _, e := range list {
			entry := e.(*record.Object)
			out.Add(string(record.AppendText(nil, entry.Values[0])), entry.Values[1])
		}
		return out, nil
	}
	return a.group(n)
}

// isWrapper reports whether the repeated child of a list is only the group around its element, not
// the element (parquet-format, LogicalTypes.md, backward compatibility of lists).
func isWrapper(n *assembled) bool {
	return n.leaf == nil && n.shape == plainGroup && len(n.children) == 1 && n.name != "array"
}

// peek returns the levels of the next value without taking it, or io.EOF.
func (l *leafCursor) peek() (definition, repetition int, err error) {
	if l.page == nil || l.at == l.page.Count {
		page, err := l.pages.Next()
		if err != nil {
			return 0, 0, err
		}
		l.page, l.at, l.value = page, 0, 0
	}
	definition = l.definition
	if levels := l.page.Definitions; levels != nil {
		definition = int(levels[l.at])
	}
	if levels := l.page.Repetitions; levels != nil {
		repetition = int(levels[l.at])
	}
	return definition, repetition, nil
}

// more reports whether the next value continues what begins at a level.
func (l *leafCursor) more(level int) (bool, error) {
	_, repetition, err := l.peek()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return repetition >= level, err
}

// take returns the next value, nil if there is none.
func (l *leafCursor) take() (any, error) {
	definition, _, err := l.peek()
	if err != nil {
		return nil, err
	}
	l.at++
	if definition < l.definition {
		return nil, nil
	}
	i := l.value
	l.value++
	values := l.page.Values
	if !l.page.Coded {
		return l.convert(values, i), nil
	}
	i = int(l.page.Indexes[i])
	if !l.same {
		return l.convert(values, i), nil
	}
	if l.of != values {
		l.of, l.converted = values, make([]any, values.Len)
	}
	if l.converted[i] == nil {
		l.converted[i] = l.convert(values, i)
	}
	return l.converted[i], nil
}
