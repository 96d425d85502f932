package v9

import (
	"encoding/binary"
	"fmt"
)

// indexed is a list of values of any length, some of them null. It is in one piece (version 1) or,
// where that would be too long, in further parts: the ends of the values, and the values by groups
// of a power of two (version 2).
type indexed struct {
	part   string
	n      int
	ends   []byte
	order  binary.ByteOrder // of ends
	values [][]byte
	shift  uint // the logarithm of the values in a group; one group: 63
}

// indexed reads a list where the cursor stands.
func (c *cursor) indexed(parts *smoosh) *indexed {
	switch c.version("a list of values", 1, 2) {
	case 1:
		c.byte() // whether it is sorted
		body := cursor{part: c.part, b: c.take(c.count()), err: c.err}
		l := &indexed{part: c.part, n: body.count(), order: binary.BigEndian, shift: 63}
		if l.n > len(body.b)/4 {
			c.fail("a list of [%d] values has no room for them", l.n)
			return &indexed{part: c.part}
		}
		l.ends = body.take(4 * l.n)
		l.values = [][]byte{body.b}
		if body.err != nil && c.err == nil {
			c.err = body.err
		}
		return l
	case 2:
		c.byte()
		shift, n := c.count(), c.count()
		name := c.text()
		if c.err != nil {
			break
		}
		if shift > 30 {
			c.fail("a list has groups of 2 to the power of [%d] values", shift)
			break
		}
		l := &indexed{part: c.part, n: n, order: binary.LittleEndian, shift: uint(shift)}
		ends, err := parts.open(name + "_header")
		if err != nil {
			c.err = err
			break
		}
		if l.ends = ends.take(4 * n); ends.err != nil {
			c.err = ends.err
			break
		}
		for i := 0; i<<shift < n; i++ {
			group, err := parts.open(fmt.Sprintf("%s_value_%d", name, i))
			if err != nil {
				c.err = err
				return &indexed{part: c.part}
			}
			l.values = append(l.values, group.b)
		}
		return l
	}
	return &indexed{part: c.part}
}

// at returns value i. Each value has four bytes in front of it, which are -1 for null.
func (l *indexed) at(i int) (value []byte, null bool, err error) {
	group := l.values[i>>l.shift]
	from := 0
	if first := i>>l.shift<<l.shift == i; !first {
		from = int(int32(l.order.Uint32(l.ends[4*(i-1):])))
	}
	to := int(int32(l.order.Uint32(l.ends[4*i:])))
	if from < 0 || to < from+4 || to > len(group) {
		return nil, false, corrupt(l.part, "value [%d] of a list is outside of it", i)
	}
	value = group[from+4 : to]
	null = len(value) == 0 && int32(binary.BigEndian.Uint32(group[from:])) == -1
	return value, null, nil
}

// texts returns all values; nulls are empty, and told.
func (l *indexed) texts() (list []string, null []bool, err error) {
	list, null = make([]string, l.n), make([]bool, l.n)
	for i := range l.n {
		b, isNull, err := l.at(i)
		if err != nil {
			return nil, nil, err
		}
		list[i], null[i] = string(b), isNull
	}
	return list, null, nil
}
