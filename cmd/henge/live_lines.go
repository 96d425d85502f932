package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
)

// Limits of what is read as it comes.
const (
	liveRead = 256 << 10
	// maxLiveRow bounds a row. The server takes 64 MiB in a request.
	maxLiveRow = 32 << 20
	// liveChunks bounds what waits for the sender; then the writer of a pipe waits.
	liveChunks = 8
)

// rowForm is how rows are written.
type rowForm struct {
	contentType string
	name        string
	quotes      bool // an end of a line within quotes ends no row
	header      bool // the first row names the columns
}

var (
	formLines = rowForm{contentType: "application/x-ndjson", name: "JSON"}
	formCSV   = rowForm{contentType: "text/csv", name: "CSV", quotes: true, header: true}
	formTSV   = rowForm{contentType: "text/tab-separated-values", name: "TSV", quotes: true, header: true}
)

// formOf tells the form of rows by the first line, or by what is there of it; false: that is too
// little.
func formOf(text []byte, delimiter string, ended bool) (rowForm, bool, error) {
	line, _, whole := bytes.Cut(text, []byte{'\n'})
	whole = whole || ended
	switch {
	case len(line) == 0:
		return rowForm{}, false, nil
	case bytes.ContainsFunc(line, isBinary) || whole && !utf8.Valid(line):
		return rowForm{}, false, fault.InvalidInput("--live reads lines of UTF-8 text, and the input is not UTF-8: " +
			"it may be compressed or binary. Decompress it first, as in: zcat FILE | henge ingest - --into DATASOURCE --live; " +
			"or load it as a file, without --live")
	case line[0] == '[':
		return rowForm{}, false, fault.InvalidInput("--live reads one JSON object per line, and the input is an array. " +
			"Load it as a file, without --live, or write its objects line by line: jq -c '.[]'")
	case delimiter == "" && line[0] == '{':
		return formLines, true, nil
	case delimiter == "\t" || delimiter == "" && bytes.IndexByte(line, '\t') >= 0 && bytes.IndexByte(line, ',') < 0:
		return formTSV, whole, nil
	}
	return formCSV, whole, nil
}

// isBinary reports whether text has no such character.
func isBinary(c rune) bool { return c < ' ' && c != '\t' && c != '\r' }

// liveRows are rows that were read one after the other.
type liveRows struct {
	text []byte // each ends with a newline
	ends []int  // of the rows in text
}

func (r *liveRows) count() int64 { return int64(len(r.ends)) }

func (r *liveRows) add(row []byte) {
	r.text = append(append(r.text, row...), '\n')
	r.ends = append(r.ends, len(r.text))
}

// addAll appends all rows of other.
func (r *liveRows) addAll(other *liveRows) {
	base := len(r.text)
	r.text = append(r.text, other.text...)
	for _, end := range other.ends {
		r.ends = append(r.ends, base+end)
	}
}

// drop removes the first n rows.
func (r *liveRows) drop(n int64) {
	if n <= 0 {
		return
	}
	cut := r.ends[n-1]
	rest := &liveRows{text: r.text[cut:]}
	for _, end := range r.ends[n:] {
		rest.ends = append(rest.ends, end-cut)
	}
	*r = *rest
}

// liveReader gives the rows of an input as they come: rows that are there are never held back for
// rows that are not. An empty line is not a row.
type liveReader struct {
	in        io.Reader
	delimiter string // "": by the first line
	// form and header are set before the first rows are given.
	form   rowForm
	header []byte

	formed  bool
	rest    []byte // read, and not yet in rows
	scanned int    // how much of rest has no end of a row
	quoted  bool   // whether rest at scanned is within quotes
}

// run reads to the end and gives what was read to rows, which it closes. The end of the input is
// not an error.
func (r *liveReader) run(ctx context.Context, rows chan<- *liveRows) error {
	defer close(rows)
	buffer := make([]byte, liveRead)
	for {
		n, err := r.in.Read(buffer)
		r.rest = append(r.rest, buffer[:n]...)
		ended := errors.Is(err, io.EOF)
		found, problem := r.take(ended)
		if found.count() > 0 {
			select {
			case rows <- found:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		switch {
		case problem != nil:
			return problem
		case ended:
			return nil
		case err != nil:
			return fault.InvalidInput("The input can't be read: %v", reasonOf(err))
		}
	}
}

// take returns the whole rows of what was read; at the end the last one needs no newline.
func (r *liveReader) take(ended bool) (*liveRows, error) {
	found := &liveRows{}
	if err := r.begin(ended); err != nil || !r.formed {
		return found, err
	}
	from := 0
	for {
		end := r.rowEnd()
		if end < 0 && (!ended || from == len(r.rest)) {
			break
		}
		row, next := r.rest[from:], len(r.rest)
		if end >= 0 {
			row, next = r.rest[from:end], end+1
		}
		from, r.scanned, r.quoted = next, next, false
		row = bytes.TrimSuffix(row, []byte{'\r'})
		switch {
		case len(bytes.TrimSpace(row)) == 0:
		case r.form.header && r.header == nil:
			r.header = append(bytes.Clone(row), '\n')
		default:
			found.add(row)
		}
	}
	r.rest = append(r.rest[:0], r.rest[from:]...)
	r.scanned -= from
	if len(r.rest) > maxLiveRow {
		return found, fault.InvalidInput("A row has more than [%d] bytes, the limit of --live. Is a quote not closed?", maxLiveRow)
	}
	return found, nil
}

// begin finds the form of the rows once there is text that tells it.
func (r *liveReader) begin(ended bool) (err error) {
	if r.formed {
		return nil
	}
	mark := []byte("\ufeff")
	if !ended && len(r.rest) < len(mark) && bytes.HasPrefix(mark, r.rest) {
		return nil // it may be a byte order mark
	}
	r.rest = bytes.TrimLeft(bytes.TrimPrefix(r.rest, mark), "\r\n ")
	r.form, r.formed, err = formOf(r.rest, r.delimiter, ended)
	return err
}

// rowEnd returns where the row ends that is being read, -1: it is not all there.
func (r *liveReader) rowEnd() int {
	if !r.form.quotes {
		i := bytes.IndexByte(r.rest[r.scanned:], '\n')
		if i < 0 {
			r.scanned = len(r.rest)
			return -1
		}
		return r.scanned + i
	}
	for ; r.scanned < len(r.rest); r.scanned++ {
		switch c := r.rest[r.scanned]; {
		case c == '"':
			r.quoted = !r.quoted
		case c == '\n' && !r.quoted:
			return r.scanned
		}
	}
	return -1
}
