package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/spec"
)

// Formats are the content types of bodies with the input format that reads them.
var formats = map[string]string{
	"application/x-ndjson":                `{"type":"json","keepNullColumns":true}`,
	"application/jsonl":                   `{"type":"json","keepNullColumns":true}`,
	"application/json":                    `{"type":"json","keepNullColumns":true}`,
	"text/csv":                            `{"type":"csv","findColumnsFromHeader":true}`,
	"text/tab-separated-values":           `{"type":"tsv","findColumnsFromHeader":true}`,
	"application/avro":                    `{"type":"avro_ocf"}`,
	"application/vnd.apache.arrow.stream": `{"type":"arrow"}`,
}

// MaxRefusals is the maximum number of rejected rows in a response.
const MaxRefusals = 10

// Rows are the rows of a body, as lines of JSON.
type Rows struct {
	Lines []byte
	Count int
	// Refused are the first rejected records, and Bad is the number of rejected records.
	Refused []Refusal
	Bad     int
	// BadLines are all rejected records as lines of JSON: objects unchanged, others as strings.
	BadLines []byte
}

// Refusal is a record that is not a valid row.
type Refusal struct {
	// Row is counted from 1; Line is 0 in formats without lines.
	Row    int64  `json:"row"`
	Line   int64  `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
	Input  string `json:"input,omitempty"`
}

// FormatOf returns the input format for a content type; "" means lines of JSON.
func FormatOf(contentType string) (ingest.Format, error) {
	if contentType == "" {
		contentType = "application/x-ndjson"
	}
	kind, _, err := mime.ParseMediaType(contentType)
	text, ok := formats[kind]
	if err != nil || !ok {
		return nil, fault.Unsupported("Rows can't be read from Content-Type [%s]; send application/x-ndjson, application/json, text/csv, "+
			"text/tab-separated-values, application/avro or application/vnd.apache.arrow.stream", contentType)
	}
	return ingest.ParseFormat(json.RawMessage(text))
}

// LargeError means that the records of a body exceed the size limit as lines of JSON: a small body
// can expand to many bytes, for example with an Arrow dictionary.
type LargeError struct {
	// Row is the record that exceeds the limit, counted from 1.
	Row int64
}

// Error implements error.
func (e *LargeError) Error() string {
	return fmt.Sprintf("the lines up to record [%d] are too large", e.Row)
}

// Read converts a body into rows: each record must be parseable and have a time. With a nil time,
// it only parses records. Records that exceed most bytes as lines are a LargeError.
func Read(ctx context.Context, body []byte, format ingest.Format, time *spec.Timestamp, most int64) (*Rows, error) {
	table, err := ingest.NewTable(&ingest.Inline{Data: string(body)}, format, nil)
	if err != nil {
		return nil, err
	}
	opts := &ingest.Options{}
	splits, err := table.Splits(ctx, opts, 0)
	if err != nil {
		return nil, err
	}
	out := &Rows{}
	for _, split := range splits {
		records, err := table.Records(ctx, split, opts)
		if err != nil {
			return nil, err
		}
		err = out.read(ctx, records, time, most)
		if closing := records.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *Rows) read(ctx context.Context, records *ingest.Records, time *spec.Timestamp, most int64) error {
	for row := int64(1); ; row++ {
		if int64(len(r.Lines)+len(r.BadLines)) > most {
			return &LargeError{Row: row - 1}
		}
		rec, err := records.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Object == nil {
			problem := records.ParseError(&rec)
			r.refuse(Refusal{Row: row, Line: rec.Line, Reason: problem.Reason, Input: problem.Row})
			r.BadLines = append(record.AppendJSON(r.BadLines, problem.Row), '\n')
			continue
		}
		if time != nil && time.Missing == nil {
			if _, problem := time.Of(rec.Object, rec.Object); problem != "" {
				text := record.AppendJSON(nil, rec.Object)
				r.refuse(Refusal{Row: row, Line: rec.Line, Column: time.Column, Reason: timeProblem(rec.Object, time), Input: cut(string(text))})
				r.BadLines = append(append(r.BadLines, text...), '\n')
				continue
			}
		}
		r.Lines = append(record.AppendJSON(r.Lines, rec.Object), '\n')
		r.Count++
	}
}

func timeProblem(o *record.Object, time *spec.Timestamp) string {
	v, ok := o.Get(time.Column)
	if !ok || v == nil {
		return "It has no value in the column of the time"
	}
	return "Value [" + cut(string(record.AppendText(nil, v))) + "] is not a time"
}

// maxShown bounds the text of a record in an answer.
const maxShown = 200

func cut(text string) string {
	if len(text) > maxShown {
		return strings.ToValidUTF8(text[:maxShown], "") + "..."
	}
	return text
}

func (r *Rows) refuse(x Refusal) {
	r.Bad++
	if len(r.Refused) < MaxRefusals {
		x.Input = cut(x.Input)
		r.Refused = append(r.Refused, x)
	}
}
