package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/bits"
)

// maxValues bounds the values of a page, as runs let a few bytes stand for any number. Writers
// begin a new page after some megabytes, or after tens of thousands of rows.
const maxValues = 1 << 28

// Page contains the levels and values of a data page.
type Page struct {
	// Count is the number of levels of the page. Without repetition, it is the number of rows.
	Count int
	// Definitions and Repetitions are the levels. If nil, all definition levels are the maximum of the
	// column, and all repetition levels are 0.
	Definitions, Repetitions []byte
	// Values are the values of the levels that have one, or the dictionary that Indexes refer to.
	Values *Values
	// Indexes are the indexes into the dictionary, if the page has one. All are less than Values.Len.
	Indexes []uint32
	// Coded is set for a dictionary-encoded page, which may have no values.
	Coded bool
}

// ValueCount returns the number of values of the page, excluding nulls.
func (p *Page) ValueCount() int {
	if p.Coded {
		return len(p.Indexes)
	}
	return p.Values.Len
}

// Pages reads the data pages of a column chunk. It is used by one goroutine.
type Pages struct {
	leaf   *Column
	group  *RowGroup
	in     *chunkReader
	unpack *unpacker

	left       int64 // values of the chunk
	rows       int64 // that have begun
	begun      bool
	dictionary *Values

	page                     Page
	values                   Values
	unpacked                 []byte
	definitions, repetitions []byte
}

// Next returns the next page that has levels, or io.EOF. The page is valid until the next call,
// except for dictionary values, which remain valid.
func (p *Pages) Next() (*Page, error) {
	page, err := p.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, placed(err, p.leaf.Path(), p.group.index)
	}
	return page, err
}

func (p *Pages) next() (*Page, error) {
	for p.left > 0 {
		h, err := p.header()
		if err != nil {
			return nil, err
		}
		body, err := p.body(&h)
		if err != nil {
			return nil, err
		}
		switch h.typ {
		case dictionaryPage:
			err = p.readDictionary(&h, body)
		case dataPage, dataPageV2:
			if int64(h.values) > p.left {
				return nil, damaged("its pages have more values than the footer says")
			}
			p.left -= int64(h.values)
			if h.values == 0 {
				continue
			}
			if err = p.readData(&h, body); err == nil {
				return &p.page, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, io.EOF
}

// header reads the header of the next page, whose length only its own end tells.
func (p *Pages) header() (pageHeader, error) {
	for window := 1 << 10; ; window *= 4 {
		b, err := p.in.peek(window)
		if err != nil {
			return pageHeader{}, err
		}
		t := &thrift{b: b}
		h := t.pageHeader()
		switch {
		case t.err == nil:
			p.in.take(t.at)
			return h, h.check()
		case !errors.Is(t.err, errShort):
			return h, damaged("the header of a page is malformed")
		case len(b) < window:
			return h, damaged("it ends with [%d] values missing", p.left)
		}
	}
}

func (h *pageHeader) check() error {
	known := h.typ == dataPage || h.typ == dictionaryPage || h.typ == dataPageV2
	switch {
	case h.packed < 0 || h.unpacked < 0:
		return damaged("a page has [%d] bytes, [%d] decompressed", h.packed, h.unpacked)
	case known && !h.present:
		return damaged("the header of a page has no part for its type")
	case known && h.values < 0:
		return damaged("a page has [%d] values", h.values)
	case known && h.values > maxValues:
		return unsupported("pages of more than [%d] values", maxValues)
	case !known && h.typ != indexPage:
		return unsupported("page type [%d]", h.typ)
	}
	return nil
}

// body returns the bytes of a page as they are in the file, valid until more is read.
func (p *Pages) body(h *pageHeader) ([]byte, error) {
	if int64(h.packed) > p.in.rest() {
		return nil, damaged("a page of [%d] bytes is longer than what is left of the column", h.packed)
	}
	b, err := p.in.peek(int(h.packed))
	if err != nil {
		return nil, err
	}
	if h.checked && crc32.ChecksumIEEE(b) != h.crc {
		return nil, damaged("the checksum of a page is wrong")
	}
	p.in.take(len(b))
	return b, nil
}

func (p *Pages) readDictionary(h *pageHeader, body []byte) error {
	switch {
	case p.dictionary != nil:
		return damaged("it has two dictionaries")
	case p.begun:
		return damaged("its dictionary comes after values")
	case h.encoding != plain && h.encoding != plainDictionary:
		return unsupported("dictionaries in encoding [%s]", encodingName(h.encoding))
	}
	data, err := p.unpack.page(nil, body, int(h.unpacked))
	if err != nil {
		return err
	}
	p.dictionary = &Values{}
	return p.dictionary.decode(p.leaf, plain, data, int(h.values))
}

func (p *Pages) readData(h *pageHeader, body []byte) (err error) {
	p.page = Page{Count: int(h.values)}
	var data []byte
	if h.typ == dataPage {
		data, err = p.levels(h, body)
	} else {
		data, err = p.levelsV2(h, body)
	}
	if err != nil {
		return err
	}
	p.begun = true
	if err := p.countRows(); err != nil {
		return err
	}
	n := p.page.Count
	if p.page.Definitions != nil {
		n = bytes.Count(p.page.Definitions, []byte{byte(p.leaf.MaxDefinition)})
	}
	if h.encoding == plainDictionary || h.encoding == rleDictionary {
		return p.indexes(data, n)
	}
	p.page.Values = &p.values
	return p.values.decode(p.leaf, h.encoding, data, n)
}

// levels reads the levels of a page of version 1, which are compressed with its values, and returns
// the values.
func (p *Pages) levels(h *pageHeader, body []byte) ([]byte, error) {
	data, err := p.unpack.page(p.unpacked, body, int(h.unpacked))
	if err != nil {
		return nil, err
	}
	if p.unpack.codec != codecNone {
		p.unpacked = data
	}
	p.repetitions, p.page.Repetitions, data, err = levelsV1(p.repetitions, data, h.repeats, p.page.Count, p.leaf.MaxRepetition)
	if err == nil {
		p.definitions, p.page.Definitions, data, err = levelsV1(p.definitions, data, h.definitions, p.page.Count, p.leaf.MaxDefinition)
	}
	return data, err
}

func levelsV1(buf, data []byte, encoding int32, n, most int) (kept, levels, rest []byte, err error) {
	if most == 0 {
		return buf, nil, data, nil
	}
	width := bits.Len(uint(most))
	switch encoding {
	case rle:
		if len(data) < 4 {
			return buf, nil, nil, errLevelsEnd
		}
		size := binary.LittleEndian.Uint32(data)
		if data = data[4:]; uint64(size) > uint64(len(data)) {
			return buf, nil, nil, errLevelsEnd
		}
		buf, err = readLevels(buf, data[:size], n, most)
		return buf, buf, data[size:], err
	case bitPacked:
		size := (n*width + 7) / 8
		if size > len(data) {
			return buf, nil, nil, errLevelsEnd
		}
		buf, err = readPackedLevels(buf, data[:size], n, most)
		return buf, buf, data[size:], err
	}
	return buf, nil, nil, unsupported("levels in encoding [%s]", encodingName(encoding))
}

// levelsV2 reads the levels of a page of version 2, which come before its values and are never
// compressed, and returns the values.
func (p *Pages) levelsV2(h *pageHeader, body []byte) (data []byte, err error) {
	size := int64(h.repeats) + int64(h.definitions)
	if h.repeats < 0 || h.definitions < 0 || size > int64(len(body)) || size > int64(h.unpacked) {
		return nil, damaged("the levels of a page of [%d] bytes have [%d] and [%d] bytes", len(body), h.repeats, h.definitions)
	}
	repetitions, definitions, data := body[:h.repeats], body[h.repeats:size], body[size:]
	if p.leaf.MaxRepetition > 0 {
		p.repetitions, err = readLevels(p.repetitions, repetitions, p.page.Count, p.leaf.MaxRepetition)
		p.page.Repetitions = p.repetitions
	}
	if p.leaf.MaxDefinition > 0 && err == nil {
		p.definitions, err = readLevels(p.definitions, definitions, p.page.Count, p.leaf.MaxDefinition)
		p.page.Definitions = p.definitions
	}
	if err != nil || h.plain {
		return data, err
	}
	if data, err = p.unpack.page(p.unpacked, data, int(h.unpacked)-int(size)); err == nil && p.unpack.codec != codecNone {
		p.unpacked = data
	}
	return data, err
}

// countRows holds the rows of the chunk so far to those of the row group.
func (p *Pages) countRows() error {
	if p.page.Repetitions == nil {
		p.rows += int64(p.page.Count)
	} else {
		if p.rows == 0 && p.page.Repetitions[0] != 0 {
			return damaged("its first value continues a row")
		}
		p.rows += int64(bytes.Count(p.page.Repetitions, []byte{0}))
	}
	if p.rows > p.group.Rows || p.left == 0 && p.rows != p.group.Rows {
		return damaged("it has [%d] rows where the row group has [%d]", p.rows, p.group.Rows)
	}
	return nil
}

// indexes reads the values of a page as references into the dictionary.
func (p *Pages) indexes(data []byte, n int) error {
	p.page.Coded, p.page.Values = true, p.dictionary
	if p.dictionary == nil {
		if n > 0 {
			return damaged("a page refers to a dictionary that is not there")
		}
		p.page.Values = &Values{}
	}
	if n == 0 {
		return nil
	}
	if len(data) == 0 {
		return damaged("a page ends before its [%d] indexes", n)
	}
	width := int(data[0])
	if width > 32 {
		return damaged("the indexes of a page have [%d] bits", width)
	}
	out := numberRoom(p.values.indexes, n)
	p.values.indexes = out
	if err := readHybrid(out, data[1:], width); err != nil {
		return err
	}
	most := uint32(0)
	for _, x := range out {
		most = max(most, x)
	}
	if int64(most) >= int64(p.dictionary.Len) {
		return damaged("a page refers to entry [%d] of a dictionary of [%d]", most, p.dictionary.Len)
	}
	p.page.Indexes = out
	return nil
}
