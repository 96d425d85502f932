package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Delimited is the csv and tsv format: lines of fields between delimiters.
type Delimited struct {
	kind string // csv or tsv
	// Columns are the names of the fields. If FromHeader is set, the first row of each file contains
	// the names instead.
	Columns    []string
	FromHeader bool
	SkipRows   int
	// Delimiter separates fields; in csv it is a single ASCII character. ListDelimiter separates the
	// values of one field.
	Delimiter     string
	ListDelimiter string

	wire delimitedWire
}

type delimitedWire struct {
	Type                  string   `json:"type"`
	Columns               []string `json:"columns,omitempty"`
	ListDelimiter         *string  `json:"listDelimiter,omitempty"`
	Delimiter             *string  `json:"delimiter,omitempty"`
	FindColumnsFromHeader *bool    `json:"findColumnsFromHeader,omitempty"`
	HasHeaderRow          *bool    `json:"hasHeaderRow,omitempty"`
	SkipHeaderRows        int      `json:"skipHeaderRows,omitempty"`
	TryParseNumbers       bool     `json:"tryParseNumbers,omitempty"`
}

func parseDelimited(kind string, text json.RawMessage) (Format, error) {
	var w delimitedWire
	if err := wire.Decode("inputFormat", text, &w); err != nil {
		return nil, err
	}
	f := &Delimited{kind: kind, Columns: w.Columns, SkipRows: w.SkipHeaderRows, Delimiter: ",", ListDelimiter: "\x01", wire: w}
	if kind == "tsv" {
		f.Delimiter = "\t"
	}
	if w.Delimiter != nil {
		f.Delimiter = *w.Delimiter
	}
	if w.ListDelimiter != nil {
		f.ListDelimiter = *w.ListDelimiter
	}
	if w.HasHeaderRow != nil { // its older name
		if w.FindColumnsFromHeader != nil {
			return nil, wire.Invalid("inputFormat", "Cannot accept both [findColumnsFromHeader] and [hasHeaderRow]")
		}
		f.wire.FindColumnsFromHeader, f.wire.HasHeaderRow = w.HasHeaderRow, nil
	}
	f.FromHeader = f.wire.FindColumnsFromHeader != nil && *f.wire.FindColumnsFromHeader
	switch {
	case f.Delimiter == "" || strings.ContainsAny(f.Delimiter, "\r\n"):
		return nil, wire.Invalid("inputFormat", "'delimiter' must be text without line breaks")
	case f.quotes() && (len(f.Delimiter) != 1 || f.Delimiter == `"` || f.Delimiter[0] >= utf8.RuneSelf):
		return nil, wire.Invalid("inputFormat", "'delimiter' of csv must be one ASCII character other than a quote")
	case f.Delimiter == f.ListDelimiter:
		return nil, wire.Invalid("inputFormat", "'delimiter' and 'listDelimiter' must differ")
	case len(f.Columns) == 0 && f.wire.FindColumnsFromHeader == nil:
		return nil, wire.Invalid("inputFormat", "either 'columns' or 'findColumnsFromHeader' must be set")
	case f.SkipRows < 0:
		return nil, wire.Invalid("inputFormat", "'skipHeaderRows' must not be negative")
	}
	for _, c := range f.Columns {
		if strings.Contains(c, f.Delimiter) {
			return nil, wire.Invalid("inputFormat", "column '%s' contains the delimiter", c)
		}
	}
	if twice := Duplicates(f.Columns); twice != "" {
		return nil, wire.Invalid("inputFormat", "%s", twice)
	}
	if f.FromHeader { // its names count, not those of the format
		f.Columns = nil
	}
	return f, nil
}

// Type returns "csv" or "tsv".
func (f *Delimited) Type() string { return f.kind }

// MarshalJSON returns the JSON form.
func (f *Delimited) MarshalJSON() ([]byte, error) {
	w := f.wire
	w.Type = f.kind
	return jsontext.Marshal(w)
}

func (*Delimited) flattening() *flattening { return nil }

func (f *Delimited) quotes() bool { return f.kind == "csv" }

func (f *Delimited) begin([]byte) cutter {
	if f.quotes() {
		return csvCutter{f.Delimiter[0]}
	}
	return lineCutter{}
}

func (f *Delimited) head() head {
	return head{skip: f.SkipRows, names: f.FromHeader, split: func(text []byte) *splitter {
		return &splitter{text: text, delimiter: []byte(f.Delimiter), quotes: f.quotes()}
	}}
}

func (f *Delimited) open(fields []Field, header []string, opts *Options) (decoder, error) {
	whole := f.whole(header)
	d := &delimitedDecoder{sink: newSink(fields, opts), f: f, list: []byte(f.ListDelimiter),
		positions: make([]int, len(fields)), split: f.splitter()}
	d.resolve(whole)
	return d, nil
}

// resolve finds the fields among the names of a file.
func (d *delimitedDecoder) resolve(whole *delimitedObjects) {
	d.whole, d.known = whole, make([]traits, len(whole.names))
	names := whole.names
	for i, field := range d.fields {
		d.positions[i] = -1
		for p, name := range names {
			if name == field.Name {
				d.positions[i] = p
			}
		}
		if len(names) == 0 {
			var p int
			if n, _ := fmt.Sscanf(field.Name, "column_%d", &p); n == 1 && p > 0 {
				d.positions[i] = p - 1
			}
		}
	}
}

func (f *Delimited) objects(header []string) objectDecoder { return f.whole(header) }

func (f *Delimited) whole(header []string) *delimitedObjects {
	d := &delimitedObjects{f: f, names: f.Columns}
	if f.FromHeader && header != nil && len(f.Columns) == 0 {
		d.names = header
	}
	return d
}

// delimitedObjects makes objects of lines with fields.
type delimitedObjects struct {
	f     *Delimited
	names []string // empty: column_1, column_2, ..
}

func (d *delimitedObjects) objects(c chunk, emit func(Record)) {
	if c.broken {
		emit(Record{Text: bytes.TrimRight(c.data, "\r\n"), Line: 1, Reason: recordTooLarge + ", or a quote is not closed"})
		return
	}
	s := d.f.split(c.data)
	for s.next() {
		if s.blank() {
			continue
		}
		r := Record{Text: s.record, Line: s.recordLine, Reason: s.problem}
		if r.Reason == "" {
			r.Object = d.object(s)
		}
		emit(r)
	}
}

// object is a record that was split into its fields.
func (d *delimitedObjects) object(s *splitter) *record.Object {
	o := &record.Object{}
	for i := range s.fields {
		switch {
		case i < len(d.names):
			o.Add(d.names[i], d.value(string(s.field(i))))
		case len(d.names) == 0:
			o.Add("column_"+strconv.Itoa(i+1), d.value(string(s.field(i))))
		}
	}
	return o
}

// value is the text of a field, nil when there is none, or the values of a list.
func (d *delimitedObjects) value(text string) any {
	switch {
	case text == "":
		return nil
	case d.f.ListDelimiter != "" && strings.Contains(text, d.f.ListDelimiter):
		var list []any
		for part := range strings.SplitSeq(text, d.f.ListDelimiter) {
			list = append(list, d.value(part))
		}
		return list
	case d.f.wire.TryParseNumbers:
		if n, ok := record.ParseNumber([]byte(text)); ok && n.Integer {
			return n.Long
		} else if ok {
			return n.Double
		}
	}
	return text
}

// delimitedDecoder decodes chunks of lines with fields.
type delimitedDecoder struct {
	*sink
	f         *Delimited
	whole     *delimitedObjects
	list      []byte
	positions []int // by column wanted, the position of its field; -1: the file has none
	split     splitter
	known     []traits // by field of the file, what is known of it
}

func (d *delimitedDecoder) add(c chunk) {
	if c.broken {
		d.out.records++
		d.fail(bytes.TrimRight(c.data, "\r\n"), 1, recordTooLarge+", or a quote is not closed")
		return
	}
	s := &d.split
	s.begin(c.data)
	// What no text of the chunk has is not looked for in each of its values.
	list := d.list
	if len(list) > 0 && bytes.IndexByte(s.text, list[0]) < 0 {
		list = nil
	}
	d.noNull = bytes.IndexByte(s.text, 0) < 0
	defer func() { d.noNull = false }()
	for s.next() && d.out.err == nil {
		if s.blank() {
			continue
		}
		d.out.records++
		if s.problem != "" {
			d.fail(s.record, s.recordLine, s.problem)
			continue
		}
		for i, p := range d.positions {
			if p < 0 || p >= len(s.fields) {
				d.columns[i].null()
				continue
			}
			d.textCell(i, s.field(p), list)
		}
		if f := d.flawed(); f != 0 {
			o := d.whole.object(s)
			d.endFlawed(f, o, o, s.record, s.recordLine)
			continue
		}
		if d.shape != nil {
			d.shape.delimited(d.whole, s, d.known)
		}
		d.endRow(true)
	}
}

// split returns a splitter of a chunk.
func (f *Delimited) split(text []byte) *splitter {
	s := f.splitter()
	s.begin(text)
	return &s
}

func (f *Delimited) splitter() splitter {
	return splitter{delimiter: []byte(f.Delimiter), quotes: f.quotes()}
}

// Begin starts with a text, whose records are whole.
func (s *splitter) begin(text []byte) {
	s.text, s.at, s.line, s.lenient = text, 0, 1, false
	s.bare = len(s.delimiter) == 1 && (!s.quotes || bytes.IndexByte(s.text, '"') < 0)
}

// splitter splits text into records and fields.
type splitter struct {
	text      []byte
	at        int // start of the next record
	line      int64
	delimiter []byte
	quotes    bool
	// lenient says that a quote was found that nothing closes: from there on quoted fields end with
	// their line.
	lenient bool
	// bare says that text has no quotes that count, and the delimiter is one byte.
	bare bool

	fields     []span // of the current record
	record     []byte
	recordLine int64
	problem    string // why the record is none, or ""
	behind     bool   // a field of the record has text behind its closing quote
	unquoted   []byte // what quoted fields of the record say
}

// span is where a field lies: in the text or, marked by unquotedSpan in from, in unquoted. Spans
// hold no pointers, of which the garbage collector would have to be told for each field.
type span struct{ from, to uint32 }

const unquotedSpan = 1 << 31

// Field returns a field of the current record. It is valid until next.
func (s *splitter) field(i int) []byte {
	p := s.fields[i]
	if p.from&unquotedSpan != 0 {
		from := p.from &^ unquotedSpan
		return s.unquoted[from:p.to:p.to]
	}
	return s.text[p.from:p.to:p.to]
}

// blank reports whether the record is an empty line.
func (s *splitter) blank() bool { return len(s.record) == 0 }

func (s *splitter) skipLine() {
	if i := bytes.IndexByte(s.text[s.at:], '\n'); i >= 0 {
		s.at += i + 1
		s.line++
	} else {
		s.at = len(s.text)
	}
}

// Next moves to the next record and reports whether there is one.
func (s *splitter) next() bool {
	s.fields, s.record, s.problem, s.behind = s.fields[:0], nil, "", false
	if s.at >= len(s.text) {
		return false
	}
	if s.bare {
		s.recordLine = s.line
		s.bareLine()
		return true
	}
	s.unquoted = s.unquoted[:0]
	s.recordLine = s.line
	start := s.at
	end := s.lineEnd(start)
	if !s.quotes || bytes.IndexByte(s.text[start:end], '"') < 0 {
		if len(s.delimiter) == 1 {
			s.bareLine()
		} else {
			s.plain(start, end)
		}
		return true
	}
	if s.quoted(start) {
		return true
	}
	// The quote is never closed: this line is no record, the next one may be.
	s.lenient = true
	s.fields = s.fields[:0]
	s.problem = "a quote is not closed"
	s.finish(start, end)
	return true
}

func (s *splitter) lineEnd(from int) int {
	if i := bytes.IndexByte(s.text[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(s.text)
}

// finish ends the record that begins at start at its newline or the end of text.
func (s *splitter) finish(start, end int) {
	s.record = bytes.TrimSuffix(s.text[start:end], []byte{'\r'})
	s.at = min(end+1, len(s.text))
	s.line += int64(bytes.Count(s.text[start:s.at], newline))
}

// plain splits a line without quotes.
func (s *splitter) plain(start, end int) {
	s.finish(start, end)
	end = start + len(s.record)
	for at := start; len(s.fields) < record.MaxFields; {
		n := bytes.Index(s.text[at:end], s.delimiter)
		if n < 0 {
			s.fields = append(s.fields, span{uint32(at), uint32(end)})
			return
		}
		s.fields = append(s.fields, span{uint32(at), uint32(at + n)})
		at += n + len(s.delimiter)
	}
	s.problem = "it has too many fields"
}

// bareLine splits a line of bare text, in one pass over it.
func (s *splitter) bareLine() {
	const ones, lows = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	text, start, from := s.text, s.at, s.at
	delimiter := s.delimiter[0]
	delimiters := ones * uint64(delimiter)
	fields, i := s.fields, start
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		d, n := w^delimiters, w^(ones*'\n')
		// The highest bit of each byte that is one of both: adding to the other bits carries into it
		// unless all of them are 0.
		for found := ^((d&lows + lows | d | lows) & (n&lows + lows | n | lows)); found != 0; found &= found - 1 {
			at := i + bits.TrailingZeros64(found)/8
			fields = append(fields, span{uint32(from), uint32(at)})
			if text[at] == '\n' {
				s.endBare(fields, start, at)
				return
			}
			from = at + 1
		}
		if len(fields) > record.MaxFields { // hostile: no more memory for it
			s.fields = fields[:0]
			s.plain(start, s.lineEnd(start))
			return
		}
	}
	for ; i < len(text) && text[i] != '\n'; i++ {
		if text[i] == delimiter {
			fields = append(fields, span{uint32(from), uint32(i)})
			from = i + 1
		}
	}
	s.endBare(append(fields, span{uint32(from), uint32(i)}), start, i)
}

// endBare ends the line from start to end, all of whose fields are known.
func (s *splitter) endBare(fields []span, start, end int) {
	s.fields, s.record = fields, s.text[start:end]
	if s.at = end; end < len(s.text) {
		s.at, s.line = end+1, s.line+1
	}
	if n := len(s.record); n > 0 && s.record[n-1] == '\r' {
		s.record = s.record[:n-1]
		fields[len(fields)-1].to-- // which ends with it, as no delimiter is a line break
	}
	if len(fields) > record.MaxFields {
		s.fields, s.problem = fields[:record.MaxFields], "it has too many fields"
	}
}

// quoted splits a record with quotes, which may span lines, and reports whether all of them are
// closed.
func (s *splitter) quoted(start int) bool {
	i := start
	for {
		quoted, first := false, len(s.unquoted)
		if i < len(s.text) && s.text[i] == '"' {
			if i, quoted = s.quotedField(i + 1); !quoted {
				return false
			}
		}
		// What follows a closing quote up to the delimiter belongs to the field, as does a field without
		// quotes.
		from := i
		for i < len(s.text) && s.text[i] != '\n' && !bytes.HasPrefix(s.text[i:], s.delimiter) {
			i++
		}
		to := i
		atEnd := i == len(s.text) || s.text[i] == '\n'
		if atEnd && to > from && s.text[to-1] == '\r' {
			to--
		}
		field := span{uint32(from), uint32(to)}
		if quoted {
			s.behind = s.behind || len(bytes.TrimSpace(s.text[from:to])) > 0
			s.unquoted = append(s.unquoted, s.text[from:to]...)
			field = span{uint32(first) | unquotedSpan, uint32(len(s.unquoted))}
		}
		if len(s.fields) == record.MaxFields {
			s.problem = "it has too many fields"
		} else {
			s.fields = append(s.fields, field)
		}
		if atEnd {
			s.finish(start, i)
			return true
		}
		i += len(s.delimiter)
	}
}

// quotedField reads from behind an opening quote to behind the closing one, and appends what is
// between them to unquoted; doubled quotes stand for one.
func (s *splitter) quotedField(i int) (end int, closed bool) {
	for {
		n := bytes.IndexByte(s.text[i:], '"')
		if n < 0 || s.lenient && bytes.IndexByte(s.text[i:i+n], '\n') >= 0 {
			return i, false
		}
		s.unquoted = append(s.unquoted, s.text[i:i+n]...)
		i += n + 1
		if i == len(s.text) || s.text[i] != '"' {
			return i, true
		}
		s.unquoted = append(s.unquoted, '"')
		i++
	}
}
