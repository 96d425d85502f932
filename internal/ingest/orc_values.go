package ingest

import (
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// orcColumn gives the values of a column of a stripe, one after the other, as those of Objects. It
// is used by one goroutine.
type orcColumn struct {
	present *orcBits // nil: every row has a value
	// value reads a value that is there.
	value func() (any, error)
	// text, long and double read it unboxed; nil: its type is another, or it is in a dictionary. A
	// text is valid until the next is read.
	text   func() ([]byte, error)
	long   func() (int64, error)
	double func() (float64, error)
}

func (c *orcColumn) next() (any, error) {
	if c.present != nil {
		if there, err := c.present.next(); err != nil || !there {
			return nil, err
		}
	}
	return c.value()
}

// orcReader makes the columns of a stripe.
type orcReader struct {
	tail           *orcTail
	stripe         orcStripe
	footer         *orcStripeFooter
	file           io.ReaderAt
	unpack         *orcUnpacker
	binaryAsString bool
	values         int // elements of lists and maps of the row at hand
}

const (
	// maxORCDictionary bounds the bytes of a dictionary, maxORCEntries its entries: a stripe has as
	// much text in it, not packed, in all.
	maxORCDictionary = 256 << 20
	maxORCEntries    = 1 << 24
	// maxORCElements bounds the elements of all lists and maps in a row.
	maxORCElements = 1 << 22
)

// stream returns a stream of a column, an empty one if there is none.
func (r *orcReader) stream(column, kind uint64) (b *orcBytes, found bool) {
	at := r.stripe.offset
	for _, s := range r.footer.streams {
		if s.column == column && s.kind == kind {
			return &orcBytes{src: io.NewSectionReader(r.file, int64(at), int64(s.length)), unpack: r.unpack}, true
		}
		at += s.length
	}
	return &orcBytes{unpack: r.unpack}, false
}

func (r *orcReader) ints(column, kind uint64, signed bool) *orcInts {
	in, _ := r.stream(column, kind)
	version := 1
	if r.encoding(column).kind >= 2 {
		version = 2
	}
	return &orcInts{in: in, signed: signed, version: version}
}

func (r *orcReader) encoding(column uint64) orcEncoding {
	if column < uint64(len(r.footer.encodings)) {
		return r.footer.encodings[column]
	}
	return orcEncoding{}
}

// column opens the column of a type.
func (r *orcReader) column(at uint64) (*orcColumn, error) {
	c := &orcColumn{}
	if in, found := r.stream(at, orcPresent); found {
		c.present = &orcBits{bytes: orcByteRuns{in: in}}
	}
	var err error
	switch t := r.tail.types[at]; t.kind {
	case orcStruct:
		c.value, err = r.structs(&t)
	case orcList:
		c.value, err = r.lists(at, &t)
	case orcMap:
		c.value, err = r.maps(at, &t)
	case orcUnion:
		c.value, err = r.unions(at, &t)
	case orcString, orcVarchar, orcChar:
		if e := r.encoding(at); e.kind != 1 && e.kind != 3 {
			c.text = r.plainTexts(at)
			c.value = func() (any, error) {
				text, err := c.text()
				return string(text), err
			}
			break
		}
		c.value, err = r.texts(at, true)
	case orcShort, orcInt, orcLong:
		c.long = r.ints(at, orcData, true).next
		c.value = func() (any, error) { return boxed(c.long()) }
	case orcDouble:
		in, _ := r.stream(at, orcData)
		var scratch [8]byte
		c.double = func() (float64, error) {
			v, err := in.uint64(&scratch, 8)
			return math.Float64frombits(v), err
		}
		c.value = func() (any, error) { return boxed(c.double()) }
	case orcBinary:
		c.value, err = r.texts(at, r.binaryAsString)
	default:
		c.value, err = r.scalar(at, t.kind)
	}
	return c, err
}

// scalar reads numbers and times.
func (r *orcReader) scalar(at uint64, kind orcKind) (func() (any, error), error) {
	in, _ := r.stream(at, orcData)
	var scratch [8]byte
	switch kind {
	case orcBoolean:
		bits := &orcBits{bytes: orcByteRuns{in: in}}
		return func() (any, error) { return boxed(bits.next()) }, nil
	case orcByte:
		runs := &orcByteRuns{in: in}
		return func() (any, error) {
			b, err := runs.next()
			return int64(int8(b)), err
		}, nil
	case orcFloat:
		return func() (any, error) {
			v, err := in.uint64(&scratch, 4)
			return math.Float32frombits(uint32(v)), err
		}, nil
	case orcDate:
		days := r.ints(at, orcData, true)
		return func() (any, error) {
			d, err := days.next()
			return orcTime(d*chrono.Day, d > math.MinInt32 && d < math.MaxInt32), err
		}, nil
	case orcTimestamp, orcInstant:
		return r.times(at, kind)
	case orcDecimal:
		scales := r.ints(at, orcSecondary, true)
		return func() (any, error) {
			n, err := in.decimal()
			if err != nil {
				return nil, err
			}
			scale, err := scales.next()
			if err != nil || scale < 0 || scale > maxDecimalScale {
				return nil, errors.Join(err, errORCRun)
			}
			return asDouble(decimal(n, int(scale))), nil
		}, nil
	}
	return nil, fault.Unsupported("Column type [%d] of ORC files is not supported", kind)
}

func boxed[T any](v T, err error) (any, error) { return v, err }

// asDouble is a decimal as the double that the reference makes of it.
func asDouble(v any) any {
	if d, ok := v.(Digits); ok {
		f, _ := strconv.ParseFloat(string(d), 64) // an infinity where it is out of range
		return f
	}
	return float64(v.(int64))
}

// decimal reads a number of any size: seven bits a byte, the lowest first, the sign in the lowest
// bit.
func (b *orcBytes) decimal() (*big.Int, error) {
	var words []byte // seven bits each
	for {
		c, err := b.byte()
		if err != nil {
			return nil, err
		}
		if words = append(words, c&0x7f); c < 0x80 {
			break
		}
		if len(words) > 64 {
			return nil, errORCRun
		}
	}
	n := new(big.Int)
	for _, word := range slices.Backward(words) {
		n.Or(n.Lsh(n, 7), big.NewInt(int64(word)))
	}
	negative := n.Bit(0) == 1
	if n.Rsh(n, 1); negative {
		n.Not(n)
	}
	return n, nil
}

// times reads timestamps: seconds since the start of 2015 where the writer was, and nanoseconds
// with their trailing zeros told apart. A timestamp without zone is the time on the writer's clock,
// which is taken for UTC.
func (r *orcReader) times(at uint64, kind orcKind) (func() (any, error), error) {
	const base = 1_420_070_400
	zone := chrono.UTC
	if kind == orcTimestamp && r.footer.zone != "" {
		var err error
		if zone, err = chrono.LoadZone(r.footer.zone); err != nil {
			return nil, fault.InvalidInput("The time zone [%.100s] of an ORC file is unknown", r.footer.zone)
		}
	}
	// The start of 2015 there: no zone changed its offset then.
	start := base - zone.OffsetAt(base*1000)/1000
	seconds, nanos := r.ints(at, orcData, true), r.ints(at, orcSecondary, false)
	return func() (any, error) {
		s, err := seconds.next()
		if err != nil {
			return nil, err
		}
		n, err := nanos.next()
		if err != nil {
			return nil, err
		}
		zeros := n & 7
		if n >>= 3; zeros > 0 {
			for range zeros + 1 {
				n *= 10
			}
		}
		// Before 1970 Java's writer rounds seconds towards zero and tells the nanoseconds behind the
		// second before; Arrow's tells them below zero.
		if s += start; s < 0 && n > 999_999 {
			s--
		}
		if s < chrono.MinInstant/1000 || s >= chrono.MaxInstant/1000 || n <= -1_000_000_000 || n >= 1_000_000_000 {
			return nil, nil
		}
		ms := s*1000 + floorDiv(n, 1_000_000)
		return ms + zone.OffsetAt(ms), nil
	}, nil
}

// orcTime is the text of a time; one beyond what is a time is none.
func orcTime(ms int64, ok bool) any {
	if !ok || ms < chrono.MinInstant || ms >= chrono.MaxInstant {
		return nil
	}
	return chrono.FormatMillis(ms, chrono.UTC)
}

// texts reads text or bytes, which are in the stripe or in its dictionary.
func (r *orcReader) texts(at uint64, isText bool) (func() (any, error), error) {
	e := r.encoding(at)
	give := func(b []byte) any {
		if isText {
			return string(b)
		}
		return append([]byte{}, b...)
	}
	if e.kind != 1 && e.kind != 3 {
		raw := r.plainTexts(at)
		return func() (any, error) {
			text, err := raw()
			if err != nil {
				return nil, err
			}
			return give(text), nil
		}, nil
	}
	var values []any // read when the first is asked for
	lengths := r.ints(at, orcLength, false)
	codes := r.ints(at, orcData, false)
	return func() (any, error) {
		if values == nil {
			var err error
			if values, err = r.dictionary(at, e.dictionary, lengths, give); err != nil {
				return nil, err
			}
		}
		code, err := codes.next()
		if err != nil {
			return nil, err
		}
		if code < 0 || code >= int64(len(values)) {
			return nil, errors.New("a code is not in its dictionary")
		}
		return values[code], nil
	}, nil
}

// plainTexts reads texts that are one after the other; each is valid until the next.
func (r *orcReader) plainTexts(at uint64) func() ([]byte, error) {
	lengths := r.ints(at, orcLength, false)
	in, _ := r.stream(at, orcData)
	var buf []byte
	return func() ([]byte, error) {
		n, err := lengths.next()
		if err != nil || n < 0 || n > defaultMaxRecordBytes {
			return nil, errors.Join(err, tooLong(n))
		}
		buf, err = in.append(buf[:0], int(n))
		return buf, err
	}
}

func tooLong(n int64) error {
	if n < 0 || n > defaultMaxRecordBytes {
		return errors.New("a value is larger than a record may be")
	}
	return nil
}

func (r *orcReader) dictionary(at, size uint64, lengths *orcInts, give func([]byte) any) ([]any, error) {
	if size > maxORCEntries {
		return nil, errors.New("a dictionary is larger than one may be")
	}
	in, _ := r.stream(at, orcDictionaryData)
	values, total := []any{}, int64(0)
	var buf []byte
	for range size {
		n, err := lengths.next()
		if err != nil {
			return nil, err
		}
		if total += max(n, 0); n < 0 || total > maxORCDictionary {
			return nil, errors.New("a dictionary is larger than one may be")
		}
		if buf, err = in.append(buf[:0], int(n)); err != nil {
			return nil, err
		}
		values = append(values, give(buf))
	}
	return values, nil
}

func (r *orcReader) columns(numbers []uint64) ([]*orcColumn, error) {
	out := make([]*orcColumn, len(numbers))
	for i, n := range numbers {
		var err error
		if out[i], err = r.column(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *orcReader) structs(t *orcType) (func() (any, error), error) {
	members, err := r.columns(t.subtypes)
	return func() (any, error) {
		o := &Object{Names: t.names, Values: make([]any, len(members))}
		for i, m := range members {
			var err error
			if o.Values[i], err = m.next(); err != nil {
				return nil, err
			}
		}
		return o, nil
	}, err
}

// length reads how many elements a list or map has.
func (r *orcReader) length(lengths *orcInts) (int, error) {
	n, err := lengths.next()
	if err != nil {
		return 0, err
	}
	if n < 0 || n > maxORCElements-int64(r.values) {
		return 0, errors.New("a row has more elements in lists than a row may have")
	}
	r.values += int(n)
	return int(n), nil
}

func (r *orcReader) lists(at uint64, t *orcType) (func() (any, error), error) {
	elements, err := r.columns(t.subtypes)
	lengths := r.ints(at, orcLength, false)
	return func() (any, error) {
		n, err := r.length(lengths)
		if err != nil {
			return nil, err
		}
		list := []any{}
		for range n {
			v, err := elements[0].next()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}, err
}

func (r *orcReader) maps(at uint64, t *orcType) (func() (any, error), error) {
	entries, err := r.columns(t.subtypes)
	lengths := r.ints(at, orcLength, false)
	return func() (any, error) {
		n, err := r.length(lengths)
		if err != nil {
			return nil, err
		}
		o := &Object{}
		for range n {
			key, err := entries[0].next()
			if err != nil {
				return nil, err
			}
			value, err := entries[1].next()
			if err != nil {
				return nil, err
			}
			o.Add(string(AppendText(nil, key)), value)
		}
		return o, nil
	}, err
}

func (r *orcReader) unions(at uint64, t *orcType) (func() (any, error), error) {
	variants, err := r.columns(t.subtypes)
	in, _ := r.stream(at, orcData)
	tags := &orcByteRuns{in: in}
	return func() (any, error) {
		tag, err := tags.next()
		if err != nil {
			return nil, err
		}
		if int(tag) >= len(variants) {
			return nil, errORCRun
		}
		return variants[tag].next()
	}, err
}

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
