package ingest

import (
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// ParseError is a record that is no row, or is one whose fields are not all what they must be.
type ParseError struct {
	// Row is the text of the record, cut when it is long.
	Row string
	// Path is the name of the entity; "" for inline text.
	Path string
	// Record and Line count from 1 within the entity.
	Record, Line int64
	// Reason says what is wrong.
	Reason string
	// Object is the record, and Flat what its flattenSpec makes of it, if it parses and only its
	// fields are not what Field.Time and Field.Strict ask for.
	Object, Flat *Object
	// Message is the number of the record of a stream among those that were decoded together, from 0;
	// Record counts within it.
	Message int
}

// Error returns the message of the reference system, and the reason.
func (e *ParseError) Error() string {
	if e.Reason == "" {
		return e.place()
	}
	return e.place() + ": " + e.Reason
}

func (e *ParseError) place() string {
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

// NullByteError is a string that holds U+0000, which no segment may.
type NullByteError struct {
	Source    string
	RowNumber int64
	Column    string
	Value     string
	Position  int
}

// Error returns the message of spec/ingestion.md, section 6.
func (e *NullByteError) Error() string {
	return fmt.Sprintf("Invalid null byte at source[%s], rowNumber[%d], column[%s], value[%s], position[%d]. Consider sanitizing the input "+
		"string column using \"REPLACE(\"%s\", U&'\\0000', '') AS %s\" or setting 'removeNullBytes' to true in the query context.",
		e.Source, e.RowNumber, e.Column, e.Value, e.Position, e.Column, e.Column)
}

// shownName is what errors call an entity.
func shownName(name string) string {
	if name == "" {
		return "inline"
	}
	return name
}

// multiValueFault is for a list of several values in a column that the statement uses as a single
// value.
func multiValueFault(column string) error {
	return fault.InvalidInput("Column [%s] is a multi-value string. Please wrap the column using MV_TO_ARRAY() to proceed further.", column)
}

// shortRow cuts the text of a record for an error.
func shortRow(b []byte) string {
	if len(b) <= maxErrorRow {
		return string(b)
	}
	return string(validUTF8(b[:maxErrorRow])) + "..."
}
