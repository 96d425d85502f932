package evidence

import (
	"fmt"

	"github.com/hengedb/henge/internal/ingest/record"
)

// Finding counts occurrences in an input, and keeps the first one.
type Finding struct {
	Count  int64
	File   string
	Record int64 // from 1, of the file
	Value  string
	at     int64 // the record, of all
}

// At describes the first occurrence.
func (f *Finding) At() string {
	if f.Value == "" {
		return fmt.Sprintf("first in %s, record %d", record.Printable(f.File), f.Record)
	}
	return fmt.Sprintf("first in %s, record %d: [%s]", record.Printable(f.File), f.Record, record.Printable(f.Value))
}

// Position is the current position of a survey.
type Position struct {
	File    string
	Record  int64 // of the file, from 1
	Records int64 // of all files, those that did not parse included
}

// Add counts an occurrence at a position.
func (f *Finding) Add(at *Position, value []byte) {
	if f.Count++; f.Count == 1 {
		f.File, f.Record, f.Value, f.at = at.File, at.Record, record.Short(value), at.Records
	}
}
