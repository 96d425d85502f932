package ingest

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// The metadata of ORC files (the ORC specification, version 1): protobuf messages at the end of the
// file and of each stripe.

// orcKind is a type of columns.
type orcKind uint64

const (
	orcBoolean orcKind = iota
	orcByte
	orcShort
	orcInt
	orcLong
	orcFloat
	orcDouble
	orcString
	orcBinary
	orcTimestamp
	orcList
	orcMap
	orcStruct
	orcUnion
	orcDecimal
	orcDate
	orcVarchar
	orcChar
	orcInstant
)

// orcType is a column; subtypes are the numbers of those that it consists of.
type orcType struct {
	kind     orcKind
	subtypes []uint64
	names    []string // of the subtypes of a struct
}

type orcStripe struct{ offset, index, data, footer, rows uint64 }

// orcTail is what the end of a file says.
type orcTail struct {
	compression uint64
	block       uint64 // most bytes of a piece when unpacked
	footer      uint64 // bytes
	stripes     []orcStripe
	types       []orcType
	encrypted   bool
}

type orcStream struct{ kind, column, length uint64 }

type orcEncoding struct{ kind, dictionary uint64 }

type orcStripeFooter struct {
	streams   []orcStream
	encodings []orcEncoding
	zone      string
}

// The kinds of streams that are read.
const (
	orcPresent        = 0
	orcData           = 1
	orcLength         = 2
	orcDictionaryData = 3
	orcSecondary      = 5
)

var errORCMetadata = errors.New("its metadata is damaged")

// eachField calls f for the fields of a message: with the value of a varint, or the bytes of what
// has a length.
func eachField(b []byte, f func(field protowire.Number, v uint64, bytes []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errORCMetadata
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
			return errORCMetadata
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
			return nil, errORCMetadata
		}
		list, packed = append(list, v), packed[n:]
	}
	return list, nil
}

func (t *orcTail) parsePostscript(b []byte) error {
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

func (t *orcTail) parseFooter(b []byte) error {
	return eachField(b, func(field protowire.Number, _ uint64, bytes []byte) error {
		switch field {
		case 3:
			var s orcStripe
			to := map[protowire.Number]*uint64{1: &s.offset, 2: &s.index, 3: &s.data, 4: &s.footer, 5: &s.rows}
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

func parseORCType(b []byte) (t orcType, err error) {
	err = eachField(b, func(field protowire.Number, v uint64, bytes []byte) (err error) {
		switch field {
		case 1:
			t.kind = orcKind(v)
		case 2:
			t.subtypes, err = varints(t.subtypes, v, bytes)
		case 3:
			t.names = append(t.names, string(validUTF8(bytes)))
		}
		return err
	})
	return t, err
}

func parseORCStripe(b []byte) (*orcStripeFooter, error) {
	f := &orcStripeFooter{}
	return f, eachField(b, func(field protowire.Number, _ uint64, bytes []byte) error {
		switch field {
		case 1:
			var s orcStream
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
			var e orcEncoding
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
func (t *orcTail) checkTypes() error {
	if len(t.types) == 0 || t.types[0].kind != orcStruct || len(t.types) > maxFields {
		return errors.New("its rows are no records")
	}
	depth, used := make([]int, len(t.types)), make([]bool, len(t.types))
	for i, c := range t.types {
		var want int
		switch c.kind {
		case orcList:
			want = 1
		case orcMap:
			want = 2
		case orcStruct:
			want = len(c.names)
		case orcUnion:
			want = len(c.subtypes)
		default:
			want = 0
		}
		if len(c.subtypes) != want || c.kind > orcInstant || depth[i] > maxJSONDepth {
			return errORCMetadata
		}
		for _, sub := range c.subtypes {
			if sub <= uint64(i) || sub >= uint64(len(t.types)) || used[sub] {
				return errORCMetadata
			}
			used[sub], depth[sub] = true, depth[i]+1
		}
	}
	return nil
}
