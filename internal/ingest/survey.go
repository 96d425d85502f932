package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/unpack"
)

// SurveyOptions are what the caller knows about an input before it is read.
type SurveyOptions struct {
	// Header says whether the first row of each delimited file contains the column names; nil: it is
	// detected from the first file.
	Header *bool
	// Delimiter separates the fields of delimited files; "": it is detected from the first file.
	Delimiter string
	// Types are SQL types by column name. They override the types of the values.
	Types map[string]string
	// Time is the time column, TimeFormat its format; "": they are detected from the values.
	Time, TimeFormat string
	// NoTime says that no column is the time. The input is read without a time column.
	NoTime bool
	// Access defines what the entities may read.
	Access *Access
	// MaxRecords stops the survey of text and messages at the first chunk after this many records; 0:
	// all records are read.
	MaxRecords int64
	// TempDir is the directory for inputs that must be copied to be read. Disk counts their bytes.
	TempDir string
	Disk    *budget.Budget
	// Progress, if set, is called from time to time with the number of stored bytes of a file that
	// were read so far.
	Progress func(bytes int64)
}

// Surveyor reads a whole input once, in bounded memory, to find the table that represents every
// value unchanged: its names, types and time column. It counts values that no type represents.
//
//	entity ─► kind (by content) ─► records (as the load reads them) ─► values by class ─► Survey
//
// All entities must be of one kind. Parquet and ORC files say their types themselves: only columns
// that may be the time are read.
type Surveyor struct {
	o    SurveyOptions
	kind inputKind
	// delimited is how delimited files are read; header and names are those of the first file.
	delimited  *Delimited
	first      string               // the name of the first file
	timeFormat *evidence.TimeFormat // that the user named
	names      []string

	columns []*surveyed
	index   map[string]int

	evidence.Position

	bad      evidence.Finding // records that did not parse; Value is the reason
	extra    evidence.Finding // delimited records with more fields than names
	short    evidence.Finding // and with fewer
	notUTF8  evidence.Finding
	repeated evidence.Finding // JSON objects that name a member twice
	unnamed  evidence.Finding // and those with a member without a name
	behind   evidence.Finding // delimited records with text behind a closing quote
	halves   evidence.Finding // JSON records with an escape of half a character
	// NonNumbers says that JSON has NaN or infinities, deepNonNumbers are those within objects.
	nonNumbers     bool
	deepNonNumbers evidence.Finding
	lists          bool // a field has the character that separates the values of a list
	notes          []string
	bytes          int64
}

// surveyed is a column on the way.
type surveyed struct {
	name   string
	values evidence.Values
	watch  evidence.Watch
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

// NewSurveyor returns a Surveyor that has read no entity.
func NewSurveyor(o SurveyOptions) (*Surveyor, error) {
	s := &Surveyor{o: o, index: map[string]int{}}
	types := make(map[string]string, len(o.Types))
	for name, text := range o.Types {
		t, err := evidence.ParseColumnType(text)
		if err != nil {
			return nil, err
		}
		types[name] = t
	}
	s.o.Types = types
	if o.TimeFormat != "" {
		var err error
		if s.timeFormat, err = evidence.ParseTimeFormat(o.TimeFormat); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// maxSurveyColumns is how many columns a table may have beside its time.
const maxSurveyColumns = 1999

// Column returns the column of a name, which is new perhaps.
func (s *Surveyor) column(name string) *surveyed {
	if at, ok := s.index[name]; ok {
		return s.columns[at]
	}
	c := &surveyed{name: name, wanted: numeric(s.o.Types[name])}
	if s.o.Time == name && name != "" {
		c.watch.Given, c.watch.Format = true, s.timeFormat
	}
	s.index[name] = len(s.columns)
	s.columns = append(s.columns, c)
	return c
}

// present notes that the record at hand has a value in c.
func (s *Surveyor) present(c *surveyed) {
	if c.next < s.Records && c.gap == 0 {
		c.gap = c.next + 1
	}
	c.seen++
	c.next = s.Records + 1
}

// checkWidth refuses an input with more columns than a table may have.
func (s *Surveyor) checkWidth() error {
	if len(s.columns) > maxSurveyColumns+1 {
		return fault.InvalidInput("Input [%s] has more than [%d] columns, the most that a table can have", s.File, maxSurveyColumns)
	}
	return nil
}

// Add reads an entity. Messages refer to the entity by name.
func (s *Surveyor) Add(ctx context.Context, name string, e Entity) error {
	s.File, s.Record = name, 0
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
		return fault.InvalidInput("File [%s] is %s and [%s] is %s; load them one after the other", record.Printable(s.first), s.kind.words(),
			record.Printable(name), kind.words())
	}
	in := &input{split: Split{Entity: e, End: -1}, opts: &Options{
		Access: s.o.Access, KeepNullBytes: true, TempDir: s.o.TempDir, Disk: s.o.Disk,
	}}
	err = guarded(func() error {
		switch kind {
		case kindParquet, kindORC:
			return s.columnar(ctx, in)
		case kindAvro:
			return s.avro(ctx, in)
		case kindArrow:
			return s.arrow(ctx, in)
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
		if s.Enough() {
			return nil
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
		if u, ok := stream.ReadCloser.(*unpack.Unpacker); ok {
			read = u.PackedBytes()
		}
	}
	s.o.Progress(s.bytes + read)
}

// Enough reports whether MaxRecords records were read.
func (s *Surveyor) Enough() bool { return s.o.MaxRecords > 0 && s.Records >= s.o.MaxRecords }

// fail notes that the record at hand is none.
func (s *Surveyor) fail(reason string) { s.bad.Add(&s.Position, []byte(reason)) }

// Begin counts a record.
func (s *Surveyor) begin() { s.Record++ }

// end counts it among those of all files.
func (s *Surveyor) end() { s.Records++ }

// broken notes that a value is no UTF-8.
func (s *Surveyor) broken(value []byte) { s.notUTF8.Add(&s.Position, value) }

// marshalFormat writes the wire form of the format that the survey found.
func (s *Surveyor) marshalFormat() (json.RawMessage, error) {
	switch s.kind {
	case kindDelimited:
		return s.delimited.MarshalJSON()
	case kindJSON:
		if s.nonNumbers {
			return json.RawMessage(`{"type":"json","featureSpec":{"ALLOW_NON_NUMERIC_NUMBERS":true}}`), nil
		}
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
	src, err := unpack.Open(raw, name, bombRatio, nil)
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
