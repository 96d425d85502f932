package ingest

import (
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// ParseError describes a record that is not a row, or a row with invalid fields.
type ParseError struct {
	// Row is the text of the record, truncated if it is long.
	Row string
	// Path is the name of the entity; "" for inline text.
	Path string
	// Record and Line count from 1 within the entity.
	Record, Line int64
	// Reason is the reason of the error.
	Reason string
	// Object is the record, and Flat the record after its flattenSpec. They are set only if the record
	// can be parsed, but its fields violate Field.Time or Field.Strict.
	Object, Flat *record.Object
	// Message is the index of the stream record in the batch that was decoded, from 0. Record counts
	// within the stream record.
	Message int
}

// Error returns the message of Druid, followed by the reason. See quirk Q011.
func (e *ParseError) Error() string {
	if e.Reason == "" {
		return e.position()
	}
	return e.position() + ": " + e.Reason
}

func (e *ParseError) position() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Unable to parse row [%s] (", e.Row)
	if e.Path != "" {
		fmt.Fprintf(&b, "Path: %s, ", e.Path)
	}
	fmt.Fprintf(&b, "Record: %d", e.Record)
	if e.Line > 0 {
		fmt.Fprintf(&b, ", Line: %d", e.Line)
	}
	b.WriteByte(')')
	return b.String()
}

// NullByteError is the error of a string that contains U+0000, which segments can't store.
type NullByteError struct {
	Source    string
	RowNumber int64
	Column    string
	Value     string
	Position  int
}

// Error returns the message that docs/ingestion.md describes.
func (e *NullByteError) Error() string {
	return fmt.Sprintf("Invalid null byte at source[%s], rowNumber[%d], column[%s], value[%s], position[%d]. Consider sanitizing the input "+
		"string column using \"REPLACE(\"%s\", U&'\\0000', '') AS %s\" or setting 'removeNullBytes' to true in the query context.",
		e.Source, e.RowNumber, e.Column, e.Value, e.Position, e.Column, e.Column)
}

// multiValueFault is for a list of several values in a column that the statement uses as a single
// value.
func multiValueFault(column string) error {
	return fault.InvalidInput("Column [%s] is a multi-value string. Please wrap the column using MV_TO_ARRAY() to proceed further.", column)
}
