package ingest

import "bytes"

// Lines gives each line as the column "line".
type Lines struct{}

// Type returns "lines".
func (Lines) Type() string { return "lines" }

// MarshalJSON returns the wire form.
func (Lines) MarshalJSON() ([]byte, error) { return []byte(`{"type":"lines"}`), nil }

func (Lines) begin([]byte) cutter { return lineCutter{} }

func (Lines) head() head { return head{} }

func (Lines) open(fields []Field, _ []string, opts *Options) (decoder, error) {
	return &linesDecoder{newSink(fields, opts)}, nil
}

type linesDecoder struct{ *sink }

func (d *linesDecoder) decode(c chunk) decoded {
	d.begin()
	d.out.bytes = int64(len(c.data))
	text := validUTF8(c.data)
	for len(text) > 0 && d.out.err == nil {
		line, rest, _ := bytes.Cut(text, newline)
		text = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		d.out.records++
		if c.broken {
			d.fail(line, 1, "the record is larger than a record may be")
			break
		}
		for i, f := range d.fields {
			if f.Name == "line" {
				d.textCell(i, line, nil)
			} else {
				d.columns[i].null()
			}
		}
		d.endRow(true)
	}
	return d.finish()
}
