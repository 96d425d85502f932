package segment

import (
	"encoding/binary"
	"errors"
	"math"
)

// A record is a run of fields, each a tag, a length and that many bytes; tags and lengths are
// unsigned varints. A reader that does not know a tag skips the field if the tag is odd, and
// refuses the file as too new if it is even. A field may be another record.

// Tags of the footer's record.
const (
	tagRows        = 2
	tagChunkLog2   = 4
	tagColumn      = 6 // record, repeated
	tagChecksums   = 8
	tagTimes       = 3 // two signed varints
	tagSortColumn  = 5 // repeated
	tagRollup      = 7
	tagGranularity = 9
	tagMetadata    = 11
	tagPathColumn  = 13 // record, repeated
)

// Tags of a column's record.
const (
	tagName             = 2
	tagType             = 4
	tagEncoding         = 6
	tagRange            = 8  // offset, length
	tagPart             = 10 // kind, offset in the column, length, number of its first checksum; repeated
	tagElement          = 12 // record: the elements of a list
	tagWidth            = 14
	tagElements         = 16 // rows of an element column
	tagMulti            = 18
	tagMetric           = 3
	tagNulls            = 5
	tagDistinct         = 7
	tagDistinctEstimate = 9
	tagMin              = 11
	tagMax              = 13
	tagBounds           = 15
	tagPath             = 17
	tagMixed            = 20
)

func appendField(b []byte, tag uint64, payload []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(payload)))
	return append(b, payload...)
}

func appendUvarints(b []byte, tag uint64, xs ...uint64) []byte {
	var payload []byte
	for _, x := range xs {
		payload = binary.AppendUvarint(payload, x)
	}
	return appendField(b, tag, payload)
}

func appendText(b []byte, tag uint64, s string) []byte { return appendField(b, tag, []byte(s)) }

var (
	errShort   = errors.New("a record ends too early")
	errNewer   = errors.New("a record contains a field that this release does not know and must not skip")
	errPath    = errors.New("the record of a path's column has no path, or another one has")
	errPayload = errors.New("a field does not match its tag")
)

// fields takes a record apart. Its error is sticky: loops check it once at the end.
type fields struct {
	b   []byte
	err error
}

// next returns the following field, and false at the end or on an error.
func (f *fields) next() (tag uint64, payload []byte, ok bool) {
	if len(f.b) == 0 || f.err != nil {
		return 0, nil, false
	}
	tag = f.uvarint()
	n := f.uvarint()
	if f.err == nil && n > uint64(len(f.b)) {
		f.err = errShort
	}
	if f.err != nil {
		return 0, nil, false
	}
	payload, f.b = f.b[:n], f.b[n:]
	return tag, payload, true
}

func (f *fields) uvarint() uint64 {
	x, n := binary.Uvarint(f.b)
	if n <= 0 {
		f.fail(errShort)
		return 0
	}
	f.b = f.b[n:]
	return x
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// unknown deals with a tag that the caller does not know.
func (f *fields) unknown(tag uint64) {
	if tag&1 == 0 {
		f.fail(errNewer)
	}
}

// uvarints reads a payload that is exactly n unsigned varints.
func (f *fields) uvarints(payload []byte, n int) []uint64 {
	p := fields{b: payload}
	out := make([]uint64, n)
	for i := range out {
		out[i] = p.uvarint()
	}
	if p.err != nil || len(p.b) != 0 {
		f.fail(errPayload)
	}
	return out
}

func (f *fields) one(payload []byte) uint64 { return f.uvarints(payload, 1)[0] }

// count reads a payload that is one number of things, at most limit.
func (f *fields) count(payload []byte, limit uint64) int {
	x := f.one(payload)
	if x > limit || x > math.MaxInt {
		f.fail(errPayload)
		return 0
	}
	return int(x)
}

func (f *fields) varints(payload []byte, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		x, w := binary.Varint(payload)
		if w <= 0 {
			f.fail(errPayload)
			return out
		}
		out[i], payload = x, payload[w:]
	}
	if len(payload) != 0 {
		f.fail(errPayload)
	}
	return out
}
