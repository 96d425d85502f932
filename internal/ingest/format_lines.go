package ingest

import (
	"bytes"

	"github.com/hengedb/henge/internal/ingest/record"
)

// Lines is the format that reads each line as the column "line".
type Lines struct{}

// Type returns "lines".
func (Lines) Type() string { return "lines" }

// MarshalJSON returns the JSON form.
func (Lines) MarshalJSON() ([]byte, error) { return []byte(`{"type":"lines"}`), nil }

func (Lines) flattening() *flattening { return nil }

func (Lines) begin([]byte) cutter { return lineCutter{} }

func (Lines) head() head { return head{} }

func (Lines) open(fields []Field, _ []string, opts *Options) (decoder, error) {
	return &linesDecoder{newSink(fields, opts)}, nil
}

func (Lines) objects([]string) objectDecoder { return linesObjects{} }

// linesObjects makes each line an object.
type linesObjects struct{}

func (linesObjects) objects(c chunk, emit func(Record)) {
	eachLine(c, func(text []byte, line int64) {
		r := Record{Text: text, Line: line}
		if c.broken {
			r.Reason = recordTooLarge
		} else {
			r.Object = lineObject(text)
		}
		emit(r)
	})
}

func lineObject(text []byte) *record.Object {
	return &record.Object{Names: []string{"line"}, Values: []any{string(text)}}
}

// eachLine calls f for the lines of a chunk, or for the head of a record that is too large.
func eachLine(c chunk, f func(text []byte, line int64)) {
	text := c.data
	for n := int64(1); len(text) > 0; n++ {
		var line []byte
		line, text, _ = bytes.Cut(text, newline)
		f(bytes.TrimSuffix(line, []byte{'\r'}), n)
	}
}

const recordTooLarge = "the record is larger than a record may be"

type linesDecoder struct{ *sink }

func (d *linesDecoder) add(c chunk) {
	text := c.data
	for len(text) > 0 && d.out.err == nil {
		line, rest, _ := bytes.Cut(text, newline)
		text = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		d.out.records++
		if c.broken {
			d.fail(line, 1, recordTooLarge)
			break
		}
		for i, f := range d.fields {
			if f.Name == "line" {
				d.textCell(i, line, nil)
			} else {
				d.columns[i].null()
			}
		}
		if f := d.flawed(); f != 0 {
			o := lineObject(line)
			d.endFlawed(f, o, o, line, d.out.records)
			continue
		}
		if d.shape != nil {
			d.shape.Add(lineObject(line))
		}
		d.endRow(true)
	}
}
