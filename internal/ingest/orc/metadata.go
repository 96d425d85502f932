package orc

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/ingest/record"
)

// The metadata of ORC files (the ORC specification, version 1): protobuf messages at the end of the
// file and of each stripe.

// Kind is the type of a column.
type Kind uint64

const (
	Boolean Kind = iota
	Byte
	Short
	Int
	Long
	Float
	Double
	String
	Binary
	Timestamp
	List
	Map
	Struct
	Union
	Decimal
	Date
	Varchar
	Char
	Instant
)

// Type is a column. Its subtypes are the indexes of its child columns.
type Type struct {
	Kind     Kind
	Subtypes []uint64
	Names    []string // of the subtypes of a struct
}

type Stripe struct{ Offset, index, data, footer, Rows uint64 }

// tail is what the end of a file says.
type tail struct {
	compression uint64
	block       uint64 // most bytes of a piece when unpacked
	footer      uint64 // bytes
	stripes     []Stripe
	types       []Type
	encrypted   bool
}

type stream struct{ kind, column, length uint64 }

type encoding struct{ kind, dictionary uint64 }

type stripeFooter struct {
	streams   []stream
	encodings []encoding
	zone      string
}

// The kinds of streams that this package reads.
const (
	present        = 0
	data           = 1
	length         = 2
	dictionaryData = 3
	secondary      = 5
)

var errMetadata = errors.New("its metadata is damaged")

// eachField calls f for the fields of a message: with the value of a varint, or the bytes of what
// has a length.
func eachField(b []byte, f func(field protowire.Number, v uint64, bytes []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMetadata
		}
		b = b[n:]
		var err error
		switch kind {
		case protowire.VarintType:
			var v uint64
			if v, n = protowire.ConsumeVarint(b); n >= 0 {
				err = f(number, v, nil)
			}
		case protowire.BytesType:
			var v []byte
			if v, n = protowire.ConsumeBytes(b); n >= 0 {
				err = f(number, 0, v)
			}
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		switch {
		case n < 0:
			return errMetadata
		case err != nil:
			return err
		}
		b = b[n:]
	}
	return nil
}

// varints appends the values of a repeated field, which are packed or come one by one.
func varints(list []uint64, v uint64, packed []byte) ([]uint64, error) {
	if packed == nil {
		return append(list, v), nil
	}
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, errMetadata
		}
		list, packed = append(list, v), packed[n:]
	}
	return list, nil
}

func (t *tail) parsePostscript(b []byte) error {
	magic := false
	err := eachField(b, func(field protowire.Number, v uint64, bytes []byte) error {
		switch field {
		case 1:
			t.footer = v
		case 2:
			t.compression = v
		case 3:
			t.block = v
		case 8000:
			magic = string(bytes) == "ORC"
		}
		return nil
	})
	if err == nil && !magic {
		err = errors.New("it does not end as one")
	}
	return err
}

func (t *tail) parseFooter(b []byte) error {
	return eachField(b, func(field protowire.Number, _ uint64, bytes []byte) error {
		switch field {
		case 3:
			var s Stripe
			to := map[protowire.Number]*uint64{1: &s.Offset, 2: &s.index, 3: &s.data, 4: &s.footer, 5: &s.Rows}
			err := eachField(bytes, func(field protowire.Number, v uint64, _ []byte) error {
				if at := to[field]; at != nil {
					*at = v
				}
				return nil
			})
			t.stripes = append(t.stripes, s)
			return err
		case 4:
			c, err := parseORCType(bytes)
			t.types = append(t.types, c)
			return err
		case 10:
			t.encrypted = true
		}
		return nil
	})
}

func parseORCType(b []byte) (t Type, err error) {
	err = eachField(b, func(field protowire.Number, v uint64, bytes []byte) (err error) {
		switch field {
		case 1:
			t.Kind = Kind(v)
		case 2:
			t.Subtypes, err = varints(t.Subtypes, v, bytes)
		case 3:
			t.Names = append(t.Names, string(record.ValidText(bytes)))
		}
		return err
	})
	return t, err
}

func parseStripe(b []byte) (*stripeFooter, error) {
	f := &stripeFooter{}
	return f, eachField(b, func(field protowire.Number, _ uint64, bytes []byte) error {
		switch field {
		case 1:
			var s stream
			to := map[protowire.Number]*uint64{1: &s.kind, 2: &s.column, 3: &s.length}
			err := eachField(bytes, func(field protowire.Number, v uint64, _ []byte) error {
				if at := to[field]; at != nil {
					*at = v
				}
				return nil
			})
			f.streams = append(f.streams, s)
			return err
		case 2:
			var e encoding
			err := eachField(bytes, func(field protowire.Number, v uint64, _ []byte) error {
				switch field {
				case 1:
					e.kind = v
				case 2:
					e.dictionary = v
				}
				return nil
			})
			f.encodings = append(f.encodings, e)
			return err
		case 3:
			f.zone = string(bytes)
		}
		return nil
	})
}

// checkTypes reports whether the types are a tree from type 0 on, which is a struct, and no deeper
// than may be. Subtypes come behind what they are of.
func (t *tail) checkTypes() error {
	if len(t.types) == 0 || t.types[0].Kind != Struct || len(t.types) > record.MaxFields {
		return errors.New("its rows are not records")
	}
	depth, used := make([]int, len(t.types)), make([]bool, len(t.types))
	for i, c := range t.types {
		var want int
		switch c.Kind {
		case List:
			want = 1
		case Map:
			want = 2
		case Struct:
			want = len(c.Names)
		case Union:
			want = len(c.Subtypes)
		default:
			want = 0
		}
		if len(c.Subtypes) != want || c.Kind > Instant || depth[i] > record.MaxDepth {
			return errMetadata
		}
		for _, sub := range c.Subtypes {
			if sub <= uint64(i) || sub >= uint64(len(t.types)) || used[sub] {
				return errMetadata
			}
			used[sub], depth[sub] = true, depth[i]+1
		}
	}
	return nil
}
