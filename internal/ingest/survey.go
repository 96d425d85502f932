package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// SurveyOptions say what is known of an input before it is read.
type SurveyOptions struct {
	// Header says whether the first row of each delimited file holds the names; nil: the first file
	// decides.
	Header *bool
	// Delimiter separates the fields of delimited files; "": the first file decides.
	Delimiter string
	// Types are types of SQL by the names of columns, which go before those that the values have.
	Types map[string]string
	// Time is the column that holds the time, TimeFormat how it does; "": the values decide.
	Time, TimeFormat string
	// Access says what the entities may touch.
	Access *Access
	// Progress, when set, is called now and then with the bytes of a file that were read so far, as
	// they are stored.
	Progress func(bytes int64)
}

// Surveyor reads a whole input once, in bounded memory, to learn what a table of it must look like
// so that no value is changed: the names, the types that hold every value, the time. What no table
// can hold as it is, it counts.
//
//	entity ─► kind (by content) ─► records, as the reader of the load sees them ─► values by class ─► Survey
//
// All entities must be of one kind. Parquet and ORC files say their types themselves: only columns
// that may be the time are read.
type Surveyor struct {
	o    SurveyOptions
	kind inputKind
	// delimited is how delimited files are read; header and names are those of the first file.
	delimited  *Delimited
	first      string      // the name of the first file
	timeFormat *timeFormat // that the user named
	names      []string

	columns []*surveyed
	index   map[string]int

	file    string
	record  int64 // of the file, from 1
	records int64 // of all files, those that did not parse included

	bad      Finding // records that did not parse; Value is the reason
	extra    Finding // delimited records with more fields than names
	short    Finding // and with fewer
	notUTF8  Finding
	repeated Finding // JSON objects that name a member twice
	unnamed  Finding // and those with a member without a name
	lists    bool    // a field has the character that separates the values of a list
	notes    []string
	bytes    int64
}

// Finding counts something that was found in an input, and keeps the first of it.
type Finding struct {
	Count  int64
	File   string
	Record int64 // from 1, of the file
	Value  string
	at     int64 // the record, of all
}

// At describes the first of what was found.
func (f *Finding) At() string {
	if f.Value == "" {
		return fmt.Sprintf("first in %s, record %d", printable(f.File), f.Record)
	}
	return fmt.Sprintf("first in %s, record %d: [%s]", printable(f.File), f.Record, printable(f.Value))
}

func (f *Finding) add(s *Surveyor, value []byte) {
	if f.Count++; f.Count == 1 {
		f.File, f.Record, f.Value, f.at = s.file, s.record, shortRow(value), s.records
	}
}

// surveyed is a column on the way.
type surveyed struct {
	name   string
	values values
	watch  timeWatch
	seen   int64 // records with a value
	next   int64 // the record, of all, behind the last one with a value
	gap    int64 // the first record, of all, without a value; 0: none so far
	// declared is the type that a file says, "" for those that say none; timed is how the column holds
	// times, if the file says that it does.
	declared string
	timed    string
	last     int64 // the record that named it last
	wanted   bool  // the user said that it holds numbers
}

// NewSurveyor returns one that has read nothing.
func NewSurveyor(o SurveyOptions) (*Surveyor, error) {
	s := &Surveyor{o: o, index: map[string]int{}}
	types := make(map[string]string, len(o.Types))
	for name, text := range o.Types {
		t, err := parseColumnType(text)
		if err != nil {
			return nil, err
		}
		types[name] = t
	}
	s.o.Types = types
	if o.TimeFormat != "" {
		var err error
		if s.timeFormat, err = parseTimeFormat(o.TimeFormat); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// maxSurveyColumns is how many columns a table may have beside its time.
const maxSurveyColumns = 1999

// column returns the column of a name, which is new perhaps.
func (s *Surveyor) column(name string) *surveyed {
	if at, ok := s.index[name]; ok {
		return s.columns[at]
	}
	c := &surveyed{name: name, wanted: numeric(s.o.Types[name])}
	if s.o.Time == name && name != "" {
		c.watch.given, c.watch.format = true, s.timeFormat
	}
	s.index[name] = len(s.columns)
	s.columns = append(s.columns, c)
	return c
}

// present notes that the record at hand has a value in c.
func (s *Surveyor) present(c *surveyed) {
	if c.next < s.records && c.gap == 0 {
		c.gap = c.next + 1
	}
	c.seen++
	c.next = s.records + 1
}

// checkWidth refuses an input with more columns than a table may have.
func (s *Surveyor) checkWidth() error {
	if len(s.columns) > maxSurveyColumns+1 {
		return fault.InvalidInput("Input [%s] has more than [%d] columns, the most that a table can have", s.file, maxSurveyColumns)
	}
	return nil
}

// Add reads an entity, to which messages refer by name.
func (s *Surveyor) Add(ctx context.Context, name string, e Entity) error {
	s.file, s.record = name, 0
	kind, head, err := kindOf(ctx, name, e)
	if err != nil {
		return err
	}
	switch {
	case s.kind == "":
		s.kind, s.first = kind, name
		if kind == kindDelimited {
			s.delimited = s.delimitedFormat(name, head)
		}
	case kind != s.kind:
		return fault.InvalidInput("File [%s] is %s and [%s] is %s; load them one after the other", printable(s.first), s.kind.words(),
			printable(name), kind.words())
	}
	in := &input{split: Split{Entity: e, End: -1}, opts: &Options{Access: s.o.Access, KeepNullBytes: true}}
	err = guarded(func() error {
		switch kind {
		case kindParquet, kindORC:
			return s.columnar(ctx, in)
		case kindAvro:
			return s.avro(ctx, in)
		case kindJSON:
			return s.json(ctx, in)
		}
		return s.fields(ctx, in, head)
	})
	if err == nil {
		s.bytes += max(e.Size(), 0)
		err = s.checkWidth()
	}
	return err
}

// chunks calls f for the chunks of a text.
func (s *Surveyor) chunks(ctx context.Context, text *textInput, f func(chunk) error) error {
	read := int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := text.nextChunk()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err
		}
		read += int64(len(c.data))
		text.cut.recycle(c)
		s.progress(text, read)
	}
}

// progress tells how much of the stored bytes was read: of packed files what the unpacker took,
// else the text itself.
func (s *Surveyor) progress(text *textInput, read int64) {
	if s.o.Progress == nil {
		return
	}
	if stream, ok := text.src.(*countedStream); ok {
		if u, ok := stream.ReadCloser.(*unpacker); ok {
			read = u.src.n
		}
	}
	s.o.Progress(s.bytes + read)
}

// fail notes that the record at hand is none.
func (s *Surveyor) fail(reason string) { s.bad.add(s, []byte(reason)) }

// begin counts a record.
func (s *Surveyor) begin() { s.record++ }

// end counts it among those of all files.
func (s *Surveyor) end() { s.records++ }

// broken notes that a value is no UTF-8.
func (s *Surveyor) broken(value []byte) { s.notUTF8.add(s, value) }

// printable returns text as it may be written to a terminal: in one line, without control
// characters.
func printable(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > maxPrinted {
			b.WriteString("...")
			break
		}
		switch {
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Printable returns text as it may be written to a terminal.
func Printable(text string) string { return printable(text) }

// maxPrinted is how many characters of a value are shown.
const maxPrinted = 200

// marshalFormat writes the wire form of the format that the survey found.
func (s *Surveyor) marshalFormat() (json.RawMessage, error) {
	switch s.kind {
	case kindDelimited:
		return s.delimited.MarshalJSON()
	case kindJSON:
		return json.RawMessage(`{"type":"json"}`), nil
	}
	return json.RawMessage(`{"type":"` + string(s.kind) + `"}`), nil
}

// openChunks starts reading a text format.
func openChunks(ctx context.Context, f textFormat, in *input) (*textInput, error) {
	text := &textInput{format: f, in: in, raw: true} // who counts what is no UTF-8 by its column and record
	if err := text.open(ctx); err != nil {
		return nil, errors.Join(err, text.close())
	}
	return text, nil
}

// unpackedHead reads the unpacked start of an entity.
func unpackedHead(ctx context.Context, name string, e Entity) ([]byte, bool, error) {
	raw, err := e.Open(ctx, 0)
	if err != nil {
		return nil, false, err
	}
	src, err := decompress(raw, name, nil)
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	var head bytes.Buffer
	n, err := io.CopyN(&head, src, sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return head.Bytes(), n < sniffBytes, nil
}
