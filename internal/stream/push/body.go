package push

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
)

// Formats are the content types of bodies with the input format that reads them.
var formats = map[string]string{
	"application/x-ndjson":      `{"type":"json","keepNullColumns":true}`,
	"application/jsonl":         `{"type":"json","keepNullColumns":true}`,
	"application/json":          `{"type":"json","keepNullColumns":true}`,
	"text/csv":                  `{"type":"csv","findColumnsFromHeader":true}`,
	"text/tab-separated-values": `{"type":"tsv","findColumnsFromHeader":true}`,
	"application/avro":          `{"type":"avro_ocf"}`,
}

// MaxRefusals bounds the refused rows that an answer shows.
const MaxRefusals = 10

// Rows are those of a body, as lines of JSON.
type Rows struct {
	Lines []byte
	Count int
	// Refused are the first records that are no rows, and Bad how many there are.
	Refused []Refusal
	Bad     int
}

// Refusal is a record that is no row.
type Refusal struct {
	// Row counts from 1; Line is 0 in formats without lines.
	Row    int64  `json:"row"`
	Line   int64  `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
	Input  string `json:"input,omitempty"`
}

// FormatOf returns the input format of a content type; "" is lines of JSON.
func FormatOf(contentType string) (ingest.Format, error) {
	if contentType == "" {
		contentType = "application/x-ndjson"
	}
	kind, _, err := mime.ParseMediaType(contentType)
	text, ok := formats[kind]
	if err != nil || !ok {
		return nil, fault.Unsupported("Rows can't be read from Content-Type [%s]; send application/x-ndjson, application/json, text/csv, "+
			"text/tab-separated-values or application/avro", contentType)
	}
	return ingest.ParseFormat(json.RawMessage(text))
}

// Read makes rows of a body: each record parses and has a time. A nil time is for who only wants to
// know what the records are.
func Read(ctx context.Context, body []byte, format ingest.Format, time *spec.Timestamp) (*Rows, error) {
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
		err = out.read(ctx, records, time)
		if closing := records.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *Rows) read(ctx context.Context, records *ingest.Records, time *spec.Timestamp) error {
	for row := int64(1); ; row++ {
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
			continue
		}
		if time != nil && time.Missing == nil {
			if _, problem := time.Of(rec.Object, rec.Object); problem != "" {
				r.refuse(Refusal{Row: row, Line: rec.Line, Column: time.Column, Reason: timeProblem(rec.Object, time),
					Input: cut(string(ingest.AppendJSON(nil, rec.Object)))})
				continue
			}
		}
		r.Lines = append(ingest.AppendJSON(r.Lines, rec.Object), '\n')
		r.Count++
	}
}

func timeProblem(o *ingest.Object, time *spec.Timestamp) string {
	v, ok := o.Get(time.Column)
	if !ok || v == nil {
		return "It has no value in the column of the time"
	}
	return "Value [" + cut(string(ingest.AppendText(nil, v))) + "] is no time"
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
