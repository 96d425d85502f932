package segment

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// strings writes c, or the strings in lists, as dictionary, codes and index.
func (e *columnEncoder) strings(c *columnMeta, feed columnFeed) error {
	n, err := e.dictionary(c, e.dict)
	if err != nil {
		return err
	}
	if n == 0 {
		return e.null(c)
	}
	var ix *indexBuilder
	if n > 1 && n <= e.bitmapValues && c == e.top { // of one value the validity says it all
		ix = newIndexBuilder(n, c.rows)
		ix.scans = n <= 1<<8
	}
	if err := e.codes(c, n, feed, ix); err != nil {
		return err
	}
	return e.index(c, ix)
}

// boundOf cuts the least and the greatest string to what the footer keeps; the results still bound
// all strings between. A greatest string that can't be cut so is not known: nil, and nil for the
// least too.
func boundOf(least, greatest string) (low any, lowExact bool, high any, highExact bool) {
	lowExact, highExact = len(least) <= boundBytes, len(greatest) <= boundBytes
	if !lowExact {
		least = least[:boundBytes]
	}
	if highExact {
		return string([]byte(least)), lowExact, string([]byte(greatest)), true
	}
	cut := []byte(greatest[:boundBytes])
	for len(cut) > 0 && cut[len(cut)-1] == 0xff {
		cut = cut[:len(cut)-1]
	}
	if len(cut) == 0 {
		return nil, true, nil, true
	}
	cut[len(cut)-1]++
	return string([]byte(least)), lowExact, string(cut), false
}

// codes writes the codes and the validity of c, whose dictionary has n entries.
func (e *columnEncoder) codes(c *columnMeta, n int, feed columnFeed, ix *indexBuilder) error {
	switch {
	case n == 1:
		c.width = 0
	case n <= 1<<8:
		c.width = 1
	case n <= 1<<16:
		c.width = 2
	default:
		c.width = 4
	}
	part, err := e.part(c, partCodes)
	if err != nil {
		return err
	}
	var valid validity
	var bytes []byte
	err = feed(func(v *vector.Vector) error {
		if ix != nil {
			ix.addRows(v, valid.n)
		}
		valid.add(v)
		bytes = bytes[:0]
		switch c.width {
		case 1:
			for _, x := range v.Codes[:v.Len] {
				bytes = append(bytes, byte(x))
			}
		case 2:
			for _, x := range v.Codes[:v.Len] {
				bytes = binary.LittleEndian.AppendUint16(bytes, uint16(x))
			}
		case 4:
			bytes = append(bytes, bytesOf(v.Codes[:v.Len])...)
		}
		if v.Valid != nil { // what null rows hold is not an entry's code for certain
			for i := range v.Len {
				if !v.Valid.Get(i) {
					clear(bytes[i*c.width : (i+1)*c.width])
				}
			}
		}
		return part.write(bytes)
	})
	if err != nil {
		return err
	}
	part.end()
	return e.valid(c, &valid)
}

// opaque writes c, of a complex type: repetitive nested values as a dictionary, everything else as
// blobs.
func (e *columnEncoder) opaque(c *columnMeta, feed columnFeed) error {
	if c.Type == vector.JSON {
		values, err := repetitive(feed, c.rows)
		if err != nil {
			return err
		}
		if e.paths != nil {
			feed = e.paths.watching(feed)
		}
		if values != nil {
			return e.repetitive(c, feed, values)
		}
	}
	return e.blobs(c, feed)
}

// errTooMany ends the feed of repetitive; nobody else sees it.
var errTooMany = errors.New("too many different values")

// repetitive returns the different values of a column if they are few for its rows, and else nil.
func repetitive(feed columnFeed, rows int) (*interner, error) {
	var t interner
	limit := min(jsonDictValues, rows/4)
	err := feed(func(v *vector.Vector) error {
		for i := range v.Len {
			if v.Valid.Get(i) {
				if _, err := t.add(v.Strings[i]); err != nil {
					return err
				}
			}
		}
		if t.len() > limit {
			return errTooMany
		}
		return nil
	})
	if errors.Is(err, errTooMany) || t.len() == 0 {
		return nil, nil
	}
	return &t, err
}

// emitting hands out the entries of a sorted dictionary.
func emitting(dict *vector.Dict) func(emit func(string) error) (int, error) {
	return func(emit func(string) error) (int, error) {
		for i := range dict.Len() {
			if err := emit(dict.Value(uint32(i))); err != nil {
				return 0, err
			}
		}
		return dict.Len(), nil
	}
}

func (e *columnEncoder) repetitive(c *columnMeta, feed columnFeed, values *interner) error {
	dict, codes := values.sorted()
	n, err := e.dictionary(c, emitting(dict))
	if err != nil {
		return err
	}
	var coded []uint32
	return e.codes(c, n, func(f func(*vector.Vector) error) error {
		return feed(func(v *vector.Vector) error {
			coded = grown(coded, v.Len)
			for i := range coded {
				coded[i] = 0
				if v.Valid.Get(i) {
					number, _ := values.lookup(v.Strings[i])
					coded[i] = codes[number]
				}
			}
			return f(&vector.Vector{Type: vector.String, Len: v.Len, Valid: v.Valid, Codes: coded})
		})
	}, nil)
}

// blobs writes c in blocks that are compressed where it pays.
func (e *columnEncoder) blobs(c *columnMeta, feed columnFeed) error {
	c.enc = encBlob
	data, err := e.part(c, partBlobData)
	if err != nil {
		return err
	}
	encoder, err := encoders()
	if err != nil {
		return err
	}
	w := blobWriter{data: data, encoder: encoder, offsets: []uint32{0}}
	var valid validity
	err = feed(func(v *vector.Vector) error {
		valid.add(v)
		for i := range v.Len {
			text := ""
			if v.Valid.Get(i) {
				text = v.Strings[i]
			}
			if err := w.add(text); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return err
	}
	data.end()
	if err := e.whole(c, partBlobBlocks, w.directory); err != nil {
		return err
	}
	return e.valid(c, &valid)
}

type blobWriter struct {
	data      *partWriter
	encoder   *zstd.Encoder
	directory []byte
	row       int // of the segment
	offsets   []uint32
	values    []byte
	raw, out  []byte
}

func (w *blobWriter) add(text string) error {
	if len(text) > maxBlobBytes {
		return fault.ResourceLimit("Value of [%d] bytes is larger than the [%d] that a segment takes", len(text), maxBlobBytes)
	}
	if rows := len(w.offsets) - 1; rows > 0 && (len(w.values)+len(text) > blobBlockBytes || rows == BlockRows) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.values = append(w.values, text...)
	w.offsets = append(w.offsets, uint32(len(w.values)))
	return nil
}

func (w *blobWriter) flush() error {
	rows := len(w.offsets) - 1
	if rows == 0 {
		return nil
	}
	w.raw = append(append(w.raw[:0], bytesOf(w.offsets)...), w.values...)
	w.out = w.encoder.EncodeAll(w.raw, w.out[:0])
	stored, codec := w.raw, uint32(codecNone)
	if len(w.out) < len(w.raw)-len(w.raw)/8 {
		stored, codec = w.out, codecZstd
	}
	b := blobBlock{Row: uint32(w.row), Decoded: uint32(len(w.raw)), Stored: uint32(len(stored)), Codec: codec, Offset: uint64(w.data.part.length)}
	w.directory = append(w.directory, bytesOf([]blobBlock{b})...)
	w.row += rows
	w.offsets, w.values = w.offsets[:1], w.values[:0]
	if err := w.data.write(stored); err != nil {
		return err
	}
	return w.data.write(zeros[:(partAlign-len(stored)%partAlign)%partAlign])
}
