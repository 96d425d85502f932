package orc

import (
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// Column returns the values of a column of a stripe, one after the other, as values of Objects. It
// is used by one goroutine.
type Column struct {
	present *bits // nil: every row has a value
	// value reads a value that is there.
	value func() (any, error)
	// text, long and double read a value unboxed; nil: the column has another type or is
	// dictionary-encoded. A text is valid until the next one is read.
	Text   func() ([]byte, error)
	Long   func() (int64, error)
	Double func() (float64, error)
}

// Present reports whether the next row has a value. If so, the caller must read the value.
func (c *Column) Present() (bool, error) {
	if c.present == nil {
		return true, nil
	}
	return c.present.next()
}

// Next returns the value of the next row, or nil if it is null.
func (c *Column) Next() (any, error) {
	if there, err := c.Present(); err != nil || !there {
		return nil, err
	}
	return c.value()
}

// Reader creates the columns of a stripe.
type Reader struct {
	tail    *tail
	stripe  Stripe
	footer  *stripeFooter
	file    io.ReaderAt
	unpack  *unpacker
	options Options
	values  int // elements of lists and maps of the row at hand
}

// Begin must be called before the values of a row are read. It resets the counter that limits the
// size of a row.
func (r *Reader) Begin() { r.values = 0 }

// Close frees the decompressor of the stripe.
func (r *Reader) Close() { r.unpack.close() }

const (
	// maxDictionary bounds the bytes of a dictionary, maxEntries its entries: a stripe has as
	// much text in it, not packed, in all.
	maxDictionary = 256 << 20
	maxEntries    = 1 << 24
	// maxElements bounds the elements of all lists and maps in a row.
	maxElements = 1 << 22
)

// stream returns a stream of a column, an empty one if there is none.
func (r *Reader) stream(column, kind uint64) (b *stored, found bool) {
	at := r.stripe.Offset
	for _, s := range r.footer.streams {
		if s.column == column && s.kind == kind {
			return &stored{src: io.NewSectionReader(r.file, int64(at), int64(s.length)), unpack: r.unpack}, true
		}
		at += s.length
	}
	return &stored{unpack: r.unpack}, false
}

func (r *Reader) ints(column, kind uint64, signed bool) *ints {
	in, _ := r.stream(column, kind)
	version := 1
	if r.encoding(column).kind >= 2 {
		version = 2
	}
	return &ints{in: in, signed: signed, version: version}
}

func (r *Reader) encoding(column uint64) encoding {
	if column < uint64(len(r.footer.encodings)) {
		return r.footer.encodings[column]
	}
	return encoding{}
}

// Column opens the column of a type.
func (r *Reader) Column(at uint64) (*Column, error) {
	c := &Column{}
	if in, found := r.stream(at, present); found {
		c.present = &bits{bytes: byteRuns{in: in}}
	}
	var err error
	switch t := r.tail.types[at]; t.Kind {
	case Struct:
		c.value, err = r.structs(&t)
	case List:
		c.value, err = r.lists(at, &t)
	case Map:
		c.value, err = r.maps(at, &t)
	case Union:
		c.value, err = r.unions(at, &t)
	case String, Varchar, Char:
		if e := r.encoding(at); e.kind != 1 && e.kind != 3 {
			c.Text = r.plainTexts(at)
			c.value = func() (any, error) {
				text, err := c.Text()
				return string(text), err
			}
			break
		}
		c.value, err = r.texts(at, true)
	case Short, Int, Long:
		c.Long = r.ints(at, data, true).next
		c.value = func() (any, error) { return boxed(c.Long()) }
	case Double:
		in, _ := r.stream(at, data)
		var scratch [8]byte
		c.Double = func() (float64, error) {
			v, err := in.uint64(&scratch, 8)
			return math.Float64frombits(v), err
		}
		c.value = func() (any, error) { return boxed(c.Double()) }
	case Binary:
		c.value, err = r.texts(at, r.options.BinaryAsString)
	default:
		c.value, err = r.scalar(at, t.Kind)
	}
	return c, err
}

// scalar reads numbers and times.
func (r *Reader) scalar(at uint64, kind Kind) (func() (any, error), error) {
	in, _ := r.stream(at, data)
	var scratch [8]byte
	switch kind {
	case Boolean:
		bits := &bits{bytes: byteRuns{in: in}}
		return func() (any, error) { return boxed(bits.next()) }, nil
	case Byte:
		runs := &byteRuns{in: in}
		return func() (any, error) {
			b, err := runs.next()
			return int64(int8(b)), err
		}, nil
	case Float:
		return func() (any, error) {
			v, err := in.uint64(&scratch, 4)
			return math.Float32frombits(uint32(v)), err
		}, nil
	case Date:
		days := r.ints(at, data, true)
		return func() (any, error) {
			d, err := days.next()
			return timeText(d*chrono.Day, d > math.MinInt32 && d < math.MaxInt32), err
		}, nil
	case Timestamp, Instant:
		return r.times(at, kind)
	case Decimal:
		scales := r.ints(at, secondary, true)
		return func() (any, error) {
			n, err := in.decimal()
			if err != nil {
				return nil, err
			}
			scale, err := scales.next()
			if err != nil || scale < 0 || scale > record.MaxDecimalScale {
				return nil, errors.Join(err, errRun)
			}
			d := record.Decimal(n, int(scale))
			if r.options.Exact {
				return d, nil
			}
			return asDouble(d), nil
		}, nil
	}
	return nil, fault.Unsupported("Column type [%d] of ORC files is not supported", kind)
}

func boxed[T any](v T, err error) (any, error) { return v, err }

// asDouble is a decimal as the double that Druid makes of it. See quirk Q003.
func asDouble(v any) any {
	if d, ok := v.(record.Digits); ok {
		f, _ := strconv.ParseFloat(string(d), 64) // an infinity where it is out of range
		return f
	}
	return float64(v.(int64))
}

// decimal reads a number of any size: seven bits a byte, the lowest first, the sign in the lowest
// bit.
func (b *stored) decimal() (*big.Int, error) {
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
			return nil, errRun
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
func (r *Reader) times(at uint64, kind Kind) (func() (any, error), error) {
	const base = 1_420_070_400
	zone := chrono.UTC
	if kind == Timestamp && r.footer.zone != "" {
		var err error
		if zone, err = chrono.LoadZone(r.footer.zone); err != nil {
			return nil, fault.InvalidInput("The time zone [%.100s] of an ORC file is unknown", r.footer.zone)
		}
	}
	// The start of 2015 there: no zone changed its offset then.
	start := base - zone.OffsetAt(base*1000)/1000
	seconds, nanos := r.ints(at, data, true), r.ints(at, secondary, false)
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
		ms := s*1000 + record.FloorDiv(n, 1_000_000)
		return ms + zone.OffsetAt(ms), nil
	}, nil
}

// timeText is the text of a time; one beyond what is a time is none.
func timeText(ms int64, ok bool) any {
	if !ok || ms < chrono.MinInstant || ms >= chrono.MaxInstant {
		return nil
	}
	return chrono.FormatMillis(ms, chrono.UTC)
}

// texts reads text or bytes, which are in the stripe or in its dictionary.
func (r *Reader) texts(at uint64, isText bool) (func() (any, error), error) {
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
	lengths := r.ints(at, length, false)
	codes := r.ints(at, data, false)
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
func (r *Reader) plainTexts(at uint64) func() ([]byte, error) {
	lengths := r.ints(at, length, false)
	in, _ := r.stream(at, data)
	var buf []byte
	return func() ([]byte, error) {
		n, err := lengths.next()
		if err != nil || n < 0 || n > record.MaxBytes {
			return nil, errors.Join(err, tooLong(n))
		}
		buf, err = in.append(buf[:0], int(n))
		return buf, err
	}
}

func tooLong(n int64) error {
	if n < 0 || n > record.MaxBytes {
		return errors.New("a value is larger than a record may be")
	}
	return nil
}

func (r *Reader) dictionary(at, size uint64, lengths *ints, give func([]byte) any) ([]any, error) {
	if size > maxEntries {
		return nil, errors.New("a dictionary is larger than one may be")
	}
	in, _ := r.stream(at, dictionaryData)
	values, total := []any{}, int64(0)
	var buf []byte
	for range size {
		n, err := lengths.next()
		if err != nil {
			return nil, err
		}
		if total += max(n, 0); n < 0 || total > maxDictionary {
			return nil, errors.New("a dictionary is larger than one may be")
		}
		if buf, err = in.append(buf[:0], int(n)); err != nil {
			return nil, err
		}
		values = append(values, give(buf))
	}
	return values, nil
}

func (r *Reader) columns(numbers []uint64) ([]*Column, error) {
	out := make([]*Column, len(numbers))
	for i, n := range numbers {
		var err error
		if out[i], err = r.Column(n); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *Reader) structs(t *Type) (func() (any, error), error) {
	members, err := r.columns(t.Subtypes)
	return func() (any, error) {
		o := &record.Object{Names: t.Names, Values: make([]any, len(members))}
		for i, m := range members {
			var err error
			if o.Values[i], err = m.Next(); err != nil {
				return nil, err
			}
		}
		return o, nil
	}, err
}

// length reads how many elements a list or map has.
func (r *Reader) length(lengths *ints) (int, error) {
	n, err := lengths.next()
	if err != nil {
		return 0, err
	}
	if n < 0 || n > maxElements-int64(r.values) {
		return 0, errors.New("a row has more elements in lists than a row may have")
	}
	r.values += int(n)
	return int(n), nil
}

func (r *Reader) lists(at uint64, t *Type) (func() (any, error), error) {
	elements, err := r.columns(t.Subtypes)
	lengths := r.ints(at, length, false)
	return func() (any, error) {
		n, err := r.length(lengths)
		if err != nil {
			return nil, err
		}
		list := []any{}
		for range n {
			v, err := elements[0].Next()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}, err
}

func (r *Reader) maps(at uint64, t *Type) (func() (any, error), error) {
	entries, err := r.columns(t.Subtypes)
	lengths := r.ints(at, length, false)
	return func() (any, error) {
		n, err := r.length(lengths)
		if err != nil {
			return nil, err
		}
		o := &record.Object{}
		for range n {
			key, err := entries[0].Next()
			if err != nil {
				return nil, err
			}
			value, err := entries[1].Next()
			if err != nil {
				return nil, err
			}
			o.Add(string(record.AppendText(nil, key)), value)
		}
		return o, nil
	}, err
}

func (r *Reader) unions(at uint64, t *Type) (func() (any, error), error) {
	variants, err := r.columns(t.Subtypes)
	in, _ := r.stream(at, data)
	tags := &byteRuns{in: in}
	return func() (any, error) {
		tag, err := tags.next()
		if err != nil {
			return nil, err
		}
		if int(tag) >= len(variants) {
			return nil, errRun
		}
		return variants[tag].Next()
	}, err
}
