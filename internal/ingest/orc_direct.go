package ingest

import "github.com/hengedb/henge/internal/vector"

// orcDirect reads a column into one of its own type, value by value without boxes.
type orcDirect struct {
	from  *orcColumn
	s     *sink
	field int
	to    *column
}

// direct returns c as a column of field i, or nil where its values need conversion.
func (c *orcColumn) direct(i int, s *sink) partColumn {
	to := s.columns[i]
	value := to
	if to.typ.Kind == vector.KindList { // of one element
		value = to.child
	}
	if to.when != nil || !(c.text != nil && value.typ.Kind == vector.KindString || c.long != nil && value.typ.Kind == vector.KindLong ||
		c.double != nil && value.typ.Kind == vector.KindDouble) {
		return nil
	}
	return &orcDirect{c, s, i, to}
}

func (d *orcDirect) read(n int) (*vector.Vector, error) {
	d.to.reserve(n)
	value := d.to
	if d.to.child != nil {
		value = d.to.child
	}
	for range n {
		if d.from.present != nil {
			there, err := d.from.present.next()
			if err != nil {
				return nil, err
			}
			if !there {
				d.to.null()
				continue
			}
		}
		switch {
		case d.from.text != nil:
			text, err := d.from.text()
			if err != nil {
				return nil, err
			}
			d.s.str(d.field, value, d.s.malformed.text(d.s.fields[d.field].Name, text))
		case d.from.long != nil:
			x, err := d.from.long()
			if err != nil {
				return nil, err
			}
			value.long(x)
		default:
			x, err := d.from.double()
			if err != nil {
				return nil, err
			}
			value.double(x)
		}
		if value != d.to {
			d.to.endList()
		}
	}
	return d.to.build(), nil
}

func (*orcDirect) close() error { return nil }
