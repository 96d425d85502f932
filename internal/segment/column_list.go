package segment

import "github.com/hengedb/henge/internal/vector"

func (c *fileColumn) openLists(a *area) error {
	raw, err := a.all()
	if err != nil {
		return err
	}
	c.lists = view[uint32](raw)
	if c.lists[0] != 0 || int(c.lists[c.meta.rows]) != c.meta.element.rows {
		return a.corrupt(0, "its list offsets do not fit the number of its elements")
	}
	for i := 1; i < len(c.lists); i++ {
		if c.lists[i] < c.lists[i-1] {
			return a.corrupt(4*i, "its list offsets do not ascend")
		}
	}
	return nil
}

func (c *fileColumn) readLists(buf *Buffer, from, to int) (*vector.Vector, error) {
	base := c.lists[from]
	child, err := c.element.read(buf.elements(), int(base), int(c.lists[to]))
	if err != nil {
		return nil, err
	}
	v := buf.vector(c.meta.Type, to-from)
	v.Valid = c.validity(buf, from, to)
	v.Child = child
	buf.offsets = grown(buf.offsets, to-from+1)
	v.Offsets = buf.offsets
	for i, o := range c.lists[from : to+1] {
		v.Offsets[i] = o - base
	}
	return v, nil
}

func (c *fileColumn) readListRows(buf *Buffer, rows []uint32) (*vector.Vector, error) {
	v := buf.vector(c.meta.Type, len(rows))
	v.Valid = c.validityRows(buf, rows)
	buf.offsets = grown(buf.offsets, len(rows)+1)
	v.Offsets = buf.offsets
	v.Offsets[0] = 0
	elements := buf.rows[:0]
	for i, r := range rows {
		for e := c.lists[r]; e < c.lists[r+1]; e++ {
			elements = append(elements, e)
		}
		v.Offsets[i+1] = uint32(len(elements))
	}
	buf.rows = elements
	var err error
	v.Child, err = c.element.readRows(buf.elements(), elements)
	return v, err
}
